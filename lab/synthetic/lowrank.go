package synthetic

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// lowRank is the common part of Autoencoder and Factorization. For rows of d features, the parameters are
// the d x rank matrix U, line by line.
type lowRank struct {
	name string
	rank int
}

// mostRank is the largest rank. lowRankL0 is the largest length of a gradient: longer gradients are scaled
// down to this length.
const (
	mostRank  = 8
	lowRankL0 = 1.
)

// small is a vector with one number for each column of the matrix U.
type small = [mostRank]float64

func newLowRank(name string, rank int) (lowRank, error) {
	if rank < 1 || rank > mostRank {
		return lowRank{}, fmt.Errorf("problem: %s: rank = %d: must be between 1 and %d", name, rank, mostRank)
	}
	return lowRank{fmt.Sprintf("%s(%d)", name, rank), rank}, nil
}

func (l lowRank) Name() string                { return l.name }
func (lowRank) Target() loss.Target           { return loss.Real }
func (l lowRank) Parameters(features int) int { return l.rank * features }

func (l lowRank) check(dst, w int, x []float32) {
	if n := l.Parameters(len(x)); dst != n || w != n {
		panic(fmt.Sprintf("problem: lengths are %d and %d: must be %d for %d features", dst, w, n, len(x)))
	}
}

// onto returns U'x for the parameters U and the row x: the inner products of x and the columns of U.
func (l lowRank) onto(w []float64, x []float32) (s small) {
	for i, v := range x {
		for k := range l.rank {
			s[k] = math.FMA(w[i*l.rank+k], float64(v), s[k])
		}
	}
	return s
}

// line returns the inner product of line i of the matrix U and the vector b.
func (l lowRank) line(w []float64, i int, b *small) (dot float64) {
	for k := range l.rank {
		dot = math.FMA(w[i*l.rank+k], b[k], dot)
	}
	return dot
}

// gram returns the matrix V'U of the parameter matrices V and U, which v and w hold line by line.
func (l lowRank) gram(v, w []float64) (m [mostRank]small) {
	for at := 0; at < len(w); at += l.rank {
		for j := range l.rank {
			for k := range l.rank {
				m[j][k] = math.FMA(v[at+j], w[at+k], m[j][k])
			}
		}
	}
	return m
}

// shorten scales the gradient g down to length lowRankL0 if g is longer. If the target y is NaN (a missing
// target), all of g becomes NaN.
func shorten(g []float64, y float64) {
	square := 0.
	for _, v := range g {
		square = math.FMA(v, v, square)
	}
	if size := math.Sqrt(square); size > lowRankL0 {
		for i := range g {
			g[i] = float64(g[i] * (lowRankL0 / size))
		}
	}
	missing(g, y)
}

// missing makes all of dst NaN if the target y is NaN (a missing target).
func missing(dst []float64, y float64) {
	if math.IsNaN(y) {
		for i := range dst {
			dst[i] = y
		}
	}
}

type autoencoder struct{ lowRank }

// Autoencoder is the reconstruction of a row from a few linear features of it, with tied weights: ||x - U
// U'x||^2/2 for a d x rank matrix U. The target is unused. The loss is nonconvex, has a saddle at U = 0 and
// is invariant under U -> U R for any orthogonal R. Its local minima are global: at a local minimum U has
// orthonormal columns that span the first principal components of the rows (Baldi and Hornik 1989).
//
// With s = U'x, e = x - U s and t = U'e, and along V with a = V'x, e' = -(V s + U a):
//
//	gradient -(e s' + x t')
//	Hessian along V: -(e' s' + e a' + x (V'e + U'e')')
//
// No constant holds for all U. Constants are for the region where ||x|| and ||U|| (the largest singular
// value) are at most 1, and for unit V. There ||e'|| is at most 2, the second derivative ||e'||^2 - 2 <e, V
// a> is in [-2, 6], and the third derivative -6 <e', V a> is at most 12 in size. Gradients longer than 1
// are scaled down to length 1.
//
// Values are at least 0 and at most 1/2 at U = 0, so InitialGap is 1/2.
func Autoencoder(rank int) (loss.Shaped, error) {
	l, err := newLowRank("autoencoder", rank)
	return autoencoder{l}, err
}

func (autoencoder) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:        lowRankL0,
		Curvature:        loss.CurvatureInterval{Lo: -2, Hi: 6},
		HessianLipschitz: 12,
		InitialGap:       .5,
		Clipped:          true,
		Local:            "where the singular values of U are at most 1",
	}
}

func (l autoencoder) Value(w []float64, x []float32, y float64) (sum float64) {
	l.check(len(w), len(w), x)
	if math.IsNaN(y) {
		return y
	}
	s := l.onto(w, x)
	for i, v := range x {
		e := float64(v) - l.line(w, i, &s)
		sum = math.FMA(e, e, sum)
	}
	return sum / 2
}

