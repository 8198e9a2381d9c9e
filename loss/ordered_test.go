package loss_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestOrderedIsProportionalOdds compares the loss with the definition of the model: differences of cumulative
// probabilities at thresholds that are in order.
func TestOrderedIsProportionalOdds(t *testing.T) {
	coin := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{3, 4, 9} {
		l := parse(t, "ordered("+strconv.Itoa(k)+")").(loss.Composed)
		for range 200 {
			x := []float32{float32(coin.NormFloat64() / 3), .5}
			w := make([]float64, l.Parameters(2))
			for j := range w {
				w[j] = 3 * coin.NormFloat64()
			}
			at := l.(interface {
				Thresholds([]float64, int) []float64
			}).Thresholds(w, 2)
			z := w[0]*float64(x[0]) + w[1]*float64(x[1])
			atLeast := func(c int) float64 { // P(y >= c)
				switch {
				case c == 0:
					return 1
				case c == k:
					return 0
				}
				return 1 / (1 + math.Exp(at[c-1]-z))
			}
			margins, sum := l.MarginsAt(w, x), 0.
			for c := range k {
				if c > 0 && c < k-1 && !(at[c] > at[c-1]) {
					t.Fatalf("ordered(%d): thresholds %v: must rise", k, at)
				}
				p := atLeast(c) - atLeast(c+1)
				if got := math.Exp(-l.Value(w, x, float64(c))); !(math.Abs(got-p) <= 1e-12) {
					t.Errorf("ordered(%d): probability of class %d = %v, want %v", k, c, got, p)
				}
				sum += math.Exp(margins[c])
			}
			if !(math.Abs(sum-1) <= 1e-12) {
				t.Errorf("ordered(%d): the probabilities of a row sum to %v", k, sum)
			}
		}
	}
}

// TestOrderedConstant: the constant weights give every row the wanted probabilities, also the smallest, and a record of
// a class is counted by the change of the loss, as optimize.BaseRate does.
func TestOrderedConstant(t *testing.T) {
	for _, k := range []int{3, 4, 9} {
		l := parse(t, "ordered("+strconv.Itoa(k)+")").(loss.Composed)
		const intercept = .25
		for j := range k {
			for _, low := range []float64{0, -32} {
				z := make([]float64, k)
				z[j] = low
				w, ok := loss.ConstantWeights(l, 2, intercept, z)
				z[j]--
				next, _ := loss.ConstantWeights(l, 2, intercept, z)
				z[j]++
				if !ok {
					t.Fatal("no constant")
				}
				whole := float64(k-1) + math.Exp(low)
				for c := range k {
					value := l.Value(w, []float32{.7, intercept}, float64(c))
					if want := math.Log(whole) - z[c]; !(math.Abs(value-want) <= 1e-9) {
						t.Errorf("ordered(%d): margin %v of class %d: loss of class %d = %v, want %v", k, low, j, c, value, want)
					}
					rise := l.Value(next, []float32{.7, intercept}, float64(c)) - value
					if want := map[bool]float64{true: 1}[c == j]; low == -32 && !(math.Abs(rise-want) <= 1e-9) {
						t.Errorf("ordered(%d): class %d: a record of class %d counts %v, want %v", k, j, c, rise, want)
					}
				}
			}
		}
	}
}

// TestOrderedBlocks: the engine's blocks of records give what single records give, with and without weights.
func TestOrderedBlocks(t *testing.T) {
	type stacked interface {
		loss.Composed
		Forward(dst, z, v, y []float64)
		Backward(s, rest, z, v, square, y []float64)
	}
	coin := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"ordered(3)", "ordered(5)", "weighted(ordered(5),1,2,3,4,0.5)", "weighted(ordered(5),row)"} {
		l := parse(t, name).(stacked)
		k := loss.ClassCount(l)
		const n = 7
		v := make([]float64, k-2)
		for j := range v {
			v[j] = 4 * coin.NormFloat64()
		}
		z, y, square := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range z {
			z[i], square[i] = 3*coin.NormFloat64(), 1
			y[i] = float64(coin.IntN(k))
			if loss.RowWeighted(l) {
				y[i] = loss.Carry(loss.Classes, y[i], coin.Float64())
			}
		}
		y[2], y[5] = math.NaN(), float64(k)+.5 // no classes
		values, s, rest := make([]float64, n), make([]float64, n), make([]float64, n*len(v))
		for i := range values { // the engine's memory is used again
			values[i], s[i] = 5, 6
		}
		same := func(a, b float64) bool { return a == b || a != a && b != b }
		l.Forward(values, z, v, y)
		l.Backward(s, rest, z, v, square, y)
		for i := range z {
			w, dst := append([]float64{z[i]}, v...), make([]float64, 1+len(v))
			l.Gradient(dst, w, []float32{1}, y[i])
			if !same(values[i], l.Value(w, []float32{1}, y[i])) || !same(s[i], dst[0]) {
				t.Errorf("%s: record %d: a block gives %v, %v", name, i, values[i], s[i])
			}
			for j := range v {
				if !same(rest[j*n+i], dst[1+j]) {
					t.Errorf("%s: record %d, gap %d: a block gives %v, want %v", name, i, j, rest[j*n+i], dst[1+j])
				}
			}
		}
	}
}

