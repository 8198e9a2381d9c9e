package coin

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// testKey and testWords are the test vector of the C2SP chacha8rand specification.
var (
	testKey   = [32]byte([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZ123456"))
	testWords = []uint64{
		0xb773b6063d4616a5, 0x1160af22a66abc3c, 0x8c2599d9418d287c, 0x7ee07e037edc5cd6,
	}
)

func TestStreamIsTheSpecified(t *testing.T) {
	s := Simulated(testKey)
	for i, want := range testWords {
		if got := s.Uint64(); got != want {
			t.Errorf("word %d = %#x, want %#x", i, got, want)
		}
	}
}

// The expected values were drawn once from testKey. If they change, a key no longer gives the same random bits.
func TestPublicDrawsAreFixed(t *testing.T) {
	p := Simulated(testKey)
	got := fmt.Sprint(p.Perm(10), p.IntN(6), p.IntN(1000), p.IntN(math.MaxInt))
	const want = "[7 1 6 2 8 5 3 4 9 0] 5 33 7850501670287272243"
	if got != want {
		t.Errorf("draws %s, want %s", got, want)
	}
}

func TestFillIsManyWords(t *testing.T) {
	a, b := Simulated(testKey), Simulated(testKey)
	for _, n := range []int{0, 1, 31, 64, 1000} {
		secret := make([]uint64, n)
		a.Fill(secret)
		for i := range n {
			if secret[i] != b.Uint64() {
				t.Fatalf("word %d of %d differs", i, n)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	p, err := PublicSeed()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := PublicSeed(); err != nil || other == p {
		t.Errorf("two public seeds are %x and %x: %v", p, other, err)
	}
	a, err := NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	if a.Uint64() == b.Uint64() { // 2^-64
		t.Error("two new secrets begin alike")
	}
	if a.Simulated() || a.Fork().Simulated() {
		t.Error("a new Secret or its fork says it is simulated")
	}
	if s := Simulated(testKey); !s.Simulated() || !s.Fork().Fork().Simulated() {
		t.Error("a simulated Secret or its fork does not say so")
	}
}

// TestForksDiffer tests that no word occurs twice among the words of a Secret, of its forks and of
// their forks. By the birthday bound this fails by chance with probability 2^-36.
func TestForksDiffer(t *testing.T) {
	parent := Simulated(testKey)
	family := []*Secret{parent}
	for range 8 {
		child := parent.Fork()
		family = append(family, child, child.Fork())
	}
	seen := make(map[uint64]bool)
	for i, s := range family {
		for range 1000 {
			w := s.Uint64()
			if seen[w] {
				t.Fatalf("member %d repeats %#x", i, w)
			}
			seen[w] = true
		}
	}
	// A fork's key is the next 256 bits of its parent.
	p, q := Simulated(testKey), Simulated(testKey)
	var key [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(key[8*i:], q.Uint64())
	}
	if f, want := p.Fork(), Simulated(key); f.Uint64() != want.Uint64() || p.Uint64() != q.Uint64() {
		t.Error("a fork is not that of the parent's next 256 bits")
	}
	// A fork depends only on the parent's random bits that were drawn before it.
	a, b := Simulated(testKey), Simulated(testKey)
	if x, y := a.Fork(), b.Fork(); x.Uint64() != y.Uint64() || a.Uint64() != b.Uint64() {
		t.Error("equal parents have different forks")
	}
}

// chiSquareLimit returns an upper bound for the 1 - 1e-6 quantile of a chi-square distribution: P(X
// >= d + 2 sqrt(d t) + 2 t) <= exp(-t) for d degrees of freedom (Laurent and Massart 2000, lemma
// 1).
func chiSquareLimit(degrees int) float64 {
	d, t := float64(degrees), math.Log(1e6)
	return d + 2*math.Sqrt(d*t) + 2*t
}

func checkUniform(t *testing.T, name string, counts []int) {
	t.Helper()
	total, x := 0, 0.0
	for _, c := range counts {
		total += c
	}
	expected := float64(total) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	if limit := chiSquareLimit(len(counts) - 1); x > limit {
		t.Errorf("%s: chi-square %.1f on %d degrees, limit %.1f", name, x, len(counts)-1, limit)
	}
}

// TestIntNIsUniform tests with chi-square tests that the integers of IntN are uniform. It fails by
// chance with probability at most 1e-6 for each n.
func TestIntNIsUniform(t *testing.T) {
	s := Simulated([32]byte{1})
	for _, n := range []int{1, 2, 3, 5, 10, 64, 97} {
		counts := make([]int, n)
		for range 200_000 {
			counts[s.IntN(n)]++
		}
		if n > 1 {
			checkUniform(t, fmt.Sprintf("IntN(%d)", n), counts)
		}
	}
	// With n = 3 * 2^61 one word in four must be rejected. Without rejection, a third of the range
	// would have probability 3/8 or 2/8 instead of 1/3.
	const n = 3 << 61
	counts := make([]int, 3)
	for range 200_000 {
		counts[s.IntN(n)%3]++
	}
	checkUniform(t, "IntN(3<<61) mod 3", counts)
}

// TestPermIsUniform tests the orders of permutations of four, and the first two elements of
// permutations of five. Each of the two tests fails by chance with probability at most 1e-6.
func TestPermIsUniform(t *testing.T) {
	s := Simulated([32]byte{2})
	orders := make(map[string]int)
	pairs := make([]int, 25)
	for range 240_000 {
		orders[fmt.Sprint(s.Perm(4))]++
		p := s.Perm(5)
		pairs[5*p[0]+p[1]]++
	}
	counts := make([]int, 0, 24)
	for _, c := range orders {
		counts = append(counts, c)
	}
	if len(counts) != 24 {
		t.Fatalf("%d orders of 4", len(counts))
	}
	checkUniform(t, "Perm(4)", counts)
	counts = counts[:0]
	for i, c := range pairs {
		if i/5 == i%5 {
			if c != 0 {
				t.Fatalf("Perm(5) begins %d, %d", i/5, i%5)
			}
			continue
		}
		counts = append(counts, c)
	}
	checkUniform(t, "Perm(5)[:2]", counts)
	if got := s.Perm(0); len(got) != 0 {
		t.Errorf("Perm(0) = %v", got)
	}
}

// TestHeadsFrequency tests that each of the 64 coins of a word is 1 as often as p says, and so are each two of
// them at the same time, within 6 standard deviations and 8 of 20,000. The seed is fixed.
func TestHeadsFrequency(t *testing.T) {
	s := Simulated([32]byte{3})
	const n = 20_000
	for _, p := range []float64{.001, .1, .25, 1. / 3, .5, .7, .999} {
		var one [64]int
		var both [64][64]int
		for range n {
			for h := s.Heads(p, 64); h != 0; h &= h - 1 {
				i := bits.TrailingZeros64(h)
				one[i]++
				for rest := h & (h - 1); rest != 0; rest &= rest - 1 {
					both[i][bits.TrailingZeros64(rest)]++
				}
			}
		}
		within := func(what string, hits int, p float64) {
			if got := float64(hits) / n; !(math.Abs(got-p) <= 6*math.Sqrt(p*(1-p)/n)+8./n) {
				t.Errorf("p = %v: %s: frequency %v, want %v", p, what, got, p)
			}
		}
		for i := range 64 {
			within(fmt.Sprintf("coin %d", i), one[i], p)
			for j := i + 1; j < 64; j++ {
				within(fmt.Sprintf("coins %d and %d", i, j), both[i][j], p*p)
			}
		}
	}
	for n := range 70 {
		want := ^uint64(0)
		if n < 64 {
			want = 1<<n - 1
		}
		if got := s.Heads(1, n); got != want {
			t.Errorf("Heads(1, %d) = %x, want %x", n, got, want)
		}
		if got := s.Heads(0, n); got != 0 {
			t.Errorf("Heads(0, %d) = %x", n, got)
		}
		if got := s.Heads(.5, n); got&^want != 0 {
			t.Errorf("Heads(.5, %d) = %x", n, got)
		}
	}
}

// TestHeadsCompareExactly tests that each coin says whether U < p, for the uniform number U whose digits
// in base 2 are the coin's bits in the words of the stream. The comparison must be exact, also if p is next to
// a number's value, and coins that are not asked for must not change the others.
func TestHeadsCompareExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 300 {
		key := [32]byte{4, byte(i), byte(i >> 8)}
		words := Simulated(key)
		var numbers [64]*big.Float
		var digits [64]*big.Int
		for j := range digits {
			digits[j] = new(big.Int)
		}
		for range 1100 { // more digits than a float64 has
			word := words.Uint64()
			for j, d := range digits {
				d.Lsh(d, 1)
				d.SetBit(d, 0, uint(word>>j&1))
			}
		}
		for j, d := range digits {
			numbers[j] = new(big.Float).SetPrec(1200).SetInt(d)
			numbers[j].SetMantExp(numbers[j], -1100)
		}
		near, _ := numbers[r.IntN(64)].Float64()
		for _, p := range []float64{near, math.Nextafter(near, 0), math.Nextafter(near, 1), near / 2, 0x1p-1074, 0x1p-64,
			1 - 0x1p-53, .5, .1} {
			n := 1 + r.IntN(66)
			got := Simulated(key).Heads(p, n)
			for j, u := range numbers {
				want := j < n && u.Cmp(new(big.Float).SetFloat64(p)) < 0
				if got>>j&1 == 1 != want {
					t.Fatalf("coin %d of Heads(%v, %d) is %v with U = %v", j, p, n, !want, u)
				}
			}
		}
	}
}

func TestMisusePanics(t *testing.T) {
	s, p := Simulated(testKey), Simulated(testKey)
	for name, f := range map[string]func(){
		"IntN(0)":        func() { s.IntN(0) },
		"IntN(-1)":       func() { p.IntN(-1) },
		"Perm(-1)":       func() { p.Perm(-1) },
		"Heads(-0.1, 5)": func() { s.Heads(-.1, 5) },
		"Heads(1.5, 64)": func() { s.Heads(1.5, 64) },
		"Heads(NaN, 1)":  func() { s.Heads(math.NaN(), 1) },
		"Heads(0.5, -1)": func() { s.Heads(.5, -1) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "coin: "+name+": ") {
					t.Errorf("%s: panic %q", name, got)
				}
			}()
			f()
		}()
	}
	for name, f := range map[string]func(){
		"Secret": func() { new(Secret).Uint64() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the zero %s deals coins", name)
				}
			}()
			f()
		}()
	}
}
