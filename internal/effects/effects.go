// Package effects implements the arithmetic of features of effects. An effect is a number that a row has for
// each column, such as the column's part of a score. The features are the cosines and the sines of random
// linear combinations of a row's effects, so that a linear score of them can express interactions of the
// columns. The row map and the store of rows both use this package, so that their features have the same bits.
package effects

import (
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// Deviation is the standard deviation of the frequencies along each column, per unit of an effect divided by the
// scale of effects, where no others are given.
const Deviation = 2

// Limits of the numbers of features.
const (
	Least = 2
	Most  = 2000
)

// Basis has the features of rows with given columns: pairs (cos a_k, sin a_k), each multiplied by an amplitude.
// The angle a_k = sum_j omega_kj (f_j - c_j)/s is a combination of the effects f_j of columns j. The frequencies
// omega_kj are drawn from a public seed. A Basis is immutable and safe for concurrent use.
//
// A linear score of these features approximates a function of the effects that is smooth on the scale s/Deviation:
// the inner product of the features of two rows is close to a Gaussian of the distance of their effects (random
// Fourier features: Rahimi and Recht 2007, "Random Features for Large-Scale Kernel Machines", Claim 1). With several
// deviations it is close to the mean of such Gaussians.
type Basis struct {
	centres   []float64
	by        []float64 // omega_kj/s, column by column
	amplitude float64
}

// New returns a basis of the given even number of features, with frequencies drawn from the seed. centres are
// the centres c_j of the columns' effects, and scale is the scale s of effects. Of m deviations each is that of the
// frequencies of about a share 1/m of the pairs, the first of the first pairs; none means Deviation.
func New(seed uint64, features int, centres []float64, scale, amplitude float64, deviations ...float64) *Basis {
	pairs, p := features/2, len(centres)
	b := &Basis{centres: centres, by: make([]float64, pairs*p), amplitude: amplitude}
	for i, omega := range Frequencies(seed, pairs, p, deviations...) {
		b.by[i%p*pairs+i/p] = omega / scale
	}
	return b
}

// Frequencies draws the frequencies of pairs of features from a public seed: for each pair one number for each column,
// independent and normal with the standard deviation that New describes. The bits are the same on every machine.
func Frequencies(seed uint64, pairs, columns int, deviations ...float64) []float64 {
	const use = 0xeffec75 // other uses of a public seed have other numbers
	if len(deviations) == 0 {
		deviations = []float64{Deviation}
	}
	random := rand.NewPCG(seed, use)
	omega := make([]float64, pairs*columns)
	for i := range omega {
		k := i / columns
		omega[i] = float64(deviations[k*len(deviations)/pairs] * Normal(random))
	}
	return omega
}

// Normal returns a standard normal number, sqrt(-2 log u) cos(2 pi v) for uniform u and v (Box and Muller 1958). Its
// bits are the same on every machine.
func Normal(random *rand.PCG) float64 {
	u := float64(random.Uint64()>>11+1) * 0x1p-53 // in (0, 1], so that u-1 is exact
	v := float64(random.Uint64()>>11) * 0x1p-53
	_, cos := repromath.SinCos(float64(2 * math.Pi * v))
	return float64(float64(math.Sqrt(float64(-2*repromath.Log1p(u-1)))) * cos)
}

// Columns returns the number of effects of a row, and Features the number of features.
func (b *Basis) Columns() int  { return len(b.centres) }
func (b *Basis) Features() int { return len(b.by) / max(len(b.centres), 1) * 2 }

// Angles returns the numbers that the angle of pair k consists of: the angle is offset plus the sum of
// factors[j] times the effect of column j.
func (b *Basis) Angles(k int) (factors []float64, offset float64) {
	for j, c := range b.centres {
		factors = append(factors, b.by[j*b.Features()/2+k])
		offset -= float64(factors[j] * c)
	}
	return factors, offset
}

// Amplitude returns the number by which cosines and sines are multiplied.
func (b *Basis) Amplitude() float64 { return b.amplitude }

// Fill sets dst to the features of a row with the given effects, which it overwrites. The squared norm of the
// features is the number of pairs times the squared amplitude, up to the rounding to float32. An angle beyond
// repromath.MostAngle counts as this angle. Of several rows, the effects follow each other, and the features of a row
// start stride numbers after those of the row before it.
func (b *Basis) Fill(dst []float32, stride int, effects []float64) {
	for i := range effects {
		effects[i] -= b.centres[i%len(b.centres)]
	}
	repromath.Waves(dst, stride, b.Features()/2, b.by, effects, b.amplitude)
}
