package loss

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// poisson is the loss of counts. grouped says that the time of an event is known by its interval alone (newCloglog).
type poisson struct {
	clip, least float64
	grouped     bool
	odds        *odds // of newLogitHazard; nil for other losses
}

// Poisson is minus the log-likelihood of a count s at the rate e^z, without the terms that do not depend on z: e^z - s
// z. Its derivative e^z - s is clipped to [-clip, clip]. Counts and rates are fractions of the largest possible count:
// the target y in [-1, 1] encodes the count s = (1+y)/2. clip must be between 1e-6 and 1e6. If clip is at least 1, only
// derivatives above clip are clipped, since the derivative is never below -1.
//
// The derivative is unbounded as z grows. As in [Squared], Values returns the likelihood (continued
// linearly beyond z = 64, so that it stays finite), and Slopes and Curvatures are the derivatives
// of the clipped loss, which an optimizer minimises.
//
//	curvature: e^z where the derivative is not clipped (s - clip <= e^z <= s + clip), and 0
//	where it is clipped. The curvature is in [0, 1 + clip], with jumps
//
// Values are at least s - s ln s >= 0, and 1 at z = 0, where the derivative is in [0, 1]. A record
// of count 0 has the infimum 0, so InitialGap is 1. InitialGap also bounds the drop of the clipped
// loss below its value at z = 0, because clipping makes no derivative larger.
func Poisson(clip float64) (RankOne, error) {
	if err := checkScale("poisson", "clip", clip); err != nil {
		return nil, err
	}
	return poisson{clip: clip, least: 1}, nil
}

// PoissonRate is Poisson for counts over unequal exposures, such as years insured. The target of a
// record encodes the count s and the record's exposure q, as a fraction of the largest exposure
// ([Carry]). The loss is minus the log-likelihood of the count at the rate q e^z,
//
//	q e^z - s z, with its derivative q e^z - s clipped to [-clip, clip],
//
// so e^z is the rate at the largest exposure. least is a public lower bound of q, at least 1e-6 and below
// 1. A record with an exposure below least is invalid: its results are NaN.
//
// The drop from z = 0 to a record's infimum is q - s + s ln(s/q), which is convex in s and in q and
// largest at the ends of their intervals: InitialGap is max(1, least - 1 - ln least). The curvature lies
// in the interval of Poisson, [0, 1 + clip].
func PoissonRate(clip, least float64) (RankOne, error) {
	if err := checkScale("poisson-rate", "clip", clip); err != nil {
		return nil, err
	}
	if !(least >= minScale && least < 1) {
		return nil, fmt.Errorf("loss: poisson-rate: least = %v: must be between %v and 1, and less than that", least,
			minScale)
	}
	return poisson{clip: clip, least: least}, nil
}

// newCloglog returns the loss of a time to an event that is known by its interval alone: a complementary log-log model
// of the event in each interval (Prentice and Gloeckler 1978, Biometrics 34, 57-67). The target of a record encodes two
// baseline hazards: d over the interval of its event, as y = 2 d - 1 (0 without an event), and q over the time before
// that interval, as an exposure. With u = d e^z the loss is that of PoissonRate for no event, and for an event minus the
// logarithm of the probability e^(-q e^z) (1 - e^-u), without the constant ln d:
//
//	value: q e^z - z - ln((1 - e^-u)/u)
//	slope: q e^z - p,  p = u/(e^u - 1), in (0, 1]
//	curvature: q e^z + p (p+u-1)
//
// p is convex in u, and p + p (p+u-1) is p - u p', which falls from 1, its value at u = 0. All constants are therefore
// those of PoissonRate: the curvature is at most 1 + clip where the slope is at most clip. From one margin to another
// the loss of an event changes by q (e^b - e^a) minus a number between 0 and b - a, as a count between 0 and 1 does.
func newCloglog(clip, least float64) (Loss, error) {
	l, err := PoissonRate(clip, least)
	if err != nil {
		return nil, fmt.Errorf("loss: cloglog, whose parameters are those of poisson-rate: %w", err)
	}
	p := l.(poisson)
	p.grouped = true
	return p, nil
}

// Grouped names the link of a loss of times that are known by interval (dataset.Target.Grouped); "" for other losses.
func (p poisson) Grouped() string {
	switch {
	case p.odds != nil:
		return targetpair.Logit
	case p.grouped:
		return "cloglog"
	}
	return ""
}

// missed returns p = u/(e^u - 1), the curvature p (p+u-1) and ln((1 - e^-u)/u) of an event in an interval for which u
// events are expected (newCloglog).
func missed(u float64) (p, bend, log float64) {
	switch {
	case u < 1e-4:
		p, log = 1-u/2+float64(u*u/12), float64(u*u/24)-u/2
	case u <= 700:
		rest := repromath.OneMinusExp(u)
		p, log = float64(u*(1-rest))/rest, repromath.Log(rest/u)
	case u > 700:
		return 0, 0, -repromath.Log(min(u, math.MaxFloat64))
	default:
		return u, u, u // NaN
	}
	return p, float64(p * (p + u - 1)), log
}

