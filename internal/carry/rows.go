package carry

import (
	"fmt"
	"math"
)

// Rows is how several rows and their targets lie in one: that of a record which is all
// rows of a unit of privacy. Rows has room for Most rows of Features features each; the
// record's own target is how many there are.
//
// Features come first, row after row, times a power of two for which any Most rows of
// norm 1 together are shorter than 1, so that taking them out again changes no bit.
// After them come three float32s for each target: they hold all bits of a float64 down
// to 2^-89. Room that is not taken is zero.
type Rows struct{ Features, Most int }

// MostRows bounds Rows.Most, and MostTarget the size of a target: that of the largest
// that Join makes, and so small beside a record's norm.
const (
	MostRows   = 1 << 10
	MostTarget = 1 << 30
)

// perTarget is how many float32s hold a target; tiny makes even the largest too small to
// count for a record's norm.
const perTarget, tiny = 3, 0x1p-60

// Check returns an error unless there is room for at least one row of one feature, and
// not for more than sources take.
func (r Rows) Check() error {
	if r.Most < 1 || r.Most > MostRows {
		return fmt.Errorf("rows of a unit = %d: must be between 1 and %d", r.Most, MostRows)
	}
	if r.Features < 1 || r.Width() > 1<<24 {
		return fmt.Errorf("rows of a unit = %d of %d features: must be of at least one, and at most 2^24 together, targets included", r.Most, r.Features)
	}
	return nil
}

// RowsIn returns the layout of records of so many features with room for so many rows;
// ok is false if there is none.
func RowsIn(width, most int) (r Rows, ok bool) {
	if most < 1 || most > MostRows || width%most != 0 {
		return Rows{}, false
	}
	r = Rows{width/most - perTarget, most}
	return r, r.Features >= 1
}

// Width is the number of features of a record.
func (r Rows) Width() int { return r.Most * (r.Features + perTarget) }

// Scale is what features are divided by.
func (r Rows) Scale() float64 {
	s := 2.
	for ; s*s <= float64(r.Most); s *= 2 {
	}
	return s
}

// Put writes row i and its target, of size MostTarget at most, to a record that was all
// zeros there.
func (r Rows) Put(record []float32, i int, x []float32, y float64) {
	by := float32(1 / r.Scale())
	at := record[i*r.Features : (i+1)*r.Features]
	for j, v := range x[:r.Features] {
		at[j] = float32(v * by)
	}
	rest := y * tiny
	of := record[r.Most*r.Features+i*perTarget:]
	for j := range perTarget {
		of[j] = float32(rest)
		rest -= float64(of[j])
	}
}

// Row returns row i as it lies in a record: its features over Scale.
func (r Rows) Row(record []float32, i int) []float32 {
	return record[i*r.Features : (i+1)*r.Features]
}

// Take writes row i to x.
func (r Rows) Take(x, record []float32, i int) {
	by := float32(r.Scale())
	for j, v := range r.Row(record, i) {
		x[j] = float32(v * by)
	}
}

// Target returns the target of row i.
func (r Rows) Target(record []float32, i int) float64 {
	of := record[r.Most*r.Features+i*perTarget:][:perTarget]
	return (float64(of[0]) + float64(of[1]) + float64(of[2])) / tiny
}

// Count reads a record's own target; ok is false if it is no number of rows.
func (r Rows) Count(y float64) (n int, ok bool) {
	if !(y >= 1 && y <= float64(r.Most)) || y != math.Trunc(y) {
		return 0, false
	}
	return int(y), true
}
