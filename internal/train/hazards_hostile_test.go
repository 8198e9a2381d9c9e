package train_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// timed fits rows with an entry, each of which change may alter: its cells are age, sex, years, died and since. It returns
// the fit, and the questions of its releases with their charges to nine digits.
func timed(t *testing.T, n int, change func(i int, row []string)) (*train.Fitted, []string) {
	t.Helper()
	c := timesConfig(t, n, 2, "", "cuts", "entry: since, cuts")
	c.Rows = &curator.Rows{Header: []string{"age", "sex", "years", "died", "since"}, Cells: func(yield func([]string, error) bool) {
		r := rand.New(rand.NewPCG(7, 8))
		for i := range n {
			age, at, until := r.NormFloat64(), r.ExpFloat64()/.15, 1+2*r.Float64() // a quarter has the event: far from manyEvents
			row := []string{fmt.Sprint(age), []string{"f", "m"}[i%2], fmt.Sprint(min(at, until)), fmt.Sprint(min(1, int(until/at))), "0"}
			change(i, row)
			if !yield(row, nil) {
				return
			}
		}
	}}
	fitted, err := c.Fit(t.Context(), train.Options{Software: "test v1"})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, e := range fitted.Ledger.Events() {
		asked = append(asked, fmt.Sprintf("%s %.9g", e.Question, e.Charge))
	}
	return fitted, asked
}

// badTimes are rows of each class that the rules for cells name, as years, died and since.
var badTimes = map[string][3]string{
	"negative time": {"-1", "1", "0"}, "negative entry": {"1", "1", "-1"}, "entry after exit": {"1", "1", "2"},
	"entry at exit": {"1", "0", "1"}, "event at time 0": {"0", "1", "0"}, "missing time": {"", "1", "0"},
	"missing event": {"1", "", "0"}, "unknown event": {"1", "perhaps", "0"}, "event 2": {"1", "2", "0"},
	"missing entry": {"1", "1", ""}, "after the end": {"1e300", "1", "0"}, "infinite": {"Inf", "1", "0"}, "text": {"x", "y", "z"},
	"not a number": {"NaN", "NaN", "NaN"}, "entry after the end": {"9", "1", "8"},
}

// TestBadTimesChangeNoControlFlow tests that one row of any class changes neither the success of a fit nor the questions and
// the charges of its releases.
func TestBadTimesChangeNoControlFlow(t *testing.T) {
	const n = 3000
	_, want := timed(t, n, func(int, []string) {})
	for name, bad := range badTimes {
		_, got := timed(t, n, func(i int, row []string) {
			if i == 17 {
				copy(row[2:], bad[:])
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d releases, which are not the %d of another row", name, len(got), len(want))
		}
	}
}

// TestEveryTimeTheSame tests that tables whose rows are all of one class, or without an event, without a censored row or
// at one time, give a finite model whose hazards have the sum 1.
func TestEveryTimeTheSame(t *testing.T) {
	tables := map[string][3]string{"no event": {"2", "0", "0"}, "no censored row": {"2", "1", "0"}, "before the first cut": {".1", "1", "0"},
		"at the last cut": {"3", "1", "0"}}
	for name, row := range badTimes {
		tables[name] = row
	}
	for name, all := range tables {
		f, _ := timed(t, 1500, func(i int, row []string) { copy(row[2:], all[:]) })
		sum := 0.
		for _, h := range f.Model.Schema().Target().Hazards {
			sum += h
			if !(h >= 0) {
				t.Errorf("%s: a hazard of %v", name, h)
			}
		}
		if !(math.Abs(sum-1) <= 1e-9) || slices.ContainsFunc(f.Model.Weights(), func(w float64) bool { return math.IsNaN(w) || math.Abs(w) > 1e3 }) {
			t.Errorf("%s: hazards with the sum %v, weights %v", name, sum, f.Model.Weights())
		}
	}
}

// TestTimesSpendTheirBudget tests the charges of a fit of the time to an event, over its budget: a twentieth for the hazard
// of all records, .02 for that of a record of margin 0, .13 for the pilot fit between the two, and the rest for the fit.
func TestTimesSpendTheirBudget(t *testing.T) {
	f, _ := timed(t, 3000, func(int, []string) {})
	var ofAll, pilot, ofBaseline, rest float64
	for _, e := range f.Ledger.Events() {
		share := e.Charge / f.Ledger.Budget().Charge()
		switch along := e.Question == "curvature along a direction"; {
		case along && rest == 0:
			ofBaseline += share
		case ofBaseline > 0:
			rest += share
		case e.Question == "difference of values" && pilot == 0:
			ofAll += share
		default:
			pilot += share
		}
	}
	for name, is := range map[string][2]float64{"of all records": {ofAll, .05}, "of the pilot fit": {pilot, .13},
		"of the baseline": {ofBaseline, .02}, "of the fit": {rest, .8}} {
		if !(math.Abs(is[0]-is[1]) <= 1e-6) {
			t.Errorf("the charge %s: %v: must be %v", name, is[0], is[1])
		}
	}
}
