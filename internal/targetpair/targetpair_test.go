package targetpair

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSplitIsTheInverse tests that Split returns the target and the share that Join encoded, each up to its
// rounding, and that a share of 1 preserves every bit of the target.
func TestSplitIsTheInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 77))
	for range 20000 {
		wide := r.IntN(2) == 0
		y, share := 2*r.Float64()-1, r.Float64()
		if wide {
			y = float64(r.IntN(1 << 12))
		}
		switch r.IntN(8) {
		case 0:
			share = float64(r.IntN(2))
		case 1:
			y = math.Round(y)
		}
		joined := Join(y, share, wide)
		gotY, gotShare := Split(joined, wide)
		if !(math.Abs(gotShare-share) <= 0x1p-17) || !(math.Abs(gotY-y) <= 0x1p-35) || wide && gotY != y {
			t.Fatalf("wide %v: %v with %v came back as %v with %v", wide, y, share, gotY, gotShare)
		}
		if share == 1 && math.Float64bits(joined) != math.Float64bits(y) {
			t.Fatalf("%v with a share of 1 became %v", y, joined)
		}
		if again := Join(gotY, gotShare, wide); again != joined {
			t.Fatalf("%v became %v when joined again", joined, again)
		}
	}
}

// TestWhatIsNotOne tests that shares outside [0, 1], and numbers that Join cannot return, give NaN.
func TestWhatIsNotOne(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, share := range []float64{-0x1p-60, 1 + 0x1p-52, nan, inf, -inf} {
		for _, wide := range []bool{false, true} {
			if joined := Join(0, share, wide); joined == joined {
				t.Errorf("wide %v: a share of %v gives %v", wide, share, joined)
			}
		}
	}
	for _, c := range []struct {
		joined float64
		wide   bool
	}{{nan, false}, {nan, true}, {inf, false}, {-inf, true}, {-3, false}, {-1, true}, {4*levels + 3, false},
		{1 << 13 * (levels + 1), true}, {1e300, false}} {
		if y, share := Split(c.joined, c.wide); y == y || share == share {
			t.Errorf("%v, wide %v: came apart as %v with %v", c.joined, c.wide, y, share)
		}
	}
	// A target that is not a class number is returned unchanged; the loss refuses it.
	if y, _ := Split(.5, true); y != .5 {
		t.Errorf("half a class came back as %v", y)
	}
}
