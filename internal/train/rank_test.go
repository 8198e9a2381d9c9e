package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// placed returns the listed knots of the column age.
func placed(s *dataset.Schema) []float64 {
	for _, c := range s.Columns() {
		if c.Name == "age" {
			return c.Knots
		}
	}
	return nil
}

// TestBaseRateBeforeRanks: the base rate is released before the ranks of curves for two classes, and after
// them for others.
func TestBaseRateBeforeRanks(t *testing.T) {
	for name, want := range map[string]bool{"logistic": true, "poisson(0.5)": false, "squared(1)": false,
		"softmax(3)": false} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		base, ranks := &optimize.BaseRate{}, &Ranks{}
		for p, want := range map[*Planned]bool{{Base: base, Ranks: ranks}: want, {Base: base}: false, {Ranks: ranks}: false} {
			if got := p.BeginsEarly(l); got != want {
				t.Errorf("%s, base rate %v, ranks %v: before ranks: %v: must be %v", name, p.Base != nil, p.Ranks != nil, got, want)
			}
		}
	}
}

// TestRanksPlaceKnots: a fit that releases ranks charges their share before all but the base rate, leaves the rest to the plan and the
// comparison, and its model has the planned number of knots at the places that follow from the distribution of ages,
// uniform from 20 to 79, for rows and for people of two rows. The noise of F has a standard deviation below .01 at this
// epsilon, and a knot moves by 3 if F moves by .08.
func TestRanksPlaceKnots(t *testing.T) {
	for _, unit := range []bool{false, true} {
		changes := []string{"  columns:", "  curves: auto\n  columns:", "epsilon: 1", "epsilon: 60",
			"relation: replace-one}", "relation: replace-one}\ntrain: {ranks: 0.25, algorithm: gd, steps: 3}"}
		if unit {
			changes = append(changes, "note: ignore", "", "  target:", "  unit: {column: note, rows: 2}\n  target:")
		}
		c := config(t, 3000, changes...)
		if unit {
			c = config(t, 3000, changes...)
			c.Data = Files{write(t, t.TempDir()+"/people.csv", ofPeople(people(3000)))}
		}
		planned, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r := planned.Ranks; r == nil || !slices.Equal(r.Columns, []string{"age"}) ||
			!(math.Abs(r.Charge/planned.Budget.Charge()-.25) <= 1e-12) {
			t.Fatalf("planned ranks %+v", r)
		}
		f, err := c.Fit(context.Background(), Options{Software: "test 1"})
		if err != nil {
			t.Fatal(err)
		}
		events := f.Ledger.Events()
		at := slices.IndexFunc(events, func(e account.Event) bool { return e.Question == query.RowMean.String() })
		if at != 2 { // two changes of the loss tell the shares of both classes
			t.Fatalf("ranks are release %d", at)
		}
		if e := events[at]; e.Question != query.RowMean.String() || !(math.Abs(e.Charge/f.Budget.Charge()-.25) <= 1e-6) {
			t.Errorf("first event %+v", e)
		}
		if share := f.Charged / f.Budget.Charge(); share > 1 || share < .999 {
			t.Errorf("%v of the budget charged", share)
		}
		got := placed(f.Model.Schema())
		if len(got) != knots(planned.Schema)["age"] {
			t.Fatalf("%d knots planned, %v", knots(planned.Schema)["age"], got)
		}
		// F(u) is (u - .2)/.6 from .2 to .8, so that (u + F)/2 is g = 4u/3 - 1/6 there.
		for k, x := range got {
			if g := float64(k) / float64(len(got)-1); g > .1 && g < .9 && !(math.Abs(x-100*(g+1./6)*.75) <= 3) {
				t.Errorf("knot %d of %v: must be near %v", k, got, 100*(g+1./6)*.75)
			}
		}
		if len(f.Model.Weights()) != planned.Dim || f.Schema.Dim() != planned.Features {
			t.Errorf("%d weights, %d features: %d, %d were planned", len(f.Model.Weights()), f.Schema.Dim(), planned.Dim,
				planned.Features)
		}
		if placed(c.Schema) != nil || placed(planned.Schema) != nil {
			t.Error("the configuration or the plan has knots by ranks")
		}
		text, err := f.Certificate.Bytes()
		if err != nil || !strings.Contains(string(text), `"ranks"`) {
			t.Errorf("the certificate does not name the ranks: %v", err)
		}
	}
}

