package model

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/arrowfile"
	"github.com/stillpoint-dp/stillpoint/internal/parquet"
)

// readDoubles returns the columns of a Parquet file of doubles and texts. Texts are indices in the list classes.
func readDoubles(t *testing.T, content []byte, classes []string) (names []string, groups []int, numbers [][]float64,
	absent [][]bool) {
	t.Helper()
	f, err := parquet.Open(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	numbers, absent = make([][]float64, len(f.Columns)), make([][]bool, len(f.Columns))
	for i := range f.Columns {
		names = append(names, f.Columns[i].Name)
	}
	for g := range f.Groups() {
		group := f.Group(g)
		groups = append(groups, int(group.Rows()))
		for i := range f.Columns {
			r, err := group.Column(&f.Columns[i])
			if err != nil {
				t.Fatal(err)
			}
			var b parquet.Batch
			for left := int(group.Rows()); left > 0; left -= b.Rows {
				if err := r.Next(&b); err != nil {
					t.Fatal(err)
				}
				n := 0
				for j := range b.Rows {
					null := b.Present != nil && !b.Present[j]
					absent[i] = append(absent[i], null)
					switch {
					case null:
						numbers[i] = append(numbers[i], 0)
						continue
					case f.Columns[i].Type.Kind == parquet.Double:
						numbers[i] = append(numbers[i], b.Values.Doubles[n])
					default:
						numbers[i] = append(numbers[i], float64(slices.Index(classes, string(b.Values.Bytes[n]))))
					}
					n++
				}
			}
		}
	}
	return names, groups, numbers, absent
}

// TestFormatsAgree tests that Parquet and Arrow have the columns, rows, numbers and nulls of the CSV, to the bit.
func TestFormatsAgree(t *testing.T) {
	unicode := colours
	unicode.Classes = []string{"grün, hell", "\U0001f535", "z\"x"}
	many := func(n int) []string {
		rows := []string{"a,b,c"}
		for i := range n {
			rows = append(rows, fmt.Sprintf("%v,%v,%v", float64(i%1001)/500-1, float64(i%7)/3.5, i%3-1))
			if i%5 == 3 {
				rows[len(rows)-1] = "1"
			}
		}
		return rows
	}
	softmax := []float64{2, 0, -1, 0, 0, 2, 1, 0, -1.5, .5, 0, 1}
	for name, c := range map[string]struct {
		m    *Model
		rows []string
		o    PredictOptions
	}{
		"empty":   {makeModel(t, classes, "logistic", "none", 2, 4, 0, -.5), many(0), PredictOptions{}},
		"one row": {makeModel(t, classes, "logistic", "none", 2, 4, 0, -.5), many(1), PredictOptions{Margins: true}},
		"scores":  {makeModel(t, classes, "tanh", "none", 2, 4, 0, -.5), many(99), PredictOptions{}},
		"numbers": {makeModel(t, delay, "huber(0.5)", "none", 2, 4, 0, -.5), many(70000), PredictOptions{}},
		"classes": {makeModel(t, unicode, "softmax(3)", "none", softmax...), many(70000), PredictOptions{Margins: true}},
		"intervals": {withIntervals(t, nil), []string{"age,region", "5,north", "10,west - or not", "x", "1,east"},
			PredictOptions{Intervals: true, Margins: true}},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, c.rows...)
			outputs := map[string]*bytes.Buffer{"": {}, "csv": {}, "parquet": {}, "arrow": {}}
			for format, out := range outputs {
				c.o.Format = format
				if err := c.m.Predict(t.Context(), path, out, c.o); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(outputs[""].Bytes(), outputs["csv"].Bytes()) {
				t.Error("csv is not the default")
			}
			list := c.m.schema.Target().Classes
			names, groups, numbers, absent := readDoubles(t, outputs["parquet"].Bytes(), list)
			rows, err := csv.NewReader(outputs["csv"]).ReadAll()
			if err != nil || !slices.Equal(rows[0], names) || len(rows) != len(c.rows) || len(numbers[0]) != len(rows)-1 {
				t.Fatalf("%d rows of %q: want %d rows of %q: %v", len(numbers[0]), names, len(rows)-1, rows[0], err)
			}
			texts, nulls := make([][]string, len(names)), 0
			for i, name := range names {
				if name == "class" {
					texts[i] = list
				}
				for j, row := range rows[1:] {
					x, err := strconv.ParseFloat(row[i], 64)
					if name == "class" && row[i] != "" {
						x, err = float64(slices.Index(list, row[i])), nil
					}
					if row[i] == "" {
						x, err = 0, nil
						nulls++
					}
					if err != nil || absent[i][j] != (row[i] == "") || math.Float64bits(x) != math.Float64bits(numbers[i][j]) {
						t.Fatalf("%s, row %d: %v, null %v: want %q", name, j, numbers[i][j], absent[i][j], row[i])
					}
				}
			}
			if nulls == 0 && len(rows) > 4 {
				t.Error("no nulls were written")
			}
			var sizes []int
			for left := len(rows) - 1; left > 0; left -= sizes[len(sizes)-1] {
				sizes = append(sizes, min(left, 65536))
			}
			if !slices.Equal(groups, sizes) {
				t.Errorf("row groups of %v rows: want %v", groups, sizes)
			}
			var again bytes.Buffer
			w, _ := arrowfile.NewWriter(&again, names, texts)
			for _, n := range sizes {
				part, null := make([][]float64, len(names)), make([][]bool, len(names))
				for i := range names {
					part[i], numbers[i] = numbers[i][:n], numbers[i][n:]
					null[i], absent[i] = absent[i][:n], absent[i][n:]
				}
				w.Write(part, null)
			}
			if w.Close(); !bytes.Equal(again.Bytes(), outputs["arrow"].Bytes()) {
				t.Error("the Arrow file has other contents")
			}
		})
	}
}

