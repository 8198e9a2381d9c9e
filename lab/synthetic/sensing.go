package synthetic

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type matrixSensing struct{}

// MatrixSensing is the recovery of a positive semidefinite matrix M of rank 2 from linear measurements. A
// row is a known matrix X, its target y is the measurement <X, M>, and a record's loss is (<X, U U'> -
// y)^2/4. The loss is nonconvex, has a saddle at U = 0, and has the same value at U and U R for any
// orthogonal R. With many random measurements all local minima are global, and at all other stationary
// points the Hessian has a negative eigenvalue (Bhojanapalli, Neyshabur and Srebro 2016; Ge, Jin and Zheng
// 2017).
//
// A row of d features holds the p x p matrix X line by line, with p = sqrt(d) rounded up. Missing entries
// at the end are zero. The Frobenius norm of X is the norm of the row, at most 1. Parameters are the p x 2
// matrix U, line by line. With S = (X+X')/2 and z = <X, U U'> = <U, S U>:
//
//	gradient (z-y) S U
//	Hessian along V: 2 <S U, V> S U + (z-y) S V
//
// No constant holds for all U. Gradients longer than 1/2 are scaled down to length 1/2. With random
// matrices few rows have longer gradients. Constants are for Frobenius norms ||U|| and ||S|| and |y| of at
// most 1. Then |z-y| is at most 2, the eigenvalues of the Hessian are in [-2, 4], and its derivative along
// a unit V, 6 <S U, V> <S V, V>, is at most 6.
//
// Values are at least 0 and y^2/4 at U = 0, so InitialGap is 1/4.
func MatrixSensing() loss.Shaped { return matrixSensing{} }

// sensingRank is the rank of the matrix to be recovered, the number of columns of the parameters U.
// sensingL0 is the length to which longer gradients are scaled down.
const (
	sensingRank = 2
	sensingL0   = .5
)

func (matrixSensing) Name() string        { return "matrix-sensing" }
func (matrixSensing) Target() loss.Target { return loss.Real }

func (matrixSensing) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:        sensingL0,
		Curvature:        loss.CurvatureInterval{Lo: -2, Hi: 4},
		HessianLipschitz: 6,
		InitialGap:       .25,
		Clipped:          true,
		Local:            "where the Frobenius norm of U is at most 1",
	}
}

// side returns p, the side of the p x p matrix that a row with the given number of features holds: the
// smallest p with p^2 >= features.
func side(features int) int {
	p := 0
	for p*p < features {
		p++
	}
	return p
}

func (matrixSensing) Parameters(features int) int { return sensingRank * max(side(features), 1) }

// entry returns the entry S_ij = (X_ij + X_ji)/2 of the symmetric part of a row's p x p matrix X. Entries
// of X that the row does not hold are zero.
func entry(x []float32, p, i, j int) float64 {
	var s float64
	for _, at := range [2]int{i*p + j, j*p + i} {
		if at < len(x) {
			s += float64(x[at]) / 2
		}
	}
	return s
}

// times writes S w to dst and returns <w, S w>, where S is the symmetric part of the row's matrix.
func (matrixSensing) times(dst, w []float64, x []float32) (z float64) {
	p := len(w) / sensingRank
	clear(dst)
	for i := range p {
		for j := range p {
			s := entry(x, p, i, j)
			for k := range sensingRank {
				dst[i*sensingRank+k] = math.FMA(s, w[j*sensingRank+k], dst[i*sensingRank+k])
			}
		}
	}
	for i, v := range dst {
		z = math.FMA(w[i], v, z)
	}
	return z
}

func (l matrixSensing) Value(w []float64, x []float32, y float64) float64 {
	l.check(len(w), len(w), x)
	p, z := len(w)/sensingRank, 0.
	for i := range p {
		for j := range p {
			var dot float64
			for k := range sensingRank {
				dot = math.FMA(w[i*sensingRank+k], w[j*sensingRank+k], dot)
			}
			z = math.FMA(entry(x, p, i, j), dot, z)
		}
	}
	return float64((z-y)*(z-y)) / 4
}

// Gradient writes the derivative scaled down to length at most 1/2.
func (l matrixSensing) Gradient(dst, w []float64, x []float32, y float64) {
	l.check(len(dst), len(w), x)
	scale, square := l.times(dst, w, x)-y, 0.
	for _, v := range dst {
		square = math.FMA(v, v, square)
	}
	if size := math.Sqrt(square); float64(math.Abs(scale)*size) > sensingL0 {
		scale = math.Copysign(sensingL0/size, scale)
	}
	for i := range dst {
		dst[i] = float64(scale * dst[i])
	}
}

func (l matrixSensing) HessianVector(dst, w, v []float64, x []float32, y float64) {
	l.check(len(v), len(w), x)
	l.check(len(dst), len(w), x)
	off := l.times(dst, w, x) - y
	along := 0.
	for i, s := range dst {
		along = math.FMA(s, v[i], along)
	}
	for i := range dst {
		dst[i] = float64(2*along) * dst[i]
	}
	p := len(w) / sensingRank
	for i := range p {
		for j := range p {
			s := float64(off * entry(x, p, i, j))
			for k := range sensingRank {
				dst[i*sensingRank+k] = math.FMA(s, v[j*sensingRank+k], dst[i*sensingRank+k])
			}
		}
	}
}

func (l matrixSensing) check(dst, w int, x []float32) {
	if n := l.Parameters(len(x)); dst != n || w != n {
		panic(fmt.Sprintf("problem: lengths are %d and %d: must be %d for %d features", dst, w, n, len(x)))
	}
}
