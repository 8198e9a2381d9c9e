package measure

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Goldstein bounds the distance from 0 to the Goldstein subdifferential of radius alpha at w (Goldstein
// 1977): the convex hull of the gradients in the ball around w. It computes gradients of F, the mean loss
// over the sample plus the regularizer, at w and at further points of the ball. It returns the point of least norm in
// the convex hull of these gradients. For any choice of points at which F is differentiable, Norm of the result is an
// upper bound on the distance. Lower and Gap of the result refer only to the hull of the computed gradients.
//
// Points come by turns from two sources. The first are points w - s alpha g/||g|| (Zhang et al. 2020; Davis et al.
// 2022). Here g is the point of least norm in the hull of the gradients so far, and s is uniform in [0, 1]. If F falls
// by less than alpha ||g||/2 along the segment from w to w - alpha g/||g||, the mean inner product of g and the
// gradients on the segment is less than ||g||^2/2, and the new gradient lowers the least norm on average. If F falls by
// more, w is not stationary. The search stalls where all gradients on that segment are alike. The second are uniform
// points of the ball, which have other gradients in few dimensions. In many they are useless: at all but an
// exponentially small part of the ball, hardly any margin changes.
//
// The hull also has the exact mean of the gradients over the ball, if the loss is a generalised linear model with a
// [loss.Kinked] loss and there is no regularizer (see [SmoothedGradient]), so that the result is at most its norm.
//
// points is the number of points of each source, and seed is the seed of all draws. Goldstein returns an error if alpha
// is negative or not finite, if points is negative, or if the loss has no gradient.
func Goldstein(l loss.Loss, r loss.Regularizer, s stationarity.Sample, w []float64, alpha float64, points int,
	seed uint64) (MinNormPoint, error) {
	if !(alpha >= 0) || math.IsInf(alpha, 0) {
		return MinNormPoint{}, fmt.Errorf("measure: Goldstein: radius = %v: must be finite and >= 0", alpha)
	}
	if points < 0 {
		return MinNormPoint{}, fmt.Errorf("measure: Goldstein: points = %d: must be >= 0", points)
	}
	random := rand.New(rand.NewPCG(seed, 0x601d))
	var gradients [][]float64
	if l, ok := l.(loss.Kinked); ok && r == nil && alpha > 0 {
		by, err := loss.OverBall(len(w), alpha)
		if err != nil {
			return MinNormPoint{}, err
		}
		gradients = append(gradients, SmoothedGradient(l, by, nil, s, w))
	}
	var least MinNormPoint
	at := append([]float64(nil), w...)
	for i := range 2*points + 1 {
		g, err := stationarity.Gradient(l, r, s, at)
		if err != nil {
			return MinNormPoint{}, err
		}
		gradients = append(gradients, g)
		if least, err = MinNorm(gradients); err != nil || least.Norm == 0 {
			return least, err
		}
		direction, far := least.Point, alpha*random.Float64()/least.Norm
		if i%2 == 0 {
			direction = make([]float64, len(w))
			for j := range direction {
				direction[j] = random.NormFloat64()
			}
			far = alpha * math.Pow(random.Float64(), 1/float64(len(w))) / stationarity.Norm(direction)
		}
		for j, v := range direction {
			at[j] = w[j] - far*v
		}
	}
	return least, nil
}

// SmoothedGradient returns the gradient at w of the mean over the sample of the smoothed loss plus the
// regularizer, which is not smoothed. With loss.OverBall of radius r and no regularizer, the result is a
// mean of gradients at points within r of w. Its norm is then an upper bound on the distance that
// [Goldstein] bounds for alpha = r.
func SmoothedGradient(l loss.Kinked, by loss.Smoothing, r loss.Regularizer, s stationarity.Sample,
	w []float64) []float64 {
	g, slope := make([]float64, len(w)), make([]float64, 1)
	for i, x := range s.Rows {
		var square, margin float64
		for j, v := range x {
			square += float64(v) * float64(v)
			margin += w[j] * float64(v)
		}
		l.SmoothedSlopes(slope, []float64{margin}, s.Targets[i:i+1], []float64{math.Sqrt(square)}, by)
		for j, v := range x {
			g[j] += slope[0] * float64(v) / float64(len(s.Rows))
		}
	}
	if r != nil {
		r.AddGradient(g, w)
	}
	return g
}