// TestFormatFaults tests that an unknown format, and an error while rows are read or written, are errors, and that no
// output looks whole then.
func TestFormatFaults(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	path := writeFile(t, "a,b,c", "0,0,0")
	if err := m.Predict(t.Context(), path, io.Discard, PredictOptions{Format: "xlsx"}); err == nil ||
		err.Error() != `model: predict: format = "xlsx": must be csv, parquet or arrow` {
		t.Errorf("error %v", err)
	}
	for _, format := range []string{"parquet", "arrow"} {
		if err := m.Predict(t.Context(), path, broken{}, PredictOptions{Format: format}); !errors.Is(err, errBroken) {
			t.Errorf("%s: nowhere to write: %v", format, err)
		}
		rows := append([]string{"a,b,c"}, slices.Repeat([]string{"0,0,0"}, 200000)...)
		ctx, cancel := context.WithCancel(t.Context())
		out := &stopping{cancel: cancel}
		err := m.Predict(ctx, writeFile(t, rows...), out, PredictOptions{Format: format})
		if text := out.String(); !errors.Is(err, context.Canceled) || text == "" ||
			strings.HasSuffix(text, "PAR1") || strings.HasSuffix(text, "ARROW1") {
			t.Errorf("%s, cancelled after %d bytes: %v", format, len(text), err)
		}
	}
}

// stopping cancels at the first write.
type stopping struct {
	bytes.Buffer
	cancel func()
}

func (s *stopping) Write(b []byte) (int, error) {
	s.cancel()
	return s.Buffer.Write(b)
}

// TestBatchesAreBounded tests that many columns or long names of classes make batches of fewer rows.
func TestBatchesAreBounded(t *testing.T) {
	for _, c := range []struct{ columns, longest, want int }{
		{1, 3, 65536}, {128, 7, 65536}, {256, 0, 32768}, {8193, 10, 1023}, {2, 1 << 20, 63}, {2, 1 << 26, 1},
	} {
		classes := []string{"a", strings.Repeat("x", c.longest)}
		if got := batchRows(make([]string, c.columns), classes); got != c.want {
			t.Errorf("%+v: %d rows", c, got)
		}
	}
}
