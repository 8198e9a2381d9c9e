package measure

import "testing"

// TestSlopeIsOfMedians: the slope must be the slope of the least-squares line through the medians of
// groups, of even and of odd size, computed by hand.
func TestSlopeIsOfMedians(t *testing.T) {
	for _, c := range []struct {
		y    [][]float64
		want float64
	}{
		{[][]float64{{0, 1}, {4, 1}}, 2},                 // medians 1/2 and 5/2
		{[][]float64{{3, 0, 9, 1}, {7}}, 5},              // medians 2 and 7
		{[][]float64{{5, 1, 2}, {0, 8, 8, 1, 100}}, 6},   // medians 2 and 8
		{[][]float64{{1, 2, 3, 100}, {3, 5, -50, 4}}, 1}, // medians 5/2 and 7/2
	} {
		i, err := Slope([]float64{10, 11}, c.y)
		if err != nil || i.Value != c.want {
			t.Errorf("%v: slope %v, %v: must be %v", c.y, i.Value, err, c.want)
		}
	}
}
