package curator

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestRescaledRowsHaveRoom tests the rows of a schema over rows that were stored with a larger divisor, as before curves
// were left out. Each feature is the product with the ratio of both divisors, less a part of 2^-22: this room keeps the
// longest rows, whose features are rounded to float32 twice, within the norm beyond which a row would count as faulty.
func TestRescaledRowsHaveRoom(t *testing.T) {
	number := func(name string) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: -1, High: 1}
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{number("a"), number("b")},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	own := s.Scale() // the root of 3
	r := rand.New(rand.NewPCG(3, 8))
	var off, n float64
	for k := range 200 {
		table, err := row.NewTable(3, 0)
		if err != nil {
			t.Fatal(err)
		}
		scale := math.Sqrt(4 + float64(k)/7)
		var features []float64
		for range 50 {
			x := []float64{1 - 2*float64(r.IntN(2)), 1 - 2*float64(r.IntN(2)), 1}
			if k%2 == 1 {
				x[0], x[1] = 2*r.Float64()-1, 2*r.Float64()-1
			}
			cells := make([]float32, 3)
			for j, v := range x {
				cells[j] = float32(v / scale)
				features = append(features, float64(cells[j])*scale/own)
			}
			table.AppendCoded(cells, 0, nil, 1, true)
		}
		rows, err := Config{Schema: s}.records(&stored{rows: table, scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		for i, at := 0, 0; i < rows.Blocks(); i++ {
			b, err := rows.Reader().Block(i)
			if err != nil {
				t.Fatal(err)
			}
			for m, y := range b.Targets {
				if y != 1 {
					t.Fatalf("divisor %v: row %d counts as faulty", scale, m)
				}
				for j, v := range b.Rows[m*len(b.Rows)/len(b.Targets):][:3] {
					ratio := float64(v) / features[at+j]
					if off, n = off+1-ratio, n+1; !(math.Abs(ratio-1) <= 0x1p-22+0x1p-24) {
						t.Fatalf("divisor %v: feature %v: must be near %v", scale, v, features[at+j])
					}
				}
				at += 3
			}
		}
	}
	if mean := off / n; !(math.Abs(mean-0x1p-22) <= 0x1p-26) { // the mean of rounding errors of 2^-25 is far below
		t.Errorf("features are smaller by a part of %v: must be %v", mean, 0x1p-22)
	}
}

// broken is a source of rows that cannot be read.
type broken struct{ row.Source }

func (b broken) Reader() row.Reader { return b }

var errBroken = errors.New("broken")

func (broken) Block(int) (row.Block, error)   { return row.Block{}, errBroken }
func (broken) Rows(*row.Block, []int32) error { return errBroken }

// TestScaledRowsThatCannotBeRead tests that the error of stored rows is that of the rescaled ones, in blocks and by numbers.
func TestScaledRowsThatCannotBeRead(t *testing.T) {
	table, err := row.NewTable(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := row.NewScaled(broken{table}, 2).Reader()
	if _, err := r.Block(0); err != errBroken {
		t.Error(err)
	}
	if err := r.Rows(new(row.Block), []int32{0}); err != errBroken {
		t.Error(err)
	}
}
