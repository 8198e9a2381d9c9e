package synthetic

import (
	"math"
	"slices"
	"testing"
)

// TestExplain: of a score that is a function of one column plus a product of two others, the sum of functions of single
// columns must explain the first part, and the largest pair must be the two columns with about the rest of the variance.
// Bins must divide the rows, and their names must say missing cells and levels.
func TestExplain(t *testing.T) {
	s, moment, weights := people(t, 5000)
	p, err := New(s, moment, weights, 3, 8000)
	if err != nil {
		t.Fatal(err)
	}
	bins := p.Bins()
	var names []string
	for _, b := range bins {
		names = append(names, b.Column)
		var mass float64
		for _, m := range b.Mass {
			mass += m
		}
		if !(math.Abs(mass-1) <= 1e-9) || len(b.of) != 8000 || len(b.Names) < 3 || len(b.Names) > mostLevels+1 {
			t.Errorf("%s: mass %v in %q", b.Column, mass, b.Names)
		}
	}
	if want := []string{"age", "income", "rooms", "born", "region", "street"}; !slices.Equal(names, want) {
		t.Fatalf("columns %q", names)
	}
	if !slices.Contains(bins[1].Names, "missing") || slices.Contains(bins[0].Names, "missing") ||
		!slices.Contains(bins[4].Names, "north") || !slices.Contains(bins[4].Names, "other") {
		t.Errorf("names %q, %q", bins[1].Names, bins[4].Names)
	}
	score := make([]float64, 8000)
	rooms, street := p.readings[2], p.readings[5]
	for i := range score {
		score[i] = 2*p.readings[0][i] + 4*(rooms[i]+.2)*math.Copysign(1, street[i]-1.5)
	}
	e := p.Explain(score, bins)
	first := e.Pairs[0]
	if first.A != 2 || first.B != 5 || !(math.Abs(first.Share-(1-e.Sum)) < .3*(1-e.Sum)) || !(e.Pairs[1].Share < .6*first.Share) {
		t.Errorf("largest pair %d and %d with %v of %v, then %v", first.A, first.B, first.Share, 1-e.Sum, e.Pairs[1].Share)
	}
	if !(e.Alone[0] > .1 && e.Alone[0] < e.Sum+.05) || len(e.Alone) != 6 {
		t.Errorf("alone %v, sum %v", e.Alone, e.Sum)
	}
	var square, mass float64
	for j, row := range first.Effect {
		for k, v := range row {
			square += first.Mass[j][k] * v * v
			mass += first.Mass[j][k]
		}
	}
	if !(square > 0) || !(math.Abs(mass-1) <= 1e-9) {
		t.Errorf("mass %v, square %v", mass, square)
	}
	if e := p.Explain(make([]float64, 8000), bins); len(e.Alone) != 0 {
		t.Errorf("a constant score: %v", e)
	}
}
