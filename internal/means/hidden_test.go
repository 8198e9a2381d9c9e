package means

import (
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// TestHiddenFeatures tests which features of two curves of five knots have no interval: missing numbers without a column,
// and all knots of a curve of which a knot other than its reference has none.
func TestHiddenFeatures(t *testing.T) {
	number := func(name string, curve int) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: 0, High: 1, Curve: curve}
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{number("a", 5), number("b", 0), number("c", 5)},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	hats := s.Hats()
	if len(hats) != 2 || hats[0].Width != 5 {
		t.Fatalf("%+v", hats)
	}
	knots := func(h dataset.Hats) (list []int) {
		for i := range h.Width {
			list = append(list, h.First+i)
		}
		return list
	}
	a, c := hats[0], hats[1]
	for name, of := range map[string]struct{ lacks, want []int }{
		"nothing":                     {nil, nil},
		"the references":              {[]int{a.Reference(), c.Reference()}, nil},
		"missing numbers of a":        {[]int{a.Reference(), a.Axes[0].Missing}, []int{a.Axes[0].Missing}},
		"the first knot of c":         {[]int{c.First}, knots(c)},
		"the last knot of a":          {[]int{a.First + 4, c.Reference()}, knots(a)},
		"all of c":                    {append(knots(c), c.Axes[0].Missing), append([]int{c.Axes[0].Missing}, knots(c)...)},
		"two knots of a and one of c": {[]int{a.First, a.First + 1, c.First + 4}, append(knots(a), knots(c)...)},
	} {
		f := new(inference.Fit)
		for j := range s.Dim() {
			if !slices.Contains(of.lacks, j) {
				f.Columns = append(f.Columns, inference.Column{Feature: j})
			}
		}
		if got := hidden(s, f); !slices.Equal(got, of.want) {
			t.Errorf("without %s: %v: must be %v", name, got, of.want)
		}
	}
}
