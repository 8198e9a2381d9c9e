package losstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/loss"
)

func checkRegularizer(r loss.Regularizer) findings {
	var fs findings
	smooth, convex := r.Smoothness(), r.Convexity()
	if !(finite(smooth) && finite(convex) && smooth >= 0 && math.Abs(convex) <= smooth) {
		fs.add(ruleConstants, "Smoothness = %v, Convexity = %v: must be finite, |Convexity| <= Smoothness", smooth, convex)
		return fs
	}
	checkSpelling(&fs, r.Name())
	base, _, _ := strings.Cut(r.Name(), "(")
	if slices.Contains(loss.RegularizerNames(), base) {
		back, err := loss.ParseRegularizer(r.Name())
		if err != nil || back.Name() != r.Name() || back.Smoothness() != smooth || back.Convexity() != convex {
			fs.add(ruleName, "loss.ParseRegularizer makes %v, error %v", back, err)
		}
	}

	rng := rand.New(rand.NewPCG(0x5eed, 5))
	lo, hi := math.Inf(1), math.Inf(-1)
	var atLo, atHi string
	for _, d := range []int{1, 2, 5} {
		for k := range 1500 {
			w, v := normals(rng, d), normals(rng, d)
			rescale(v, 1)
			if k%2 == 0 { // a direction along an axis
				clear(v)
				v[k%d] = 1
			}
			for j := range w { // every coordinate has its own scale
				w[j] *= math.Pow(10, 3*rng.Float64()-2)
			}
			checkRegularizerGradient(&fs, r, w)
			const h = 1e-5
			c := (dot(gradientOf(r, shift(w, h, v)), v) - dot(gradientOf(r, shift(w, -h, v)), v)) / (2 * h)
			if c < lo {
				lo, atLo = c, fmt.Sprintf("w = %.6g along %.6g", w, v)
			}
			if c > hi {
				hi, atHi = c, fmt.Sprintf("w = %.6g along %.6g", w, v)
			}
		}
	}
	// rounding covers the rounding of gradients at |w| up to about 50, divided by 2h.
	rounding := 1e-8 * smooth
	checkBound(&fs, "Smoothness", "", smooth, max(hi, -lo), rounding, atHi+"; "+atLo)
	checkInterval(&fs, "", loss.CurvatureInterval{Lo: convex, Hi: max(hi, convex)}, lo, hi, rounding, atLo, atHi)

	w := normals(rng, 5)
	dst := normals(rng, 5)
	before, alone, kept := slices.Clone(dst), gradientOf(r, w), slices.Clone(w)
	r.AddGradient(dst, w)
	for j := range dst {
		if !(math.Abs(dst[j]-before[j]-alone[j]) <= 1e-12*(1+smooth)) {
			fs.add(ruleAdds, "coordinate %d goes from %v to %v, gradient %v", j, before[j], dst[j], alone[j])
		}
	}
	if !slices.Equal(w, kept) {
		fs.add(ruleSideEffects, "AddGradient writes to w")
	}
	for _, n := range [][2]int{{2, 3}, {3, 2}} {
		if !panics(func() { r.AddGradient(make([]float64, n[0]), make([]float64, n[1])) }) {
			fs.add(ruleLengths, "AddGradient with lengths %v does not panic", n)
		}
	}
	return fs
}

func gradientOf(r loss.Regularizer, w []float64) []float64 {
	dst := make([]float64, len(w))
	r.AddGradient(dst, w)
	return dst
}

// checkRegularizerGradient compares the gradient with central differences of the value, of step h. The error of a
// difference is at most the smoothness times h/4, plus rounding. The tolerance is twice the first part, plus rounding.
func checkRegularizerGradient(fs *findings, r loss.Regularizer, w []float64) {
	const h = 1e-5
	got := gradientOf(r, w)
	axis := make([]float64, len(w))
	tolerance := r.Smoothness()*h/2 + 0x1p-48*(math.Abs(r.Value(w))+r.Smoothness()*(1+norm(w)))/h
	for j := range w {
		axis[j] = 1
		want := (r.Value(shift(w, h, axis)) - r.Value(shift(w, -h, axis))) / (2 * h)
		axis[j] = 0
		if !(math.Abs(got[j]-want) <= tolerance) {
			fs.add(ruleSlope, "coordinate %d is %v, difference of values %v at w = %v", j, got[j], want, w)
		}
	}
}
