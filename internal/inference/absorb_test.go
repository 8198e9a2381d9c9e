package inference_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// TestAbsorb compares the carrier of dropped features with correlations of rows that are drawn by hand: feature 2 is
// feature 0 with another mean and half of the spread, up to noise; feature 3 is nobody's. The moments alone, without
// the means, would name feature 1 for feature 3.
func TestAbsorb(t *testing.T) {
	rows := [][]float64{{.4, .3, .1, .9, 1}, {-.2, .5, -.25, .8, 1}, {.6, .4, .25, .8, 1}, {-.8, .4, -.45, .9, 1}}
	m := mat.NewSymDense(5, nil)
	for _, r := range rows {
		m.SymRankOne(m, .25, mat.NewVecDense(5, r))
	}
	correlation := func(i, j int) float64 {
		var a, b, aa, bb, ab float64
		for _, r := range rows {
			a, b = a+r[i]/4, b+r[j]/4
		}
		for _, r := range rows {
			aa, bb, ab = aa+(r[i]-a)*(r[i]-a), bb+(r[j]-b)*(r[j]-b), ab+(r[i]-a)*(r[j]-b)
		}
		return ab / math.Sqrt(aa*bb)
	}
	columns := []inference.Column{{Feature: 1}, {Feature: 0}, {Feature: 4, Kept: true}}
	list := inference.Absorb(m, columns, []int{3, 2}, 1e-3)
	if len(list) != 1 || list[0].Feature != 2 || list[0].By != 0 || !(math.Abs(list[0].Correlation-correlation(0, 2)) <= 1e-9) {
		t.Fatalf("%+v: feature 2 has the correlation %v with feature 0, 3 has %v and %v", list, correlation(0, 2),
			correlation(3, 0), correlation(3, 1))
	}
	variance := func(i int) float64 { return m.At(i, i) - m.At(i, 4)*m.At(i, 4) }
	a, b, r := variance(0), variance(2), correlation(0, 2)
	// The derivatives of v/sqrt(a b) times the deviations of v, a and b.
	want := math.Hypot(1e-3/math.Sqrt2/math.Sqrt(a*b), math.Hypot(r/2/a*1e-3, r/2/b*1e-3))
	if !(math.Abs(list[0].Noise-want) <= 1e-12) {
		t.Errorf("noise %v: want %v", list[0].Noise, want)
	}
	negative := mat.NewSymDense(5, nil)
	negative.CopySym(m)
	for _, j := range []int{0, 1, 3, 4} {
		negative.SetSym(2, j, -m.At(2, j))
	}
	if list := inference.Absorb(negative, columns, []int{2}, 1e-3); len(list) != 1 || !(list[0].Correlation < -.9) {
		t.Errorf("the opposite: %+v", list)
	}
	// A covariance of less than four deviations of its noise names nobody.
	v := m.At(0, 2) - m.At(0, 4)*m.At(2, 4)
	for _, x := range []struct {
		sigma float64
		named bool
	}{{v * math.Sqrt2 / 3.9, false}, {v * math.Sqrt2 / 4.1, true}} {
		if list := inference.Absorb(m, columns, []int{2}, x.sigma); slices.ContainsFunc(list, func(a inference.Absorbed) bool { return a.By == 0 }) != x.named {
			t.Errorf("noise %v: %+v", x.sigma, list)
		}
	}
}
