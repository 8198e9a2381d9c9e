// Package targetpair encodes two numbers of a record as one: the target and a share in [0, 1], which is
// a weight or an exposure. A stored row has only one number besides its features. Therefore the two numbers
// are joined when a table is read, and losses with weights or exposures split them again.
package targetpair

import (
	"fmt"
	"math"
)

// Rows is the layout of a record that holds several rows and their targets: all rows of one privacy unit. A record
// holds at most Most rows of Features features each. The target of the record is the number of its rows.
//
// A record starts with the features, row after row, divided by [Rows.Scale]. Scale is a power of
// two, so multiplying by it again changes no bit. It is so large that the features of Most rows of norm 1,
// divided by Scale, have a norm below 1 together. After the features of all rows, three float32s hold each
// row's target, a float64, rounded to a multiple of 2^-89. The numbers of unused rows are zero.
type Rows struct{ Features, Most int }

// MostRows is the largest value of Rows.Most. MostTarget bounds the absolute value of a target: no number
// that Join returns is larger. Records store targets multiplied by the factor tiny. Even the largest target
// times tiny is negligible in a record's norm.
const (
	MostRows   = 1 << 10
	MostTarget = 1 << 30
)

// perTarget is the number of float32s that hold a target. Targets are multiplied by tiny, so that
// even the largest is negligible in a record's norm.
const perTarget, tiny = 3, 0x1p-60

// Check returns an error unless Most is between 1 and MostRows, Features is at least 1, and the
// record has at most 2^24 float32s.
func (r Rows) Check() error {
	if r.Most < 1 || r.Most > MostRows {
		return fmt.Errorf("rows of a unit = %d: must be between 1 and %d", r.Most, MostRows)
	}
	if r.Features < 1 || r.Width() > 1<<24 {
		return fmt.Errorf("rows of a unit = %d of %d features: must be of at least one, and at most 2^24 together, "+
			"targets included", r.Most, r.Features)
	}
	return nil
}

// RowsIn returns the layout of records of the given width, in float32s, that hold up to most rows. ok is
// false if there is no such layout.
func RowsIn(width, most int) (r Rows, ok bool) {
	if most < 1 || most > MostRows || width%most != 0 {
		return Rows{}, false
	}
	r = Rows{width/most - perTarget, most}
	return r, r.Features >= 1
}

// Width returns the number of float32s of a record.
func (r Rows) Width() int { return r.Most * (r.Features + perTarget) }

// Scale returns the power of two by which a record's features are divided, so that its norm is below
// 1.
func (r Rows) Scale() float64 {
	s := 2.
	for ; s*s <= float64(r.Most); s *= 2 {
	}
	return s
}

// Put writes row i, with the features x and the target y, to a record. The absolute value of y must be at
// most MostTarget.
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

// Row returns row i as the record stores it: its features divided by Scale.
func (r Rows) Row(record []float32, i int) []float32 { return record[i*r.Features : (i+1)*r.Features] }

// Take writes the features of row i of a record to x, multiplied by Scale again, so that they have
// their original values.
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

// Count returns the number of rows of a record, which is its target y. ok is false if y is not a whole number
// from 1 to Most.
func (r Rows) Count(y float64) (n int, ok bool) {
	if !(y >= 1 && y <= float64(r.Most)) || y != math.Trunc(y) {
		return 0, false
	}
	return int(y), true
}

// levels is the number of steps into which the range [0, 1] of a share (a weight or an exposure) is
// divided. It is a power of two.
const levels = 1 << 16

// Rounding is the spacing of encoded targets in [-1, 1] beside a share below 1.
const Rounding = 0x1p-35

// spacing returns by how much the encoded number increases if the share decreases by one level, 2^-16. It is
// larger than the range of targets, so that target and share can be separated. Targets are in [-1, 1] or, if
// wide is true, class numbers below 2^12.
func spacing(wide bool) float64 {
	if wide {
		return 1 << 13
	}
	return 4
}

// Join encodes a target y and a share (a weight or an exposure in [0, 1]) of one record as one float64. wide says that
// targets are class numbers. The share is rounded to a multiple of 2^-16. If the share is 1, the result is y. Otherwise
// y is rounded to a multiple of Rounding, unless it is a class number. A share outside [0, 1] gives NaN.
func Join(y, share float64, wide bool) float64 {
	if !(share >= 0 && share <= 1) {
		return math.NaN()
	}
	return y + math.RoundToEven((1-share)*levels)*spacing(wide)
}

// Split returns the target and the share (a weight or an exposure) that Join encoded as one number.
// Both are NaN for a number that Join cannot return.
func Split(joined float64, wide bool) (y, share float64) {
	r := spacing(wide)
	steps := math.RoundToEven(joined / r)
	if wide {
		steps = math.Floor(joined / r)
	}
	if !(steps >= 0 && steps <= levels) {
		return math.NaN(), math.NaN()
	}
	return joined - steps*r, 1 - steps/levels
}

// Thresholds returns the thresholds between ordered classes by the weights w of a loss, for rows of the given number of
// features. It returns nil for a loss of other targets (loss.Loss, which this package does not import).
func Thresholds(loss any, w []float64, features int) []float64 {
	of, ordered := loss.(interface {
		Thresholds(w []float64, features int) []float64
	})
	if !ordered {
		return nil
	}
	return of.Thresholds(w, features)
}

// Expected names the expected value of a column: per unit of the column of exposures, or at 0 of an offset.
func Expected(column, exposure string, offset bool) string {
	switch {
	case exposure == "":
		return "the expected " + column
	case offset:
		return "the expected " + column + " at " + exposure + " = 0"
	}
	return "the expected " + column + " per unit of " + exposure
}
