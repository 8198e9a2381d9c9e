package testloss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type saddle struct{}

// Saddle is a synthetic problem with a saddle at w = 0. A record's loss does not use y. It is -psi(z)/2 with the margin
// z and psi(z) = z^2/(1+z^2). Only with an l2 regularizer does the objective have a minimum. At w = 0 the Hessian of
// the mean loss is minus the second-moment matrix of the rows. The loss is not convex.
//
// The loss is minus [loss.GemanMcClure] at c = 1 and y = 0. The absolute value of its slope is therefore at
// most 3 sqrt(3)/16, its curvature is in [-1, 1/4], and its HessianLipschitz is that of GemanMcClure.
// Values lie between -1/2 and 0 (at z = 0). InitialGap is therefore 1/2.
func Saddle() loss.RankOne { return saddle{} }

func (saddle) Name() string        { return "saddle" }
func (saddle) Target() loss.Target { return loss.Real }

func (saddle) Constants() loss.Constants {
	opposite, err := loss.GemanMcClure(1)
	if err != nil {
		panic(err) // not reached: the constant 1 is valid
	}
	c := opposite.Constants()
	return loss.Constants{
		Lipschitz:        c.Lipschitz,
		Curvature:        loss.CurvatureInterval{Lo: -c.Curvature.Hi, Hi: -c.Curvature.Lo},
		HessianLipschitz: c.HessianLipschitz,
		InitialGap:       .5,
	}
}

func (saddle) Values(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		t := saddleMargin(z[i], y[i])
		dst[i] = float64(t*t) / math.FMA(t, t, 1) / -2
	}
}

func (saddle) Slopes(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		t := saddleMargin(z[i], y[i])
		v := 1 / math.FMA(t, t, 1)
		dst[i] = float64(float64(-t*v) * v)
	}
}

func (saddle) Curvatures(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		t := saddleMargin(z[i], y[i])
		v := 1 / math.FMA(t, t, 1)
		dst[i] = float64(float64(math.FMA(-4, v, 3)*v) * v)
	}
}

// saddleStop is the limit to which |z| is reduced if it is larger. z^2 is then finite, and values, slopes
// and curvatures are those of infinite z.
const saddleStop = 1e150

// saddleMargin returns the margin z limited to [-saddleStop, saddleStop], or NaN if the target y is
// NaN.
func saddleMargin(z, y float64) float64 {
	if y != y {
		return y
	}
	return min(max(z, -saddleStop), saddleStop)
}
