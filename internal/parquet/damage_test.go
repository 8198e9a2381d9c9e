package parquet

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// FuzzFile tests that no sequence of bytes crashes the reader.
func FuzzFile(f *testing.F) {
	for _, content := range fixtures(f) {
		if len(content) < 10_000 {
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) { survives(t, content) })
}

// survives reads the start of a file with arbitrary bytes. It fails the test for an error other than
// damaged, unsupported or io.EOF, and returns the error.
func survives(t *testing.T, content []byte) error {
	file, err := Open(bytes.NewReader(content), int64(len(content)))
	if err == nil {
		file.Limit = 1 << 20
		_, err = drain(file, 20, func() {})
	}
	var unsupported Unsupported
	if err != nil && !errors.Is(err, ErrDamaged) && !errors.As(err, &unsupported) && !errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
	return err
}

// TestHeaderOutsideOfTheFile tests that a page is reported as damage if its offset is outside of the
// part of the file that holds pages. The offset comes from the footer or from the size of the
// previous page, either of which may be any number.
func TestHeaderOutsideOfTheFile(t *testing.T) {
	for name, content := range fixtures(t) {
		f, err := Open(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(name, err)
		}
		for _, offset := range []int64{f.end, f.end + 1, f.end + 1000, 1 << 62} {
			if _, err := f.header(offset); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: a header at %d of %d bytes: %v", name, offset, f.end, err)
			}
		}
	}
}

// TestDamage tests that reading a damaged file returns an error or values, and never crashes.
func TestDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	tries := 60
	if testing.Short() {
		tries = 8
	}
	errs := 0
	for _, content := range fixtures(t) {
		for range tries {
			damaged := bytes.Clone(content)
			for range 1 + r.IntN(3) {
				damaged[r.IntN(len(damaged))] ^= byte(1 << r.IntN(8))
			}
			if survives(t, damaged) != nil {
				errs++
			}
			if survives(t, content[:r.IntN(len(content))]) == nil {
				t.Error("a file that is cut is not seen to be")
			}
		}
	}
	if errs == 0 {
		t.Error("no damage is seen")
	}
}
