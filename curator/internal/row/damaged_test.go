package row

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestDamagedFile tests that a row read from the file is a valid row, such as the row map makes, or
// is marked as faulty, whatever bytes the file contains. A truncated file is an error. Both ways of
// reading (Block and Rows) are tested.
func TestDamagedFile(t *testing.T) {
	const n = 6
	l, err := NewLayout(7, []Group{{1, 3}, {4, 2}})
	if err != nil {
		t.Fatal(err)
	}
	// A row has two numbers, the level and the groups' codes. The second group's codes are 3 and 4.
	bits := func(y float64, x0, x1, level float32, codes ...uint16) []byte {
		b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(y))
		for _, v := range []float32{x0, x1, level} {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		for _, v := range codes {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		return b
	}
	nan, inf := math.NaN(), math.Inf(1)
	nan32, inf32 := float32(nan), float32(inf)
	for name, c := range map[string]struct {
		bytes []byte
		sound bool
	}{
		"as it was":              {bits(1, .5, .25, .5, 1, 3), true},
		"another row":            {bits(-1, 0, 0, .7, 2, 4), true},
		"longer than 1":          {bits(1, 1, .1, 0, 0, 3), false},
		"longer by its groups":   {bits(1, .5, 0, .7, 0, 3), false},
		"NaN":                    {bits(1, 0, nan32, .5, 0, 3), false},
		"infinite":               {bits(1, 0, inf32, .5, 0, 3), false},
		"a level that is NaN":    {bits(1, 0, 0, nan32, 0, 3), false},
		"an infinite level":      {bits(1, 0, 0, -inf32, 0, 3), false},
		"target NaN":             {bits(nan, .5, .25, .5, 0, 3), false},
		"target inf":             {bits(-inf, .5, .25, .5, 0, 3), false},
		"faulty, filled":         {bits(nan, 1e30, 1, 1, 9, 9), false},
		"the next group's code":  {bits(1, .5, .25, .5, 3, 3), false},
		"the group's before":     {bits(1, .5, .25, .5, 1, 2), false},
		"nobody's code":          {bits(1, .5, .25, .5, 1, 5), false},
		"a code far beyond":      {bits(1, .5, .25, .5, 0xffff, 3), false},
		"codes the wrong way on": {bits(1, .5, .25, .5, 3, 1), false},
	} {
		f, err := NewFileOf(l, 4, 0, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if err := f.AppendCoded([]float32{.5, .25}, .5, []uint32{1, 0}, 1, true); err != nil {
				t.Fatal(err)
			}
		}
		s, err := f.Source()
		if err != nil {
			t.Fatal(err)
		}
		if info, err := f.file.Stat(); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("the file's mode is %v: %v", info.Mode(), err)
		}
		if _, err := f.file.WriteAt(c.bytes, 5*int64(l.size())); err != nil {
			t.Fatal(err)
		}
		check := func(b Block) {
			t.Helper()
			x, codes := b.Rows, b.Codes.Narrow
			if sound := b.Targets[0] == b.Targets[0]; sound != c.sound ||
				!sound && (x[0] != 0 || x[1] != 0 || b.Levels[0] != 0) {
				t.Errorf("%s: read as %v", name, b)
			}
			if codes[0] > 2 || codes[1] < 3 || codes[1] > 4 {
				t.Errorf("%s: codes read as %v", name, codes)
			}
		}
		r := s.Reader()
		b, err := r.Block(1)
		if err != nil {
			t.Fatal(err)
		}
		check(l.Cut(b, 1, 2))
		var rows Block
		if err := r.Rows(&rows, []int32{0, 5}); err != nil {
			t.Fatal(err)
		}
		check(l.Cut(rows, 1, 2))

		if err := f.file.Truncate(5*int64(l.size()) + 3); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Block(1); err != ErrUnread {
			t.Errorf("%s: a block cut off: %v", name, err)
		}
		if err := r.Rows(&rows, []int32{0, 5}); err != ErrUnread {
			t.Errorf("%s: a row cut off: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNameIsGivenUp tests that a file whose name could not be removed at once is removed when it is
// closed.
func TestNameIsGivenUp(t *testing.T) {
	f, err := NewFile(1, 1, 0, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rows")
	if f.file, err = os.Create(path); err != nil {
		t.Fatal(err)
	}
	f.name = path
	if err := f.Append([]float32{1}, 1, true); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after closing: %v", err)
	}
}
