package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// planOf returns the plan of a configuration for a public number of records, whose table does not exist: a family must
// follow from public numbers alone.
func planOf(t *testing.T, c *Config, records int) Planned {
	t.Helper()
	own := *c
	own.Privacy.Records = records
	if err := os.Remove(own.DataPath()); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	p, err := own.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTheRuleTakesTheRichestFamily compares the family that auto takes with the plans of the three families: it must be
// the last of lines, curves and effects whose plan is made, moves, and has at least the effective size of the rule. The
// ladder of numbers of records must pass each family, and a larger table never has a poorer one.
func TestTheRuleTakesTheRichestFamily(t *testing.T) {
	for kind, make := range map[string]func(family string) *Config{
		"number": func(family string) *Config {
			c, _ := flats(t, 3, ", curve: 4", "", "huber(0.1)", "huber(0.1), family: "+family, "epsilon: 60", "epsilon: 1")
			return c
		},
		"classes": func(family string) *Config {
			return config(t, 3, "{loss: logistic}", "{loss: logistic, family: "+family+"}")
		},
	} {
		rank, seen := 0, map[string]bool{}
		for _, records := range []int{100, 400, 900, 1500, 3000, 10_000, 100_000, 1_000_000} {
			got := planOf(t, make(FamilyAuto), records)
			l, err := make(FamilyAuto).loss()
			if err != nil {
				t.Fatal(err)
			}
			want, at := Lines, 0
			for i, name := range families {
				own := *make(name)
				own.Privacy.Records = records
				p, err := own.Plan(context.Background())
				bent := name == Lines || len(p.Schema.Hats()) > 0
				if err == nil && p.moves() && bent && p.signal() >= leastSize(name, l, 1) {
					want, at = name, i
				}
			}
			if got.Family.Name != want || !got.Family.Chosen || got.Family.Why == "" || at < rank {
				t.Errorf("%s, %d records: %+v, want %s after the family %d", kind, records, got.Family, want, rank)
			}
			if rank, seen[want] = at, true; len(got.Families) != len(families) {
				t.Errorf("%s, %d records: plan lists %d families", kind, records, len(got.Families))
			}
		}
		if len(seen) != len(families) {
			t.Errorf("%s: the ladder of records saw %v", kind, seen)
		}
	}
}

// TestFamiliesOfKeys: each family has its features, keys that only one family has decide where model.family leaves the
// choice open, and what the rule was not measured with has lines.
func TestFamiliesOfKeys(t *testing.T) {
	const many = 200_000
	for _, test := range []struct {
		want    string
		chosen  bool
		hats    int // of columns with curves
		changes []string
	}{
		{Lines, false, 0, []string{"{loss: logistic}", "{loss: logistic, family: lines}"}},
		{Curves, false, 1, []string{"{loss: logistic}", "{loss: logistic, family: curves}"}},
		{Interactions, false, 1, []string{"{loss: logistic}", "{loss: logistic, family: effects}"}},
		{Interactions, true, 1, nil},
		{Interactions, true, 0, []string{"[0, 100]}", "[0, 100], curve: none}"}},
		{Interactions, false, 0, []string{"{loss: logistic}", `{loss: logistic, features: "effects(3,40)"}`}},
		{Curves, false, 1, []string{"[0, 100]}", "[0, 100], curve: 5}"}},
		{Curves, false, 1, []string{"  columns:", "  curves: auto\n  columns:", "{loss: logistic}", "{loss: logistic, family: auto}"}},
		{Interactions, false, 1, []string{"[0, 100]}", "[0, 100], curve: 5}", "{loss: logistic}", "{loss: logistic, family: effects}"}},
		{Curves, true, 1, []string{"[0, 100]}", "[0, 100], monotone: up}"}},
		{Curves, true, 1, []string{"loss: logistic", "loss: hinge"}},
		{Lines, false, 0, []string{"replace-one}", "replace-one}\ninference: {level: .9}"}},
		{Lines, false, 0, []string{"{loss: logistic}", "{loss: logistic, reduce: jl(2)}"}},
		{Lines, false, 0, []string{"{loss: logistic}", "{loss: logistic, regularizer: l2(0.1)}"}},
		{Lines, false, 0, []string{"{loss: logistic}", "{loss: {network: {hidden: [3], activation: tanh, output: logistic}}}"}},
		{Lines, false, 0, []string{"replace-one}", "replace-one}\ntrain: {algorithm: nesterov}"}},
		{Lines, false, 0, []string{"replace-one}", "replace-one}\ntrain: {passes: 3}"}},
		{Interactions, true, 1, []string{"replace-one}", "replace-one}\ntrain: {algorithm: preconditioned}"}},
	} {
		p := planOf(t, config(t, 3, test.changes...), many)
		hats := 0
		for _, h := range p.Schema.Hats() {
			if h.Curve() {
				hats++
			}
		}
		stages := p.First != nil
		if p.Family.Name != test.want || p.Family.Chosen != test.chosen || hats != test.hats || stages != (test.want == Interactions) {
			t.Errorf("%q: %+v with %d curves, two stages %v: want %s, %d curves", test.changes, p.Family, hats, stages, test.want,
				test.hats)
		}
		for _, f := range p.Families {
			if f.Family == p.Family.Name && f.Refused != "" {
				t.Errorf("%q: the family that was taken is refused: %s", test.changes, f.Refused)
			}
		}
		if p.Family.Unasked != test.chosen {
			t.Errorf("%q: the rule chose, unasked: %v", test.changes, p.Family.Unasked)
		}
	}
	asked := planOf(t, config(t, 3, "{loss: logistic}", "{loss: logistic, family: auto}"), many)
	if w := asked.Warnings(); asked.Family.Name != Interactions || asked.Family.Unasked || len(w) > 0 {
		t.Errorf("family: auto takes %+v, with warnings %v", asked.Family, w)
	}
}

// TestFamilyOfAStream: the family of a table that is read once and whose number of records is not stated is lines, and
// its records need not be stated.
func TestFamilyOfAStream(t *testing.T) {
	c := config(t, 300)
	c.Data, c.Table, c.Reader = nil, "people", strings.NewReader(people(300))
	r, err := c.resolved(context.Background())
	if err != nil || r.chosen.Name != Lines || !strings.Contains(r.chosen.Why, "privacy.records") || r.Schema.Unresolved() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFamilyIsRefused(t *testing.T) {
	for want, changes := range map[string][]string{
		`model.family = "trees": must be auto, lines, curves or effects`:      {"{loss: logistic}", "{loss: logistic, family: trees}"},
		"model.family = lines: must be curves, effects or auto":               {"{loss: logistic}", "{loss: logistic, family: lines}", "[0, 100]}", "[0, 100], curve: 5}"},
		"model.family = curves: must be effects or auto where model.features": {"{loss: logistic}", "{loss: logistic, family: curves, features: effects}"},
	} {
		text := strings.NewReplacer(changes...).Replace(peopleYAML)
		_, err := ReadConfig(write(t, t.TempDir()+"/people.yaml", text))
		wantError(t, err, want)
	}
	c := config(t, 300, "{loss: logistic}", "{loss: logistic, family: effects}", "[0, 100]}", "[0, 100], monotone: up}")
	_, err := c.Plan(context.Background())
	wantError(t, err, "must be left out where a column is monotone")
}

// TestCurveNone: a column with curve: none keeps its line in every family, and a model's schema has no trace of it.
func TestCurveNone(t *testing.T) {
	c := config(t, 3, "[0, 100]}", "[0, 100], curve: none}", "{loss: logistic}", "{loss: logistic, family: curves}")
	p := planOf(t, c, 100_000)
	for _, column := range p.Schema.Columns() {
		if column.Curve == dataset.CurveNone || column.Curve > 0 {
			t.Errorf("column %s has the curve %d", column.Name, column.Curve)
		}
	}
	lines := planOf(t, config(t, 3, "[0, 100]}", "[0, 100], curve: none}"), 100_000)
	if why := lines.Families[1].Refused; why != "no column is a number or a date that may have a curve" {
		t.Errorf("curves are refused by %q", why)
	}
}

// TestEmptyTable: a plan of a table without rows speaks of a filter only if the configuration has one.
func TestEmptyTable(t *testing.T) {
	for filter, want := range map[string]string{"": "there is no row", "  where: note=train\n": "no row is left after the public filter"} {
		c := config(t, 0, "note: ignore", "note: {public: [train]}", "model:", filter+"model:")
		c.Data = Files{write(t, filepath.Join(t.TempDir(), "people.csv"), "age,sex,note,sick\n")}
		_, err := c.Plan(context.Background())
		wantError(t, err, "people.csv: "+want)
	}
}

// TestRecordsOfFamiliesByHand: at a stated share of .1 the size is 4 .1 .9 of that of even classes, and effects need a size of
// 160. The number of records that has the size that a family needs at this share is rounded up to two digits.
func TestRecordsOfFamiliesByHand(t *testing.T) {
	p, err := config(t, 30_000, "model: {loss: logistic}", "model: {loss: logistic, family: auto}", `classes: ["0", "1"]`,
		`classes: ["0", "1"], share: 0.1`).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range p.Families {
		if f.Family == Lines || f.Refused != "" {
			continue
		}
		least := 160.
		if f.Family == Curves {
			least = leastSize(Curves, loss.Logistic(), .36)
		}
		seen++
		exact := 30_000 * least / f.Size
		unit := math.Pow(10, math.Floor(math.Log10(exact))-1)
		if want := math.Ceil(exact/unit) * unit; !(math.Abs(f.Records-want) <= 1e-6*want) {
			t.Errorf("%+v: must need %v records", f, want)
		}
	}
	if seen != 2 {
		t.Errorf("%+v", p.Families)
	}
}

// TestReasonsOfLinesAreBoth: where a table is too small for curves, the reason names both richer families.
func TestReasonsOfLinesAreBoth(t *testing.T) {
	c, err := config(t, 30_000, "model: {loss: logistic}", "model: {loss: logistic, family: auto}", "epsilon: 1,", "epsilon: 0.1,",
		`classes: ["0", "1"]`, `classes: ["0", "1"], share: 0.01`).choose(mustBudget(t, .1), 30_000)
	if err != nil {
		t.Fatal(err)
	}
	const want = "^not effects: effective size ([0-9.]+) is below 160; not curves: effective size ([0-9.]+) is below [0-9.]+$"
	if !regexp.MustCompile(want).MatchString(c.chosen.Why) || c.chosen.Name != Lines {
		t.Errorf("%s: %q", c.chosen.Name, c.chosen.Why)
	}
}

func mustBudget(t *testing.T, epsilon float64) account.Budget {
	t.Helper()
	b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
