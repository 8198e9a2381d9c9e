package noise

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// script is a source that supplies the given digits and then random ones.
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

// coarse returns cells of width 2^-s for digits of few bits. It caches their bounds, since with
// such digits a draw often needs more than one digit.
func coarse(s, width uint) *cells {
	type key struct{ s, width uint }
	c, ok := made.Load(key{s, width})
	if !ok {
		c, _ = made.LoadOrStore(key{s, width}, newCoarse(s, width))
	}
	return c.(*cells)
}

var made sync.Map

func newCoarse(s, width uint) *cells {
	c := newCells(s, width)
	var known sync.Map
	c.bounds = func(n uint) []*big.Int {
		b, ok := known.Load(n)
		if !ok {
			b, _ = known.LoadOrStore(n, boundsOf(s, n))
		}
		return b.([]*big.Int)
	}
	return c
}

// enumerate draws once for every script of up to depth digits, as the leaves of a tree. It returns
// the exact probability of each outcome that a script decides, and the probability of all scripts
// that decide none. The probabilities are sums of multiples of 2^-(width*depth), exact in float64.
func enumerate[T comparable](c *cells, depth int, draw func(*randomBits) T) (mass map[T]float64, undecided float64) {
	mass = make(map[T]float64)
	width := c.width
	after := coin.Simulated(seed(61))
	digits := make([]uint64, 0, depth)
	var walk func()
	walk = func() {
		s := &script{digits: digits, width: width, after: after}
		outcome := draw(newFlips(s, c, 1))
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

// checkMass fails unless decided <= p <= decided + undecided and undecided is at most limit.
func checkMass(t *testing.T, name string, decided, undecided, p, limit float64) {
	t.Helper()
	if undecided > limit {
		t.Errorf("%s: %v undecided, want at most %v", name, undecided, limit)
	}
	const rounding = 1e-14 // rounding error of p
	if p < decided-rounding || p > decided+undecided+rounding {
		t.Errorf("%s: probability in [%v, %v], want %v", name, decided, decided+undecided, p)
	}
}

// simpson integrates g over [a, b], with an error of about 1e-15 for the smooth integrands of these
// tests.
func simpson(g func(float64) float64, a, b float64) float64 {
	const steps = 1000
	h := (b - a) / steps
	sum := g(a) + g(b)
	for i := 1; i < steps; i++ {
		sum += float64(2+2*(i%2)) * g(a+float64(i)*h)
	}
	return sum * h / 3
}

// shape is a digit width and a depth for which enumerate leaves little probability undecided.
type shape struct {
	width uint
	depth int
}

func (s shape) String() string { return fmt.Sprintf("width %d depth %d", s.width, s.depth) }

func TestOneInExactly(t *testing.T) {
	for _, s := range []shape{{1, 16}, {2, 8}, {3, 5}} {
		for _, m := range []uint64{1, 2, 3, 4, 5, 6, 7, 8, 12, 30, 31, 32, 33, 1000, 1 << 40} {
			mass, undecided := enumerate(coarse(0, s.width), s.depth, func(f *randomBits) bool { return f.oneIn(m) })
			checkMass(t, fmt.Sprintf("1/%d, %v", m, s), mass[true], undecided, 1/float64(m), 0x1p-14)
		}
	}
}

func TestPlaceExactly(t *testing.T) {
	for _, s := range []shape{{1, 12}, {2, 7}, {3, 5}} {
		mass, undecided := enumerate(coarse(0, s.width), s.depth, func(f *randomBits) uint { return f.place() })
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

func TestFewExactly(t *testing.T) {
	for _, s := range []shape{{1, 8}, {2, 6}, {3, 5}, {5, 4}} {
		// The second draw follows a draw that leaves few bits, which it discards.
		for n := range uint(5) {
			mass, undecided := enumerate(coarse(0, s.width), s.depth, func(f *randomBits) uint64 {
				f.few(2)
				return f.few(n)
			})
			for v := range uint64(1) << n {
				if mass[v] != math.Ldexp(1, -int(n)) {
					t.Errorf("%v: %d of %d bits has probability %v", s, v, n, mass[v])
				}
			}
			if undecided != 0 {
				t.Errorf("%v: %d bits: %v undecided", s, n, undecided)
			}
		}
		for _, m := range []uint64{1, 2, 3, 5} {
			mass, undecided := enumerate(coarse(0, s.width), s.depth, func(f *randomBits) uint64 { return f.upTo(m, 1) })
			for v := range 2 * m {
				checkMass(t, fmt.Sprintf("upTo(%d, 1) = %d, %v", m, v, s), mass[v], undecided, 1/float64(2*m), .5)
			}
		}
	}
}

// shares returns the exact probabilities of the cells of width 2^-s: exp(-(j/2^s)^2/2) divided by the
// sum over all j, for j = 0, 1, ...
func shares(s uint) (p []float64) {
	sum := 0.0
	for j := range 10 << s {
		x := math.Ldexp(float64(j), -int(s))
		p = append(p, math.Exp(-x*x/2))
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}

// TestCellsExactly draws cells with narrow digits. Most of these draws need more than one digit.
func TestCellsExactly(t *testing.T) {
	for _, s := range []uint{0, 1, 2, fineness} {
		p := shares(s)
		for _, sh := range []shape{{1, 12}, {2, 6}, {3, 4}, {5, 3}} {
			mass, undecided := enumerate(coarse(s, sh.width), sh.depth, func(f *randomBits) uint64 { return f.cell() })
			for j := range uint64(10) {
				checkMass(t, fmt.Sprintf("cell %d of width 2^-%d, %v", j, s, sh), mass[j], undecided, p[j], .15)
			}
		}
	}
}

// TestBoundsOfCells compares the bounds with the distribution function to more than 200 bits, and to 50
// bits for cells as fine as the cells of Normals. It also tests that the bounds reach as far as the digits
// can decide.
func TestBoundsOfCells(t *testing.T) {
	for _, s := range []uint{0, 1, 3, fineness} {
		share, sums, total := shares(s), []*big.Float{}, newBig(0)
		for j := range 15 << s {
			x := math.Ldexp(float64(j), -int(s))
			switch {
			case s < 3:
				total.Add(total, bigExp(newBig(x*x/2)))
			case j < len(share):
				total.Add(total, newBig(share[j]))
			}
			sums = append(sums, newBig(0).Copy(total))
		}
		for _, n := range []uint{1, 2, 5, 31, 64, 96} {
			off := newBig(0)
			if s >= 3 {
				off.SetMantExp(newBig(1), int(n)-45)
			}
			b := boundsOf(s, n)
			for j, low := range b {
				want := newBig(0).Quo(sums[j], total)
				want.SetMantExp(want, int(n))
				over := newBig(0).Sub(want, newBig(0).SetInt(low))
				if newBig(0).Add(over, off).Sign() < 0 || newBig(0).Sub(over, off).Cmp(newBig(slack)) >= 0 {
					t.Fatalf("s = %d, %d bits, cell %d: %v above the bound %v: must be in [0, %d)", s, n, j, over, low, slack)
				}
			}
			if end := new(big.Int).Lsh(big.NewInt(1), n); end.Sub(end, b[len(b)-1]).Cmp(big.NewInt(slack)) > 0 {
				t.Errorf("s = %d, %d bits: the bounds end %v below 1", s, n, end)
			}
		}
	}
}

// settled returns a number in (0, 1) that begins with the digit head and whose later digits are all
// zero.
func settled(head uint64) fraction { return fraction{head: head, tail: make([]uint64, 64)} }

// TestRunExactly tests the probability of algorithm B of Karney (2016), averaged over the fraction x,
// whose digits are drawn one by one.
func TestRunExactly(t *testing.T) {
	for _, sh := range []shape{{1, 18}, {2, 9}, {3, 6}} {
		for s := range uint(2) {
			for j := range uint64(3) {
				m := 1 + j>>(2*s)
				mass, undecided := enumerate(coarse(s, sh.width), sh.depth, func(f *randomBits) bool {
					x := f.fraction()
					return f.run(j, m, &x)
				})
				p := simpson(func(x float64) float64 { return math.Exp(-exponent(s, j, x) / float64(m)) }, 0, 1)
				checkMass(t, fmt.Sprintf("B(%d) of width 2^-%d, %v", j, s, sh), mass[true], undecided, p, .25)
			}
		}
	}
}

// exponent returns x(2j+x)/2^(2s+1): step N4 of Karney's algorithm N accepts with probability exp of
// minus this.
func exponent(s uint, j uint64, x float64) float64 {
	return math.Ldexp(x*(2*float64(j)+x), -int(2*s+1))
}

// TestRunGivenFractionExactly tests the probabilities of algorithm B and of step N4 of Karney (2016),
// given the fraction x = i/8.
func TestRunGivenFractionExactly(t *testing.T) {
	const width, depth = 3, 5
	for _, c := range []struct {
		s    uint
		j, m uint64
	}{{0, 0, 1}, {0, 1, 2}, {1, 2, 1}, {1, 4, 2}} {
		for _, i := range []uint64{0, 1, 3, 6, 7} {
			e := exponent(c.s, c.j, float64(i)/8)
			name := fmt.Sprintf("(%d, %d/8) of width 2^-%d", c.j, i, c.s)
			mass, undecided := enumerate(coarse(c.s, width), depth, func(f *randomBits) bool {
				x := settled(i)
				return f.run(c.j, c.m, &x)
			})
			checkMass(t, "B"+name, mass[true], undecided, math.Exp(-e/float64(c.m)), .3)
			mass, undecided = enumerate(coarse(c.s, width), depth, func(f *randomBits) bool {
				x := settled(i)
				return f.accept(c.j, &x)
			})
			checkMass(t, "N4"+name, mass[true], undecided, math.Exp(-e), .6)
		}
	}
}

// TestLongRuns counts long runs, which enumeration leaves undecided. The runs continue from length
// i-1 to i with probability p/i. At p = 0.83, leaving out the third step would change the count by
// more than 5 standard deviations. The count of correct code is that far from its mean by chance with
// probability 6e-7.
func TestLongRuns(t *testing.T) {
	const n, j, m = 100_000, 9, 10
	f := sampler(71, 0, 64, batch)
	even := 0
	for range n {
		x := settled(7 << 61)
		if f.run(j, m, &x) {
			even++
		}
	}
	p := math.Exp(-exponent(0, j, 7./8) / m)
	if got := float64(even) / n; !(math.Abs(got-p) <= z*math.Sqrt(p*(1-p)/n)) {
		t.Errorf("B(%d, 7/8): %v even, want %v", j, got, p)
	}
}

// TestTrialExactly tests the probability that a whole trial accepts the magnitude (n + x)/2^s, for
// each cell n and each quarter of (0, 1) that contains x.
func TestTrialExactly(t *testing.T) {
	type outcome struct {
		ok      bool
		n       uint64
		quarter uint64
	}
	depth := 18
	if testing.Short() {
		depth = 15
	}
	for _, sh := range []shape{{1, depth}, {2, depth / 2}, {3, depth / 3}} {
		for s := range uint(2) {
			mass, undecided := enumerate(coarse(s, sh.width), sh.depth, func(f *randomBits) outcome {
				j, x, ok := f.trial()
				if !ok {
					return outcome{}
				}
				return outcome{true, j, f.leading(&x, 2)}
			})
			p := shares(s)
			for j := range uint64(4) {
				for q := range uint64(4) {
					a := float64(q) / 4
					p := p[j] * simpson(func(x float64) float64 { return math.Exp(-exponent(s, j, x)) }, a, a+.25)
					checkMass(t, fmt.Sprintf("trial (%d + %d/4)/2^%d, %v", j, q, s, sh), mass[outcome{true, j, q}], undecided, p, .5)
				}
			}
			t.Logf("width 2^-%d, %v: %.2g undecided", s, sh, undecided)
		}
	}
}

// TestRoundExactly rounds (n + x)/2^s, for x slightly above j/64, to multiples of 2^-k. The result
// must be the nearest multiple, with both signs equally likely.
func TestRoundExactly(t *testing.T) {
	for i, sh := range []shape{{1, 6}, {2, 3}, {3, 2}} {
		s := uint(2 * i)
		for n := range uint64(3 << s) {
			for j := range uint64(64) {
				for k := range uint(5) {
					mass, undecided := enumerate(coarse(s, sh.width), 1, func(f *randomBits) int64 {
						x := fraction{head: j >> (6 - sh.width)}
						for i := 2; i <= sh.depth; i++ {
							x.tail = append(x.tail, j>>(6-uint(i)*sh.width)&(1<<sh.width-1))
						}
						return f.round(n, &x, k)
					})
					m := int64(math.Round(math.Ldexp(float64(n)+float64(j)/64+0x1p-10, int(k)-int(s))))
					want := map[int64]float64{m: .5, -m: .5}
					if m == 0 {
						want = map[int64]float64{0: 1}
					}
					if undecided != 0 || !maps.Equal(mass, want) {
						t.Fatalf("%v: (%d + %d/64)/2^%d at k = %d: %v and %v undecided, want %v", sh, n, j, s, k, mass, undecided, want)
					}
				}
			}
		}
	}
}

// TestRoundKeepsTheFirstBit tests that magnitudes are reduced modulo 2^64, like the sums to which
// they are added, and not modulo less. The tested magnitude is (2^17 + 1/2)/2^6, in units of 2^-52
// the integer 2^63 + 2^45.
func TestRoundKeepsTheFirstBit(t *testing.T) {
	s, err := coin.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	x := fraction{head: 1 << 63}
	got := newFlips(s, fine(), batch).round(1<<17, &x, 52)
	if want := uint64(1<<63 + 1<<45); uint64(got) != want && uint64(-got) != want {
		t.Errorf("%#x: want %#x or its negative", uint64(got), want)
	}
}
