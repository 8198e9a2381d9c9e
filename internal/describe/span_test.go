package describe

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// staged returns a stage in which a column x has hats with the given masses, in standard deviations of their noise.
func staged(masses ...float64) *stage {
	const sigma = .01
	s := &stage{sigma: sigma * spline.Scale, hats: map[string]dataset.Hats{"x": {First: 2, Width: len(masses)}},
		mean: []float64{7, 7}}
	for _, m := range masses {
		s.mean = append(s.mean, m*sigma*spline.Scale)
	}
	return s
}

// TestSpanOfMasses tests where a stage finds numbers: at a knot whose mass is 4.5 standard deviations, or at neighbours
// that are as sure together, and a knot more on either side. What lies elsewhere is beyond.
func TestSpanOfMasses(t *testing.T) {
	column := dataset.Column{Name: "x", Kind: dataset.Number, Low: -4, High: 40}
	for i := range 9 {
		column.Knots = append(column.Knots, float64(i*i-4)) // -4, -3, 0, 5, 12, 21, 32, 45, 60
	}
	for _, c := range []struct {
		name     string
		masses   []float64
		seen     bool
		low      float64
		high     float64
		positive bool
		beyond   float64 // in standard deviations
		of       int     // knots beyond
	}{
		{"one knot", []float64{1, 1, 0, 4.6, 0, 1, 0, 0, 1}, true, 0, 12, true, 4, 6},
		{"too little", []float64{0, 0, 0, 4.4, 0, 0, 0, 0, 0}, false, -4, 40, false, 0, 0},
		{"neighbours", []float64{0, 0, 0, 3.3, 3.3, 0, 0, 0, 0}, true, 0, 21, true, 0, 5},
		{"neighbours with too little", []float64{0, 0, 0, 3.1, 3.1, 0, 0, 0, 0}, false, -4, 40, false, 0, 0},
		{"below zero", []float64{0, 5, 0, 0, 0, 0, 0, 0, 0}, true, -4, 0, false, 0, 6},
		{"the first", []float64{9, 0, 0, 0, 0, 0, 0, 2, 0}, true, -4, -3, false, 2, 7},
		{"more than half", []float64{0, 0, 0, 9, 9, 9, 0, 0, 0}, true, -4, 40, false, 0, 0},
	} {
		got := staged(c.masses...).span(column)
		if got.seen != c.seen || got.low != c.low || got.high != c.high || got.positive != c.positive {
			t.Errorf("%s: %+v: must be %v to %v", c.name, got, c.low, c.high)
		}
		if !close(got.beyond.value, c.beyond*.01, 1e-9) || !close(got.beyond.variance, float64(c.of)*1e-4, 1e-9) {
			t.Errorf("%s: beyond %+v: must be %v of %d knots", c.name, got.beyond, c.beyond*.01, c.of)
		}
	}
	d := &describing{stages: []*stage{staged(1, 2)}}
	d.Schema = schemaOf(t)
	if got := d.foreseen(); !close(got*got, 1e-4*.25/.45, 1e-9) {
		t.Errorf("the noise of the second stage is %v: must be that of .45 in place of .25 of the budget", got)
	}
	in := span{low: 10, high: 20, seen: true}
	for bounds, want := range map[[2]float64][]float64{{0, 40}: {0, 10, 15, 20, 40}, {10, 40}: {10, 40. / 3, 50. / 3, 20, 40},
		{0, 20}: {0, 10, 40. / 3, 50. / 3, 20}, {10, 20}: {10, 12.5, 15, 17.5, 20}} {
		k := few(dataset.Column{Kind: dataset.Number, Low: bounds[0], High: bounds[1]}, in)
		for i := range want {
			if len(k) != len(want) || !close(k[i], want[i], 1e-12) {
				t.Errorf("bounds %v: knots %v: must be %v", bounds, k, want)
				break
			}
		}
	}
}

func schemaOf(t *testing.T) *dataset.Schema {
	t.Helper()
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}},
		Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
