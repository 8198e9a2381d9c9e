package loss

import (
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// quasi is half the deviance of a number v >= 0 at the mean e^z for a variance that is a function of the mean (a
// quasi-likelihood; Wedderburn 1974, Biometrika 61, 439-447), with a capped slope. Numbers and means are fractions of
// the largest possible number: the target y in [-1, 1] encodes v = (1+y)/2. Its slope without the cap is
//
//	w(z) (1 - v/e^z),
//
// the relative residual times a weight of the mean, which of defines. The slope falls in v and rises in z, so the loss is
// convex. It is continued linearly where its slope is beyond [-clip, clip], as the loss of Huber is. Whatever the
// weight, the slope has the mean 0 at the mean of v: a wrong variance costs precision and does not move the fit, as
// long as the cap moves nothing.
//
// With exposures the target also encodes the exposure q of a record, as a fraction of the largest one ([Carry]), and the
// mean is q e^z. A record with an exposure below the least one is invalid: its results are NaN.
type quasi struct {
	of          deviance
	clip        float64
	most, scale float64 // the largest number, and the unit of the loss as a multiple of that of half a deviance
	name        string
	least       float64
	exposure    float64 // the least exposure, as a fraction of the largest; 1 if all are alike
	constants   Constants
}

// deviance is a quasi-likelihood without the cap. value returns half the deviance, which is 0 at z = ln v.
type deviance interface{ value(z, v float64) float64 }

// slopes computes the slopes in z without the cap and their derivatives, which are at least 0, for at most a block of
// records. values computes value of the deviance for them.
func (q *quasi) slopes(slope, bend, z, v []float64) {
	switch of := q.of.(type) { // not by an interface, with which the arguments would be allocated
	case negbinomial:
		of.slopes(slope, bend, z, v)
	case tweedie:
		of.slopes(slope, bend, z, v)
	}
}

func (q *quasi) values(dst, z, v []float64) {
	switch of := q.of.(type) {
	case negbinomial:
		of.values(dst, z, v)
	case tweedie:
		of.values(dst, z, v)
	}
}

// leastMean is the least mean of a constant, as a share of the typical mean that the parameters state.
const leastMean = 1e-6

func newQuasi(of deviance, clip, typical, most, scale float64, c Constants, name string) RankOne {
	q := quasi{of: of, clip: clip, most: most, scale: scale, name: name, least: leastMean * min(typical/most, 1), constants: c}
	q.constants.HessianLipschitz = math.Inf(1)
	return q.exposed(1)
}

// exposed returns the loss for exposures from least on. A cap makes no deviance larger; it falls in v up to the mean, and
// is convex in the logarithm of the mean, so that it is largest at ends.
func (q quasi) exposed(least float64) quasi {
	if q.exposure > 0 && q.exposure < 1 { // other exposures than before
		q.name = strings.Replace(q.name[:strings.LastIndex(q.name, ",")]+")", "-rate(", "(", 1)
	}
	q.exposure, q.constants.InitialGap = least, 0
	for _, margin := range []float64{0, repromath.Log(least)} {
		q.constants.InitialGap = max(q.constants.InitialGap, q.value(margin, 0), q.value(margin, 1))
	}
	if least < 1 {
		q.constants.Loose = "bounds of records of the least exposure"
		base, rest, _ := strings.Cut(q.name, "(")
		q.name = base + "-rate(" + strings.TrimSuffix(rest, ")") + "," + shown(least) + ")"
	}
	return q
}

// exposedOf returns the loss of build for exposures from least on.
func exposedOf(least float64, l RankOne, err error) (Loss, error) {
	if err != nil {
		return nil, err
	}
	if !(least >= minScale && least < 1) {
		return nil, fmt.Errorf("loss: %s: least exposure = %v: must be between %v and 1, and less than that", l.Name(), least,
			minScale)
	}
	return l.(quasi).exposed(least), nil
}

// negbinomial is minus the log-likelihood of a negative binomial count of the size theta, which has the variance m +
// m^2/theta at the mean m, divided by theta. size is theta as a fraction of the largest count. With s = m/(theta+m),
// the slope is (m-v)/(theta+m) = s - (1-s) v/theta: the relative residual for means far above theta, and a theta-th of
// Poisson's slope for means far below. The parameters are theta, in counts, the cap, and the largest count.
//
//	slope: in [-clip, min(clip, 1)]
//	curvature: s (1-s) (1 + v/theta) = s (1 - slope), in [0, 1 + clip]
type negbinomial struct{ size, log float64 }

func newNegbinomial(theta, clip, most float64) (RankOne, error) {
	if err := checkScale("negbinomial", "clip", clip); err != nil {
		return nil, err
	}
	size := theta / most
	if !(theta >= minScale && most >= minScale && size >= leastRatio && size <= 1/leastRatio) {
		return nil, fmt.Errorf("loss: negbinomial: theta = %v, most = %v: must be above %v, and their ratio between %v and %v",
			theta, most, minScale, leastRatio, 1/leastRatio)
	}
	c := Constants{Lipschitz: min(clip, max(1, 1/size)), Curvature: CurvatureInterval{0, 1 + clip},
		Loose: "bounds of counts far above theta"}
	name := format("negbinomial", theta, clip, most)
	return newQuasi(negbinomial{size, repromath.Log(size)}, clip, 1, most, theta, c, name), nil
}

func (n negbinomial) value(z, v float64) float64 {
	var dst [1]float64
	n.values(dst[:], []float64{z}, []float64{v})
	return dst[0]
}

// slopes computes slopes and their derivatives. Both probabilities come from the exponential e^-|u| of u = z - ln theta.
func (n negbinomial) slopes(slope, bend, z, v []float64) {
	var t block
	for i, z := range z {
		t[i] = z - n.log
	}
	var exp block
	for i, e := range exp.expOfSizes(t[:len(z)]) {
		s, rest, r := share(t[i], e), share(-t[i], e), v[i]/n.size
		slope[i], bend[i] = s-float64(rest*r), float64(float64(s*rest)*(1+r))
	}
}

// values is value for several records: the difference of (1+r) log(1 + e^u) - r u at two margins u. Above 0 this is
// u + (1+r) log(1 + e^-u).
func (n negbinomial) values(dst, z, v []float64) {
	var u, exp block
	log := func() []float64 {
		e := exp.expOfSizes(u[:len(z)])
		repromath.Log1ps(e, e)
		return e
	}
	of := func(u, log, r float64) float64 {
		if u > 0 {
			return u + float64((1+r)*log)
		}
		return float64((1+r)*log) - float64(r*u)
	}
	for i, z := range z {
		u[i] = z - n.log
	}
	var first, r block
	for i, l := range log() {
		r[i] = v[i] / n.size
		first[i] = of(u[i], l, r[i])
		u[i] = r[i]
	}
	repromath.Logs(u[:len(z)], u[:len(z)])
	for i, l := range log() {
		if dst[i] = first[i]; r[i] != 0 {
			dst[i] -= of(u[i], l, r[i])
		}
	}
}

// tweedie is half the Tweedie deviance for the variance m^p, 1 < p < 2 (a sum of a Poisson number of gamma amounts;
// Tweedie 1984; Jorgensen 1987), in units of a typical mean t: with x = ln(m/t), the slope is
//
//	w (1 - v/m),  w = (m/t)^(2-p) up to the mean at which w = clip, and clip beyond it
//
// Beyond that mean the variance is a multiple of m^2, as gamma's. unit is t as a fraction of the largest number, and
// knee the largest x before the weight is constant.
//
//	slope: in [-clip, clip], since w is at most clip
//	curvature: with a = w and b = w v/m = a - slope at most 2 clip, (2-p) a + (p-1) b up to the knee and b beyond it:
//	in [0, 2 clip]
//
// The parameters are p, the cap, and the typical and the largest number in the same unit.
type tweedie struct{ p, unit, log, knee float64 }

func newTweedie(p, clip, typical, most float64) (RankOne, error) {
	if err := checkScale("tweedie", "clip", clip); err != nil {
		return nil, err
	}
	unit := typical / most
	switch {
	case !(p >= 1.01 && p <= 1.99):
		return nil, fmt.Errorf("loss: tweedie: p = %v: must be between 1.01 and 1.99", p)
	case !(typical > 0 && most > 0 && unit >= leastRatio && unit <= 1):
		return nil, fmt.Errorf("loss: tweedie: mean = %v: must be a typical value of the target's mean, above 0 and at most the "+
			"largest number, %v", typical, most)
	}
	c := Constants{Lipschitz: clip, Curvature: CurvatureInterval{0, 2 * clip}, Loose: "bounds of numbers far above the mean"}
	of := tweedie{p, unit, repromath.Log(unit), repromath.Log(clip) / (2 - p)}
	name := format("tweedie", p, clip, typical, most)
	return newQuasi(of, clip, typical, most, math.Pow(typical, 2-p), c, name), nil
}

// terms returns the parts a and b of the slope a - b, for x = ln(m/t).
func (t tweedie) terms(x, v float64) (a, b float64) {
	w := float64((2 - t.p) * min(x, t.knee))
	if v != 0 {
		down := w - x
		if x < t.knee {
			down = float64((1 - t.p) * x)
		}
		b = float64(v / t.unit * repromath.Exp(down))
	}
	return repromath.Exp(w), b
}

// parts is terms for several margins.
func (t tweedie) parts(a, b *block, x, v []float64) {
	for i, x := range x {
		w := float64((2 - t.p) * min(x, t.knee))
		a[i], b[i] = w, w-x
		if x < t.knee {
			b[i] = float64((1 - t.p) * x)
		}
	}
	repromath.Exps(a[:len(x)], a[:len(x)])
	repromath.Exps(b[:len(x)], b[:len(x)])
	for i, v := range v {
		if b[i] = float64(v / t.unit * b[i]); v == 0 {
			b[i] = 0
		}
	}
}

// slopes computes slopes and their derivatives.
func (t tweedie) slopes(slope, bend, z, v []float64) {
	var a, b, x block
	for i, z := range z {
		x[i] = z - t.log
	}
	t.parts(&a, &b, x[:len(z)], v)
	for i, x := range x[:len(z)] {
		slope[i] = a[i] - b[i]
		if bend[i] = b[i]; !(x >= t.knee) {
			bend[i] = float64((2-t.p)*a[i]) + float64((t.p-1)*b[i])
		}
	}
}

// values is value for several records. Of records with a mean or a number beyond the knee it calls value.
func (t tweedie) values(dst, z, v []float64) {
	var a, b, c, d, x, least block
	for i, z := range z {
		x[i] = z - t.log
	}
	n := len(z)
	repromath.Logs(least[:n], v)
	for i, l := range least[:n] {
		least[i] = l - t.log
	}
	t.parts(&a, &b, x[:n], v)
	t.parts(&c, &d, least[:n], v)
	for i, v := range v {
		switch here := float64(a[i]/(2-t.p)) + float64(b[i]/(t.p-1)); {
		case x[i] <= t.knee && v == 0:
			dst[i] = here
		case x[i] <= t.knee && least[i] <= t.knee:
			dst[i] = here - (float64(c[i]/(2-t.p)) + float64(d[i]/(t.p-1)))
		default:
			dst[i] = t.value(z[i], v)
		}
	}
}

func (t tweedie) value(z, v float64) float64 {
	x := z - t.log
	if v == 0 {
		return t.integral(x, v)
	}
	least := repromath.Log(v) - t.log
	if min(x, least) > t.knee { // the integral up to the knee cancels, and may be beyond the largest float64
		a, b := t.terms(x, v)
		_, from := t.terms(least, v)
		return float64(a*(x-least)) + (b - from)
	}
	return t.integral(x, v) - t.integral(least, v)
}

// integral returns an antiderivative of the slope, which is 0 at minus infinity for v = 0.
func (t tweedie) integral(x, v float64) float64 {
	a, b := t.terms(min(x, t.knee), v)
	sum := float64(a/(2-t.p)) + float64(b/(t.p-1))
	if x > t.knee {
		_, far := t.terms(x, v)
		sum += float64(a*(x-t.knee)) + (far - b)
	}
	return sum
}

// Rate returns e^z, the mean at the margin z as a fraction of the largest number.
func (quasi) Rate(z float64) float64 { return repromath.Exp(z) }

// LeastMean returns the least mean that a constant may have, as a fraction of the largest number.
func (q quasi) LeastMean() float64 { return q.least }

// Grain returns what numbers must be told apart by, as a fraction of the largest number, and its text: the typical
// mean, or theta + 1 of counts.
func (q quasi) Grain() (share float64, text string) {
	if t, is := q.of.(tweedie); is {
		return t.unit, "the typical mean of the loss"
	}
	return (q.scale + 1) / q.most, "theta + 1"
}

// Deviance returns the deviance of a number at a mean, both in the unit of the target, without the cap.
func (q quasi) Deviance(v, mean float64) float64 {
	of := q.of
	if t, is := of.(tweedie); is {
		t.knee = math.Inf(1)
		of = t
	}
	return 2 * q.scale * of.value(math.Log(mean/q.most), v/q.most)
}

func (q quasi) Name() string         { return q.name }
func (quasi) Target() Target         { return Real }
func (q quasi) Constants() Constants { return q.constants }

// Most returns the largest number, in the unit of the target.
func (q quasi) Most() float64 { return q.most }

// best returns the margin at which the loss of the target y is least, or lowest for the number 0.
func (quasi) best(y float64) float64 {
	if y == -1 {
		return lowest
	}
	return max(repromath.Log((1+y)/2), lowest)
}

// lowest is a margin below that of any mean.
const lowest = -700

// value returns the loss of the number v.
func (q quasi) value(z, v float64) float64 {
	var dst [1]float64
	q.capped(dst[:], []float64{z}, []float64{v})
	return dst[0]
}

// capped computes the losses of several numbers, at most a block. Beyond the cap the loss is linear from the knee on, which
// lies between z and ln v and is found by halving.
func (q quasi) capped(dst, z, v []float64) {
	var slope, bend block
	q.slopes(slope[:len(z)], bend[:len(z)], z, v)
	q.values(dst, z, v)
	var steep, flat, number, middle block
	var at [len(block{})]int
	beyond := 0
	for i, s := range slope[:len(z)] {
		switch {
		case math.IsInf(z[i], 0) && s != 0:
			dst[i] = float64(math.Abs(z[i]) * math.Abs(s))
		case math.IsInf(z[i], 0):
			dst[i] = 0
		case !(math.Abs(s) > q.clip):
			dst[i] = max(dst[i], 0)
		default:
			at[beyond], steep[beyond], flat[beyond], number[beyond] = i, z[i], q.best(2*v[i]-1), v[i]
			beyond++
		}
	}
	if beyond == 0 {
		return
	}
	for range 80 {
		for i := range beyond {
			middle[i] = steep[i] + (flat[i]-steep[i])/2
		}
		q.slopes(slope[:beyond], bend[:beyond], middle[:beyond], number[:beyond])
		for i, s := range slope[:beyond] {
			if math.Abs(s) > q.clip {
				steep[i] = middle[i]
			} else {
				flat[i] = middle[i]
			}
		}
	}
	q.values(middle[:beyond], flat[:beyond], number[:beyond])
	for i, at := range at[:beyond] {
		dst[at] = max(middle[i], 0) + float64(q.clip*math.Abs(z[at]-flat[i]))
	}
}

// numbers writes, for at most a block of records, the numbers that targets encode to v, and margins with the logarithms of
// exposures to margin; NaN if a number is below 0 or an exposure below the least one.
func (q quasi) numbers(margin, v *block, z, y []float64) {
	n := copy(margin[:], z)
	copy(v[:], y)
	if q.exposure < 1 {
		var share block
		for i := range n {
			if v[i], share[i] = Carried(Real, v[i]); share[i] < q.exposure-exposureRounding {
				v[i], share[i] = math.NaN(), math.NaN()
			} else {
				share[i] = max(share[i], q.exposure) // a small share is stored as 0
			}
		}
		repromath.Logs(share[:n], share[:n])
		vector.Add(margin[:n], 1, share[:n])
	}
	for i := range n {
		if v[i] = (1 + v[i]) / 2; !(v[i] >= 0) {
			v[i] = math.NaN()
		}
	}
}

func (q quasi) Values(dst, z, y []float64)     { inBlocks(q, dst, z, y, values) }
func (q quasi) Slopes(dst, z, y []float64)     { inBlocks(q, dst, z, y, slopes) }
func (q quasi) Curvatures(dst, z, y []float64) { inBlocks(q, dst, z, y, curvatures) }

func (q quasi) block(dst, z, y []float64, of derivative) {
	n := len(dst)
	var margin, v, slope, bend block
	q.numbers(&margin, &v, z, y)
	if of == values {
		q.capped(dst, margin[:n], v[:n])
		return
	}
	q.slopes(slope[:n], bend[:n], margin[:n], v[:n])
	for i, s := range slope[:n] {
		if dst[i] = clamp(s, -q.clip, q.clip); of == curvatures {
			dst[i] = bendWithin(s, q.clip, bend[i])
		}
	}
}
