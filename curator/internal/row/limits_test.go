package row

import (
	"errors"
	"os"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/effects"
)

// TestPrivateFilesThatFail closes the private file at each step of its life: the row that is written first, the one that
// fills a block, the last block, and the end.
func TestPrivateFilesThatFail(t *testing.T) {
	const blockRows = 3
	for rows := range 8 {
		f, err := NewFile(2, blockRows, 0, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Create(); err != nil {
			t.Fatal(err)
		}
		failed := error(nil)
		for i := range 7 {
			if i == rows {
				_ = f.file.Close()
			}
			if err := f.Append([]float32{.5, .25}, 1, true); err != nil && failed == nil {
				if failed = err; i < rows || i+1 != (rows/blockRows+1)*blockRows {
					t.Errorf("closed at row %d: row %d fails", rows, i)
				}
			}
		}
		if rows == 7 {
			_ = f.file.Close()
		}
		if failed == nil {
			_, failed = f.Source()
		}
		if !errors.Is(failed, os.ErrClosed) {
			t.Errorf("closed at row %d: %v", rows, failed)
		}
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("closed at row %d: closed again: %v", rows, err)
		}
	}
}

// TestBlocksFitTheCache tests the rows of a block where none are given: as many multiples of a tile as the block's bytes
// have, or as many rows as they have where these are fewer than a tile's.
func TestBlocksFitTheCache(t *testing.T) {
	for _, dim := range []int{1, 8, 100, 1000, 5000, 100_000} {
		l, err := Dense(dim)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewTableOf(l, 0)
		if err != nil {
			t.Fatal(err)
		}
		each, n := l.rowBytes()-8, s.blockRows
		more := n + tileRows
		if n <= tileRows {
			more = n + 1
		}
		if n > tileRows && n%tileRows != 0 || n > 1 && n*each > blockBytes || more*each <= blockBytes && n != tileRows {
			t.Errorf("%d features: %d rows of %d bytes in a block", dim, n, each)
		}
	}
}

// TestKeptRowsAreWhole tests how many rows a source keeps the features of effects of: whole blocks, and no more rows than it
// may.
func TestKeptRowsAreWhole(t *testing.T) {
	more, err := Dense(7)
	if err != nil {
		t.Fatal(err)
	}
	e := Effects{Basis: effects.New(1, 4, []float64{0}, 1, .1), Of: []int{0, 0}, Weights: []float64{1, 2}, Ratio: 1}
	for most, want := range map[int]int{0: 0, 3: 0, 4: 4, 7: 4, 8: 8, 9: 8, 10: 10, 99: 10} {
		rows, err := NewTable(3, 4)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			rows.Append([]float32{.25, .5, .5}, 1, true)
		}
		s, err := NewExtended(rows, more, e)
		if err != nil {
			t.Fatal(err)
		}
		amplitude := e.Basis.Amplitude()
		if want := 1 + 0x1p-22 - 2*amplitude*amplitude*(1+0x1p-22); s.rule.room != want {
			t.Errorf("there is room for %v: must be %v", s.rule.room, want)
		}
		if err := s.Keep(most); err != nil || s.first[len(s.kept)] != want {
			t.Errorf("of %d rows %v are kept, %v: must be %d", most, s.first, err, want)
		}
	}
}
