package means

import (
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
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

// TestHiddenCurvesHaveNoEffect: the number of a curve whose formula lacks one knot has no effect and no interval, even if the
// weight of another knot is not 0. The number of a whole curve has an effect.
func TestHiddenCurvesHaveNoEffect(t *testing.T) {
	number := func(name string) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: 0, High: 1, Curve: 5}
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{number("a"), number("c")},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Hats()[1]
	f := &inference.Fit{Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5, Dropped: []int{c.First}}
	w := make([]float64, s.Dim())
	for j := range s.Dim() {
		if j != c.First && !slices.ContainsFunc(s.Hats(), func(h dataset.Hats) bool { return h.Reference() == j }) {
			f.Columns = append(f.Columns, inference.Column{Feature: j, Kept: j == s.Dim()-1})
			w[j] = float64(j+1) / 8
			f.Beta = append(f.Beta, w[j])
		}
	}
	for i := range f.Beta {
		for j := i; j < len(f.Beta); j++ {
			one := map[bool]float64{true: 1}[i == j]
			f.Metric, f.Sampling, f.Covariance = append(f.Metric, one), append(f.Sampling, one/100), append(f.Covariance, one/64)
		}
	}
	text, err := f.JSON()
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Params{Software: "a test", Complete: true, Loss: loss.Logistic(), Regularizer: loss.None(), Schema: s,
		Weights: w, Inference: text, Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6,
			Relation: account.ReplaceOne}, Neighbour: "a table with one row replaced by any other", Certificate: "certificate.json"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(t.Context(), m, Population{Header: []string{"a", "c"}, Rows: [][]string{{".8", ".9"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.List[1]; c.Estimate != nil || c.Low != nil || !strings.HasPrefix(c.Reason, "not in the formula: a column") {
		t.Errorf("%+v: a hidden curve must have no effect", c)
	}
	if a := got.List[0]; a.Estimate == nil || !(*a.Estimate > 0) || a.Reason != "noise hides a part of the curve of c" {
		t.Errorf("%+v: a whole curve must have an effect", a)
	}
}
