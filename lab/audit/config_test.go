package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// configuration reads a configuration, with the given changes, whose table does not exist.
func configuration(t *testing.T, changes ...string) *train.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "people.yaml")
	text := `data: absent.csv
schema:
  columns:
    age: {number: [0, 100]}
    income: {number: [0, 1e6], transform: log1p}
    sex: {category: [f, m]}
    note: ignore
    site: {public: [a, b]}
  target: {column: sick, classes: ["no", "yes"]}
  where: site=a
model: {loss: logistic, regularizer: l2(0.01), radius: 5}
privacy: {epsilon: 2, delta: 1e-6, relation: replace-one, records: 400}
train: {algorithm: gd, steps: 6}
`
	if err := os.WriteFile(path, []byte(strings.NewReplacer(changes...).Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := train.ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var little = Options{Effort: Effort{Positions: 2, Records: 24, Climbs: 3}, Records: 60}

// TestConfigNeedsNoTable tests that an audit opens no table and finds no violation. For each kind of query
// that the algorithm makes, the audit must find records that move the answer by almost the charged
// sensitivity.
func TestConfigNeedsNoTable(t *testing.T) {
	for i, algorithm := range train.Algorithms() {
		for k, relation := range []string{"replace-one", "add-or-remove"} {
			if testing.Short() && i%2 != k {
				continue
			}
			change := []string{"algorithm: gd, steps: 6", "algorithm: " + algorithm, "replace-one", relation}
			switch algorithm {
			case "preconditioned", "o2nc":
				change = append(change, ", radius: 5", "") // the algorithm has no ball
			case "smoothed":
				change = append(change, "loss: logistic", "loss: hinge")
			}
			c := configuration(t, change...)
			o := little
			if algorithm != "gd" || testing.Short() {
				o.Effort.Climbs = -1
			}
			r, err := RunConfig(context.Background(), c, o)
			if err != nil {
				if relation == "add-or-remove" && strings.Contains(err.Error(), relation) {
					continue // the algorithm refuses the setting with an error
				}
				t.Errorf("%s, %s: %v", algorithm, relation, err)
				continue
			}
			if err := r.Err(); err != nil {
				t.Errorf("%s, %s: %v", algorithm, relation, err)
			}
			if r.Records != 60 || r.Configured != 400 || r.Dim != c.Schema.Dim() || r.Answers == 0 {
				t.Errorf("%s, %s: %d of %d records, %d features, %d answers", algorithm, relation, r.Records, r.Configured, r.Dim,
					r.Answers)
			}
			if o.Effort.Climbs > 0 && len(r.Searched) != len(Forms()) {
				t.Errorf("%s, %s: searched %d forms of %d", algorithm, relation, len(r.Searched), len(Forms()))
			}
		}
	}
}

// TestConfigRefusals tests that RunConfig refuses a configuration for which no plan exists, and
// gives the reason.
func TestConfigRefusals(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"loss: logistic", "loss: hing", "model.loss"},
		{"loss: logistic", "loss: huber(0.1)", "is for a number"},
		{"radius: 5", "radius: -5", "radius"},
		{"steps: 6", "steps: -6", "steps"},
		{"replace-one, records: 400", "add-or-remove", "privacy.records"},
		{"epsilon: 2", "epsilon: -2", "epsilon"},
	} {
		_, err := RunConfig(context.Background(), configuration(t, test.old, test.new), little)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v: must speak of %s", test.new, err, test.want)
		}
	}
}

// TestConfigCountsNothing tests a configuration without privacy.records: the audit uses a number of
// records of its own and does not count the table's rows.
func TestConfigCountsNothing(t *testing.T) {
	o := little
	o.Effort.Climbs = -1
	r, err := RunConfig(context.Background(), configuration(t, ", records: 400", ""), o)
	if err != nil || r.Records != 60 || r.Configured != 0 {
		t.Errorf("%d records, configured %d: %v", r.Records, r.Configured, err)
	}
}

