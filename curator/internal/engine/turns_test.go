package engine

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// TestTurns tests that every piece is processed once, whichever goroutines read ahead, and that the
// piece that is announced as the next one is the next one.
func TestTurns(t *testing.T) {
	f, err := row.NewFile(1, 1, 0, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := row.NewTable(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 12 {
		var next atomic.Int64
		all := []turns{turnsOf(&next, n, f.Reader()), turnsOf(&next, n, table.Reader()), turnsOf(&next, n, f.Reader())}
		var had []int
		for k := 0; ; k++ {
			g := &all[k*k%3]
			if k > 3*n {
				g = &all[k%3]
			}
			told := g.after
			i, ok := g.take()
			if ok && told >= 0 && i != told {
				t.Fatalf("%d pieces: %d was to come: %d did", n, told, i)
			}
			if ok {
				had = append(had, i)
			}
			if k > 9*n+9 {
				break
			}
		}
		slices.Sort(had)
		for i, v := range had {
			if v != i {
				t.Fatalf("%d pieces: turns at %v", n, had)
			}
		}
		if len(had) != n {
			t.Fatalf("%d pieces: turns at %v", n, had)
		}
	}
}

// TestBlocksOfLengths tests that rows are found in blocks of different sizes, also next to empty
// blocks.
func TestBlocksOfLengths(t *testing.T) {
	for _, sizes := range [][]int{{4, 4, 4, 1}, {2, 5, 0, 0, 3, 1}, {0, 3}, {3, 1, 1, 9}} {
		l := &lengths{starts: []int{0}}
		var members []int32
		for _, n := range sizes {
			b := make([]float32, n)
			for i := range b {
				b[i] = float32(len(members))
				members = append(members, int32(len(members)))
			}
			l.blocks, l.starts = append(l.blocks, b), append(l.starts, len(members))
		}
		for i, v := range l.rows(members) {
			if v != float32(i) {
				t.Errorf("blocks of %v: row %d has the length of row %v", sizes, i, v)
			}
		}
	}
}
