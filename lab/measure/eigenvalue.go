package measure

import (
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// LambdaMin returns the least eigenvalue of the Hessian at w of the mean loss over the sample plus the
// regularizer, which may be nil (see [stationarity.Lanczos] and [stationarity.HessianVector] for the accuracy).
func LambdaMin(l loss.Loss, r loss.Regularizer, s stationarity.Sample, w []float64) (stationarity.Eigenpair, error) {
	return stationarity.Lanczos(len(w), len(w), func(v []float64) ([]float64, error) {
		return stationarity.HessianVector(l, r, s, w, v)
	})
}
