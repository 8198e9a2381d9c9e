package stationarity

import (
	"fmt"
	"math"
	"slices"
)

// Rise is an empirical bound on the excess of a loss F over its minimum, in the form of the KL
// condition:
//
//	F(w) - min F <= (Gamma ||grad F(w)||)^Kappa
//
// The bound holds at every point that EstimateRise used. Kappa is the exponent that fits these points
// best. At other points the bound may fail.
type Rise struct {
	Kappa float64 `json:"kappa"`
	Gamma float64 `json:"gamma"`
	// Points is the number of points used.
	Points int `json:"points"`
}

// EstimateRise fits Kappa by least squares, as the slope of the logarithm of the excess over the
// logarithm of the gradient norm. Gamma is the least value for which the bound holds at every point.
// Points whose excess or gradient norm is not finite and > 0 are ignored. EstimateRise returns an error
// unless three points remain and their gradient norms span a factor of 2.
func EstimateRise(excess, gradient []float64) (Rise, error) {
	if len(excess) != len(gradient) {
		return Rise{}, fmt.Errorf("stationarity: rise: %d excesses, %d gradient norms: must be as many", len(excess),
			len(gradient))
	}
	var x, y []float64
	for i, e := range excess {
		if u, v := math.Log(gradient[i]), math.Log(e); !math.IsNaN(u-v) && !math.IsInf(u-v, 0) && !math.IsInf(u, 0) {
			x, y = append(x, u), append(y, v)
		}
	}
	if len(x) < 3 || slices.Max(x)-slices.Min(x) < math.Ln2 {
		return Rise{}, fmt.Errorf("stationarity: rise: %d points: must be 3 whose gradient norms span a factor of 2", len(x))
	}
	var mx, my, xx, xy float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
	}
	for i := range x {
		xx, xy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my)
	}
	r := Rise{Kappa: xy / xx, Points: len(x)}
	if !(r.Kappa > 0) {
		return Rise{},
			fmt.Errorf("stationarity: rise: kappa = %.3g fits best: must be > 0, as it is where gradients fade with the excess",
				r.Kappa)
	}
	for i := range x {
		r.Gamma = max(r.Gamma, math.Exp(y[i]/r.Kappa-x[i]))
	}
	return r, nil
}
