package engine

import (
	"context"
	"math"
	"sync"

	"github.com/stillpoint-dp/stillpoint/query"
)

// share is the part of a sum that one goroutine computes. A share outlives its goroutine. If a loss panics on a record
// or ends the goroutine, only that record is dropped as faulty, and another goroutine continues with the next record.
type share struct {
	pass
	tiles tiling
	turns turns
	ended *sync.WaitGroup
	done  bool
	// unread is the error of a failed read.
	unread error
}

// work processes pieces until none is left, a read fails or the context ends.
func (s *share) work(ctx context.Context) {
	defer s.survive(ctx)
	for ctx.Err() == nil {
		if len(s.rows.Targets) == 0 {
			t, ok := s.turns.take()
			if !ok {
				break
			}
			if s.rows, s.unread = s.tiles.at(t, s.turns.after, &s.pass); s.unread != nil {
				break
			}
		}
		s.run()
	}
	s.let()
	s.done = true
}

// survive is called when work returns, and when the loss has panicked or ended the goroutine. In the second
// case it handles the current tile (see stopped) and starts another goroutine.
func (s *share) survive(ctx context.Context) {
	if s.done {
		s.ended.Done()
		return
	}
	// The value of a panic in the loss may contain a record's values, so it is dropped.
	_ = recover()
	s.stopped()
	go s.work(ctx)
}

// run adds the contributions of the rows of the current piece, one tile of rows at a time. It calls the loss for a tile
// before it adds anything, so that a tile in which the loss panicked can be repeated. A general loss, and the loss of a
// weighted kind, is always called for one record at a time.
func (p *pass) run() {
	for len(p.rows.Targets) > 0 {
		p.trying = min(tileRows, len(p.rows.Targets))
		switch {
		case p.fused != nil: // its losses do not panic
			p.trying = len(p.rows.Targets)
		case p.stacked != nil:
			p.trying = min(p.trying, p.stacked.rows)
		}
		if p.alone > 0 || p.general != nil || p.weighted != nil {
			p.trying = 1
		}
		b := p.layout.Cut(p.rows, 0, p.trying)
		switch {
		case p.fused != nil:
			p.fused.piece(p, b)
		case p.weighted != nil:
			p.weighted.add(p, p.writer.out(b), b.Targets[0])
		case p.general != nil:
			p.general.add(p, p.writer.out(b), b.Targets[0])
		case p.stacked != nil:
			p.stacked.tile(p, b)
		default:
			p.tile(b)
		}
		p.passed()
	}
}

// passed counts the rows of the current tile and removes them from the piece.
func (p *pass) passed() {
	n := p.trying
	p.rows = p.layout.Cut(p.rows, n, len(p.rows.Targets))
	if p.long != nil {
		p.long = p.long[n:]
	}
	if p.steep != nil {
		p.steep = p.steep[n:]
	}
	p.seen += int64(n)
	p.alone = max(p.alone-n, 0)
}

// stopped handles a tile in which the loss panicked or ended the goroutine. If the tile is a single record,
// the record is faulty and contributes as a malformed record does. A larger tile will be repeated record by
// record, to find the faulty record.
func (p *pass) stopped() {
	if p.trying > 1 {
		p.alone = p.trying
		return
	}
	if p.number {
		p.acc[0] += Round(p.faultySteps())
	}
	p.passed()
}

// leastKept is the number of numbers of a stored row from which the engine keeps the squares of its slopes:
// they then take at most a 64th of the memory of the rows, and margins that are not computed again are long.
const leastKept = 128

// steepness holds, for every row of a table, the sum of the squares of the loss's slopes at a point, smoothed or not.
// It takes 8 bytes for each row. An optimizer asks for the mean squared slope at the point of the gradient that it has
// just asked for: the margins and slopes of the second query are those of the first. A steepness is secret, like the
// lengths of rows, and a query that uses it has the same integers as one that computes it again.
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
