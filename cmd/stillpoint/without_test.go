package main

import (
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestWithoutIntervals tests the warning of predict --intervals. It must name each term that the formula lacks,
// and there must be none for a formula that lacks only the level of unlisted cells, or for a model without
// intervals.
func TestWithoutIntervals(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "dose", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south", "west"}},
		},
		Target: dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	regularizer, err := loss.ParseRegularizer("none")
	if err != nil {
		t.Fatal(err)
	}
	// The features are age, dose, north (the reference level), south, west, other and the intercept.
	const d = 7
	for _, c := range []struct {
		dropped []int
		want    string
	}{
		{nil, ""},
		{[]int{5}, ""},
		{[]int{1}, "dose is left out"},
		{[]int{4, 1}, "region=west counts as the reference level; dose is left out"},
	} {
		f := &inference.Fit{Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5, Dropped: c.dropped}
		w := make([]float64, d)
		for _, j := range []int{0, 1, 3, 4, 5, 6} {
			if !slices.Contains(c.dropped, j) {
				f.Columns = append(f.Columns, inference.Column{Feature: j, Kept: j == d-1})
				f.Beta = append(f.Beta, 1)
				w[j] = 1
			}
		}
		for i := range f.Columns {
			for j := i; j < len(f.Columns); j++ {
				v := 0.
				if i == j {
					v = 1
				}
				f.Covariance, f.Sampling, f.Metric = append(f.Covariance, v), append(f.Sampling, v/2), append(f.Metric, v)
			}
		}
		m, err := model.New(model.Params{Complete: true, Software: "stillpoint v1.2.3", Loss: loss.Logistic(),
			Regularizer: regularizer, Schema: schema, Weights: w, Inference: f,
			Privacy: model.Privacy{Certificate: "certificate.json", Neighbour: "a table with one row replaced by any other",
				Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne}}})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.want != "" {
			want = "warning: predictions of rows that depend on these terms have no interval, since the formula of the fit " +
				"lacks the terms: " + c.want
		}
		if got := withoutIntervals(m); got != want {
			t.Errorf("dropped %v: %q: want %q", c.dropped, got, want)
		}
	}
}
