package synthetic

import (
	"math"
	"sync"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
)

// block is the number of rows that are multiplied together. No more rows with all their features are in memory.
const block = 256

// Moment returns the second moment of the features of the rows under the schema with, row by row.
func (p *Population) Moment(with *dataset.Schema) ([]float64, error) {
	d := with.Dim()
	size := (d + simd.Columns - 1) / simd.Columns * simd.Columns
	sums := make([]float64, size*size)
	// left has a row for each feature, and panels the features of rows in columns of simd.Columns.
	left, panels := make([]float64, size*block), make([]float64, size*block)
	at := 0
	multiply := func() {
		var done sync.WaitGroup
		for from := 0; from < size; from += simd.Columns {
			done.Go(func() {
				panel := panels[from*block:]
				for i := 0; i < from+simd.Columns; i += 4 {
					simd.AddProducts(sums[i*size+from:], size, left[i*block:], block, panel, simd.Columns, at)
				}
			})
		}
		done.Wait()
		at = 0
	}
	err := p.Features(with, func(_ int, x []float32, mass float64) {
		root := math.Sqrt(mass)
		for j, v := range x {
			u := float64(root * float64(v))
			left[j*block+at] = u
			panels[j/simd.Columns*simd.Columns*block+at*simd.Columns+j%simd.Columns] = u
		}
		if at++; at == block {
			multiply()
		}
	})
	if err != nil {
		return nil, err
	}
	multiply()
	out := make([]float64, d*d)
	for i := range d {
		for j := i; j < d; j++ {
			out[i*d+j], out[j*d+i] = sums[i*size+j], sums[i*size+j]
		}
	}
	return out, nil
}
