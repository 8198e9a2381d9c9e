package simd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// everyKind calls f once for each implementation that this machine can run.
func everyKind(t *testing.T, f func(t *testing.T)) {
	t.Run("as chosen", f)
	for _, restrict := range restrictions {
		restore := restrict.by()
		t.Run(restrict.name, f)
		restore()
	}
}

// numbers returns n numbers: ordinary ones, ones of any bits, and now and then one that is not finite.
func numbers(r *rand.Rand, n int) []float64 {
	special := []float64{0, math.Copysign(0, -1), 5e-324, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	v, any := make([]float64, n), r.IntN(3) == 0
	for i := range v {
		v[i] = r.NormFloat64()
		if any && r.IntN(8) == 0 {
			v[i] = special[r.IntN(len(special))]
		}
		if any && r.IntN(8) == 0 {
			v[i] = math.Float64frombits(r.Uint64())
		}
	}
	return v
}

func alike(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// TestRecordsAreAlone tests every function against its definition, written out for one record at a time, for
// every number of records up to a few registers. What lies behind a result is left as it was.
func TestRecordsAreAlone(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 53))
		for trial := range 700 {
			n, m, step := trial%70, r.IntN(6), 1+r.IntN(3)
			x, w, f := numbers(r, m*n), numbers(r, (m+1)*step), numbers(r, n)
			of := func(i int) (v []float64) {
				for j := range m {
					v = append(v, x[j*n+i])
				}
				return v
			}
			results := map[string][]float64{}
			into := func(name string, compute func(dst []float64)) {
				dst := make([]float64, n+9)
				for i := range dst {
					dst[i] = 7
				}
				compute(dst[:n:n])
				for _, v := range dst[n:] {
					if v != 7 {
						t.Fatalf("%s of %d records writes behind its result", name, n)
					}
				}
				results[name] = dst[:n]
			}
			into("dots", func(dst []float64) { Dots(dst, w, step, x) })
			into("squares", func(dst []float64) { Squares(dst, x) })
			into("fused squares", func(dst []float64) { FusedSquares(dst, x) })
			into("largest", func(dst []float64) { Largest(dst, x) })
			for i := range n {
				var dot, square, fused, largest float64
				for j, v := range of(i) {
					dot = math.FMA(w[j*step], v, dot)
					square += float64(v * v)
					fused = math.FMA(v, v, fused)
					if largest = max(largest, math.Abs(v)); v != v {
						largest = v
					}
				}
				for name, want := range map[string]float64{"dots": dot, "squares": square, "fused squares": fused, "largest": largest} {
					if got := results[name][i]; !alike(got, want) {
						t.Fatalf("%s of record %d of %d, %v: %v, want %v", name, i, n, of(i), got, want)
					}
				}
			}

			scaled, turned, back := make([]float64, m*n), make([]float64, m*n), make([]float64, m*n)
			Times(scaled, x, f)
			Turn(turned, x, n)
			Turn(back, turned, m)
			sum, a, other := numbers(r, m*n), r.NormFloat64(), numbers(r, m*n)
			before := append([]float64(nil), sum...)
			Add(sum, a, other)
			for k := range x {
				if want := x[k] * f[k%n]; !alike(scaled[k], want) {
					t.Fatalf("%v times %v: %v, want %v", x[k], f[k%n], scaled[k], want)
				}
				if want := before[k] + float64(a*other[k]); !alike(sum[k], want) {
					t.Fatalf("%v + %v * %v: %v, want %v", before[k], a, other[k], sum[k], want)
				}
				if !alike(turned[k%n*m+k/n], x[k]) || !alike(back[k], x[k]) {
					t.Fatalf("number %d of record %d is lost in turning %d x %d", k/n, k%n, m, n)
				}
			}
			Times(x, x, f)
			for k := range x {
				if !alike(x[k], scaled[k]) {
					t.Fatalf("in place: %v, want %v", x[k], scaled[k])
				}
			}
		}
	})
}

