package account

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// fftBound times log2 N bounds the error of each entry of a Fourier transform of N = 2^k points,
// relative to the sum of the absolute values of its inputs. Each output is a sum over inputs, each
// multiplied by one factor per stage. A stage contributes a rounded complex product, at most two
// rounded sums and a twiddle factor. The twiddle factor has an error of 20 units of 2^-53, because
// its angle, up to 2 pi, has this error. The total is less than 32 units per stage.
const fftBound = 0x1p-48

// weighted is a grid law and the number of times it is used.
type weighted struct {
	law   gridLaw
	count float64
}

// convolution is the law of the sum of independent losses, tilted. mass[j] is e^(theta s -
// logScale) P(s) at the loss s = on(j), up to the absolute error slack and the relative error
// e^spread - 1.
type convolution struct {
	lattice
	mass     []float64
	theta    float64
	logScale float64
	slack    float64
	spread   float64
	// beyond bounds the tilted mass above the window. outside bounds the tilted mass on both sides
	// of the window, which the transform wraps into it.
	beyond, outside float64
}

// convolve composes laws by a Fourier transform of n points. The measure of each law is first
// tilted by e^(theta loss) and scaled to sum to 1. The losses that matter, however far in the tail,
// then hold the bulk of the transformed mass, and every error is relative to it. l.high and l.low
// are the exponents of the Chernoff bounds on the mass outside the window.
func convolve(e *effort, laws []weighted, l layout) (convolution, error) {
	out := convolution{lattice: lattice{width: l.width}, theta: l.theta}
	for _, w := range laws {
		out.offset += w.count * w.law.offset
	}
	first := math.Floor((l.bottom - out.offset) / l.width)
	if !(math.Abs(first) < exactIndex) {
		return out, errEffort
	}
	out.first = int(first) - 2
	stage := transformLabour / 2 * float64(l.n)
	s := newSpectrum(l.n)
	var logHigh, logLow float64
	for _, w := range laws {
		if err := e.spend(stage); err != nil {
			return out, err
		}
		clear(s.sequence)
		t := tilt(w.law, l.theta)
		for i, m := range t.mass {
			s.sequence[wrap(w.law.first+i, l.n)] += m
		}
		out.logScale += w.count * t.logScale
		out.spread += w.count * t.err
		out.spread += 0x1p-50 * math.Abs(w.count*t.logScale)
		logHigh += w.count * (t.logMoment(l.high, w.law.lattice) + t.err)
		logLow += w.count * (t.logMoment(-l.low, w.law.lattice) + t.err)
		s.multiply(w.count)
	}
	if err := e.spend(stage); err != nil {
		return out, err
	}
	mass, slack := s.invert()
	out.slack = slack
	out.mass = make([]float64, l.n)
	for j := range out.mass {
		out.mass[j] = mass[wrap(out.first+j, l.n)]
	}
	top, bottom := out.on(l.n), out.on(0)
	out.beyond = chernoff(logHigh, -l.high*top)
	out.outside = out.beyond + chernoff(logLow, l.low*bottom)
	return out, nil
}

// chernoff returns min(1, e^(a+b)), increased for rounding.
func chernoff(a, b float64) float64 {
	return 1.001 * math.Exp(min(0, a+b+0x1p-45*(math.Abs(a)+math.Abs(b))))
}

func wrap(i, n int) int { return i & (n - 1) } // n is a power of two

// tilted is a law multiplied by e^(theta loss - logScale), with sum 1. err bounds the relative
// error of each mass.
type tilted struct {
	mass          []float64
	logScale, err float64
}

