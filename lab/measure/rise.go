package measure

import (
	"fmt"
	"math"
	"slices"
)

// Rise is an empirical bound on the excess risk of an objective F, in the form of the KL condition:
//
//	F(w) - min F <= (Gamma ||grad F(w)||)^Kappa
//
// The bound holds at every point that EstimateRise used, and may fail at other points. Kappa is the
// exponent that fits the used points best.
type Rise struct {
	Kappa float64 `json:"kappa"`
	Gamma float64 `json:"gamma"`
	// Points is the number of points used.
	Points int `json:"points"`
}

// EstimateRise estimates Kappa and Gamma from points at which the excess risk and the gradient norm are
// known. Kappa is the slope of a line, fitted by least squares, of the logarithm of the excess risk against
// the logarithm of the gradient norm. Gamma is the least value for which the bound holds at every used
// point. A point is ignored unless its excess risk and its gradient norm are finite and > 0. EstimateRise
// returns an error if fewer than three points remain, if their gradient norms span less than a factor of 2,
// or if Kappa is not > 0.
func EstimateRise(excess, gradient []float64) (Rise, error) {
	if len(excess) != len(gradient) {
		return Rise{}, fmt.Errorf("measure: rise: %d excesses, %d gradient norms: must be as many", len(excess),
			len(gradient))
	}
	var x, y []float64
	for i, e := range excess {
		if u, v := math.Log(gradient[i]), math.Log(e); !math.IsNaN(u-v) && !math.IsInf(u-v, 0) && !math.IsInf(u, 0) {
			x, y = append(x, u), append(y, v)
		}
	}
	if len(x) < 3 || slices.Max(x)-slices.Min(x) < math.Ln2 {
		return Rise{}, fmt.Errorf("measure: rise: %d points: must be 3 whose gradient norms span a factor of 2", len(x))
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
			fmt.Errorf("measure: rise: kappa = %.3g fits best: must be > 0, as it is where gradients fade with the excess",
				r.Kappa)
	}
	for i := range x {
		r.Gamma = max(r.Gamma, math.Exp(y[i]/r.Kappa-x[i]))
	}
	return r, nil
}
