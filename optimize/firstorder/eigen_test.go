package firstorder

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// symmetric returns a symmetric matrix, row by row: of noise, graded over many orders of size, with eigenvalues that
// are many times the same, in blocks, or zero.
func symmetric(r *rand.Rand, dim int, kind string) []float64 {
	a := make([]float64, dim*dim)
	for j := range dim {
		for k := range j + 1 {
			v := r.NormFloat64()
			switch kind {
			case "graded":
				v *= math.Exp(-30 * float64(j+k) / float64(2*dim))
			case "graded upwards":
				v *= math.Exp(30 * float64(j+k) / float64(2*dim))
			case "ones":
				v = 1
			case "blocks":
				if (j%3 == 0) != (k%3 == 0) {
					v = 0
				}
			case "identity", "zero":
				if v = 0; j == k && kind == "identity" {
					v = 2
				}
			}
			a[j*dim+k], a[k*dim+j] = v, v
		}
	}
	return a
}

// TestEigen tests that the eigenvalues are those of gonum in ascending order, that the vectors are orthonormal, and
// that the matrix times a vector is the vector times its eigenvalue.
func TestEigen(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 1))
	for _, kind := range []string{"noise", "graded", "graded upwards", "ones", "blocks", "identity", "zero"} {
		for _, dim := range []int{1, 2, 3, 5, 31, 32, 33, 70, 200} {
			a := symmetric(r, dim, kind)
			values, vectors, ok := eigen(a, dim)
			if !ok {
				t.Fatalf("%s of %d: no eigenvalues", kind, dim)
			}
			var e mat.EigenSym
			if !e.Factorize(mat.NewSymDense(dim, a), false) {
				t.Fatal("gonum finds no eigenvalues")
			}
			size := mat.Norm(mat.NewDense(dim, dim, a), 2)
			allowed := 1e-13 * float64(dim) * size
			for k, want := range e.Values(nil) {
				if math.Abs(values[k]-want) > allowed {
					t.Fatalf("%s of %d: eigenvalue %d is %v: want %v", kind, dim, k, values[k], want)
				}
			}
			v := mat.NewDense(dim, dim, vectors)
			var products, gram, scaled mat.Dense
			products.Mul(mat.NewDense(dim, dim, a), v)
			scaled.Apply(func(_, k int, x float64) float64 { return x * values[k] }, v)
			gram.Mul(v.T(), v)
			for j := range dim {
				for k := range dim {
					if off := math.Abs(products.At(j, k) - scaled.At(j, k)); off > allowed {
						t.Fatalf("%s of %d: A v is not lambda v by %v", kind, dim, off)
					}
					want := 0.0
					if j == k {
						want = 1
					}
					if off := math.Abs(gram.At(j, k) - want); off > 1e-13*float64(dim) {
						t.Fatalf("%s of %d: vectors %d and %d have the product %v", kind, dim, j, k, gram.At(j, k))
					}
				}
			}
		}
	}
	if _, _, ok := eigen([]float64{1, math.NaN(), math.NaN(), 1}, 2); ok {
		t.Error("a matrix of NaN has eigenvalues")
	}
}

// BenchmarkEigen compares eigen with gonum's decomposition.
func BenchmarkEigen(b *testing.B) {
	const dim = 785
	a := symmetric(rand.New(rand.NewPCG(53, 2)), dim, "noise")
	b.Run("eigen", func(b *testing.B) {
		for b.Loop() {
			eigen(a, dim)
		}
	})
	b.Run("gonum", func(b *testing.B) {
		for b.Loop() {
			var e mat.EigenSym
			e.Factorize(mat.NewSymDense(dim, a), true)
			e.VectorsTo(new(mat.Dense))
		}
	})
}
