package row

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestDamagedFile: whatever stands in the file, a row that is read from it is one
// that a row map makes, or faulty; what is cut off is an error. Both ways of
// reading are tried.
func TestDamagedFile(t *testing.T) {
	const dim, n = 3, 6
	bits := func(y float64, x ...float32) []byte {
		b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(y))
		for _, v := range x {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		bytes []byte
		sound bool
	}{
		"as it was":      {bits(1, .5, .25, 0), true},
		"another row":    {bits(-1, 0, 0, 1), true},
		"longer than 1":  {bits(1, 1, .1, 0), false},
		"NaN":            {bits(1, 0, float32(nan), 0), false},
		"infinite":       {bits(1, 0, 0, float32(inf)), false},
		"target NaN":     {bits(nan, .5, .25, 0), false},
		"target inf":     {bits(-inf, .5, .25, 0), false},
		"faulty, filled": {bits(nan, 1e30, 1, 1), false},
	} {
		f, err := NewFile(dim, 4, 0, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if err := f.Append([]float32{.5, .25, 0}, 1, true); err != nil {
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
		if _, err := f.file.WriteAt(c.bytes, 5*int64(f.size())); err != nil {
			t.Fatal(err)
		}
		check := func(x []float32, y float64) {
			t.Helper()
			if sound := y == y; sound != c.sound || !sound && (x[0] != 0 || x[1] != 0 || x[2] != 0) {
				t.Errorf("%s: read as %v, %v", name, x, y)
			}
		}
		r := s.Reader()
		b, err := r.Block(1)
		if err != nil {
			t.Fatal(err)
		}
		check(b.Rows[s.Stride():], b.Targets[1])
		x, y := make([][]float32, 2), make([]float64, 2)
		if err := r.Rows(x, y, []int32{0, 5}); err != nil {
			t.Fatal(err)
		}
		check(x[1], y[1])

		if err := f.file.Truncate(5*int64(f.size()) + 3); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Block(1); err != ErrUnread {
			t.Errorf("%s: a block cut off: %v", name, err)
		}
		if err := r.Rows(x, y, []int32{0, 5}); err != ErrUnread {
			t.Errorf("%s: a row cut off: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNameIsGivenUp: a file whose name could not be removed at once is removed when
// it is closed.
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