// TestConfigMeasures tests that the queries that train.measure adds after the run are audited, too.
func TestConfigMeasures(t *testing.T) {
	o := little
	o.Effort.Climbs = -1
	r, err := RunConfig(context.Background(), configuration(t, "steps: 6", "steps: 6, measure: 0.1"), o)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range r.Findings {
		found[f.Kind] = true
	}
	if !found["value"] || !found["norm"] || r.Answers != 10 {
		t.Errorf("%d answers, kinds %v", r.Answers, found)
	}
}

// TestAttackStaysBelowTheClaim tests that the attack distinguishes the worst tables of a run with
// little noise, and that its lower bound on mu stays below the mu that the budget claims. The bound
// holds only with 95% confidence, but the seed is fixed, so the test always gives the same result.
func TestAttackStaysBelowTheClaim(t *testing.T) {
	o := little
	if o.Runs = 400; testing.Short() {
		o.Runs, o.Effort.Climbs = 100, -1
	}
	r, err := RunConfig(context.Background(), configuration(t, "epsilon: 2", "epsilon: 12", "steps: 6", "steps: 6, base: off"), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Attack == nil || !(r.Attack.Mu > .25*r.Guarantee.Mu) || !(r.Attack.Mu <= r.Guarantee.Mu) {
		t.Errorf("attack %+v: must find mu between a quarter of %v and all of it", r.Attack, r.Guarantee.Mu)
	}
}

// TestTextSaysWhatItDoesNotShow tests that the text of an audit's result begins with the violations
// and says what an audit cannot show.
func TestTextSaysWhatItDoesNotShow(t *testing.T) {
	r := Result{Report: Report{Subject: "people", Relation: account.AddOrRemove,
		Violations: []Violation{{"sensitivity", "random", "too far"}}}}
	text := r.String()
	if !strings.HasPrefix(text, "VIOLATION    sensitivity: too far (random)\n") || !strings.Contains(text, "shows not") {
		t.Errorf("text:\n%s", text)
	}
	if !errors.Is(r.Err(), ErrViolated) || (Result{}).Err() != nil {
		t.Error("Err must be ErrViolated for a violation and nil without")
	}
}

func ExampleSearch() {
	l, err := loss.Parse("tanh")
	if err != nil {
		panic(err)
	}
	found, err := Search(context.Background(), l, account.ReplaceOne, "difference by curvature", 0, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println("within the charged sensitivity:", found.Ratio <= 1)
	fmt.Println("within a tenth of it:", found.Ratio >= .9)
	// Output:
	// within the charged sensitivity: true
	// within a tenth of it: true
}

// TestIntervalsAreReplayed tests configurations that request confidence intervals, for rows and for
// privacy units, under both relations. The run that computes the intervals must be replayed on
// neighbouring tables, and no answer may move by more than its charge allows.
func TestIntervalsAreReplayed(t *testing.T) {
	for _, change := range [][]string{nil, {"replace-one", "add-or-remove"},
		{"    note: ignore\n", "", "  where: site=a\n", "  where: site=a\n  unit: {column: note, rows: 3}\n"}} {
		change = append(change, "train: {algorithm: gd, steps: 6}\n", "inference: {level: 0.9}\n",
			", regularizer: l2(0.01), radius: 5", "")
		o := little
		o.Effort.Climbs = -1
		r, err := RunConfig(context.Background(), configuration(t, change...), o)
		if err != nil {
			t.Fatalf("%q: %v", change, err)
		}
		if err := r.Err(); err != nil || r.Summary.Algorithm != "intervals" || r.Answers < 14 {
			t.Errorf("%q: %v: %d answers of %s", change, err, r.Answers, r.Summary.Algorithm)
		}
	}
}

// TestEffectsAreReplayed tests configurations with features of effects, under both relations. Both stages must be
// replayed on neighbouring tables: the rows of the second have features that follow from the released answers of the
// first, and no answer may move by more than its charge allows.
func TestEffectsAreReplayed(t *testing.T) {
	for _, change := range [][]string{nil, {"replace-one", "add-or-remove"}} {
		change = append(change, "train: {algorithm: gd, steps: 6}\n", "train: {algorithm: preconditioned, steps: 6}\n",
			", regularizer: l2(0.01), radius: 5", `, features: "effects(3,8)"`, "number: [0, 100]", "number: [0, 100], curve: 4")
		o := little
		o.Effort.Climbs = -1
		r, err := RunConfig(context.Background(), configuration(t, change...), o)
		if err != nil {
			t.Fatalf("%q: %v", change, err)
		}
		if err := r.Err(); err != nil || r.Summary.Steps != 12 || r.Answers < 12*2 {
			t.Errorf("%q: %v: %d answers of %d steps", change, err, r.Answers, r.Summary.Steps)
		}
	}
}

// TestRanksAreReplayed tests configurations whose curves get their knots by released ranks, for rows and for people
// of several rows, with features of effects, and under both relations. The question about ranks must be replayed on
// neighbouring tables, and the audit must find neighbours that move it by nearly all that is charged for, and no
// more. The rows of people are divided by a power of 2, so that 3 rows move the answer by at most sqrt(3)/2 of it.
// The answers after it are about rows with the knots that follow from it.
func TestRanksAreReplayed(t *testing.T) {
	for name, change := range map[string][]string{
		"rows":          nil,
		"add or remove": {"replace-one", "add-or-remove"},
		"surfaces": {"  target:", "  interactions: [[age, income], [age, sex], [sex, income]]\n  target:",
			"records: 400", "records: 400000"},
		"effects": {"algorithm: gd", "algorithm: preconditioned", ", regularizer: l2(0.01), radius: 5",
			`, features: "effects(3,8)"`},
		"people": {"    note: ignore\n", "", "  where: site=a\n", "  where: site=a\n  unit: {column: note, rows: 3}\n"},
		"few people": {"    note: ignore\n", "", "  where: site=a\n", "  where: site=a\n  unit: {column: note, rows: 2}\n",
			"replace-one", "add-or-remove",
			// Among the records that this audit draws with a base rate is none of two equal rows.
			"steps: 6", "steps: 3, ranks: 0.1, base: off"},
	} {
		change = append(change, "steps: 6", "steps: 3, ranks: 0.1", "number: [0, 100]", "number: [0, 100], curve: auto",
			"number: [0, 1e6]", "number: [0, 1e6], curve: auto, missing: indicator", "epsilon: 2", "epsilon: 8")
		o := little
		o.Effort.Climbs = -1
		r, err := RunConfig(context.Background(), configuration(t, change...), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := r.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		most := 0.
		for _, f := range r.Findings {
			t.Logf("%s: %s: %.4f, %s", name, f.Kind, f.Ratio, f.Neighbour)
			if f.Kind == query.RowMean.String() {
				most = f.Ratio
			}
		}
		want := .99
		if name == "people" {
			want = .86
		}
		if !(most >= want) {
			t.Errorf("%s: the question about ranks was moved by %.4f of what is charged for: want %v", name, most, want)
		}
	}
}

// TestRanksOfTheWholeTable tests that an audit asks about ranks where a fit of the configuration's own number of
// records does, although its generated table is too small for them, and that it does not where the fit does not.
func TestRanksOfTheWholeTable(t *testing.T) {
	for change, want := range map[string]bool{"records: 4000000": true, "records: 400": false} {
		o := little
		o.Effort.Climbs, o.Effort.Records, o.Effort.Positions = -1, 6, 1
		r, err := RunConfig(context.Background(), configuration(t, "records: 400", change, "number: [0, 100]",
			"number: [0, 100], curve: auto"), o)
		if err != nil {
			t.Fatal(err)
		}
		asked := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == query.RowMean.String() })
		if asked != want {
			t.Errorf("%s: ranks are asked for: %v, must be %v", change, asked, want)
		}
	}
}

// TestRefinedByRecords tests that an audit finds a schema that follows from records other than through released
// answers: here from the exact sum of the features, which no session tells.
func TestRefinedByRecords(t *testing.T) {
	c := configuration(t, "number: [0, 100]", "number: [0, 100], curve: 4")
	for _, leaks := range []bool{false, true} {
		table, err := drawn(c.Schema, 20, 3)
		if err != nil {
			t.Fatal(err)
		}
		b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		s := Subject{Name: "refined", Loss: loss.Logistic(), Budget: b, Table: table, Seed: 1}
		s.Run = func(ctx context.Context, o Oracle, _ func(optimize.Step)) (any, error) {
			q, err := query.New(b.Charge()/2, query.RowMeanOf(o.All(), c.Schema.Dim()))
			if err != nil {
				return nil, err
			}
			r, err := o.Ask(ctx, q)
			if err != nil {
				return nil, err
			}
			w := o.(*witness)
			high := r.Mean[0] > 0
			if leaks {
				high = w.Session.Exchanges()[0].Exact[0] > 0
			}
			text := strings.Replace("[0, 50, 75, 100]", "50, 75", map[bool]string{true: "50, 75", false: "25, 50"}[high], 1)
			to := configuration(t, "number: [0, 100]", "number: [0, 100], curve: "+text).Schema
			return nil, w.refine(to, refinedRow(c.Schema, to, s.Loss))
		}
		r, err := Run(context.Background(), s, Effort{Climbs: -1})
		if err != nil || r.Ended != "" {
			t.Fatal(err, r.Ended)
		}
		if (len(r.Violations) > 0) != leaks {
			t.Errorf("from exact sums: %v, violations %v", leaks, r.Violations)
		}
	}
}

// TestRefinedRows compares the rows of a refined schema, as an audit makes them of the rows of the former schema, with
// those of cells that the refined schema encodes: curves, surfaces and curves for each category, with other knots and
// with missing numbers. Hats may differ by a rounding to float32.
func TestRefinedRows(t *testing.T) {
	var schemas []*dataset.Schema
	for _, knots := range []string{"4", "[0, 10, 45, 52.5, 60, 100]", "65"} {
		c := configuration(t, "number: [0, 100]", "number: [0, 100], curve: "+knots, "number: [0, 1e6]",
			"number: [0, 1e6], curve: 5, missing: indicator", "  target:",
			"  interactions: [[age, income], [age, sex], [sex, income]]\n  target:", "records: 400", "records: 4000000")
		c, err := c.For(4_000_000)
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, c.Schema)
	}
	straight := configuration(t, "number: [0, 100]", "number: [0, 100], missing: indicator", "number: [0, 1e6]",
		"number: [0, 1e6], curve: 9, missing: indicator", "  target:",
		"  interactions: [[age, income], [age, sex], [sex, income]]\n  target:").Schema
	for i, from := range append(schemas, schemas[0]) {
		to := schemas[(i+1)%len(schemas)]
		if i == len(schemas) {
			to = straight
		}
		a, err := drawn(from, 300, 5)
		if err != nil {
			t.Fatal(err)
		}
		b, err := drawn(to, 300, 5)
		if err != nil {
			t.Fatal(err)
		}
		change := refinedRow(from, to, loss.Logistic())
		if change.dim != to.Dim() || change.row(make([]float32, from.Dim()+1)) != nil {
			t.Errorf("%d features, must be %d", change.dim, to.Dim())
		}
		for k, x := range a.Rows {
			got := change.row(x)
			for j, want := range b.Rows[k] {
				if d := float64(got[j] - want); !(d*d <= 1e-13) {
					t.Fatalf("row %d: feature %d (%s) is %v: must be %v", k, j, to.Features()[j], got[j], want)
				}
			}
		}
	}
}
