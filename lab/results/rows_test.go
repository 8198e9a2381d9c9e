//go:build results

package results_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// rows are the encoded rows of a table that have a target. Only nonzero features are stored.
type rows struct {
	dim   int
	start []int // of row i: at[start[i]:start[i+1]]
	at    []uint16
	x     []float64
	y     []float64 // encoded targets
	truth []float64 // targets in their units; -1 or 1 for classes
}

// read encodes the rows that the filter keeps, exactly as a fit does.
func read(t *testing.T, path string, schema *dataset.Schema, where string) *rows {
	t.Helper()
	schema, err := schema.Where(where)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := table.Open([]string{path}, dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	header := reader.Header()
	m, err := schema.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	target := slices.Index(header, schema.Target().Column)
	r := &rows{dim: m.Dim(), start: []int{0}}
	dense := make([]float32, m.Dim())
	for {
		cells, more, err := reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return r
		}
		if !m.Keep(cells) {
			continue
		}
		y, ok := m.Encode(dense, cells)
		if !ok {
			continue
		}
		truth := y
		if schema.Target().Kind == dataset.Number {
			if truth, err = strconv.ParseFloat(strings.TrimSpace(cells[target]), 64); err != nil {
				t.Fatal(err)
			}
		}
		for j, v := range dense {
			if v != 0 {
				r.at, r.x = append(r.at, uint16(j)), append(r.x, float64(v))
			}
		}
		r.start = append(r.start, len(r.at))
		r.y, r.truth = append(r.y, y), append(r.truth, truth)
	}
}

func (r *rows) n() int { return len(r.y) }

// row returns the indices and the values of row i's nonzero features.
func (r *rows) row(i int) ([]uint16, []float64) {
	a, b := r.start[i], r.start[i+1]
	return r.at[a:b], r.x[a:b]
}

// margins returns the margin <w, x> of every row x.
func (r *rows) margins(w []float64) []float64 {
	z := make([]float64, r.n())
	for i := range z {
		at, x := r.row(i)
		for k, j := range at {
			z[i] += w[j] * x[k]
		}
	}
	return z
}

// errorsOf returns the mean absolute and the root mean squared error of
// predictions in the target's units.
func (r *rows) errorsOf(predict func(i int) float64) (mae, rmse float64) {
	for i, y := range r.truth {
		e := predict(i) - y
		mae += math.Abs(e)
		rmse += e * e
	}
	n := float64(r.n())
	return mae / n, math.Sqrt(rmse / n)
}

// accuracyAndAUC returns the accuracy and the area under the ROC curve of margins z. A tie counts
// as half.
func (r *rows) accuracyAndAUC(z []float64) (accuracy, auc float64) {
	order := make([]int, r.n())
	for i := range order {
		order[i] = i
		if (z[i] > 0) == (r.y[i] > 0) {
			accuracy++
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case z[a] < z[b]:
			return -1
		case z[a] > z[b]:
			return 1
		}
		return 0
	})
	// The rank-sum statistic. Equal margins get the mean of their ranks.
	var ranks, positives float64
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && z[order[j]] == z[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			if r.y[k] > 0 {
				ranks += float64(i+j+1) / 2
				positives++
			}
		}
		i = j
	}
	n := float64(r.n())
	return accuracy / n, (ranks - positives*(positives+1)/2) / (positives * (n - positives))
}
