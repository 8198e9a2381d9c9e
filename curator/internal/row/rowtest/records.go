// Package rowtest holds what every source of rows has to pass, and records to try
// sources and engines with.
package rowtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Record is one record as a source is given it.
type Record struct {
	X  []float32
	Y  float64
	OK bool
}

// Sound reports whether the record is to be found again as it was given, or else
// as a faulty one: a row of zeros with the target NaN.
func (r Record) Sound(dim int) bool {
	var square float64
	for _, v := range r.X {
		square += float64(v) * float64(v)
	}
	return r.OK && len(r.X) == dim && square <= row.MaxSquare && math.Abs(r.Y) <= math.MaxFloat64
}

// Records returns n records with dim features of norm 1/4 to 1, with targets -1
// and 1; with faults, every fifth one is faulty in one of the ways there are.
func Records(n, dim int, seed uint64, faults bool) []Record {
	r := rand.New(rand.NewPCG(seed, uint64(dim)))
	records := make([]Record, n)
	for i := range records {
		v, sum := make([]float64, dim), 0.
		for j := range v {
			v[j] = r.NormFloat64()
			sum += v[j] * v[j]
		}
		x := make([]float32, dim)
		size := (.25 + .75*r.Float64()) / math.Sqrt(sum)
		for j := range v {
			x[j] = float32(v[j] * size)
		}
		records[i] = Record{X: x, Y: float64(2*r.IntN(2) - 1), OK: true}
		if faults && i%5 == 3 {
			spoil(&records[i], i/5)
		}
	}
	return records
}

// spoil makes a record faulty, in the way of the number.
func spoil(r *Record, way int) {
	switch way % 8 {
	case 0:
		r.OK = false
	case 1:
		r.Y = math.NaN()
	case 2:
		r.Y = math.Inf(-1)
	case 3:
		r.X[len(r.X)-1] = float32(math.NaN())
	case 4:
		r.X[0] = float32(math.Inf(1))
	case 5:
		r.X[0] = 1.25
	case 6:
		r.X = r.X[:len(r.X)-1]
	case 7:
		r.X = append(r.X, 0)
	}
}

// Lengths are numbers of rows around those at which blocks and tiles end.
var Lengths = []int{0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 257}

// BlockRows are numbers of rows of a block, 0 for a source's own.
var BlockRows = []int{0, 1, 3, 64, 100}

func name(n, dim, blockRows int) string {
	return fmt.Sprintf("%d rows of %d features in blocks of %d", n, dim, blockRows)
}
