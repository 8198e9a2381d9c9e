package mechanism

import (
	"math/bits"
	"testing"
)

// TestTreeSquareAgainstEverySet tests that over small trees no set of items of one record has a
// larger squared norm than treeSquare. Some set must attain it for one participation, and if the
// separation and the number of items are powers of two.
func TestTreeSquareAgainstEverySet(t *testing.T) {
	for items := 1; items <= 11; items++ {
		for separation := 1; separation <= items; separation++ {
			for times := 1; times <= 1+(items-1)/separation; times++ {
				s := PrefixSums{Items: items, Participations: times, Separation: separation}
				if err := s.validate(); err != nil {
					t.Fatalf("%+v: %v", s, err)
				}
				most := 0
				for set := uint(1); set < 1<<items; set++ {
					if bits.OnesCount(set) <= times && apart(set, separation) {
						most = max(most, squareOf(set, items))
					}
				}
				exact := times == 1 || bits.OnesCount(uint(separation)) == 1 && bits.OnesCount(uint(items)) == 1
				if got := s.treeSquare(); got < float64(most) || exact && got != float64(most) {
					t.Errorf("%+v: squared norm %v, the largest of any set is %d", s, got, most)
				}
			}
			// One more participation than fits into the items must be refused.
			s := PrefixSums{Items: items, Participations: 2 + (items-1)/separation, Separation: separation}
			if s.validate() == nil {
				t.Errorf("%+v: taken", s)
			}
		}
	}
}

// apart reports whether any two items of a set are at least separation apart.
func apart(set uint, separation int) bool {
	last := -separation
	for ; set > 0; set &= set - 1 {
		at := bits.TrailingZeros(set)
		if at-last < separation {
			return false
		}
		last = at
	}
	return true
}

// squareOf returns the sum, over all complete nodes, of the squared number of items of the set in
// the node.
func squareOf(set uint, items int) (sum int) {
	for block := 1; block <= items; block *= 2 {
		for at := 0; at+block <= items; at += block {
			n := bits.OnesCount(set >> at & (1<<block - 1))
			sum += n * n
		}
	}
	return sum
}

// TestMassMovesToTheLargest tests that weights that are too small for float64 move to the largest
// offset. Except by rounding, no mass may be lost or move to a smaller offset.
func TestMassMovesToTheLargest(t *testing.T) {
	const tiny, most = weightLeast / 4, .9 * weightLeast
	for _, weights := range [][]float64{{.5, .5}, {.5, tiny, .5}, {tiny, 1, tiny}, {1, tiny, tiny, tiny},
		{tiny, tiny, tiny, tiny, tiny, 1}, {1, tiny}, {1, most, most, most, most, tiny}, {.5, .5, most, most, tiny}} {
		offsets := make([]float64, len(weights))
		for j := range offsets {
			offsets[j] = float64(j)
		}
		w, o := towardsLargest(weights, offsets)
		for _, at := range offsets {
			var before, after dd
			for j := range weights {
				if offsets[j] >= at {
					before = before.add(dd{weights[j], 0})
				}
			}
			for j := range w {
				if o[j] >= at {
					after = after.add(dd{w[j], 0})
				}
			}
			if less := before.sub(after); less.hi > before.hi*0x1p-50 {
				t.Errorf("%v: %v of the mass from offset %v on is lost", weights, less.hi, at)
			}
		}
	}
}
