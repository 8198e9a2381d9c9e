package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/query"
)

// rare returns a table as people, in which one row in every is sick, whatever the age.
func rare(n, every int) string {
	var b strings.Builder
	b.WriteString("age,sex,note,sick\n")
	for i := range n {
		sick := 0
		if i%every == 0 {
			sick = 1
		}
		fmt.Fprintf(&b, "%d,%s,x,%d\n", 20+i*7%60, []string{"f", "m"}[i%2], sick)
	}
	return b.String()
}

// TestFamilyFollowsTheBaseRate: a fit of two classes whose released share is small takes the family for its effective
// size there, in one step or in two, and its model, its plan and its certificate are of that family. It spends its budget,
// and no more, and releases ranks if its model has curves whose knots follow from them. A family that the configuration names stays, and so does that of a common class.
func TestFamilyFollowsTheBaseRate(t *testing.T) {
	for _, test := range []struct {
		records, every int
		family, begins string
		want           string
		ranks          bool
	}{
		{3000, 2, FamilyAuto, Curves, Curves, false},
		{3000, 200, FamilyAuto, Curves, Lines, false},
		{3000, 200, Curves, Curves, Curves, false},
		{50_000, 2, FamilyAuto, Interactions, Interactions, true},
		{50_000, 20, FamilyAuto, Interactions, Curves, true},
		{50_000, 1000, FamilyAuto, Interactions, Lines, true},
		{900, 300, FamilyAuto, Curves, Lines, false},
	} {
		c := config(t, 3, "model: {loss: logistic}", "model: {loss: logistic, family: "+test.family+"}")
		c.Data = Files{write(t, t.TempDir()+"/people.csv", rare(test.records, test.every))}
		var planned Planned
		f, err := c.Fit(context.Background(), Options{Software: "test 1", Planned: func(p Planned) { planned = p }})
		if err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		s := f.Model.Schema()
		bent, effects := slices.ContainsFunc(s.Hats(), dataset.Hats.Curve), false
		if _, found := s.Effects(); found {
			effects = true
		}
		if planned.Family.Name != test.begins || f.Family.Name != test.want || bent != (test.want != Lines) ||
			effects != (test.want == Interactions) || (planned.Ranks != nil) != test.ranks {
			t.Errorf("%+v: %s was planned, %s, curves %v, effects %v, ranks %v", test, planned.Family.Name, f.Family.Name, bent,
				effects, planned.Ranks)
		}
		if share := f.Charged / f.Budget.Charge(); !(share <= 1 && share > .999) || len(f.Model.Weights()) != s.Dim() {
			t.Errorf("%+v: %v of the budget is charged, %d weights of %d features", test, share, len(f.Model.Weights()), s.Dim())
		}
		var run runrecord.Run
		if err := json.Unmarshal(f.Certificate.Algorithm().Plan, &run); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, e := range f.Ledger.Events() {
			if e.Question == query.RowMean.String() && math.Abs(e.Charge/f.Budget.Charge()-DefaultRanks) < 1e-6 {
				asked++
			}
		}
		if want := test.ranks && test.want != Lines; (asked == 1) != want || (run.Ranks != nil) != want || (f.Ranks != nil) != want {
			t.Errorf("%+v: %d releases of ranks, the certificate says %v, the fit %v", test, asked, run.Ranks, f.Ranks)
		}
		if run.Family.Name != test.want || strings.Contains(run.Family.Why, "at the released base rate is below") != (test.want != test.begins) {
			t.Errorf("%+v: the certificate says %+v", test, run.Family)
		}
		if why, _, _ := strings.Cut(run.Family.Why, "; before that release"); f.Family.Simpler != why && test.want != test.begins ||
			f.Family.Simpler != "" && test.want == test.begins {
			t.Errorf("%+v: the fit says %q, the certificate %q", test, f.Family.Simpler, run.Family.Why)
		}
	}
}

