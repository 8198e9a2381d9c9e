package model

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestPredictOfDamagedTables tests that a table that breaks off in its middle is an error for everything that reads one:
// predictions of the first rows must not be taken for those of all.
func TestPredictOfDamagedTables(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintln(z, "a,b,c,y")
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		fmt.Fprintf(z, "%v,%v,%v,1\n", r.Float64(), r.Float64(), r.Float64())
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for share, whole := range map[float64]bool{1: true, .7: false} {
		path := filepath.Join(t.TempDir(), "rows.csv.gz")
		if err := os.WriteFile(path, b.Bytes()[:int(share*float64(b.Len()))], 0o666); err != nil {
			t.Fatal(err)
		}
		if err := m.Predict(t.Context(), path, io.Discard, PredictOptions{}); (err == nil) != whole {
			t.Errorf("predictions of %v of a table: %v", share, err)
		}
		n := 0
		var last error
		for _, err := range m.Predictions(t.Context(), Source{Path: path}) {
			if n++; err != nil {
				last = err
			}
		}
		if (last == nil) != whole || whole && n != 20_000 {
			t.Errorf("%d predictions of %v of a table: %v", n, share, last)
		}
	}
}

// TestPredictionsEndWithTheirSource tests that an error of the rows that a program yields ends the predictions.
func TestPredictionsEndWithTheirSource(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	n := 0
	var last error
	for _, err := range m.Predictions(t.Context(), Source{Header: []string{"a", "b", "c"},
		Cells: func(yield func([]string, error) bool) {
			for range 3 {
				if !yield([]string{"1", "2", "0"}, nil) {
					return
				}
			}
			yield(nil, errBroken)
		}}) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 3 || !errors.Is(last, errBroken) {
		t.Errorf("%d predictions, then %v: must be 3 and the error", n, last)
	}
}

// TestCholesky tests that the factor's product with its transpose is the matrix, also where a pivot is 0.
func TestCholesky(t *testing.T) {
	for _, a := range [][][]float64{{{.04, .01, .02}, {.01, .09, -.03}, {.02, -.03, .25}}, {{9, 3}, {3, 5}},
		{{0, 0}, {0, 2}}, {{4, 2, 0}, {2, 1, 0}, {0, 0, .5}}} {
		root := cholesky(a)
		for i := range a {
			for j := range a {
				sum := 0.
				for k := range a {
					sum += root[i][k] * root[j][k]
				}
				if !(math.Abs(sum-a[i][j]) <= 1e-12) || j > i && root[i][j] != 0 {
					t.Errorf("%v: factor %v: entry %d, %d of its square is %v", a, root, i, j, sum)
				}
			}
		}
	}
}
