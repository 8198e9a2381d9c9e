package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// This file has families whose minimum is known. Most of them satisfy a known KL condition
// (optimize.KL).

// LowRank returns a family of least squares on rows of norm 1 in a random subspace. The objective is
// strongly convex within the subspace and constant in the directions orthogonal to it. It satisfies the
// Polyak-Lojasiewicz condition (kappa 2) with gamma = 1/sqrt(2 e), where e is the smallest eigenvalue of
// the second moment within the subspace. A target is the margin of planted weights, with standard deviation
// .3, plus noise of standard deviation .2, clamped to [-1, 1].
func LowRank(rank int) func(d, rows int, seed uint64) (*Family, error) {
	name := fmt.Sprintf("low-rank(%d)", rank)
	return func(d, rows int, seed uint64) (*Family, error) {
		if rank < 1 || rank > d || rank >= rows {
			return nil, fmt.Errorf("experiment: %s: rank = %d: must be between 1 and the dimension, %d, and less than the rows",
				name, rank, d)
		}
		population := func(r *rand.Rand, d int) population { return inSubspace(r, d, rank) }
		f, err := newFamily(population, 0x10e4, d, rows, seed, name, "squared(1)", "")
		if err != nil {
			return nil, err
		}
		w, least, err := leastSquares(f.Sample, rank)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", name, err)
		}
		f.KL = optimize.KL{Kappa: 2, Gamma: 1 / math.Sqrt(2*least)}
		minimum, err := stationarity.Objective(f.Loss, nil, f.Sample, w)
		f.Minimum = &minimum
		return f, err
	}
}

func inSubspace(r *rand.Rand, d, rank int) population {
	q := rehearsal.Rotation(r, d)
	planted := make([]float64, rank)
	for k := range planted {
		planted[k] = r.NormFloat64()
	}
	norm := stationarity.Norm(planted)
	for k := range planted {
		planted[k] *= .3 * math.Sqrt(float64(rank)) / norm
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		for range n {
			u, x, z := make([]float64, rank), make([]float64, d), .2*r.NormFloat64()
			for k := range u {
				u[k] = r.NormFloat64()
			}
			norm := stationarity.Norm(u)
			for k := range u {
				z += planted[k] * u[k] / norm
				for j := range x {
					x[j] += q[k][j] * u[k] / norm
				}
			}
			rehearsal.Add(&s, x, 1+0x1p-20, math.Max(-1, math.Min(1, z))) // float32 may round up
		}
		return s
	}
}

// leastSquares returns the least-squares solution of smallest norm, and the smallest of the rank
// largest eigenvalues of the second moment.
func leastSquares(s stationarity.Sample, rank int) (w []float64, least float64, err error) {
	n, d := len(s.Rows), len(s.Rows[0])
	moments, target := mat.NewSymDense(d, nil), make([]float64, d)
	row := mat.NewVecDense(d, nil)
	for i, x := range s.Rows {
		for j, v := range x {
			row.SetVec(j, float64(v))
			target[j] += float64(v) * s.Targets[i] / float64(n)
		}
		moments.SymRankOne(moments, 1/float64(n), row)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(moments, true) {
		return nil, 0, fmt.Errorf("least squares: no eigenvalues")
	}
	values, vectors := eigen.Values(nil), new(mat.Dense)
	eigen.VectorsTo(vectors)
	w = make([]float64, d)
	for k := d - rank; k < d; k++ { // eigenvalues ascend
		var c float64
		for j := range d {
			c += vectors.At(j, k) * target[j]
		}
		for j := range d {
			w[j] += c / values[k] * vectors.At(j, k)
		}
	}
	return w, values[d-rank], nil
}

// ExpTail is the family of the loss exp-tail (package synthetic) on rows of mean zero. Its KL condition
// has the exponent kappa = 1.
func ExpTail(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "exp-tail", optimize.KL{Kappa: 1, Gamma: math.Sqrt2})
}

// Quartic is the family of the loss quartic (package synthetic) on rows of mean zero. Its KL condition
// has the exponent kappa = 4/3.
func Quartic(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "quartic", optimize.KL{Kappa: 4. / 3, Gamma: math.Pow(4, -.75)})
}

