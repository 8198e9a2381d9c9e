//go:build results

package results_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// TestMetricIsStable prints the largest eigenvalue of P G P, where G is the exact second moment of
// the rows and P is the metric (preconditioner) that the noisy second moment about the mean gives
// (optimize/firstorder/moment.go), without a floor for its eigenvalues, on the training rows of
// every table of a folder, with the mean counted once and three times. Its noise is drawn in
// floating point.
func TestMetricIsStable(t *testing.T) {
	if *outcomeIn == "" {
		t.Skip("-outcome names no folder")
	}
	names, err := filepath.Glob(filepath.Join(*outcomeIn, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if *outcomeOnly != "" && !strings.Contains(","+*outcomeOnly+",", ","+name+",") {
			continue
		}
		c := config(t, path)
		r := read(t, c.DataPath(), c.Schema, "split=train")
		G := r.weighted(nil)
		for _, word := range strings.Split(*outcomeAt, ",") {
			epsilon, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatal(err)
			}
			mu, err := mechanism.GaussianMu(epsilon, *c.Privacy.Delta)
			if err != nil {
				t.Fatal(err)
			}
			N := float64(r.n()) * mu / math.Sqrt(float64(r.dim))
			if N < 50 || N >= 1000 {
				continue
			}
			var once, thrice, cut float64
			for seed := range uint64(*rivalRuns) {
				a, b, share := r.largest(t, G, mu, N, rand.New(rand.NewPCG(seed, 1)))
				once, thrice, cut = max(once, a), max(thrice, b), max(cut, share)
			}
			fmt.Printf("| %s | %v | %.0f | %.2f | %.2f | %.2f |\n", name, epsilon, N, once, thrice, cut)
		}
	}
}

// largest returns the largest eigenvalue of P G P for the metric P in which the mean's part m m' of
// the second moment G is counted once, and three times. It also returns the share of rows that are
// shortened.
func (r *rows) largest(t *testing.T, G *mat.SymDense, mu, N float64, random *rand.Rand) (once, thrice, cut float64) {
	n, d := float64(r.n()), r.dim
	charge := .1 * mu * mu
	ones := make([]float64, r.n())
	for i := range ones {
		ones[i] = 1
	}
	m := noisy(r.mean(ones), 2/(n*math.Sqrt(.15*charge)), random)
	if size := math.Sqrt(dot(m, m)); size > 1 {
		for j := range m {
			m[j] /= size
		}
	}
	// For z = f (x - m), mean z z' = mean f^2 x x' - u m' - m u' + s m m', where u = mean f^2 x and s =
	// mean f^2.
	far := make([]float64, r.n())
	var rho float64
	for i := range far {
		at, x := r.row(i)
		far[i] = dot(m, m)
		for k, j := range at {
			far[i] += x[k]*x[k] - 2*x[k]*m[j]
		}
		rho += min(far[i], 1) / n
	}
	sigma := 1 / (n * math.Sqrt(.02*charge))
	rho += sigma * (random.NormFloat64() + 2)
	R := min(1.15*math.Max(1, math.Pow(N/200, .25))*math.Sqrt(max(rho, .01)), 1)
	var s float64
	for i, v := range far {
		far[i] = min(1, R*R/v)
		s += far[i] / n
		if far[i] < 1 {
			cut += 1 / n
		}
	}
	C, u := r.weighted(far), r.mean(far)
	for j := range d {
		for k := range j + 1 {
			C.SetSym(j, k, C.At(j, k)-u[j]*m[k]-m[j]*u[k]+s*m[j]*m[k])
		}
	}
	sigma = math.Sqrt2 * R * R / (n * math.Sqrt(.83*charge))
	values, vectors := spectrum(t, noisySymmetric(C, sigma, random))
	top := func(weight float64) float64 {
		S := mat.NewSymDense(d, nil)
		for i, v := range values {
			S.SymRankOne(S, max(v, 0), vectors.ColView(i))
		}
		S.SymRankOne(S, weight, mat.NewVecDense(d, m))
		for j := range d {
			S.SetSym(j, j, S.At(j, j)+sigma*math.Sqrt(2*float64(d)))
		}
		values, vectors := spectrum(t, S)
		var half, P, product, whole mat.Dense
		half.Apply(func(_, k int, v float64) float64 { return v / math.Sqrt(math.Sqrt(values[k])) }, vectors)
		P.Mul(&half, half.T())
		product.Mul(&P, G)
		whole.Mul(&product, &P)
		of := mat.NewSymDense(d, nil)
		for j := range d {
			for k := range j + 1 {
				of.SetSym(j, k, (whole.At(j, k)+whole.At(k, j))/2)
			}
		}
		last, _ := spectrum(t, of)
		return last[d-1]
	}
	return top(1), top(3), cut
}
