package inference

import (
	"slices"
	"testing"
)

// TestUnknownFeaturesOfACurve: a curve of three knots, 5 to 7, of which 6 is the reference. The feature of missing numbers, and
// the knots, have intervals apart from each other, and the reference needs none of its own.
func TestUnknownFeaturesOfACurve(t *testing.T) {
	for _, c := range []struct{ has, want []int }{
		{[]int{2, 5, 7}, nil},
		{[]int{2, 5, 6, 7}, nil},
		{[]int{5, 7}, []int{2}},
		{[]int{2, 7}, []int{5, 6, 7}},
		{[]int{2, 5}, []int{5, 6, 7}},
		{[]int{2, 5, 6}, []int{5, 6, 7}},
		{[]int{2}, []int{5, 6, 7}},
		{[]int{7, 3, 8}, []int{2, 5, 6, 7}},
		{nil, []int{2, 5, 6, 7}},
	} {
		f := &Fit{}
		for _, j := range c.has {
			f.Columns = append(f.Columns, Column{Feature: j})
		}
		if got := f.Unknown(2, 5, 3, 6); !slices.Equal(got, c.want) {
			t.Errorf("features %v: %v: must be %v", c.has, got, c.want)
		}
	}
}
