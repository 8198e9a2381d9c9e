package mechanism

import (
	"math"
	"math/cmplx"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"gonum.org/v1/gonum/dsp/fourier"
)

// transformLabour is the estimated work of a Fourier transform for each point and each law, in units
// of about one exponential.
const transformLabour = 16

// fftBound times log2 N bounds the rounding error of each entry of a Fourier transform of N = 2^k points, relative to
// the sum of the absolute values of its inputs. Each output is a sum over inputs, where each input is multiplied by one
// factor in each of the log2 N stages. The errors of a stage come from a rounded complex product, at most two rounded
// sums and the factor itself (the twiddle factor e^(-i a)). The factor has an error of at most 20 units of 2^-53,
// because its angle a, a float64 between 0 and 2 pi, is rounded with an error of at most this size. The total is less
// than 32 units per stage.
const fftBound = 0x1p-48

// weighted is the law of a mechanism's privacy loss on a grid, and the number of times the mechanism
// is used.
type weighted struct {
	law   gridLaw
	count float64
}

// convolution is the tilted law of a sum of independent losses. mass[j] approximates e^(theta s - logScale) P(s) for
// the loss s = on(j). The error of mass[j] is at most slack, plus a relative error of at most e^spread - 1.
type convolution struct {
	lattice
	mass     []float64
	theta    float64
	logScale float64
	slack    float64
	spread   float64
	// beyond bounds the tilted mass at losses above the window (the range of losses that the
	// transform covers). outside bounds the tilted mass above and below the window together. The
	// transform is cyclic, and so adds the mass outside the window to losses inside the window.
	beyond, outside float64
}

// convolve composes laws, which means that it convolves the laws of their privacy losses, by a Fourier transform of as
// many points as the window has. The measure of each law is first tilted, which means multiplied by e^(theta loss), and
// scaled to sum to 1. Most of the tilted mass is then at the losses that determine delta, however far in the tail of
// the law they are. Errors of the transform are small relative to the tilted mass. l.high and l.low are the exponents
// of the Chernoff bounds on the mass outside the window. It is an error if e allows too little work.
func convolve(e *effort, laws []weighted, l layout) (convolution, error) {
	out := convolution{lattice: lattice{width: l.width}, theta: l.theta}
	out.offset = vector.Sum(laws, func(w weighted) float64 { return w.count * w.law.offset })
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
	out.mass = vector.Make(l.n, func(j int) float64 { return mass[wrap(out.first+j, l.n)] })
	top, bottom := out.on(l.n), out.on(0)
	out.beyond = chernoff(logHigh, -l.high*top)
	out.outside = out.beyond + chernoff(logLow, l.low*bottom)
	return out, nil
}

// chernoff returns the Chernoff bound min(1, e^(a+b)) on a mass, increased by a bound on its rounding
// error.
func chernoff(a, b float64) float64 {
	return 1.001 * math.Exp(min(0, a+b+0x1p-45*(math.Abs(a)+math.Abs(b))))
}

func wrap(i, n int) int { return i & (n - 1) } // n is a power of two

// tilted is a law multiplied by e^(theta loss - logScale), so that its sum is 1. err bounds the
// relative error of each mass.
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
	vector.Divide(t.mass, sum)
	t.logScale = top + math.Log(sum)
	t.err += 0x1p-51 * math.Abs(t.logScale)
	return t
}

// logMoment returns the logarithm of the sum of mass e^(kappa loss) over all losses of the tilted
// law. on is the lattice of the losses. The result is 0 if there is no mass.
func (t tilted) logMoment(kappa float64, on lattice) float64 {
	// The largest exponent is at an end of the lattice. Dividing by its exponential prevents overflow.
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

// spectrum accumulates a product of powers of Fourier transforms, with a bound on its error.
type spectrum struct {
	n        int
	fft      *fourier.FFT
	sequence []float64
	one      []complex128
	product  []complex128
	// logBound[k] is ln of the product of (|transform| + error) at frequency k, over the transforms
	// of the laws, each factor to the power of the law's number of uses. e^logBound[k] bounds the
	// absolute values of both the exact and the computed product.
	logBound []float64
	// relative[k] is logBound[k] minus ln of the absolute value of the computed product, plus a bound on the rounding
	// of powers. e^relative - 1 bounds the relative error of the computed product.
	relative []float64
}

func newSpectrum(n int) *spectrum {
	return &spectrum{
		n: n, fft: fourier.NewFFT(n), sequence: make([]float64, n),
		one: make([]complex128, n/2+1), product: slices.Repeat([]complex128{1}, n/2+1),
		logBound: make([]float64, n/2+1), relative: make([]float64, n/2+1),
	}
}

// spectrumNegligible is the logarithm of a small number. An entry of the product of transforms whose
// absolute value is below this number is replaced by 0, and its bound is added to the error.
const spectrumNegligible = -70

// multiply transforms the field sequence, whose entries sum to 1, and multiplies the field product
// by the transform raised to the power count. With computed factors x^ and errors e of single
// factors, |prod x^ - prod x| <= prod (|x^|+e) - prod |x^| over the whole product. A power by
// repeated squaring has at most the error of count-1 rounded products.
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

// invert applies the inverse Fourier transform to the field product. It returns the masses of the
// convolution and a bound on the absolute error of each mass.
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
	vector.Divide(s.sequence, float64(s.n))
	slack += size * fftBound * math.Log2(float64(s.n)) * (1 + 0x1p-20)
	return s.sequence, 1.0001 * slack / float64(s.n)
}