// TestClassWeightsMultiplyOdds: the best constant of a weighted loss has odds times the weight, as docs/how-to/costs.md
// says.
func TestClassWeightsMultiplyOdds(t *testing.T) {
	const p, weight = .1, 5.
	l := parse(t, "weighted(logistic,1,5)").(loss.RankOne)
	z := []float64{math.Log(weight * p / (1 - p)), 0}
	z[1] = z[0]
	var slope [2]float64
	l.Slopes(slope[:], z, []float64{-1, 1})
	if mean := (1-p)*slope[0] + p*slope[1]; !(math.Abs(mean) <= 1e-12) {
		t.Errorf("the slope at %v times the odds is %v, want 0", weight, mean)
	}
	q := 1 / (1 + math.Exp(-z[0]))
	if back := q / weight / (q/weight + 1 - q); !(math.Abs(back-p) <= 1e-12) {
		t.Errorf("the share is %v again, want %v", back, p)
	}
}

// TestGammaIsTheDeviance compares the loss with the gamma deviance where the residual is not capped, and its slope with
// the capped relative residual.
func TestGammaIsTheDeviance(t *testing.T) {
	const low, high, cap = 1., 1e7, 5.
	l := parse(t, "gamma(5,1e-07)").(loss.RankOne)
	for _, cost := range []float64{1, 3, 1000, 1e6, 1e7} {
		for _, mean := range []float64{1, 40, 2e3, 1e7} {
			y, z := []float64{2*(cost-low)/(high-low) - 1}, []float64{math.Log(mean / high)}
			var value, slope [1]float64
			l.Values(value[:], z, y)
			l.Slopes(slope[:], z, y)
			residual := cost/mean - 1
			if want := -min(residual, cap); !(math.Abs(slope[0]-want) <= 1e-6) {
				t.Errorf("cost %v, mean %v: slope %v, want %v", cost, mean, slope[0], want)
			}
			if want := residual - math.Log(cost/mean); residual < cap && !(math.Abs(value[0]-want) <= 1e-6) {
				t.Errorf("cost %v, mean %v: value %v, want %v", cost, mean, value[0], want)
			}
		}
	}
}

// TestOrderedInformation: cuts, own and scale must make up the mean Hessian over classes with the model's probabilities,
// where no class is rarer than .05.
func TestOrderedInformation(t *testing.T) {
	l := parse(t, "ordered(5)").(loss.Composed)
	w := []float64{.3, 1.1, -.4, .6} // the score's weight, and the parameters of the gaps
	x := []float32{1}
	cuts, own, scale := l.(interface {
		Information(v []float64, z float64) (cuts, own, scale []float64)
	}).Information(w[1:], .3)
	for j := range w {
		along, got := make([]float64, len(w)), make([]float64, len(w))
		along[j] = 1
		for class, logarithm := range l.MarginsAt(w, x) {
			product := make([]float64, len(w))
			l.(loss.Twice).HessianVector(product, w, along, x, float64(class))
			for i, v := range product {
				got[i] += math.Exp(logarithm) * v
			}
		}
		row := func(k, i int) float64 { // the derivative of the score minus threshold k in parameter i
			switch {
			case i == 0:
				return 1
			case i <= k:
				return -scale[i-1]
			}
			return 0
		}
		for i := range w {
			want := 0.
			for k, c := range cuts {
				want += c * row(k, i) * row(k, j)
			}
			if i == j && i > 0 {
				want += own[i-1] * scale[i-1] * scale[i-1]
			}
			if !(math.Abs(got[i]-want) <= 1e-12) {
				t.Errorf("entry %d, %d is %v: must be %v", i, j, want, got[i])
			}
		}
	}
}
