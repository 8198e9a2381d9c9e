package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestWrittenFilesAreRead writes columns of numbers and texts, with nulls in several patterns, and compares them with
// the values that the reader finds, to the bit.
func TestWrittenFilesAreRead(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0.1}
	words := []string{"", "naïve, \"quoted\"", "日本語", "\U0001f535 \x00", strings.Repeat("long", 100)}
	patterns := []func(i int) bool{
		func(int) bool { return false }, func(int) bool { return true },
		func(i int) bool { return i%2 == 0 }, func(i int) bool { return i%1000 > 900 },
		func(i int) bool { return i*i%7 == 1 },
	}
	for _, c := range []struct {
		columns int
		groups  []int
	}{{1, nil}, {2, []int{1}}, {13, []int{7}}, {14, []int{8}}, {40, []int{9, 1, 300}}, {10, []int{65536, 4464}}} {
		var names []string
		var texts [][]string
		for i := range c.columns {
			name, list := fmt.Sprintf("p=%s %d", words[i%5], i), []string(nil)
			if i%2 == 1 {
				list = words
			}
			names, texts = append(names, name), append(texts, list)
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, names, texts)
		if err != nil {
			t.Fatal(err)
		}
		want := make([][]cell, c.columns)
		for _, rows := range c.groups {
			numbers, absent := make([][]float64, c.columns), make([][]bool, c.columns)
			for i := range c.columns {
				for j := range rows {
					x, null := special[(i+j)%8], patterns[i/2%5](j)
					if j >= 8 {
						x += float64(j)
					}
					if texts[i] != nil {
						x = float64(j % 5)
					}
					numbers[i], absent[i] = append(numbers[i], x), append(absent[i], null)
					switch {
					case null:
						want[i] = append(want[i], nil)
					case texts[i] != nil:
						want[i] = append(want[i], words[j%5])
					default:
						want[i] = append(want[i], math.Float64bits(x))
					}
				}
			}
			if err := w.Write(numbers, absent); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len())); err == nil {
			t.Errorf("%d columns: the file opens before it is complete", c.columns)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil || f.Groups() != len(c.groups) || len(f.Columns) != c.columns {
			t.Fatalf("%d columns, groups %v: %v", c.columns, c.groups, err)
		}
		got, err := drain(f, 1<<20, func() {})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if f.Columns[i].Name != names[i] || len(c.groups) > 0 && !slices.Equal(got[i], want[i]) {
				t.Errorf("%d columns, groups %v: column %q differs", c.columns, c.groups, names[i])
			}
			// The reader takes bytes for texts; other readers ask the older type, 0, and the logical type, 1.
			if bytes.Contains(out.Bytes(), []byte(names[i]+"\x25\x00\x4c\x1c\x00\x00\x00")) != (texts[i] != nil) {
				t.Errorf("%d columns: column %q is declared as another type", c.columns, names[i])
			}
		}
	}
}

type failing struct{ after int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestFailuresOfWrites tests that no failure of the underlying writer is lost, at whatever byte.
func TestFailuresOfWrites(t *testing.T) {
	write := func(f *failing) error {
		w, err := NewWriter(f, []string{"a", "b"}, [][]string{nil, {"x"}})
		if err != nil {
			return err
		}
		return errors.Join(w.Write([][]float64{{1}, {0}}, [][]bool{{false}, {false}}), w.Close())
	}
	whole := &failing{1 << 20}
	if err := write(whole); err != nil {
		t.Fatal(err)
	}
	for after := range 1<<20 - whole.after {
		if err := write(&failing{after}); !errors.Is(err, errFull) {
			t.Fatalf("full after %d bytes: error %v", after, err)
		}
	}
}
