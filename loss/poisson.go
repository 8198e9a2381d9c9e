package loss

import "math"

type poisson struct{ clip float64 }

// Poisson is minus the log-likelihood of a count at the rate e^z, but for what no weight
// changes: e^z - s z, with its derivative e^z - s clipped to [-clip, clip]. Counts and
// rates are shares of the largest count there may be: y in [-1, 1] stands for s = (1+y)/2.
// clip is between 1e-6 and 1e6; above 1 it cuts predictions that are too high alone.
//
// The derivative is unbounded as z grows. As in Squared, Values are those of the
// likelihood, as far as floats go, and Slopes and Curvatures those of what is optimised.
//
//	curvature e^z where it is not clipped, so e^z <= s + clip: in [0, 1 + clip], with jumps
//
// Values are at least s - s ln s >= 0 and 1 at z = 0, where the derivative is in [0, 1]: a
// record of count 0 has the infimum 0, so InitialGap is 1. It bounds the range of what is
// optimised, too, whose derivative is nowhere longer.
func Poisson(clip float64) (RankOne, error) {
	if err := checkScale("poisson", "clip", clip); err != nil {
		return nil, err
	}
	return poisson{clip}, nil
}

// straight is the margin beyond which Values go on in a straight line, which is far beyond
// where any clip cuts: numbers stay finite.
const straight = 64

// Linked is a loss whose prediction is not the margin itself.
type Linked interface {
	// Prediction is that at a margin, in the units of y.
	Prediction(z float64) float64
}

// Counts reports whether a loss, or that of a network's outputs, takes targets for counts.
func Counts(l Loss) bool {
	if network, ok := l.(Composed); ok {
		l = network.Output()
	}
	_, ok := l.(poisson)
	return ok
}

// Prediction is the rate as a target, 2 e^z - 1: above 1 where more is predicted than
// the largest count there may be.
func (poisson) Prediction(z float64) float64 { return math.FMA(2, exp(z), -1) }

func (p poisson) Name() string { return format("poisson", p.clip) }
func (poisson) Target() Target { return Real }

func (p poisson) Constants() Constants {
	return Constants{
		Lipschitz: p.clip, Curvature: CurvatureInterval{0, 1 + p.clip}, HessianLipschitz: math.Inf(1),
		InitialGap: 1, Clipped: true,
	}
}

// share is s.
func (poisson) share(y float64) float64 { return (1 + y) / 2 }

func (p poisson) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		c, s := min(z[i], straight), p.share(y[i])
		v := exp(c)
		if s != 0 || c != c { // 0 times an infinity is 0 here
			v -= float64(s * c)
		}
		if beyond := z[i] - c; beyond > 0 {
			v += float64(beyond * (exp(straight) - s))
		}
		dst[i] = v
	}
}

func (p poisson) Slopes(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		dst[i] = clamp(exp(z[i])-p.share(y[i]), -p.clip, p.clip)
	}
}

func (p poisson) Curvatures(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		rate := exp(z[i])
		switch r := rate - p.share(y[i]); {
		case math.Abs(r) <= p.clip:
			dst[i] = rate
		case r != r:
			dst[i] = r
		default:
			dst[i] = 0
		}
	}
}
