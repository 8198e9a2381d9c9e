package stationarity_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

var hessians = [][2]string{
	{"logistic", ""}, {"logistic", "nonconvex(0.3)"}, {"tanh", "l2(0.1)"}, {"welsch(0.5)", "l2(1)"}, {"saddle", "l2(0.2)"},
	{"slow-tail", ""}, {"slow-tail", "l2(0.5)"}, {"huber-mean", ""},
}

// drawn returns a random sample and a point where no derivative jumps and no gradient is clipped.
func drawn(t testing.TB, names [2]string, d int, seed uint64) (loss.Loss, loss.Regularizer, stationarity.Sample,
	[]float64) {
	l, reg := parse(t, names[0], names[1])
	r := rand.New(rand.NewPCG(seed, 7))
	s := sample(r, 23, d)
	for _, x := range s.Rows {
		for j := range x {
			x[j] /= float32(d)
		}
	}
	w := make([]float64, d)
	for j := range w {
		w[j] = .3 * r.NormFloat64() / math.Sqrt(float64(d))
	}
	return l, reg, s, w
}

// dense returns the Hessian, computed by differences of gradients, one coordinate at a time.
func dense(t testing.TB, l loss.Loss, reg loss.Regularizer, s stationarity.Sample, w []float64) *mat.SymDense {
	const h = 1e-5
	d := len(w)
	m := mat.NewDense(d, d, nil)
	for j := range w {
		for _, sign := range []float64{1, -1} {
			v := append([]float64(nil), w...)
			v[j] += sign * h
			g, err := stationarity.Gradient(l, reg, s, v)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range g {
				m.Set(i, j, m.At(i, j)+sign*x/(2*h))
			}
		}
	}
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			out.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
		}
	}
	return out
}

// TestHessianVector compares products with a dense Hessian computed by differences. The dense Hessian is
// accurate to about 1e-10: h^2/6 times a third derivative below 10, plus 1e-16/h for rounding. The
// tolerance is 1e-8. The test fails if a row, the regularizer or the division by n is left out, or if the
// product is not proportional to v.
func TestHessianVector(t *testing.T) {
	for _, names := range hessians {
		l, reg, s, w := drawn(t, names, 5, 1)
		h := dense(t, l, reg, s, w)
		for k, v := range [][]float64{{1, 0, 0, 0, 0}, {0, 3, -4, .5, 1e3}, {1e-6, 0, 2e-6, 0, 0}, make([]float64, 5)} {
			got, err := stationarity.HessianVector(l, reg, s, w, v)
			if err != nil {
				t.Fatal(err)
			}
			var want mat.VecDense
			want.MulVec(h, mat.NewVecDense(5, v))
			for j := range got {
				if !(math.Abs(got[j]-want.AtVec(j)) <= 1e-8*stationarity.Norm(v)) {
					t.Errorf("%v: direction %d: coordinate %d: %v: want %v", names, k, j, got[j], want.AtVec(j))
				}
			}
		}
	}
	if _, err := stationarity.HessianVector(nameless{}, nil, stationarity.Sample{}, []float64{0},
		[]float64{1}); err == nil {
		t.Error("a loss of neither kind has a Hessian")
	}
	if _, err := stationarity.HessianVector(loss.Logistic(), nil, stationarity.Sample{}, []float64{0}, nil); err == nil {
		t.Error("a direction of another dimension was taken")
	}
}

