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
				if !(math.Abs(values[k]-want) <= allowed) {
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

// TestEigenAtEverySize tests that matrices of subnormal and of huge entries, whose squares vanish or overflow, have the
// vectors of the same matrix of usual size, also where eigenvalues are equal or zero, and that a matrix with an entry
// or an eigenvalue that is not finite has none.
func TestEigenAtEverySize(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 3))
	for _, dim := range []int{1, 2, 3, 5, 33} {
		for name, entry := range map[string]func(j, k int) float64{
			"noise":       func(j, k int) float64 { return r.NormFloat64() },
			"rank 1":      func(j, k int) float64 { return float64((j - 3) * (k - 3)) },
			"diagonal":    func(j, k int) float64 { return float64(j%3-1) * float64(max(1-(j-k)*(j-k), 0)) },
			"permutation": func(j, k int) float64 { return float64(max(1-(j+k-dim+1)*(j+k-dim+1), 0)) },
		} {
			a := make([]float64, dim*dim)
			for j := range dim {
				for k := range j + 1 {
					a[j*dim+k] = entry(j, k)
					a[k*dim+j] = a[j*dim+k]
				}
			}
			for _, exponent := range []int{-1000, -600, -451, -449, 0, 449, 451, 600, 1000} {
				scaled := make([]float64, len(a))
				for i, v := range a {
					scaled[i] = math.Ldexp(v, exponent)
				}
				values, vectors, ok := eigen(scaled, dim)
				if !ok {
					t.Fatalf("%s of %d times 2^%d: no eigenvalues", name, dim, exponent)
				}
				for j := range dim {
					for k, value := range values {
						got := 0.0
						for i := range dim {
							got += a[j*dim+i] * vectors[i*dim+k]
						}
						want := math.Ldexp(value, -exponent) * vectors[j*dim+k]
						if !(math.Abs(got-want) <= 1e-11*float64(dim)) {
							t.Fatalf("%s of %d times 2^%d: A v is not lambda v by %v", name, dim, exponent, got-want)
						}
					}
				}
			}
			for _, wrong := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				a[0] = wrong
				if _, _, ok := eigen(a, dim); ok {
					t.Errorf("%s of %d with %v: has eigenvalues", name, dim, wrong)
				}
			}
		}
	}
	const most = math.MaxFloat64
	if values, _, ok := eigen([]float64{most, most, most, most}, 2); ok {
		t.Errorf("eigenvalues that are not finite: %v", values)
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
