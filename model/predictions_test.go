package model

import (
	"fmt"
	"slices"
	"testing"
)

// TestPredictionsByHand tests the predictions of the row a = .5 at a margin of .5 + .25: 3/4 of the way from the middle of
// the bounds -60 and 240 to the upper one, and the second class.
func TestPredictionsByHand(t *testing.T) {
	from := Source{Header: []string{"a", "b", "c"}, Cells: func(yield func([]string, error) bool) {
		_ = yield([]string{"0.5", "0", "0"}, nil) && yield([]string{"0.5"}, nil)
	}}
	for want, m := range map[string]*Model{
		`true "" [] 202.500000 [0.750000]`:                   makeModel(t, delay, "squared(1)", "none", 2, 0, 0, .5),
		`true "yes" [0.320821 0.679179] 0.000000 [0.750000]`: makeModel(t, classes, "logistic", "none", 2, 0, 0, .5),
	} {
		var got []string
		for p, err := range m.Predictions(t.Context(), from) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%v %q %.6f %.6f %.6f", p.OK, p.Class, p.Probabilities, p.Value, p.Margins))
		}
		if bad := `false "" [] 0.000000 []`; !slices.Equal(got, []string{want, bad}) {
			t.Errorf("%q: must be %q and %q", got, want, bad)
		}
	}
}
