package stationarity

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"gonum.org/v1/gonum/mat"
)

// Eigenpair is an approximate eigenvalue Value of a symmetric matrix H, with its approximate unit
// eigenvector Vector.
type Eigenpair struct {
	Value  float64
	Vector []float64
	// Residual is ||H v - Value v|| for v = Vector, computed with one additional product. If products are
	// exact, some eigenvalue of H is within Residual of Value.
	Residual float64
	// Products is the number of products of H and a vector that were computed, including the one for Residual.
	Products int
}

// Lanczos returns the least eigenvalue of a symmetric d x d matrix given by its products with vectors (Lanczos 1950),
// with full reorthogonalisation, from a fixed random start. It stops when the residual is at most 1e-9 of the norm of
// the largest product so far, or when it has computed as many products as the parameter most allows. d products are
// always enough. Up to rounding and errors of the products, Value is never below the least eigenvalue. Value is near
// the least eigenvalue, except in two cases: the start is orthogonal to the eigenspace of the least eigenvalue, or the
// allowed number of products is too small for a small residual.
func Lanczos(d, most int, product func(v []float64) ([]float64, error)) (Eigenpair, error) {
	if d < 1 || most < 1 {
		return Eigenpair{}, fmt.Errorf("stationarity: Lanczos: dimension = %d, products = %d: must be >= 1", d, most)
	}
	most = min(most, d)
	const tolerance, often = 1e-9, 5
	k := new(krylov)
	next := start(d)
	for {
		k.basis = append(k.basis, next)
		h, err := product(next)
		if err != nil {
			return Eigenpair{}, err
		}
		if len(h) != d {
			return Eigenpair{}, fmt.Errorf("stationarity: Lanczos: product has %d coordinates: must have %d", len(h), d)
		}
		k.diagonal = append(k.diagonal, vector.Dot(next, h))
		rest := append([]float64(nil), h...)
		k.orthogonalise(rest)
		beta := Norm(rest)
		k.size = max(k.size, Norm(h))
		m := len(k.basis)
		// If beta is zero, the basis spans an invariant subspace. For a random start the subspace
		// contains an eigenvector of every eigenvalue.
		if m == most || m%often == 0 || beta <= tolerance*k.size {
			value, s, err := k.least()
			if err != nil {
				return Eigenpair{}, err
			}
			if m == most || beta*math.Abs(s[m-1]) <= tolerance*k.size {
				return k.pair(value, s, product)
			}
		}
		k.off = append(k.off, beta)
		vector.Divide(rest, beta)
		next = rest
	}
}

// krylov is an orthonormal basis in which the matrix is tridiagonal. diagonal has the matrix's entries on
// the diagonal, and off the entries next to the diagonal.
type krylov struct {
	basis         [][]float64
	diagonal, off []float64
	size          float64 // norm of the largest product so far
}

// orthogonalise subtracts from v its projection on the basis. It does so twice, which makes v
// orthogonal up to rounding.
func (k *krylov) orthogonalise(v []float64) {
	for range 2 {
		for _, b := range k.basis {
			vector.Add(v, -vector.Dot(b, v), b)
		}
	}
}

// start returns a random unit vector of d coordinates. It is the same in every call.
func start(d int) []float64 {
	r := rand.New(rand.NewPCG(0x1a2c, uint64(d)))
	v := vector.Make(d, func(int) float64 { return r.NormFloat64() })
	vector.Divide(v, Norm(v))
	return v
}

// least returns the least eigenvalue of the tridiagonal matrix and its unit eigenvector, in the coordinates
// of the basis.
func (k *krylov) least() (float64, []float64, error) {
	m := len(k.diagonal)
	t := mat.NewSymDense(m, nil)
	for i, a := range k.diagonal {
		t.SetSym(i, i, a)
		if i > 0 {
			t.SetSym(i-1, i, k.off[i-1])
		}
	}
	var e mat.EigenSym
	if !e.Factorize(t, true) {
		return 0, nil,
			fmt.Errorf("stationarity: Lanczos: the %d x %d tridiagonal matrix has no eigenvalues: are products finite?", m, m)
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	return e.Values(nil)[0], mat.Col(nil, 0, &vectors), nil
}

// pair returns the eigenpair of the given matrix for the eigenvalue value and the eigenvector s of the tridiagonal
// matrix: it expresses s in the original coordinates. It computes the residual with one more product.
func (k *krylov) pair(value float64, s []float64, product func(v []float64) ([]float64, error)) (Eigenpair, error) {
	v := make([]float64, len(k.basis[0]))
	for i, b := range k.basis {
		vector.Add(v, s[i], b)
	}
	h, err := product(v)
	if err != nil {
		return Eigenpair{}, err
	}
	rest := vector.Make(len(v), func(j int) float64 { return h[j] - value*v[j] })
	return Eigenpair{value, v, Norm(rest), len(k.basis) + 1}, nil
}
