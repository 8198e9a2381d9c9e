package mechanism

import "testing"

// TestRememberedAreWhatIsComputed tests that a result is the same whether it is computed or kept, and that results of
// other arguments are not mixed up.
func TestRememberedAreWhatIsComputed(t *testing.T) {
	var first []float64
	for round := range 2 {
		k := 0
		take := func(v float64, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				first = append(first, v)
			} else if v != first[k] {
				t.Errorf("result %d: %v, at first %v", k, v, first[k])
			}
			k++
		}
		for i := range 3 {
			x, delta := .5+float64(i), 1e-6/float64(i+1)
			for range 2 {
				take(GaussianMu(x, delta))
				take(GaussianEpsilon(x, delta))
				take(SelectionMu(x))
			}
		}
		if a, b := first[0], first[1]; a == b || first[0] != first[3] || first[0] == first[6] {
			t.Errorf("results %v", first)
		}
	}
}
