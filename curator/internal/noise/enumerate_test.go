package noise

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// A script deals the given digits and after them random ones.
type script struct {
	digits []uint64
	width  uint
	used   int
	after  *coin.Secret
}

func (s *script) Fill(dst []uint64) {
	for i := range dst {
		if s.used < len(s.digits) {
			dst[i] = s.digits[s.used] << (64 - s.width)
		} else {
			dst[i] = s.after.Uint64()
		}
		s.used++
	}
}

// enumerate walks the tree of all scripts of up to depth digits. It returns
// the exact probability of each outcome that a script decides and of all that
// remain undecided: sums of multiples of 2^-(width*depth), exact in float64.
func enumerate[T comparable](width uint, depth int, draw func(*flips) T) (mass map[T]float64, undecided float64) {
	mass = make(map[T]float64)
	after := coin.Simulated(seed(61))
	digits := make([]uint64, 0, depth)
	var walk func()
	walk = func() {
		s := &script{digits: digits, width: width, after: after}
		outcome := draw(newFlips(s, width, 1))
		weight := math.Ldexp(1, -int(width)*len(digits))
		switch {
		case s.used <= len(digits):
			mass[outcome] += weight
		case len(digits) == depth:
			undecided += weight
		default:
			digits = append(digits, 0)
			for d := range uint64(1) << width {
				digits[len(digits)-1] = d
				walk()
			}
			digits = digits[:len(digits)-1]
		}
	}
	walk()
	return mass, undecided
}

// checkMass wants decided <= p <= decided + undecided and little undecided.
func checkMass(t *testing.T, name string, decided, undecided, p, limit float64) {
	t.Helper()
	if undecided > limit {
		t.Errorf("%s: %v undecided, want at most %v", name, undecided, limit)
	}
	const rounding = 1e-14 // of p
	if p < decided-rounding || p > decided+undecided+rounding {
		t.Errorf("%s: probability in [%v, %v], want %v", name, decided, decided+undecided, p)
	}
}

// simpson integrates g over [a, b] to about 1e-15 for the smooth, tame
// integrands here.
func simpson(g func(float64) float64, a, b float64) float64 {
	const steps = 1000
	h := (b - a) / steps
	sum := g(a) + g(b)
	for i := 1; i < steps; i++ {
		sum += float64(2+2*(i%2)) * g(a+float64(i)*h)
	}
	return sum * h / 3
}

// shape is a width with a depth that leaves little undecided.
type shape struct {
	width uint
	depth int
}

func (s shape) String() string { return fmt.Sprintf("width %d depth %d", s.width, s.depth) }

func TestOneInExactly(t *testing.T) {
	for _, s := range []shape{{1, 16}, {2, 8}, {3, 5}} {
		for _, m := range []uint64{1, 2, 3, 4, 5, 6, 7, 8, 12, 30, 31, 32, 33, 1000, 1 << 40} {
			mass, undecided := enumerate(s.width, s.depth, func(f *flips) bool { return f.oneIn(m) })
			checkMass(t, fmt.Sprintf("1/%d, %v", m, s), mass[true], undecided, 1/float64(m), 0x1p-14)
		}
	}
}

func TestPlaceExactly(t *testing.T) {
	for _, s := range []shape{{1, 12}, {2, 7}, {3, 5}} {
		mass, undecided := enumerate(s.width, s.depth, func(f *flips) uint { return f.place() })
		for i := range uint(10) {
			if mass[i] != math.Ldexp(1, -int(i)-1) {
				t.Errorf("%v: place %d has probability %v", s, i, mass[i])
			}
		}
		if undecided > 0x1p-11 {
			t.Errorf("%v: %v undecided", s, undecided)
		}
	}
}

