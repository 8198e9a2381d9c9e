//go:build results

package results_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var exportTo = flag.String("export", "", "a folder to which TestExport writes the encoded rows of -table")

// TestExport writes the encoded rows of a table as NumPy arrays, for the methods in Python that are
// compared (rivals.py): train-x.npy and train-y.npy, held-x.npy, held-y.npy and, in the target's units,
// held-truth.npy.
func TestExport(t *testing.T) {
	if *tableOf == "" || *exportTo == "" {
		t.Skip("-table or -export names nothing")
	}
	c := config(t, *tableOf)
	for _, part := range []struct{ name, where string }{{"train", "split=train"}, {"held", "split=test"}} {
		r := read(t, c.DataPath(), c.Schema, part.where)
		x := make([]float64, r.n()*r.dim)
		for i := range r.n() {
			at, values := r.row(i)
			for k, j := range at {
				x[i*r.dim+int(j)] = values[k]
			}
		}
		for name, v := range map[string]struct {
			values []float64
			shape  string
		}{
			"x":     {x, fmt.Sprintf("(%d, %d)", r.n(), r.dim)},
			"y":     {r.y, fmt.Sprintf("(%d,)", r.n())},
			"truth": {r.truth, fmt.Sprintf("(%d,)", r.n())},
		} {
			writeArray(t, filepath.Join(*exportTo, part.name+"-"+name+".npy"), v.values, v.shape)
		}
	}
}

// writeArray writes an array in NumPy's format, version 1.0. The header is padded to a multiple of 64
// bytes.
func writeArray(t *testing.T, path string, values []float64, shape string) {
	t.Helper()
	const before = len("\x93NUMPY") + 2 + 2 // the version and the header's length
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }"
	header = fmt.Sprintf("%*s\n", -(63 - before + (len(header)+before)/64*64), header)
	short := make([]float32, len(values))
	for i, v := range values {
		short[i] = float32(v)
	}
	data := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	data, err := binary.Append(append(data, header...), binary.LittleEndian, short)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
