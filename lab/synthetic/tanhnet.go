package synthetic

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type tanhNet struct{}

// units is the number of hidden units of TanhNet.
const units = 4

// TanhNet is a network with one hidden layer of 4 tanh units and fixed output weights a_k, alternately 1/2
// and -1/2, under the logistic loss log(1 + e^-m). Here m = y sum_k a_k tanh(z_k), z = W x are the units'
// margins, and y is -1 or +1. The loss is nonconvex, and exchanging units with the same output weight does
// not change it. If the weights of two units with the same output weight are equal, the gradients in these
// weights are equal, and first-order methods without noise cannot separate the units. At a second-order
// stationary point, separating the units would not lower the loss to second order.
//
// With t_k = tanh(z_k), s_k = 1 - t_k^2, v = (a_k s_k) of norm at most 1, and p = 1/(1+e^m):
//
//	gradient -p y v: at most 1. The bound is not attained: at t = 0 it is 1/2, and p is at
//	most p(-2) = .881
//	Hessian p(1-p) v v' + 2 p y diag(a_k t_k s_k): v v' in [0, 1], p(1-p) <= 1/4,
//	|a_k| = 1/2 and |t s| <= 2/(3 sqrt 3): in [-2/(3 sqrt 3), 1/4 + 2/(3 sqrt 3)]
//	third derivative along a unit u: at most 1/(6 sqrt 3) + 3/4 * 2/(3 sqrt 3) + 1, by the
//	third derivatives of the logistic function and of tanh, |tanh'''| <= 2
//
// Values are at least log(1 + e^-2), and log 2 at z = 0. InitialGap is log 2 - log(1 + e^-2).
func TanhNet() loss.Margins { return tanhNet{} }

func (tanhNet) Name() string        { return "tanh-net" }
func (tanhNet) Target() loss.Target { return loss.Binary }
func (tanhNet) K() int              { return units }

func (tanhNet) Constants() loss.Constants {
	curvature := 2 / (3 * math.Sqrt(3))
	return loss.Constants{
		Lipschitz:        1,
		Curvature:        loss.CurvatureInterval{Lo: -curvature, Hi: .25 + curvature},
		HessianLipschitz: 1/(6*math.Sqrt(3)) + float64(3*curvature/4) + 1,
		InitialGap:       .5662192695169728, // log 2 - log(1 + e^-2)
		Loose:            "bounds of products are products of bounds",
	}
}

// output returns the network's margin m = y sum_k a_k tanh(z_k) for the target y, and sets t to the
// units' values tanh(z_k).
func (tanhNet) output(t *[units]float64, z []float64, y float64) (m float64) {
	for k := range t {
		t[k] = hyperbolic(z[k])
		m += float64(weight(k) * t[k])
	}
	return float64(y * m)
}

// weight returns the fixed output weight a_k of unit k.
func weight(k int) float64 { return .5 - float64(k%2) }

// hyperbolic returns tanh(z) = 1 - 2/(1 + e^2z), with the same bits on every machine.
func hyperbolic(z float64) float64 {
	t := []float64{0}
	halved.Values(t, []float64{z}, one)
	return 1 - t[0]
}

// halved is the loss whose Values returns 1 - tanh(z) for the target 1, from which hyperbolic computes
// tanh. one holds the target 1.
var halved, one = loss.Tanh(), []float64{1}

var logistic = loss.Logistic()

func (n tanhNet) Values(dst, z, y []float64) {
	n.check(len(dst), 1, z, y)
	for i := range dst {
		var t [units]float64
		logistic.Values(dst[i:i+1], []float64{n.output(&t, z[i*units:(i+1)*units], y[i])}, one)
	}
}

func (n tanhNet) Slopes(dst, z, y []float64) {
	n.check(len(dst), units, z, y)
	for i := range y {
		var t [units]float64
		slope := []float64{n.output(&t, z[i*units:(i+1)*units], y[i])}
		logistic.Slopes(slope, slope, one)
		for k := range t {
			s := math.FMA(-t[k], t[k], 1)
			dst[i*units+k] = float64(float64(slope[0]*y[i]) * float64(weight(k)*s))
		}
	}
}

func (n tanhNet) CurvaturesAlong(dst, z, u, y []float64) {
	n.check(len(dst), units, z, y)
	n.check(len(dst), units, u, y)
	for i := range y {
		var t, v [units]float64
		m := n.output(&t, z[i*units:(i+1)*units], y[i])
		slope, curvature, along := []float64{m}, []float64{m}, 0.
		logistic.Slopes(slope, slope, one)
		logistic.Curvatures(curvature, curvature, one)
		for k := range t {
			v[k] = float64(weight(k) * math.FMA(-t[k], t[k], 1))
			along += float64(v[k] * u[i*units+k])
		}
		for k := range t {
			own := float64(float64(-2*slope[0]*y[i]) * float64(v[k]*t[k]))
			dst[i*units+k] = float64(float64(curvature[0]*along)*v[k]) + float64(own*u[i*units+k])
		}
	}
}

func (tanhNet) check(dst, each int, z, y []float64) {
	checkLengths(dst, each*len(y), each*len(y))
	checkLengths(len(z), units*len(y), units*len(y))
}
