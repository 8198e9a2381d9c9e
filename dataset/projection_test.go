package dataset

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestProjection tests mapped rows against an explicit matrix, that inner products are nearly
// preserved, that norms keep the bound, and that lifted weights give the margins of mapped rows.
func TestProjection(t *testing.T) {
	const d, k = 300, 200
	p, err := ParseProjection("jl(200, 7)", d)
	if err != nil {
		t.Fatal(err)
	}
	matrix := make([][]float64, k)
	for i := range matrix {
		matrix[i] = make([]float64, d)
		for j := range d {
			matrix[i][j] = 1 / math.Sqrt(k)
			if p.signs(j, i/64)>>(i%64)&1 != 0 {
				matrix[i][j] *= -1
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	w := make([]float64, 2*k)
	for i := range w {
		w[i] = random.NormFloat64()
	}
	lifted := p.Lift(w)
	if len(lifted) != 2*d {
		t.Fatalf("%d lifted weights", len(lifted))
	}
	long := 0
	for range 200 {
		x := make([]float32, d)
		size := 0.0
		for j := range x {
			if random.IntN(3) == 0 {
				x[j] = float32(random.NormFloat64())
			}
			size += float64(x[j]) * float64(x[j])
		}
		for j := range x {
			x[j] /= float32(math.Sqrt(size)) * 1.0001
		}
		want, square := make([]float64, k), 0.0
		for i := range want {
			for j, v := range x {
				want[i] += matrix[i][j] * float64(v)
			}
			square += want[i] * want[i]
		}
		if !(math.Abs(square-1) <= .6) { // the deviation is sqrt(2/k) = .1
			t.Errorf("a row of norm 1 is mapped to one of squared norm %v", square)
		}
		if square > 1 {
			long++
		}
		got := make([]float32, k)
		p.Map(got, make([]float64, k), x)
		norm, margins := 0.0, [2]float64{}
		for i, v := range got {
			norm += float64(v) * float64(v)
			if !(math.Abs(float64(v)-want[i]/math.Sqrt(max(square, 1))) <= 1e-7) {
				t.Fatalf("entry %d is %v, by the matrix %v", i, v, want[i])
			}
			margins[0] += w[i] * want[i]
			margins[1] += w[k+i] * want[i]
		}
		if norm > NormBound*NormBound {
			t.Errorf("squared norm %v beyond the bound", norm)
		}
		for m, margin := range margins {
			sum := 0.0
			for j, v := range x {
				sum += lifted[m*d+j] * float64(v)
			}
			if !(math.Abs(sum-margin) <= 1e-9) {
				t.Errorf("margin %d is %v of lifted weights, %v of mapped rows", m, sum, margin)
			}
		}
	}
	if long < 50 || long > 150 {
		t.Errorf("%d of 200 mapped rows were longer than 1", long)
	}
	if other, _ := ParseProjection("jl(200)", d); other.signs(0, 0) == p.signs(0, 0) || other.Name() != "jl(200,1)" {
		t.Error("two seeds make one map")
	}
}

func TestProjectionNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"jl(1)": true, "jl(9,0)": true, "jl(10)": false, "jl(0)": false, "jl(-1)": false, "jl()": false, "jl(2": false,
		"jl":      false,
		"jl(2,x)": false, "jl(2,-1)": false, "jl(2,9007199254740992)": false, "pca(2)": false,
	} {
		p, err := ParseProjection(name, 10)
		if ok != (err == nil) || !ok && !strings.Contains(err.Error(),
			"must be jl(k), with k from 1 to below the 10 features") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
		if ok && (p.Serves(10) != nil || p.Serves(11) == nil) {
			t.Errorf("%s: serves %v, %v", name, p.Serves(10), p.Serves(11))
		}
	}
	if (&Projection{}).Serves(0) == nil {
		t.Error("the zero Projection serves")
	}
}
