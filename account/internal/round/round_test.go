package round

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestDirectedRoundingAgainstRationals compares every operation with its exact value in rationals:
// the result is never on the wrong side of the exact value and at most two floats away from it. The
// operands range over all exponents, so that results and rounding errors underflow, too.
func TestDirectedRoundingAgainstRationals(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	float := func() float64 {
		x := math.Ldexp(1+random.Float64(), random.IntN(2040)-1062)
		if random.IntN(2) == 0 {
			return -x
		}
		return x
	}
	exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for range 20_000 {
		a, b := float(), float()
		if random.IntN(2) == 0 {
			// Operands of similar size, whose quotient is neither tiny nor huge.
			b = math.Ldexp(b, math.Ilogb(a)-math.Ilogb(b)+random.IntN(5)-2)
		}
		product, sum := new(big.Rat).Mul(exact(a), exact(b)), new(big.Rat).Add(exact(a), exact(b))
		bounded(t, "MulDown", a, b, -MulDown(a, b), product.Neg(product))
		bounded(t, "MulUp", a, b, MulUp(a, b), product.Neg(product))
		bounded(t, "AddUp", a, b, AddUp(a, b), sum)
		if b > 0 {
			bounded(t, "DivUp", a, b, DivUp(a, b), new(big.Rat).Quo(exact(a), exact(b)))
		}
	}
}

// bounded tests that the result got is at least the exact value want and less than three floats above
// it.
func bounded(t *testing.T, name string, a, b, got float64, want *big.Rat) {
	t.Helper()
	if math.IsInf(got, 0) {
		return // beyond float64; the callers bound their operands
	}
	if new(big.Rat).SetFloat64(got).Cmp(want) < 0 {
		t.Errorf("%s(%v, %v) = %v lies below the exact value", name, a, b, got)
	}
	if low := Down(Down(Down(got))); !math.IsInf(low, 0) && new(big.Rat).SetFloat64(low).Cmp(want) >= 0 {
		t.Errorf("%s(%v, %v) = %v lies three floats or more above the exact value", name, a, b, got)
	}
}
