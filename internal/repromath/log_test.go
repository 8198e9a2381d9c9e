package repromath

import (
	"math"
	"math/rand/v2"
	"testing"
)

var logarithms = []struct {
	name string
	many func(dst, x []float64)
	one  func(float64) float64
}{{"Log", Logs, Log}, {"Log1p", Log1ps, Log1p}, {"math.Log1p", CommonLog1ps, math.Log1p}}

// TestLogsAreLog tests that logarithms of several numbers have the bits of those of one, for any numbers, for numbers at
// which their steps change, in place, and for every length and position.
func TestLogsAreLog(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 2, 3, .5, 7, 1 << 52, 1 << 53, 1<<53 - 1, 1 << 54, math.Sqrt2, math.Sqrt2 / 2,
		math.Sqrt2 - 1, 4.142135623730950488017e-01, 0x1p-29, 0x1p-54, 0x1p-1022, 0x1p-1074, math.MaxFloat64, -math.MaxFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(), -math.NaN(), -.5, -.25, 2*math.Sqrt2 - 1, 4*math.Sqrt2 - 1, 0x1p1023}
	blocks := 20_000
	if testing.Short() {
		blocks = 2_000
	}
	everyKind(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for _, f := range logarithms {
			for block := range blocks {
				x := make([]float64, rng.IntN(70)+3)
				for i := range x {
					switch v := rng.Float64(); (block + rng.IntN(2)) % 7 {
					case 0:
						x[i] = math.Float64frombits(rng.Uint64())
					case 1:
						x[i] = special[rng.IntN(len(special))]
					case 2: // near a special number
						x[i] = math.Float64frombits(math.Float64bits(special[rng.IntN(len(special))]) + rng.Uint64N(9) - 4)
					case 3:
						x[i] = math.Ldexp(v, -rng.IntN(60))
					case 4:
						x[i] = math.Ldexp(1+v, rng.IntN(60))
					case 5:
						x[i] = v
					default:
						x[i] = 2*v - 1
					}
				}
				at := block % 3
				n := len(x) - 3
				dst, want := make([]float64, n), append([]float64(nil), x...)
				for i := range n {
					want[at+i] = f.one(x[at+i])
				}
				f.many(dst, x[at:at+n])
				given := append([]float64(nil), x...)
				f.many(x[at:at+n], x[at:at+n])
				for i := range x {
					if !alike(x[i], want[i]) || i >= at && i < at+n && !alike(dst[i-at], want[i]) {
						t.Fatalf("%s of %d numbers, of which %v is number %d: %v, want %v", f.name, n, given[i], i-at, x[i], want[i])
					}
				}
			}
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("lengths that differ are taken")
		}
	}()
	Logs(make([]float64, 8), make([]float64, 9))
}

// TestManyAtOnce tests that ordinary numbers are computed by vector instructions, where there are some, up to the last
// whole register.
func TestManyAtOnce(t *testing.T) {
	x := make([]float64, 64)
	for i := range x {
		x[i] = float64(i+1) / 65
	}
	lanes := 1
	for n := 4; n <= 8; n *= 2 {
		if expsAtOnce(make([]float64, n), x[:n]) == n {
			lanes = n
		}
	}
	for of := range commonLog1p + 1 {
		plain := of != commonLog1p || math.Log1p(0.4289270524628884) == 0.3569238496831492 // not fused
		if n := logsAtOnce(make([]float64, 64), x, of); plain && lanes > 1 && n != 64 {
			t.Errorf("%s: %d of 64 numbers at once", logarithms[of].name, n)
		}
	}
}

func BenchmarkLogs(b *testing.B) {
	x, dst := make([]float64, 1024), make([]float64, 1024)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = rng.Float64()
	}
	for _, f := range logarithms {
		for name, run := range map[string]func(){
			"one by one": func() {
				for i, v := range x {
					dst[i] = f.one(v)
				}
			},
			"at once": func() { f.many(dst, x) },
		} {
			b.Run(f.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/number")
			})
		}
	}
}
