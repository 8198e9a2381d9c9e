package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// leastKept is the number of numbers of a stored row from which the engine keeps the squares of its slopes:
// they then take at most a 64th of the memory of the rows, and margins that are not computed again are long.
const leastKept = 128

// steepness holds, for every row of a table, the sum of the squares of the loss's slopes at a point, smoothed
// or not. It takes 8 bytes for each row. An optimizer asks for the mean squared slope at the point of the
// gradient that it has just asked for: the margins and slopes of the second query are those of the first. A
// steepness is secret, like the lengths of rows, and a query that uses it has the same integers as one that
// computes it again.
type steepness struct {
	point     []float64
	smoothing query.Smoothing
	// blocks holds the sums of each block. A faulty row, and one whose slopes are not finite or in whose slopes the loss
	// panicked, has NaN: a query that uses the sums reads no rows.
	blocks [][]float64
}

// of reports whether s holds the slopes that the term needs.
func (s *steepness) of(t query.Term) bool {
	return s != nil && len(s.point) == len(t.Point()) && same(s.point, t.Point()) && s.smoothing == t.Smoothing()
}

// steepness returns where a query about all rows, with this first term, finds the squares of slopes (known is then
// true), or where it leaves them. It returns nil if the query does neither. The caller alone has what is returned, and
// gives it to the method keep once the query is answered in full.
func (e *Portable) steepness(t query.Term) (s *steepness, known bool) {
	select {
	case s = <-e.kept:
	default:
	}
	switch {
	case t.Kind() == query.SquaredSlope && s.of(t):
		return s, true
	case t.Kind() != query.MetricGradient || e.layout.Stride() < e.keeps || scored(e.loss):
		e.keep(s)
		return nil, false
	case s == nil:
		s = &steepness{blocks: make([][]float64, e.table.Blocks())}
	}
	s.point, s.smoothing = append(s.point[:0], t.Point()...), t.Smoothing()
	return s, false
}

// keep makes s the steepness that the method steepness finds, if there is none yet.
func (e *Portable) keep(s *steepness) {
	if s == nil {
		return
	}
	select {
	case e.kept <- s:
	default:
	}
}

// block returns where the sums of block i are left, which has so many rows. They are NaN.
func (s *steepness) block(i, rows int) []float64 {
	if len(s.blocks[i]) != rows {
		s.blocks[i] = make([]float64, rows)
	}
	forget(s.blocks[i])
	return s.blocks[i]
}

// steep sets dst to the sum of the squares of each record's slopes, k of them. It is NaN if one of them or the target is
// not finite, and infinite if they are finite and their squares overflow.
func steep(dst, slope, y []float64, k int) {
	for i := range dst {
		square := y[i] - y[i] // 0, or NaN
		for _, s := range slope[i*k : (i+1)*k] {
			if !sound(s) {
				s = math.NaN()
			}
			square += float64(s * s)
		}
		dst[i] = square
	}
}
