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