// TestRotations tests rotations in both directions against their definition, for every number of records up to a few
// registers.
func TestRotations(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 53))
		for n := 1; n < 70; n++ {
			m := 1 + r.IntN(7)
			x, k := numbers(r, m*n), r.IntN(m)
			first, step := r.IntN(m-k), 1
			if r.IntN(2) == 0 {
				first, step = first+k, -1
			}
			c, s := numbers(r, k), numbers(r, k)
			want := append([]float64(nil), x...)
			for i := range k {
				a, b := want[(first+i*step)*n:][:n], want[(first+(i+1)*step)*n:][:n]
				for at := range a {
					p, q := a[at], b[at]
					a[at] = math.FMA(c[i], p, float64(s[i]*q))
					b[at] = math.FMA(-s[i], p, float64(c[i]*q))
				}
			}
			Rotate(x, n, first, step, c, s)
			for i := range x {
				if !alike(x[i], want[i]) {
					t.Fatalf("%d rotations from row %d by %d, %d of %d records: %v, want %v", k, first, step, i%n, n, x[i], want[i])
				}
			}
		}
	})
}

// TestRounded tests sums of rounded numbers, halves and the largest numbers among them, at every length.
func TestRounded(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(2, 53))
		for n := range 70 {
			x, want := make([]float64, n), int64(0)
			for i := range x {
				switch r.IntN(3) {
				case 0:
					x[i] = float64(r.IntN(41)-20) / 2
				case 1:
					x[i] = math.Ldexp(2*r.Float64()-1, r.IntN(52))
				default:
					x[i] = math.Copysign(0x1p51, r.NormFloat64())
				}
				want += int64(math.RoundToEven(x[i]))
			}
			if got := Rounded(x); got != want {
				t.Fatalf("%v: %d, want %d", x, got, want)
			}
		}
	})
}

// TestRoundedDot tests sums of rounded products beside exact ones, at every length. Some products are nearer to a half
// than a float64 tells.
func TestRoundedDot(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(2, 54))
		for n := range 70 {
			x, y, want := make([]float64, n), make([]float64, n), int64(0)
			for i := range x {
				switch x[i], y[i] = math.Ldexp(2*r.Float64()-1, r.IntN(51)), 2*r.Float64()-1; r.IntN(3) {
				case 0:
					x[i], y[i] = float64(r.IntN(41)-20), float64(r.IntN(41)-20)/2
				case 1:
					y[i] = (math.Floor(x[i]) + .5) / x[i] // the product is a half, but for less than a rounding error
				}
				a, b := new(big.Float).SetFloat64(x[i]), new(big.Float).SetFloat64(y[i])
				// Of 53 bits, 1.5*2^52 and the product leave those of the integer.
				sum := new(big.Float).SetPrec(2000).Mul(a, b)
				near, _ := new(big.Float).SetPrec(53).Add(sum, big.NewFloat(0x1.8p52)).Float64()
				want += int64(near - 0x1.8p52)
			}
			if got := RoundedDot(x, y); got != want {
				t.Fatalf("%v times %v: %d, want %d", x, y, got, want)
			}
		}
	})
}

// TestLengths tests that lengths that do not fit each other are refused.
func TestLengths(t *testing.T) {
	v := func(n int) []float64 { return make([]float64, n) }
	for name, f := range map[string]func(){
		"a part of a row":   func() { Squares(v(8), v(12)) },
		"rows of nothing":   func() { Largest(v(0), v(12)) },
		"too few weights":   func() { Dots(v(8), v(4), 2, v(24)) },
		"another factor":    func() { RoundedDot(v(8), v(9)) },
		"another length":    func() { Times(v(15), v(16), v(8)) },
		"fewer numbers":     func() { Add(v(9), 1, v(8)) },
		"too many turns":    func() { Rotate(v(8), 4, 0, 1, v(2), v(2)) },
		"too far down":      func() { Rotate(v(8), 4, 0, -1, v(1), v(1)) },
		"a part of a block": func() { Turn(v(9), v(9), 2) },
		"too few columns":   func() { AddProducts(v(128), 31, v(8), 2, v(64), 32, 2) },
		"too few rows":      func() { AddProducts(v(128), 32, v(7), 2, v(64), 32, 2) },
		"too few products":  func() { AddProducts(v(128), 32, v(8), 2, v(63), 32, 2) },
		"too small sums":    func() { AddProducts(v(127), 32, v(8), 2, v(64), 32, 2) },
		"a part of eight":   func() { Sides(v(9), v(36), 9, v(9), [4]float64{}) },
		"rows of less":      func() { Sides(v(8), v(31), 8, v(8), [4]float64{}) },
		"another vector":    func() { Sides(v(8), v(64), 16, v(16), [4]float64{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