// TestConditionsOfFamilies: a plan says from which share of a class on its fit takes a simpler family, and a fit
// of a table on either side of this share does.
func TestConditionsOfFamilies(t *testing.T) {
	const many = "f, m, a, b, c, d, e, g, h, i, j, k, l, n, o, p, q, r, s, u, v, w, x, y, z"
	for records, levels := range map[int]string{3000: "f, m", 1000: many} { // sizes of 218 and of 43
		c := config(t, records, "model: {loss: logistic}", "model: {loss: logistic, family: auto}", "f, m", levels)
		p, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var percent float64
		at := strings.Index(p.Family.Why, "; lines if a class has a released share below ")
		if _, err := fmt.Sscanf(p.Family.Why[max(at, 0):], "; lines if a class has a released share below %g%%",
			&percent); err != nil || (p.signal() < 50) != (records == 1000) {
			t.Fatalf("%q: %v, size %v", p.Family.Why, err, p.signal())
		}
		// Of a class of share s a record counts 4 s (1-s). The size must be at least 40.
		ratio := func(s float64) float64 { return 4 * s * (1 - s) }
		low, high := 0., .5
		for range 60 {
			if s := (low + high) / 2; p.Summary.Effective*ratio(s) < 40 {
				low = s
			} else {
				high = s
			}
		}
		if want := fmt.Sprintf("; lines if a class has a released share below %.2g%%", 100*low); !strings.HasSuffix(p.Family.Why, want) {
			t.Errorf("%q: must end in %q", p.Family.Why, want)
		}
		for _, share := range []float64{percent * .95, percent * 1.05} {
			base, ok := p.Base.AtShares([]float64{1 - share/100, share / 100})
			if !ok {
				t.Fatal("no base rate")
			}
			begun, err := p.Begin(context.Background(), base)
			if err != nil {
				t.Fatal(err)
			}
			if simpler := begun.Family.Name == Lines; simpler != (share < percent) || begun.Straightens(p.Schema) != simpler {
				t.Errorf("share %v%%, where lines are taken below %v%%: %+v", share, percent, begun.Family)
			}
			s := share / 100
			want := fmt.Sprintf("not curves: effective size %.3g at the released base rate is below %.3g; before that release: %s",
				p.Summary.Effective*ratio(s), 40., p.Family.Why)
			if begun.Family.Name == Lines && begun.Family.Why != want {
				t.Errorf("%q: must be %q", begun.Family.Why, want)
			}
		}
	}
}

