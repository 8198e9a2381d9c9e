package mechanism

import (
	"math"
	"math/big"
	"testing"
)

// TestBinomialUpToTheLargestGroup compares binomial probabilities with products of 400 bits, for
// every number of members: for small groups, the largest group and the second largest.
func TestBinomialUpToTheLargestGroup(t *testing.T) {
	for _, k := range []int{1, 3, groupMost - 1, groupMost} {
		for _, q := range []float64{1e-3, .3, 1 - 0x1p-30} {
			p, rest := bits400().SetFloat64(q), bits400().SetFloat64(1-q)
			for j := range k + 1 {
				exact := bits400().SetInt(new(big.Int).Binomial(int64(k), int64(j)))
				for range j {
					exact.Mul(exact, p)
				}
				for range k - j {
					exact.Mul(exact, rest)
				}
				want, _ := exact.Float64()
				if got := binomial(k, j, q); !(math.Abs(got-want) <= 0x1p-45*want) {
					t.Errorf("k = %d, j = %d, q = %v: %v, exactly %v", k, j, q, got, want)
				}
			}
		}
	}
}

func bits400() *big.Float { return new(big.Float).SetPrec(400) }

// TestGroupsUpToTheLargest compares the charge of a Gaussian for groups on both sides of the
// largest size with k times the charge of one record.
func TestGroupsUpToTheLargest(t *testing.T) {
	one, err := NewGaussian(400)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{1, 3, groupMost - 1, groupMost} {
		g, err := Group(one, k)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compose(t.Context(), []Composed{{Mechanism: g, Count: 1}}, 1e-3)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := math.Sqrt(c.mu2), float64(k)/400; !(math.Abs(got-want) <= 1e-14*want) {
			t.Errorf("groups of %d: mu = %v: must be %v", k, got, want)
		}
	}
	for _, k := range []int{0, groupMost + 1, 3*groupMost + 5} {
		if _, err := Group(one, k); err == nil {
			t.Errorf("a group of %d is accepted", k)
		}
	}
}
