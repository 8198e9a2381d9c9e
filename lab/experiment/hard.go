package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// HuberMean is the family of mean estimation problems in the private lower bound of Arora et al. (2023),
// Theorem 2. Rows are in {-b, b}^d with b = 1/(4 sqrt d), so they have norm 1/4. Coordinate j has a mean of
// its own, drawn uniformly from .2 b to .8 b.
func HuberMean(d, rows int, seed uint64) (*Family, error) {
	return newFamily(signs, 0x40be, d, rows, seed, "huber-mean", "huber-mean", "")
}

func signs(r *rand.Rand, d int) population {
	positive := make([]float64, d)
	for j := range positive {
		positive[j] = .5 + (.2+.6*r.Float64())/2
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		x := make([]float64, d)
		for range n {
			for j := range x {
				x[j] = -1
				if r.Float64() < positive[j] {
					x[j] = 1
				}
			}
			rehearsal.Add(&s, x, 4*math.Sqrt(float64(d)), 0)
		}
		return s
	}
}

// HuberBias is the one-dimensional estimation of a coin's bias in the non-private lower bound of Arora et
// al. (2023), Theorem 7. A row is +1 with probability (1 + v p)/2 and otherwise -1, with p = 1/(4
// sqrt(rows)) and v = +1 or -1. The theorem bounds the population gradient for this number of independent
// rows. When the population gradient is measured, each row should therefore stand for one record only.
func HuberBias(d, rows int, seed uint64) (*Family, error) {
	if d != 1 {
		return nil, fmt.Errorf("experiment: huber-bias: dimension = %d: must be 1", d)
	}
	coin := func(r *rand.Rand, _ int) population {
		positive := .5 + (2*float64(r.IntN(2))-1)/(8*math.Sqrt(float64(rows)))
		return func(r *rand.Rand, n int) stationarity.Sample {
			s := rehearsal.NewSample(n)
			for range n {
				x := -1.
				if r.Float64() < positive {
					x = 1
				}
				rehearsal.Add(&s, []float64{x}, 1, 0)
			}
			return s
		}
	}
	return newFamily(coin, 0xb1a5, d, rows, seed, "huber-bias", "huber-bias", "")
}

// spike is the eigenvalue of the second moment of the rows of Saddle along their common direction.
const spike = .3

// Saddle returns a family with the objective -psi(<w,x>)/2 + (lambda/2)||w||^2, psi(z) = z^2/(1+z^2), on
// unit rows. The second moment of the rows has the eigenvalue .3 along a random direction, and smaller,
// equal eigenvalues along the other directions. lambda is .3 - gap. The start, 0, is a saddle. In the
// population the smallest eigenvalue of the Hessian at the start is -gap.
func Saddle(gap float64) func(d, rows int, seed uint64) (*Family, error) {
	name := fmt.Sprintf("saddle(%g)", gap)
	return func(d, rows int, seed uint64) (*Family, error) {
		if d < 4 {
			return nil, fmt.Errorf("experiment: %s: dimension = %d: must be >= 4, or no direction stands out", name, d)
		}
		if !(gap > 0 && gap < spike) {
			return nil, fmt.Errorf("experiment: %s: gap = %v: must be > 0 and < %v", name, gap, spike)
		}
		// lambda is rounded to 12 decimals, so that .3 - .05 prints as .25.
		lambda := math.Round((spike-gap)*1e12) / 1e12
		return newFamily(spiked, 0x5add, d, rows, seed, name, "saddle", fmt.Sprintf("l2(%g)", lambda))
	}
}

// spiked is a population of rows of norm 1. A row has the component sqrt(.3), with a random sign, along a
// random direction u. The rest is sqrt(.7) times a uniform unit vector orthogonal to u.
func spiked(r *rand.Rand, d int) population {
	u := make([]float64, d)
	for j := range u {
		u[j] = r.NormFloat64()
	}
	norm := stationarity.Norm(u)
	for j := range u {
		u[j] /= norm
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		for range n {
			v := make([]float64, d)
			var dot float64
			for j := range v {
				v[j] = r.NormFloat64()
				dot += v[j] * u[j]
			}
			for j := range v {
				v[j] -= dot * u[j]
			}
			sign := 2*float64(r.IntN(2)) - 1
			norm := stationarity.Norm(v)
			for j := range v {
				v[j] = math.Sqrt(1-spike)*v[j]/norm + sign*math.Sqrt(spike)*u[j]
			}
			rehearsal.Add(&s, v, 1, 0)
		}
		return s
	}
}