// TestKeptFamilies: the configuration of an audit keeps the family that the rule chose, at whatever base rate, as the smaller
// tables of the audit are about the queries of that family. Without it lines take the place of curves, and have no ranks.
func TestKeptFamilies(t *testing.T) {
	c := config(t, 3000, "model: {loss: logistic}", "model: {loss: logistic, family: auto}")
	c, err := c.resolved(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.loss()
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []bool{false, true} {
		of := c
		if kept {
			of = c.Kept()
		}
		less, err := of.simpler(1, .01, l)
		if err != nil || (less == nil) != kept || of.chosen.Name != Curves {
			t.Errorf("kept %v: %s, a simpler family %v, %v", kept, of.chosen.Name, less != nil, err)
		}
		if less != nil && (less.chosen.Name != Lines || less.Train.Ranks != Off || len(less.curves) > 0 ||
			slices.ContainsFunc(less.Schema.Columns(), func(c dataset.Column) bool { return c.Curve != 0 || c.Knots != nil })) {
			t.Errorf("%s with ranks %v of %v: lines must spend nothing on ranks", less.chosen.Name, less.Train.Ranks, less.curves)
		}
	}
}

// TestConditionsAreThoseOfTheFit: on either side of each share that a plan of effects names, its fit takes the family that
// the plan says: also where no column may have a curve.
func TestConditionsAreThoseOfTheFit(t *testing.T) {
	for _, test := range []struct {
		records int
		number  string
		curves  bool
	}{
		{50_000, "", true}, {400_000, "", true}, {50_000, ", curve: none", false},
	} {
		c := config(t, 3, "model: {loss: logistic}", "model: {loss: logistic, family: auto}", "[0, 100]", "[0, 100]"+test.number,
			"replace-one", fmt.Sprintf("replace-one, records: %d", test.records))
		p, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(p.Family.Why, "; ")[1:]
		if want := map[bool]int{true: 2, false: 1}[test.curves]; p.Family.Name != Interactions || len(parts) != want {
			t.Fatalf("%d records: %+v, want %d conditions", test.records, p.Family, want)
		}
		if test.curves { // to the letter, from the sizes N of both plans: a record of a class of share s counts 4 s (1-s)
			q, err := config(t, 3, "model: {loss: logistic}", "model: {loss: logistic, family: curves}",
				"replace-one", fmt.Sprintf("replace-one, records: %d", test.records)).Plan(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for i, ratio := range []float64{160 / p.Summary.Effective, 40 / q.Summary.Effective} {
				want := fmt.Sprintf("%s if a class has a released share below %.2g%%", []string{Curves, Lines}[i],
					50*(1-math.Sqrt(1-ratio)))
				if parts[i] != want {
					t.Errorf("%d records: %q: must be %q", test.records, parts[i], want)
				}
			}
		}
		above := Interactions
		for _, part := range parts {
			var name string
			var percent float64
			if _, err := fmt.Sscanf(part, "%s if a class has a released share below %g%%", &name, &percent); err != nil {
				t.Fatalf("%q: %v", part, err)
			}
			for factor, want := range map[float64]string{.94: name, 1.06: above} {
				share := percent / 100 * factor
				base, ok := p.Base.AtShares([]float64{1 - share, share})
				if !ok {
					t.Fatal("no base rate")
				}
				if begun, err := p.Begin(context.Background(), base); err != nil || begun.Family.Name != want {
					t.Errorf("%d records, %q, share %.3g: %+v, %v, want %s", test.records, part, share, begun.Family, err, want)
				}
			}
			above = name
		}
	}
}

// TestNoConditionWithoutACurvature: a plan names no share of a class where the loss has no curvature at its base rate, since
// its fit keeps the family whatever the share.
func TestNoConditionWithoutACurvature(t *testing.T) {
	for _, l := range []string{"sigmoid", "smoothed-hinge(1)", "tanh", "hinge"} {
		c := config(t, 3, "model: {loss: logistic}", "model: {loss: "+l+", family: auto}")
		c.Data = Files{write(t, t.TempDir()+"/people.csv", rare(3000, 200))}
		p, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Fit(context.Background(), Options{Software: "test 1"})
		if err != nil {
			t.Fatal(err)
		}
		if p.Family.Name == Lines || f.Family.Name != p.Family.Name || strings.Contains(p.Family.Why, "released share") {
			t.Errorf("%s: %+v was planned, %+v fitted", l, p.Family, f.Family)
		}
	}
}

// TestNoShareOfWeightedClasses: a plan names no share where classes have weights, with which a fit takes a simpler family at
// other shares than without.
func TestNoShareOfWeightedClasses(t *testing.T) {
	const want = "effective size 218 is at least 40; not effects: effective size 39.7 is below 230; " +
		"a simpler family may follow from the released shares of the weighted classes"
	c := config(t, 3, "model: {loss: logistic}", `model: {loss: logistic, weights: {"1": 20}, family: auto}`)
	c.Privacy.Records = 3000
	p, err := c.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if p.Family.Name != Curves || p.Family.Why != want {
		t.Errorf("%+v, want %q", p.Family, want)
	}
	base, ok := p.Base.AtShares([]float64{.8, .2}) // above the 12% from which on curves stay without weights
	if begun, err := p.Begin(context.Background(), base); !ok || err != nil || begun.Family.Name != Lines {
		t.Errorf("%+v, %v", begun.Family, err)
	}
}
