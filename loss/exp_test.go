package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestBlocks tests that a record's results do not depend on the number of records in the call, nor
// on whether the results overwrite margins or targets.
func TestBlocks(t *testing.T) {
	const n = 2*len(block{}) + 9
	rng := rand.New(rand.NewPCG(7, 8))
	all := []RankOne{Logistic(), Sigmoid(), Tanh(), poisson{clip: .3, least: 1}, poisson{clip: .3, least: .5},
		poisson{clip: .3, least: .5, grouped: true}}
	for _, name := range []string{"welsch(.3)", "gamma(.5,.01)", "gamma(2,.01)", "negbinomial(2,1,10)", "tweedie(1.5,2,1,10)",
		"tweedie(1.1,1,1e-6,1)", "negbinomial-rate(2,1,10,.2)", "tweedie-rate(1.7,3,1,10,.2)"} {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l.(RankOne))
	}
	special := []float64{0, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, -1e300, 700, -700}
	for _, l := range all {
		z, y := make([]float64, n), make([]float64, n)
		for i := range z {
			if z[i], y[i] = rng.NormFloat64()*3, float64(2*rng.IntN(2)-1); i >= n-30 {
				z[i] = special[rng.IntN(len(special))]
			}
			if i%3 == 0 && l.Target() == Real {
				y[i] = Carry(Real, 2*rng.Float64()-1, rng.Float64())
			}
		}
		for name, f := range map[string]func(dst, z,
			y []float64){"values": l.Values, "slopes": l.Slopes, "curvatures": l.Curvatures} {
			want := make([]float64, n)
			for i := range want {
				f(want[i:i+1], z[i:i+1], y[i:i+1])
			}
			dst, overZ, overY := make([]float64, n), append([]float64(nil), z...), append([]float64(nil), y...)
			f(dst, z, y)
			f(overZ, overZ, y)
			f(overY, z, overY)
			for i, v := range want {
				for _, got := range []float64{dst[i], overZ[i], overY[i]} {
					if math.Float64bits(got) != math.Float64bits(v) && !(got != got && v != v) {
						t.Fatalf("%s: %s: record %d of %d: %v, by itself %v", l.Name(), name, i, n, got, v)
					}
				}
			}
		}
	}
}

// TestBlocksOfClasses compares the value and the slopes of a softmax loss with their formulas, for more
// classes than a block of scratch memory holds.
func TestBlocksOfClasses(t *testing.T) {
	const k = len(block{}) + 40
	l := softmax{k}
	z := make([]float64, k)
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	sum := 0.0
	for _, v := range z {
		sum += math.Exp(v)
	}
	value, slopes := make([]float64, 1), make([]float64, k)
	l.Values(value, z, []float64{3})
	l.Slopes(slopes, z, []float64{3})
	if want := math.Log(sum) - z[3]; !(math.Abs(value[0]-want) <= 1e-13) {
		t.Errorf("value %v, want %v", value[0], want)
	}
	for j, s := range slopes {
		want := math.Exp(z[j]) / sum
		if j == 3 {
			want--
		}
		if !(math.Abs(s-want) <= 1e-15) {
			t.Errorf("slope %d: %v, want %v", j, s, want)
		}
	}
}

// TestBlocksOfRecords tests that results of softmax and of ordered classes do not depend on the number of records in the
// call.
func TestBlocksOfRecords(t *testing.T) {
	const n, k = 2*len(block{}) + 9, 5
	rng := rand.New(rand.NewPCG(11, 10))
	o := orderedOf(k, softmax{k})
	z, y, v := make([]float64, n*k), make([]float64, n), make([]float64, k-2)
	for i := range z {
		z[i] = rng.NormFloat64() * 3
	}
	for i := range y {
		y[i] = float64(rng.IntN(k+1)) - float64(i%7)/7*float64(i%2)
	}
	for j := range v {
		v[j] = rng.NormFloat64()
	}
	values, slopes, forward, s, rest := make([]float64, n), make([]float64, n*k), make([]float64, n), make([]float64, n), make([]float64, n*(k-2))
	softmax{k}.Values(values, z, y)
	softmax{k}.Slopes(slopes, z, y)
	o.Forward(forward, z[:n], v, y)
	o.Backward(s, rest, z[:n], v, make([]float64, n), y)
	for i := range n {
		var value, one, own [1]float64
		var each [k]float64
		var gaps [k - 2]float64
		softmax{k}.Values(value[:], z[i*k:(i+1)*k], y[i:i+1])
		softmax{k}.Slopes(each[:], z[i*k:(i+1)*k], y[i:i+1])
		o.Forward(one[:], z[i:i+1], v, y[i:i+1])
		o.Backward(own[:], gaps[:], z[i:i+1], v, []float64{1}, y[i:i+1])
		got := append([]float64{values[i], forward[i], s[i]}, slopes[i*k:(i+1)*k]...)
		want := append([]float64{value[0], one[0], own[0]}, each[:]...)
		for j := range k - 2 {
			got, want = append(got, rest[j*n+i]), append(want, gaps[j])
		}
		for j := range want {
			if own[0] != own[0] && j > 2 { // an invalid record's other numbers have no meaning
				continue
			}
			if math.Float64bits(got[j]) != math.Float64bits(want[j]) && !(got[j] != got[j] && want[j] != want[j]) {
				t.Fatalf("record %d of %d, class %v: number %d: %v, by itself %v", i, n, y[i], j, got[j], want[j])
			}
		}
	}
}
