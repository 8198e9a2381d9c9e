package engine

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigNorm returns the joint norm of slopes and rest, to 300 bits.
func bigNorm(slopes, rest []float64, square float64) *big.Float {
	of := func(v []float64) *big.Float {
		sum := new(big.Float).SetPrec(300)
		for _, x := range v {
			f := new(big.Float).SetPrec(300).SetFloat64(x)
			sum.Add(sum, f.Mul(f, f))
		}
		return sum
	}
	sum := of(slopes)
	sum.Mul(sum, new(big.Float).SetPrec(300).SetFloat64(square))
	sum.Add(sum, of(rest))
	return sum.Sqrt(sum)
}

// quotient returns a/b, and 0 for 0/0.
func quotient(a, b *big.Float) float64 {
	if a.Sign() == 0 && b.Sign() == 0 {
		return 0
	}
	f, _ := new(big.Float).Quo(a, b).Float64()
	return f
}

// rowsOf returns rows of zero, tiny and ordinary norm.
func rowsOf(r *rand.Rand) []float32 {
	sizes := []float64{0, 0x1p-149, 0x1p-140, 1e-30, 1e-20, .5, 1}
	x := make([]float32, 1+r.IntN(4))
	size := sizes[r.IntN(len(sizes))]
	for j := range x {
		x[j] = float32(size * (2*r.Float64() - 1) / math.Sqrt(float64(len(x))))
	}
	return x
}

// squareOf returns the squared norm of a row, or a random number in the range of squared norms.
func squareOf(r *rand.Rand, x []float32) float64 {
	if r.IntN(4) == 0 {
		return math.Ldexp(1+r.Float64(), -r.IntN(1075)-1)
	}
	return square(x)
}

// anySize returns numbers of about the same size, anywhere from the smallest float to the largest.
func anySize(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	exp := r.IntN(2098) - 1074
	for j := range v {
		v[j] = math.Ldexp(2*r.Float64()-1, exp)
	}
	return v
}

// TestStackedClipAtEverySize tests the clip with slopes and a gradient above the first layer of any
// size that float64 has, and rows of any possible norm. After the clip the joint norm is at most
// the radius. A longer vector is scaled by one factor. A shorter vector is unchanged. For a row of
// norm 0 the slopes are 0.
func TestStackedClipAtEverySize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 91))
	clipped := 0
	for range 40000 {
		x := rowsOf(r)
		slopes, rest := anySize(r, 1+r.IntN(4)), anySize(r, r.IntN(4))
		radius := math.Ldexp(1+r.Float64(), r.IntN(401)-200)
		norm := squareOf(r, x)
		before, was := append(append([]float64(nil), slopes...), rest...), bigNorm(slopes, rest, norm)
		if !clipStacked(slopes, rest, norm, radius) {
			t.Fatalf("%v, %v: not finite", slopes, rest)
		}
		limit := new(big.Float).SetPrec(300).SetFloat64(radius)
		if q := quotient(bigNorm(slopes, rest, norm), limit); !(q <= 1+1e-14) {
			t.Fatalf("%v of a row of %v: %v times the radius %v", before, norm, q, radius)
		}
		factor := 1.
		if was.Cmp(limit) > 0 {
			factor = math.NaN() // may be far below the smallest float
			clipped++
		}
		for j, v := range append(slopes, rest...) {
			want := new(big.Float).SetPrec(300).SetFloat64(before[j])
			if factor != 1 {
				want.Quo(want.Mul(want, limit), was)
			}
			if j < len(slopes) && norm == 0 {
				want.SetInt64(0)
			}
			// The clip may lose numbers below the smallest float, and numbers that are negligible
			// compared with the radius.
			want.Sub(want, new(big.Float).SetFloat64(v))
			off, _ := want.Abs(want).Float64()
			if !(off <= 1e-14*math.Abs(v)+0x1p-700*radius) {
				t.Fatalf("%v of a row of %v, radius %v: number %d is %v, off by %v", before, norm, radius, j, v, off)
			}
		}
	}
	if clipped < 1000 {
		t.Errorf("%d were clipped: the test shows little", clipped)
	}
}

// TestBlocksAreClippedAsRecords tests that the clip of a block of records has the bits of clipStacked for each of its
// records, at any number of records, any size of their numbers and any row, and that exactly the records with
// a number that is not finite become faulty.
func TestBlocksAreClippedAsRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 92))
	clipped, special := 0, 0
	for range 3000 {
		n, units, above := 1+r.IntN(20), 1+r.IntN(4), r.IntN(6)
		radius := math.Ldexp(1+r.Float64(), r.IntN(400)-200)
		slopes, rest, square := make([]float64, n*units), make([]float64, n*above), make([]float64, n)
		want, faulty := make([][2][]float64, n), make([]bool, n)
		bad := make([]bool, n)
		for i := range n {
			s, g := anySize(r, units), anySize(r, above)
			if r.IntN(2) == 0 { // as usual: the squares neither over- nor underflow
				for _, part := range [][]float64{s, g} {
					for j := range part {
						part[j] = radius * r.NormFloat64()
					}
				}
			}
			if square[i] = squareOf(r, rowsOf(r)); r.IntN(10) == 0 {
				s[r.IntN(units)] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
				bad[i] = true
			}
			for k, v := range s {
				slopes[k*n+i] = v
			}
			for j, v := range g {
				rest[j*n+i] = v
			}
			before := s[0]
			if sound := clipStacked(s, g, square[i], radius); sound == bad[i] {
				t.Fatalf("%v, %v: sound is %v", s, g, sound)
			}
			if !bad[i] && s[0] != before {
				clipped++
			}
			if !bad[i] && !ordinary(max(maxAbs(s), maxAbs(g))) {
				special++
			}
			want[i] = [2][]float64{s, g}
		}
		var c stackedClip
		c.make(n, units, above)
		c.clip(slopes, rest, square, radius, faulty)
		for i := range n {
			if faulty[i] != bad[i] {
				t.Fatalf("record %d: faulty is %v: want %v", i, faulty[i], bad[i])
			}
			for part, block := range [][]float64{slopes, rest} {
				for j, v := range want[i][part] {
					if got := block[j*n+i]; !bad[i] && math.Float64bits(got) != math.Float64bits(v) {
						t.Fatalf("record %d of %d, squared norm %v, radius %v: number %d of part %d is %v: want %v", i, n, square[i],
							radius, j, part, got, v)
					}
				}
			}
		}
	}
	if clipped < 1000 || special < 1000 {
		t.Errorf("%d records are clipped, and %d of unusual size: the test tries little", clipped, special)
	}
}