// TestRanksRun: ranks are one question, for what was planned, about all records with 65 knots a curve. The schema
// that follows from its answer is the one that the session has from then on, and that is returned.
func TestRanksRun(t *testing.T) {
	c := config(t, 3000, "  columns:", "  curves: auto\n  columns:", "epsilon: 1", "epsilon: 60", "relation: replace-one}",
		"relation: replace-one}\ntrain: {ranks: 0.25, algorithm: gd, steps: 3}")
	c, err := c.resolved(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.prepare(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	heard := &hearing{Oracle: p.session}
	var now []*dataset.Schema
	got, err := p.planned.Ranks.Run(context.Background(), heard, c.Schema, p.loss, func(s *dataset.Schema) error {
		now = append(now, s)
		return p.session.Refine(s)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(now) != 2 || now[1] != got || len(heard.asked) != 1 {
		t.Fatalf("%d schemas and %d questions: must be one question between two schemas", len(now), len(heard.asked))
	}
	q, answer := heard.asked[0], heard.answers[0]
	if terms := q.Terms(); len(terms) != 1 || terms[0].Kind() != query.RowMean || q.Charge() != p.planned.Ranks.Charge ||
		len(answer.Mean) != now[0].Dim() || now[0].Dim() != c.Schema.Dim()+65-knots(c.Schema)["age"] {
		t.Errorf("asked for %v at %v of %d features", terms, q.Charge(), len(answer.Mean))
	}
	want, err := c.Schema.Ranked(p.planned.Ranks.Columns, answer.Mean)
	if err != nil || placed(got) == nil || !slices.Equal(placed(got), placed(want)) {
		t.Errorf("knots %v: must be %v, %v", placed(got), placed(want), err)
	}
}

// hearing is an oracle that keeps its questions and answers.
type hearing struct {
	optimize.Oracle
	asked   []query.Question
	answers []query.Release
}

func (h *hearing) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	r, err := h.Oracle.Ask(ctx, q)
	h.asked, h.answers = append(h.asked, q), append(h.answers, r)
	return r, err
}

// TestRowsOfARecord: all rows of a record count for the ranks, each by its features.
func TestRowsOfARecord(t *testing.T) {
	l, err := loss.NewUnits(loss.Logistic(), 2, false)
	if err != nil {
		t.Fatal(err)
	}
	record := []float64{1, 2, 3, 10, 20, 30, 7, 7, 7, 7, 7, 7} // the last six hold targets
	if got := describe.RowOf(record, 3, l); !slices.Equal(got, []float64{11, 22, 33}) {
		t.Errorf("two rows: %v", got)
	}
	if got := describe.RowOf(record[:3], 3, loss.Logistic()); !slices.Equal(got, []float64{1, 2, 3}) {
		t.Errorf("one row: %v", got)
	}
}

// TestRanksFit: ranks are not asked for where a record with 65 knots a curve is longer than a session takes, so that
// no fit fails after its budget is reserved.
func TestRanksFit(t *testing.T) {
	for rows, want := range map[string]bool{"10": true, "1000": false} {
		c := config(t, 10, "category: [f, m]", "hash: 16750", "[0, 100]}", "[0, 100], curve: 4}", "    note: ignore\n", "",
			"  target:", "  unit: {column: note, rows: "+rows+"}\n  target:")
		c.curves = []string{"age"}
		l, err := c.loss()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.fits(l); got != want {
			t.Errorf("%s rows of %d features: fit is %v", rows, c.Schema.Dim(), got)
		}
		b, err := c.budget()
		if err != nil {
			t.Fatal(err)
		}
		p, l, err := c.Problem(b, 1e6)
		if err != nil {
			t.Fatal(err)
		}
		if c.Train.Ranks = .1; !want {
			_, _, err = c.ranking(p, l)
			wantError(t, err, "rows with 65 knots a curve have too many features")
		} else if r, _, err := c.ranking(p, l); err != nil || r == nil {
			t.Errorf("%s rows: ranks %v, %v", rows, r, err)
		}
	}
}

// ofPeople makes pairs of rows of a table belong to the same person.
func ofPeople(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines[1 : len(lines)-1] {
		lines[i+1] = strings.Replace(line, ",x,", fmt.Sprintf(",%d,", i/2), 1)
	}
	return strings.Join(lines, "\n")
}

// TestRanksAreAskedWhereTheyHelp: without the setting, ranks are released from n mu = 1000 S on, where S^2 is 5, as
// computed by hand: 3 for age with its curve, and 1 each for sex and the intercept. mu is .2367, so that 9447
// records are needed. With train.ranks: off
// and for columns with given knots, they are not released at any size.
func TestRanksAreAskedWhereTheyHelp(t *testing.T) {
	for _, test := range []struct {
		records int
		changes []string
		ranked  bool
	}{
		{9_350, nil, false},
		{9_550, nil, true},
		{9_550, []string{"relation: replace-one", "relation: replace-one}\ntrain: {ranks: off"}, false},
		// No budget would be left to train, or to compare.
		{1_000_000, []string{"relation: replace-one", "relation: replace-one}\ntrain: {measure: .96"}, false},
		{1_000_000, []string{"relation: replace-one", "relation: replace-one}\ntrain: {measure: .995"}, false},
		{1_000_000, []string{"[0, 100]}", "[0, 100], curve: 5}"}, false},
		{1_000_000, []string{"  curves: auto\n", ""}, false},
		{1_000_000, []string{"{loss: logistic}", "{loss: logistic, reduce: jl(3)}"}, false},
		{1_000_000, []string{"{loss: logistic}", "{loss: logistic}\ninference: {level: .9}"}, false},
	} {
		changes := []string{"  columns:", "  curves: auto\n  columns:"}
		for i := 0; i+1 < len(test.changes); i += 2 {
			if test.changes[i] == "  curves: auto\n" {
				changes = []string{"{loss: logistic}", "{loss: logistic, family: lines}"}
				continue
			}
			changes = append(changes, test.changes[i:i+2]...)
		}
		c := config(t, 10, changes...)
		c.Privacy.Records = test.records
		p, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if (p.Ranks != nil) != test.ranked {
			t.Errorf("%d records, %q: ranks %+v", test.records, test.changes, p.Ranks)
		}
	}
}

// TestRanksAreRefused: train.ranks is refused where nothing could be asked or no budget is left, and where it is no
// share.
func TestRanksAreRefused(t *testing.T) {
	for _, test := range []struct {
		want    string
		changes []string
	}{
		{"no column has a curve", []string{"{loss: logistic}", "{loss: logistic, family: lines}"}},
		{"rows are reduced", []string{"  columns:", "  curves: auto\n  columns:", "{loss: logistic}",
			"{loss: logistic, reduce: jl(3)}"}},
		{"fixed before the table is read", []string{"  columns:", "  curves: auto\n  columns:", "{loss: logistic}",
			"{loss: logistic}\ninference: {level: .9}"}},
		{"leaves no budget to train", []string{"  columns:", "  curves: auto\n  columns:", "ranks: 0.1",
			"ranks: 0.7, measure: 0.3"}},
		{"train.ranks: is not possible with dp-sgd", []string{"  columns:", "  curves: auto\n  columns:",
			"ranks: 0.1", "ranks: 0.1, algorithm: dp-sgd, steps: 4"}},
		{"train.ranks = 9e-13: must be a share of the budget of at least", []string{"  columns:", "  curves: auto\n  columns:",
			"ranks: 0.1", "ranks: 9e-13"}},
		{"train.compare = 1e-300: must be a share of the budget of at least", []string{"ranks: 0.1", "compare: 1e-300"}},
		{"train.measure = 1e-300: must be a share of the budget of at least", []string{"ranks: 0.1", "measure: 1e-300"}},
	} {
		c := config(t, 3000, append([]string{"relation: replace-one}",
			strings.NewReplacer(test.changes...).Replace("relation: replace-one}\ntrain: {ranks: 0.1}")}, test.changes...)...)
		_, err := c.Plan(context.Background())
		wantError(t, err, test.want)
	}
	for _, value := range []any{"on", 1, 0, -.1, 1.5} {
		wantError(t, new(Train).Set(map[string]any{"ranks": value}), "must be off or a share of the budget")
	}
}