// LeastExposure returns the lower bound of exposures (least) of a [PoissonRate] loss, or of a negative binomial or
// Tweedie loss with exposures, which may be inside a network, a weighted or a [Units]. It returns 0 for any other loss.
func LeastExposure(l Loss) float64 {
	switch l := Unweighted(l).(type) {
	case poisson:
		if l.least < 1 {
			return l.least
		}
	case quasi:
		if l.exposure < 1 {
			return l.exposure
		}
	}
	return 0
}

// WithExposure returns the [PoissonRate] loss with the given least exposure and the clip of l, if l is a [Poisson] loss,
// and likewise for a negative binomial or Tweedie loss. If l is a network whose output loss is one of these, it returns
// the network with this loss as its output loss. Any other loss is an error.
func WithExposure(l Loss, least float64) (Loss, error) {
	if p, is := l.(poisson); is {
		return PoissonRate(p.clip, least)
	}
	if q, is := l.(quasi); is {
		return exposedOf(least, q, nil)
	}
	if n, is := networkOf(l); is {
		of, err := WithExposure(n.Network.Output, least)
		if err != nil {
			return nil, err
		}
		again := n.Network
		again.Output = of
		return NewNetwork(again)
	}
	instead := "subtract the offset from the target beforehand"
	if _, is := l.(gamma); is {
		instead = "divide the target by the exposure beforehand"
	}
	return nil, fmt.Errorf("loss %s takes no exposures: must be poisson, negbinomial or tweedie where there is an exposure or an "+
		"offset; or %s", l.Name(), instead)
}

// straight is the margin beyond which Values continues the loss linearly, so that values stay finite.
// For every allowed clip, the derivative is clipped at all margins beyond 64.
const straight = 64

// Counts reports whether l, or the output or row loss inside l, is a loss of counts.
func Counts(l Loss) bool {
	_, ok := Unweighted(l).(poisson)
	return ok
}

// Rate returns e^z, the expected count at the margin z as a fraction of the largest possible count.
func (poisson) Rate(z float64) float64 { return repromath.Exp(z) }

func (p poisson) Name() string {
	switch {
	case p.odds != nil:
		return format("logit-hazard", p.clip, p.least)
	case p.grouped:
		return format("cloglog", p.clip, p.least)
	}
	if p.least < 1 {
		return format("poisson-rate", p.clip, p.least)
	}
	return format("poisson", p.clip)
}

func (poisson) Target() Target { return Real }

func (p poisson) Constants() Constants {
	c := Constants{
		Lipschitz: p.clip, Curvature: CurvatureInterval{0, 1 + p.clip}, HessianLipschitz: math.Inf(1),
		InitialGap: max(1, p.least-1-repromath.Log(p.least)), Clipped: true,
	}
	if p.least < 1 {
		c.Loose = "bounds of records of the least exposure"
	}
	if p.odds != nil {
		c.InitialGap = max(1+64*p.least, repromath.Log1p(1/p.least))
		c.Loose = "bounds of records of the least odds, or of many intervals"
	}
	return c
}

// shares decodes a target: it returns the count s as a fraction of the largest count, and the
// exposure q as a fraction of the largest exposure. q is NaN if the exposure is below least. d is the hazard over the
// interval of an event that is known by its interval alone, and 0 otherwise.
func (p poisson) shares(y float64) (s, q, d float64) {
	q = 1
	if p.least < 1 {
		if y, q = Carried(Real, y); q < p.least-exposureRounding {
			q = math.NaN()
		}
	}
	if s = (1 + y) / 2; p.grouped && s > 0 {
		return 1, q, s
	}
	return s, q, 0
}

// exposureRounding is half of 2^-16: the rounding in [Carry] can lower an exposure by at most this number.
const exposureRounding = 0x1p-17

func (p poisson) Values(dst, z, y []float64)     { inBlocks(p, dst, z, y, values) }
func (p poisson) Slopes(dst, z, y []float64)     { inBlocks(p, dst, z, y, slopes) }
func (p poisson) Curvatures(dst, z, y []float64) { inBlocks(p, dst, z, y, curvatures) }

func (p poisson) block(dst, z, y []float64, of derivative) {
	if p.odds != nil {
		p.hazards(dst, z, y, of)
		return
	}
	var at, exp block
	c := at[:copy(at[:], z)]
	if of == values {
		for i, z := range z {
			c[i] = min(z, straight)
		}
	}
	for i, e := range exp.expBelow(c, 0) {
		s, q, d := p.shares(y[i])
		rate, events, more, log := float64(q*e), s, 0., 0.
		if d > 0 {
			events, more, log = missed(float64(d * e))
		}
		switch of {
		case values:
			v := rate - log
			if s != 0 || c[i] != c[i] { // for s = 0, the term s c is 0 even if c is infinite
				v -= float64(s * c[i])
			}
			if beyond := z[i] - c[i]; beyond > 0 {
				v += float64(beyond * (float64(q*repromath.Exp(straight)) - events))
			}
			dst[i] = v
		case slopes:
			dst[i] = clamp(rate-events, -p.clip, p.clip)
		case curvatures:
			dst[i] = bendWithin(rate-events, p.clip, rate+more)
		}
	}
}