func tilt(g gridLaw, theta float64) tilted {
	top, reach := math.Inf(-1), 0.0
	for i, m := range g.mass {
		if m > 0 {
			y := theta * g.on(i)
			reach = max(reach, math.Abs(y))
			top = max(top, math.Log(m)+y)
		}
	}
	t := tilted{mass: make([]float64, len(g.mass)), err: 0x1p-50 * (8 + reach)}
	if math.IsInf(top, -1) { // no mass at all
		return t
	}
	var sum float64
	for i, m := range g.mass {
		if m > 0 {
			e := m * math.Exp(theta*g.on(i)-top)
			t.mass[i] = e
			sum += e
		}
	}
	for i := range t.mass {
		t.mass[i] /= sum
	}
	t.logScale = top + math.Log(sum)
	t.err += 0x1p-51 * math.Abs(t.logScale)
	return t
}

// logMoment returns ln of the sum of mass e^(kappa loss).
func (t tilted) logMoment(kappa float64, on lattice) float64 {
	// The largest exponent is at an end of the lattice. Scaling by it prevents overflow.
	ends := max(kappa*on.on(0), kappa*on.on(len(t.mass)-1))
	scale := max(0, ends-600)
	var sum float64
	for i, m := range t.mass {
		if m > 0 {
			sum += m * math.Exp(kappa*on.on(i)-scale)
		}
	}
	if sum == 0 {
		return 0
	}
	return scale + math.Log(sum)
}

// spectrum accumulates a product of powers of transforms, with a bound on its error.
type spectrum struct {
	n        int
	fft      *fourier.FFT
	sequence []float64
	one      []complex128
	product  []complex128
	// logBound is ln of the product of (|transform| + error), each to its power. It bounds the
	// absolute values of both the exact and the computed product.
	logBound []float64
	// relative is ln of the ratio of this bound to the absolute value of the computed product.
	relative []float64
}

func newSpectrum(n int) *spectrum {
	s := &spectrum{
		n: n, fft: fourier.NewFFT(n), sequence: make([]float64, n),
		one: make([]complex128, n/2+1), product: make([]complex128, n/2+1),
		logBound: make([]float64, n/2+1), relative: make([]float64, n/2+1),
	}
	for k := range s.product {
		s.product[k] = 1
	}
	return s
}

// spectrumNegligible is ln of the absolute value below which an entry is replaced by 0. Its bound
// is added to the error.
const spectrumNegligible = -70

// multiply transforms sequence, whose sum is 1, and multiplies the product by its power count. With
// computed factors x^ and errors e, |prod x^ - prod x| <= prod (|x^|+e) - prod |x^| over the whole
// product. A power by squaring is counted as count-1 rounded products.
func (s *spectrum) multiply(count float64) {
	s.fft.Coefficients(s.one, s.sequence)
	e := fftBound * math.Log2(float64(s.n)) * (1 + 0x1p-30)
	for k, x := range s.one {
		if s.logBound[k] < spectrumNegligible {
			continue
		}
		size := cmplx.Abs(x)
		s.logBound[k] += count * math.Log(size+e)
		if s.logBound[k] < spectrumNegligible {
			continue
		}
		s.relative[k] += count * (math.Log1p(e/size) + 0x1p-50)
		s.product[k] *= power(x, int(count))
	}
}

func power(x complex128, n int) complex128 {
	out := complex(1, 0)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			out *= x
		}
		x *= x
	}
	return out
}

// invert returns the convolution and a bound on the error of each entry.
func (s *spectrum) invert() (mass []float64, slack float64) {
	var size float64
	for k, x := range s.product {
		twice := 2.0
		if k == 0 || k == s.n/2 {
			twice = 1
		}
		if s.logBound[k] < spectrumNegligible {
			s.product[k] = 0
			slack += twice * math.Exp(s.logBound[k])
			continue
		}
		a := cmplx.Abs(x)
		size += twice * a
		if r := s.relative[k]; r < 1 {
			slack += twice * a * math.Expm1(r)
		} else {
			slack += twice * math.Exp(s.logBound[k])
		}
	}
	s.fft.Sequence(s.sequence, s.product)
	for i := range s.sequence {
		s.sequence[i] /= float64(s.n)
	}
	slack += size * fftBound * math.Log2(float64(s.n)) * (1 + 0x1p-20)
	return s.sequence, 1.0001 * slack / float64(s.n)
}