// Gradient writes the derivative scaled down to length at most 1.
func (l autoencoder) Gradient(dst, w []float64, x []float32, y float64) {
	l.check(len(dst), len(w), x)
	s, t := l.onto(w, x), small{}
	for i, v := range x {
		e := float64(v) - l.line(w, i, &s)
		for k := range l.rank {
			t[k] = math.FMA(w[i*l.rank+k], e, t[k])
			dst[i*l.rank+k] = -float64(e * s[k])
		}
	}
	for i, v := range x {
		for k := range l.rank {
			dst[i*l.rank+k] = math.FMA(-float64(v), t[k], dst[i*l.rank+k])
		}
	}
	shorten(dst, y)
}

func (l autoencoder) HessianVector(dst, w, v []float64, x []float32, y float64) {
	l.check(len(dst), len(w), x)
	l.check(len(v), len(w), x)
	s, a, moved := l.onto(w, x), l.onto(v, x), small{}
	for i, u := range x {
		e := float64(u) - l.line(w, i, &s)
		change := -(l.line(v, i, &s) + l.line(w, i, &a))
		for k := range l.rank {
			at := i*l.rank + k
			moved[k] = math.FMA(v[at], e, math.FMA(w[at], change, moved[k]))
			dst[at] = -math.FMA(change, s[k], float64(e*a[k]))
		}
	}
	for i, u := range x {
		for k := range l.rank {
			dst[i*l.rank+k] = math.FMA(-float64(u), moved[k], dst[i*l.rank+k])
		}
	}
	missing(dst, y)
}

type factorization struct{ lowRank }

// Factorization is the approximation of the rows' second moment by a matrix of low rank: ||x x' - U
// U'||_F^2/4 for a d x rank matrix U. The target is unused. The loss is nonconvex, has saddles at U = 0 and
// where U U' is only a part of the second moment, and is invariant under U -> U R for any orthogonal R. Its
// local minima are global: at a local minimum U U' is the best approximation of the given rank (Jin et al.
// 2017).
//
// With s = U'x and M = U'U, and along V with a = V'x:
//
//	gradient U M - x s'
//	Hessian along V: V M + U (V'U + U'V) - x a'
//
// No constant holds for all U. Constants are for the region where ||x|| and ||U|| (the largest singular
// value) are at most 1. There the second derivative along a unit V is in [-1, 3], and the third derivative
// is at most 6 in size. Gradients longer than 1 are scaled down to length 1.
//
// Values are at least 0 and at most 1/4 at U = 0, so InitialGap is 1/4.
func Factorization(rank int) (loss.Shaped, error) {
	l, err := newLowRank("factorization", rank)
	return factorization{l}, err
}

func (factorization) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:        lowRankL0,
		Curvature:        loss.CurvatureInterval{Lo: -1, Hi: 3},
		HessianLipschitz: 6,
		InitialGap:       .25,
		Clipped:          true,
		Local:            "where the singular values of U are at most 1",
	}
}

func (l factorization) Value(w []float64, x []float32, y float64) (sum float64) {
	l.check(len(w), len(w), x)
	if math.IsNaN(y) {
		return y
	}
	s, m, square := l.onto(w, x), l.gram(w, w), 0.
	for _, v := range x {
		square = math.FMA(float64(v), float64(v), square)
	}
	sum = float64(square * square)
	for j := range l.rank {
		sum = math.FMA(-2*s[j], s[j], sum)
		for k := range l.rank {
			sum = math.FMA(m[j][k], m[j][k], sum)
		}
	}
	return sum / 4
}

// Gradient writes the derivative scaled down to length at most 1.
func (l factorization) Gradient(dst, w []float64, x []float32, y float64) {
	l.check(len(dst), len(w), x)
	s, m := l.onto(w, x), l.gram(w, w)
	for i, v := range x {
		for k := range l.rank {
			dst[i*l.rank+k] = math.FMA(-float64(v), s[k], l.line(w, i, &m[k])) // M is symmetric
		}
	}
	shorten(dst, y)
}

func (l factorization) HessianVector(dst, w, v []float64, x []float32, y float64) {
	l.check(len(dst), len(w), x)
	l.check(len(v), len(w), x)
	a, m, cross := l.onto(v, x), l.gram(w, w), l.gram(v, w)
	var both [mostRank]small
	for j := range l.rank {
		for k := range l.rank {
			both[j][k] = cross[j][k] + cross[k][j]
		}
	}
	for i, u := range x {
		for k := range l.rank {
			dst[i*l.rank+k] = math.FMA(-float64(u), a[k], l.line(v, i, &m[k])+l.line(w, i, &both[k]))
		}
	}
	missing(dst, y)
}
