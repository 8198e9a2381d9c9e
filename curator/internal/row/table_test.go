package row_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
)

func TestTable(t *testing.T) { rowtest.Run(t, rowtest.Table) }

func TestSizesAreChecked(t *testing.T) {
	for _, c := range []struct{ dim, block int }{{0, 0}, {-1, 0}, {1<<24 + 1, 0}, {1, -1}} {
		if _, err := row.NewTable(c.dim, c.block); err == nil {
			t.Errorf("a table of %d features in blocks of %d rows", c.dim, c.block)
		}
		if _, err := row.NewFile(c.dim, c.block, 0, ""); err == nil {
			t.Errorf("a file of %d features in blocks of %d rows", c.dim, c.block)
		}
	}
}

// TestGaps tests that the sources of Gaps, with which engines are tested, pass the conformance
// suite for sources.
func TestGaps(t *testing.T) { rowtest.Run(t, rowtest.Gaps(rowtest.Table)) }

// TestLayoutsAreChecked tests that NewLayout refuses layouts without a number, and groups that
// overlap, are out of order, exceed the features or have one feature.
func TestLayoutsAreChecked(t *testing.T) {
	for _, groups := range [][]row.Group{
		{{2, 1}}, {{2, 0}}, {{2, -3}}, {{-1, 2}}, {{9, 3}}, {{11, 2}}, {{2, math.MaxInt}}, {{2, 3}, {4, 2}}, {{5, 2}, {2, 2}},
		{{0, 5}, {5, 6}},
	} {
		if _, err := row.NewLayout(11, groups); err == nil {
			t.Errorf("groups %v of 11 features", groups)
		}
	}
}

// TestPlaces tests that each feature has a place of its own in a vector, and that features stored
// as numbers come first, in their order.
func TestPlaces(t *testing.T) {
	for name, l := range rowtest.Layouts() {
		seen := map[int]bool{}
		for j := range l.Dim() {
			at := l.Place(j)
			if seen[at] || at < 0 || at >= l.Width() || at >= l.Numbers() && at < l.Stride() {
				t.Fatalf("%s: feature %d lies at %d", name, j, at)
			}
			seen[at] = true
		}
		for i, j := range rowtest.Numbers(l) {
			if l.Place(j) != i {
				t.Errorf("%s: number %d lies at %d", name, i, l.Place(j))
			}
		}
	}
}
