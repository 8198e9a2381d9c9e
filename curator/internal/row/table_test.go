package row_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
)

func table(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
	t.Helper()
	s, err := row.NewTableOf(l, blockRows)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		s.AppendCoded(r.X, r.Level, r.In, r.Y, r.OK)
	}
	return s
}

func TestTable(t *testing.T) { rowtest.Run(t, table) }

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

// TestGaps: the sources that test engines pass the suite for sources themselves.
func TestGaps(t *testing.T) { rowtest.Run(t, rowtest.Gaps(table)) }

// TestLayoutsAreChecked: NewLayout refuses groups that overlap, are out of order, exceed the
// features or have one feature, and layouts without a number.
func TestLayoutsAreChecked(t *testing.T) {
	for _, groups := range [][]row.Group{
		{{2, 1}}, {{2, 0}}, {{2, -3}}, {{-1, 2}}, {{9, 3}}, {{11, 2}}, {{2, math.MaxInt}}, {{2, 3}, {4, 2}}, {{5, 2}, {2, 2}}, {{0, 5}, {5, 6}},
	} {
		if _, err := row.NewLayout(11, groups); err == nil {
			t.Errorf("groups %v of 11 features", groups)
		}
	}
}

// TestPlaces: each feature has its own place in a vector, and features stored as numbers come
// first, in their order.
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