// Algorithm H, and the geometric law that stands on it.
func TestHalvesExactly(t *testing.T) {
	for _, s := range []shape{{1, 18}, {2, 9}, {3, 6}} {
		mass, undecided := enumerate(s.width, s.depth, func(f *flips) bool { return f.half(1) })
		checkMass(t, fmt.Sprintf("H, %v", s), mass[true], undecided, math.Exp(-.5), 1e-3)
		count, undecided := enumerate(s.width, s.depth, func(f *flips) uint64 { return f.halves() })
		for n := range uint64(6) {
			p := math.Exp(-float64(n)/2) * -math.Expm1(-.5)
			checkMass(t, fmt.Sprintf("halves = %d, %v", n, s), count[n], undecided, p, .03)
		}
	}
}

// Algorithm B averaged over x, which it draws digit by digit.
func TestRunExactly(t *testing.T) {
	for _, s := range []shape{{1, 18}, {2, 9}, {3, 6}} {
		for n := range uint64(4) {
			mass, undecided := enumerate(s.width, s.depth, func(f *flips) bool {
				x := f.fraction()
				return f.run(n, &x)
			})
			p := simpson(func(x float64) float64 {
				return math.Exp(-x * (2*float64(n) + x) / (2*float64(n) + 2))
			}, 0, 1)
			checkMass(t, fmt.Sprintf("B(%d), %v", n, s), mass[true], undecided, p, .08)
		}
	}
}

// Algorithm B given x, for the dyadic x = j/8.
func TestRunGivenFractionExactly(t *testing.T) {
	const width, depth = 3, 6
	zeros := make([]uint64, 64)
	for n := range uint64(4) {
		for j := range uint64(8) {
			mass, undecided := enumerate(width, depth, func(f *flips) bool {
				return f.run(n, &fraction{head: j, tail: zeros})
			})
			x := float64(j) / 8
			p := math.Exp(-x * (2*float64(n) + x) / (2*float64(n) + 2))
			checkMass(t, fmt.Sprintf("B(%d, %v)", n, x), mass[true], undecided, p, .05)
		}
	}
}

// One whole trial: the probability of accepting n with x in a given quarter.
func TestTrialExactly(t *testing.T) {
	type outcome struct {
		ok      bool
		n       uint64
		quarter uint64
	}
	depth := 20
	if testing.Short() {
		depth = 16
	}
	for _, s := range []shape{{1, depth}, {2, depth / 2}, {3, depth / 3}} {
		mass, undecided := enumerate(s.width, s.depth, func(f *flips) outcome {
			n, x, ok := f.trial()
			if !ok {
				return outcome{}
			}
			return outcome{true, n, f.leading(&x, 2)}
		})
		for n := range uint64(4) {
			for q := range uint64(4) {
				a := float64(n) + float64(q)/4
				p := -math.Expm1(-.5) * simpson(func(x float64) float64 { return math.Exp(-x * x / 2) }, a, a+.25)
				checkMass(t, fmt.Sprintf("trial %d + %d/4, %v", n, q, s), mass[outcome{true, n, q}], undecided, p, .4)
			}
		}
		t.Logf("%v: %.2g undecided", s, undecided)
	}
}

// Rounding n + x, x = j/64 and a little, to multiples of 2^-k: nearest, and
// both signs alike.
func TestRoundExactly(t *testing.T) {
	for _, s := range []shape{{1, 6}, {2, 3}, {3, 2}} {
		for n := range uint64(3) {
			for j := range uint64(64) {
				for k := range uint(5) {
					mass, undecided := enumerate(s.width, 1, func(f *flips) int64 {
						x := fraction{head: j >> (6 - s.width)}
						for i := 2; i <= s.depth; i++ {
							x.tail = append(x.tail, j>>(6-uint(i)*s.width)&(1<<s.width-1))
						}
						return f.round(n, &x, k)
					})
					m := int64(math.Round(math.Ldexp(float64(n)+float64(j)/64+0x1p-10, int(k))))
					want := map[int64]float64{m: .5, -m: .5}
					if m == 0 {
						want = map[int64]float64{0: 1}
					}
					if undecided != 0 || !maps.Equal(mass, want) {
						t.Fatalf("%v: %d + %d/64 at k = %d: %v and %v undecided, want %v", s, n, j, k, mass, undecided, want)
					}
				}
			}
		}
	}
}