// ThreeHalves is the family of the loss three-halves (package synthetic) on rows of mean zero. Its KL
// condition has the exponent kappa = 3, and does not hold close to the minimum.
func ThreeHalves(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "three-halves", optimize.KL{Kappa: 3, Gamma: math.Cbrt(2. / 3 * math.Pow(2, 1.5))})
}

// ThreeHalvesFine is the family of the loss three-halves-fine (package synthetic) on rows of mean zero.
// Its KL condition has the exponent kappa = 3 down to an excess risk of 2e-6.
func ThreeHalvesFine(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "three-halves-fine", optimize.KL{Kappa: 3, Gamma: math.Cbrt(2. / 3 * math.Pow(2, 1.5))})
}

// rising returns a family with rows of mean zero and the named loss of package synthetic, whose infimum
// is zero and whose KL condition is known.
func rising(d, rows int, seed uint64, name string, known optimize.KL) (*Family, error) {
	f, err := newFamily(opposites, 0x51a1, d, rows, seed, name, name, "")
	if err != nil {
		return nil, err
	}
	f.KL, f.Minimum = known, new(float64)
	return f, nil
}

// Cosine is the family of the loss cosine (package synthetic) on rows of norm 1 whose targets are the margins of planted
// weights, of standard deviation .25 and at most 1, without noise. The minimum is 0, and the objective is quasar-convex
// near the planted weights.
func Cosine(d, rows int, seed uint64) (*Family, error) {
	f, err := newFamily(exactly, 0xc051, d, rows, seed, "cosine", "cosine", "")
	if err != nil {
		return nil, err
	}
	f.Minimum = new(float64)
	return f, nil
}

// exactly draws targets that are the margins; rows with a margin beyond 1 are drawn again.
func exactly(r *rand.Rand, d int) population {
	return ofMargins(r, d, .25, func(z float64) (float64, bool) { return z, math.Abs(z) <= 1 })
}

// squares draws targets that are squared margins, at most 1.
func squares(r *rand.Rand, d int) population {
	return ofMargins(r, d, .5, func(z float64) (float64, bool) { return math.Min(z*z, 1), true })
}

// ofMargins draws rows of norm 1 whose margins with planted weights have the given standard deviation. target returns a
// row's target for its margin, and whether the row is kept.
func ofMargins(r *rand.Rand, d int, deviation float64, target func(z float64) (float64, bool)) population {
	planted := make([]float64, d)
	for j := range planted {
		planted[j] = r.NormFloat64()
	}
	norm := stationarity.Norm(planted)
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		for len(s.Rows) < n {
			x := make([]float64, d)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			length, z := stationarity.Norm(x)*(1+0x1p-20), 0.
			for j := range x {
				z += float64(float32(x[j]/length)) * planted[j] / norm * deviation * math.Sqrt(float64(d))
			}
			if y, kept := target(z); kept {
				rehearsal.Add(&s, x, length, y)
			}
		}
		return s
	}
}

// PhaseRetrieval is the family of phase retrieval: weights are estimated, up to their sign, from the
// squares of margins. The margins have standard deviation .5, a target is a squared margin but at most 1,
// and rows have norm 1. The start, 0, is a maximum along the planted weights. Near the planted weights the
// loss grows quadratically with an unknown constant.
func PhaseRetrieval(d, rows int, seed uint64) (*Family, error) {
	f, err := newFamily(squares, 0x9a5e, d, rows, seed, "phase", "phase", "")
	if err != nil {
		return nil, err
	}
	f.Minimum = new(float64)
	return f, nil
}

// rank reads the number in the name of a family low-rank(RANK). The second result reports whether the name
// has this form. It returns an error if RANK is not a whole number.
func rank(name string) (int, bool, error) {
	inside, ok := strings.CutPrefix(name, "low-rank(")
	if inside, closed := strings.CutSuffix(inside, ")"); ok && closed {
		k, err := strconv.Atoi(inside)
		if err != nil {
			err = fmt.Errorf("experiment: family = %q: rank must be a whole number", name)
		}
		return k, true, err
	}
	return 0, false, nil
}
