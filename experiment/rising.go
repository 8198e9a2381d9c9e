package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Families whose minimum is known, and most of which have a known KL condition
// (optimize.KL).

// LowRank is least squares on rows of norm 1 in a random subspace: strongly convex in
// it and flat across, the condition of Polyak and Lojasiewicz (kappa 2) with gamma =
// 1/sqrt(2 e), e the least second moment within. Margins of the planted weights have a
// deviation of .3, and targets .2 of noise.
func LowRank(rank int) func(d, rows int, seed uint64) (*Family, error) {
	name := fmt.Sprintf("low-rank(%d)", rank)
	return func(d, rows int, seed uint64) (*Family, error) {
		if rank < 1 || rank > d || rank >= rows {
			return nil, fmt.Errorf("experiment: %s: rank = %d: must be between 1 and the dimension, %d, and less than the rows", name, rank, d)
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
	q := rotation(r, d)
	planted := make([]float64, rank)
	for k := range planted {
		planted[k] = r.NormFloat64()
	}
	norm := stationarity.Norm(planted)
	for k := range planted {
		planted[k] *= .3 * math.Sqrt(float64(rank)) / norm
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := newSample(n)
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
			add(&s, x, 1+0x1p-20, math.Max(-1, math.Min(1, z))) // float32 may round up
		}
		return s
	}
}

// leastSquares returns the shortest solution, and the least of the second moments'
// largest eigenvalues, as many as the rank.
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
	for k := d - rank; k < d; k++ { // ascending
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

// ExpTail is the loss of that name on rows of mean zero: kappa 1.
func ExpTail(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "exp-tail", optimize.KL{Kappa: 1, Gamma: math.Sqrt2})
}

// Quartic is the loss of that name on rows of mean zero: kappa 4/3.
func Quartic(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "quartic", optimize.KL{Kappa: 4. / 3, Gamma: math.Pow(4, -.75)})
}

// ThreeHalves is the loss of that name on rows of mean zero: kappa 3, but at the very
// minimum.
func ThreeHalves(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "three-halves", optimize.KL{Kappa: 3, Gamma: math.Cbrt(2. / 3 * math.Pow(2, 1.5))})
}

// ThreeHalvesFine is the same down to an excess of 2e-6.
func ThreeHalvesFine(d, rows int, seed uint64) (*Family, error) {
	return rising(d, rows, seed, "three-halves-fine", optimize.KL{Kappa: 3, Gamma: math.Cbrt(2. / 3 * math.Pow(2, 1.5))})
}

// rising is a loss of infimum zero on rows of mean zero.
func rising(d, rows int, seed uint64, name string, known optimize.KL) (*Family, error) {
	f, err := newFamily(opposites, 0x51a1, d, rows, seed, name, name, "")
	if err != nil {
		return nil, err
	}
	f.KL, f.Minimum = known, new(float64)
	return f, nil
}

// PhaseRetrieval is the recovery of weights, up to their sign, from squares of margins
// of deviation .5 on rows of norm 1. The start, 0, is a maximum along the planted weights;
// near those the loss rises like a quadratic, by how much is not known.
func PhaseRetrieval(d, rows int, seed uint64) (*Family, error) {
	f, err := newFamily(squares, 0x9a5e, d, rows, seed, "phase", "phase", "")
	if err != nil {
		return nil, err
	}
	f.Minimum = new(float64)
	return f, nil
}

func squares(r *rand.Rand, d int) population {
	planted := make([]float64, d)
	for j := range planted {
		planted[j] = r.NormFloat64()
	}
	norm := stationarity.Norm(planted)
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := newSample(n)
		for range n {
			x := make([]float64, d)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			length, z := stationarity.Norm(x)*(1+0x1p-20), 0.
			for j := range x {
				z += float64(float32(x[j]/length)) * planted[j] / norm * .5 * math.Sqrt(float64(d))
			}
			add(&s, x, length, math.Min(z*z, 1))
		}
		return s
	}
}

// rank reads the parameter of low-rank(RANK).
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
