package query_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestNamesOfQuestions: a name has the names of all terms, a second moment of a block says that it has pairs if it has any, and a
// selection says by what it chooses.
func TestNamesOfQuestions(t *testing.T) {
	c, w := query.NewCohort(3, 100), []float64{1, 2}
	named := func(terms ...query.Term) string {
		q, err := query.New(.1, terms...)
		if err != nil {
			t.Fatal(err)
		}
		return q.Name()
	}
	gradient := query.GradientAt(c, w, 1)
	for got, want := range map[string]string{
		named(gradient): "gradient", named(gradient, query.DifferenceWithin(c, w, []float64{0, 0}, .5)): "gradient+difference",
		named(query.BlockMomentOf(c, []bool{false, false, false})): "squared features", named(query.BlockMomentOf(c, []bool{true, false, false})): "squared features",
		named(query.BlockMomentOf(c, []bool{true, true, false})): "squared features and pairs", (query.Question{}).Name(): "", (query.Selection{}).Name(): "selection",
	} {
		if got != want {
			t.Errorf("%q: must be %q", got, want)
		}
	}
	s, err := query.NewSelection(1, query.NormAt(c, w, 1, nil), query.NormAt(c, []float64{3, 4}, 1, nil))
	if err != nil || s.Name() != "selection by norm" || len(s.Questions()) != 2 || s.Epsilon() != 1 {
		t.Errorf("%q, %v", s.Name(), err)
	}
}

// TestSelectionsRefuse tests every refusal of a selection: its number of candidates, its epsilon, and a candidate that differs from
// the first in each respect.
func TestSelectionsRefuse(t *testing.T) {
	c := query.NewCohort(3, 100)
	at := func(c query.Cohort, clip float64, w ...float64) query.Term { return query.NormAt(c, w, clip, nil) }
	first := at(c, 1, 1, 2)
	for want, s := range map[string]struct {
		epsilon float64
		terms   []query.Term
	}{
		"query: selection: 1 candidates: must be between 2 and 65536":                               {1, []query.Term{first}},
		"query: selection: 65537 candidates: must be between 2 and 65536":                           {1, make([]query.Term, 65537)},
		"query: selection: epsilon = 16.5: must be between 2^-40 and 16":                            {16.5, []query.Term{first, first}},
		"query: selection: epsilon = 4e-13: must be between 2^-40 and 16":                           {4e-13, []query.Term{first, first}},
		"query: selection: candidate 1: cohort 4: must be that of the first, 3":                     {1, []query.Term{first, at(query.NewCohort(4, 100), 1, 1, 2)}},
		"query: selection: candidate 1: weight = 2: must be 1":                                      {1, []query.Term{first, first.Weighted(2)}},
		"query: selection: candidate 1: clip {3 0}: must be that of the first, {1 0}":               {1, []query.Term{first, at(c, 3, 1, 2)}},
		"query: selection: candidate 2: point has 3 coordinates: must have as many as the first, 2": {1, []query.Term{first, first, at(c, 1, 1, 2, 3)}},
	} {
		if _, err := query.NewSelection(s.epsilon, s.terms...); err == nil || err.Error() != want {
			t.Errorf("%v: must be %q", err, want)
		}
	}
	value := query.ValueAt(c, []float64{1, 2}, .5, .5)
	if _, err := query.NewSelection(1, value, query.ValueAt(c, []float64{1, 2}, .25, .5)); err == nil {
		t.Error("candidates with other centres are chosen from")
	}
	for _, epsilon := range []float64{0x1p-40, 16} {
		if _, err := query.NewSelection(epsilon, first, at(c, 1, 5, 6)); err != nil {
			t.Errorf("epsilon %v: %v", epsilon, err)
		}
	}
}