// TestLambdaMin compares Lanczos with the least eigenvalue of the dense Hessian, which has an error of
// 1e-10. The stated residual must be the residual of the returned eigenvalue and eigenvector.
func TestLambdaMin(t *testing.T) {
	for _, names := range hessians {
		for _, d := range []int{1, 2, 6, 30} {
			l, reg, s, w := drawn(t, names, d, uint64(d))
			h := dense(t, l, reg, s, w)
			var e mat.EigenSym
			if !e.Factorize(h, false) {
				t.Fatal("no eigenvalues")
			}
			got, err := stationarity.Lanczos(len(w), len(w), func(v []float64) ([]float64, error) {
				return stationarity.HessianVector(l, reg, s, w, v)
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := e.Values(nil)[0]; !(math.Abs(got.Value-want) <= 1e-8) {
				t.Errorf("%v, d = %d: %v: want %v", names, d, got.Value, want)
			}
			if n := stationarity.Norm(got.Vector); !(math.Abs(n-1) <= 1e-12) || !(got.Residual < 1e-8) {
				t.Errorf("%v, d = %d: a vector of norm %v, residual %v", names, d, n, got.Residual)
			}
		}
	}
}

// TestLanczos uses matrices with a known spectrum. With few distinct eigenvalues the Krylov space ends
// early. With a cluster near the least eigenvalue many products are needed. With a gap above the least
// eigenvalue, far fewer products than dimensions must be enough. The test fails without
// reorthogonalisation.
func TestLanczos(t *testing.T) {
	for name, c := range map[string]struct {
		eigenvalues func(j, d int) float64
		d           int
		most        int // largest number of products
	}{
		"one value":   {func(int, int) float64 { return -2 }, 12, 2},
		"two values":  {func(j, _ int) float64 { return float64(j%2)*3 - 1 }, 40, 3},
		"zero":        {func(int, int) float64 { return 0 }, 5, 2},
		"cluster":     {func(j, d int) float64 { return -1 + 1e-6*float64(j) }, 60, 61},
		"alone":       {func(j, d int) float64 { return math.Min(float64(j), 1) * (1 + float64(j)/float64(d)) }, 400, 41},
		"wide":        {func(j, d int) float64 { return math.Pow(10, float64(j)/10) }, 60, 61},
		"scalar":      {func(int, int) float64 { return 7 }, 1, 2},
		"alternating": {func(j, d int) float64 { return math.Cos(float64(j)) }, 100, 101},
	} {
		r := rand.New(rand.NewPCG(3, uint64(c.d)))
		// The matrix is a diagonal matrix with a Householder reflection applied on both sides.
		u := make([]float64, c.d)
		for j := range u {
			u[j] = r.NormFloat64()
		}
		n := stationarity.Norm(u)
		reflect := func(v []float64) []float64 {
			var s float64
			for j := range v {
				s += u[j] * v[j] / (n * n)
			}
			out := make([]float64, len(v))
			for j := range v {
				out[j] = v[j] - 2*s*u[j]
			}
			return out
		}
		least, size := math.Inf(1), 0.
		for j := range c.d {
			least, size = min(least, c.eigenvalues(j, c.d)), max(size, math.Abs(c.eigenvalues(j, c.d)))
		}
		products := 0
		got, err := stationarity.Lanczos(c.d, c.d, func(v []float64) ([]float64, error) {
			products++
			v = reflect(v)
			for j := range v {
				v[j] *= c.eigenvalues(j, c.d)
			}
			return reflect(v), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The tolerance of 1e-9 on the residual allows this error.
		if !(math.Abs(got.Value-least) <= 2e-9*size+1e-13) || got.Residual > 2e-9*size+1e-13 {
			t.Errorf("%s: %v, residual %v: want %v", name, got.Value, got.Residual, least)
		}
		if got.Products != products || products > c.most {
			t.Errorf("%s: %d products, said to be %d: want at most %d", name, products, got.Products, c.most)
		}
	}
	for _, none := range [][2]int{{0, 1}, {1, 0}} {
		if _, err := stationarity.Lanczos(none[0], none[1], nil); err == nil {
			t.Errorf("%d dimensions and %d products were taken", none[0], none[1])
		}
	}
}

// TestLanczosStops: with fewer products than needed, the value must not be below the least eigenvalue,
// and the residual must bound the distance from an eigenvalue.
func TestLanczosStops(t *testing.T) {
	const d = 60
	for _, most := range []int{1, 7, 30} {
		products := 0
		got, err := stationarity.Lanczos(d, most, func(v []float64) ([]float64, error) {
			products++
			out := make([]float64, d)
			for j := range v {
				out[j] = math.Cos(float64(j)) * v[j]
			}
			return out, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		nearest := math.Inf(1)
		for j := range d {
			nearest = min(nearest, math.Abs(math.Cos(float64(j))-got.Value))
		}
		if products != most+1 || got.Products != products || got.Value < -1 || nearest > got.Residual+1e-12 {
			t.Errorf("at most %d products: %d taken, value %v, residual %v, the nearest eigenvalue %v away", most, products,
				got.Value, got.Residual, nearest)
		}
	}
}
