// Package engine computes exact integer sums of clipped per-record
// contributions. It adds no noise and makes no charge: what it returns is
// secret and must not leave the packages below curator.
//
// A record's contribution is computed in float64 in a fixed order, rounded to
// an integer number of grid steps, and added in int64. Integer addition is
// associative, so the sum does not depend on the number of goroutines, on the
// size of blocks or on the order in which they are taken.
package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// ErrIncomplete reports that some record was not looked at, which nothing is
// known to cause. What was summed is dropped.
var ErrIncomplete = errors.New("engine: not every record was looked at")

// Sum is the exact answer to a question in grid steps.
type Sum struct {
	// Residual is, for each coordinate, the sum over records of the rounded
	// contribution less the rounded public centre.
	Residual []int64
}

// Engine answers questions over the rows of one table with one loss, in integers
// that depend on nothing else: not on where the rows are kept, how they are cut
// into blocks, or who adds them. An implementation passes enginetest.
//
// Members are row numbers, in any order; a row counts as often as it is named.
// Residuals add: those of two lists of members make up that of both, so that a
// sum may be taken where the rows are, in parts. Errors are the context's,
// row.ErrUnread, or of use; they never depend on what rows hold.
type Engine interface {
	// Table returns the rows, Loss the loss, Parameters how many it has for them.
	Table() row.Source
	Loss() loss.Loss
	Parameters() int
	// Sum computes a question's exact answer over the members, or over all rows
	// when members is nil. scale is the number of grid steps in a unit.
	Sum(ctx context.Context, q query.Question, scale float64, members []int32) (Sum, error)
	// Average takes one pass of projected SGD over the members in their order.
	Average(ctx context.Context, p query.Pass, scale float64, members []int32) ([]int64, error)
}

// Portable is the engine for every machine: in plain Go, but for kernels that some
// have in assembly.
type Portable struct {
	table   row.Source
	layout  *row.Layout
	loss    loss.Loss
	shape   shape
	workers int
	kernel  kernel
	// measured keeps the lengths of rows in the metric that was asked about last.
	// Whoever reads or fills it takes it out.
	measured chan *lengths
}

// New returns an engine with the given number of goroutines, at least one.
func New(t row.Source, l loss.Loss, workers int) (*Portable, error) {
	parameters, err := loss.Check(l, t.Layout().Dim())
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if workers < 1 {
		return nil, fmt.Errorf("engine: workers = %d: must be >= 1", workers)
	}
	e := &Portable{table: t, layout: t.Layout(), loss: l, shape: shapeOf(l, parameters, t), workers: workers, kernel: fastest(), measured: make(chan *lengths, 1)}
	e.measured <- nil
	return e, nil
}

// Parameters returns how many there are.
func (e *Portable) Parameters() int { return e.shape.parameters() }

// Table returns the rows.
func (e *Portable) Table() row.Source { return e.table }

// Sum computes q's exact answer over the given members (row numbers), or over
// all rows when members is nil. scale is the number of grid steps in a unit.
// A cancelled context ends it with the context's error.
func (e *Portable) Sum(ctx context.Context, q query.Question, scale float64, members []int32) (Sum, error) {
	if err := ctx.Err(); err != nil {
		return Sum{}, err
	}
	// The workers ask the standard library's context, whose errors stay, rather
	// than whatever the caller passed.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	centre := Centre(q, scale)
	if err := within(members, e.table.Len()); err != nil {
		return Sum{}, err
	}
	if err := Answers(e.loss, q); err != nil {
		return Sum{}, err
	}
	tiles := e.tiles(members)
	if q.Facts().Metric {
		m := q.Terms()[0].Metric()
		if m.Dim() != e.layout.Dim() {
			return Sum{}, fmt.Errorf("engine: metric of dimension %d: must have %d, one a feature", m.Dim(), e.layout.Dim())
		}
		var err error
		if tiles.measured, err = e.lengths(ctx, m); err != nil {
			return Sum{}, err
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	shares := make([]share, e.workers)
	for i := range shares {
		s := &shares[i]
		s.tiles, s.ended = tiles, &wg
		s.reader, s.kernel = e.table.Reader(), e.kernel
		s.turns = turnsOf(&next, tiles.len(), s.reader)
		s.prepare(e.loss, q.Terms(), scale, e.shapeFor(q), e.table)
		wg.Add(1)
		go s.work(ctx)
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return Sum{}, err
	}
	sum := Sum{Residual: make([]int64, len(centre))}
	var seen int64
	for i := range shares {
		s := &shares[i]
		if s.unread != nil {
			return Sum{}, s.unread
		}
		seen += s.seen
		for j := range sum.Residual {
			sum.Residual[j] += s.acc[s.place(j)] - s.seen*centre[j]
		}
	}
	if seen != int64(tiles.records()) {
		return Sum{}, ErrIncomplete
	}
	return sum, nil
}

// Centre returns what is subtracted from a record's rounded contribution, that
// of a faulty record included: its public centre in rounded grid steps. A number's
// centre is subtracted before it is clipped, since it may be large beside the
// radius, and is zero here.
func Centre(q query.Question, scale float64) []int64 {
	c := make([]int64, q.SumDim())
	if q.Facts().Number {
		return c
	}
	for j, v := range CentreVector(q) {
		c[j] = Round(float64(v * scale))
	}
	return c
}

// CentreVector returns the public centre of a record's contribution.
func CentreVector(q query.Question) []float64 {
	c := make([]float64, q.SumDim())
	for _, t := range q.Terms() {
		centre := float64(t.Weight() * t.Ball().Centre)
		if centre == 0 {
			continue
		}
		if t.Kind().Facts().Number {
			c[0] += centre
			continue
		}
		for j, s := range t.Step() {
			c[j] += float64(centre * s)
		}
	}
	return c
}

// Answers returns an error if a question cannot be asked of a loss.
func Answers(l loss.Loss, q query.Question) error {
	switch f := q.Facts(); {
	case f.Suits(loss.Count(l), loss.Products(l)):
		return smoothable(l, q)
	case f.Suits(0, true):
		return fmt.Errorf("curator: %s: loss %s: must tell products of its Hessian, as losses of margins do and others by a method HessianVector", q.Name(), l.Name())
	case f.Suits(2, true):
		return fmt.Errorf("curator: %s: loss %s: must be of the form phi(W x, y), which does not write its own gradient", q.Name(), l.Name())
	}
	return fmt.Errorf("curator: %s: loss %s: must be of the form phi(<w,x>, y)", q.Name(), l.Name())
}

// within returns an error unless all members are numbers of n rows.
func within(members []int32, n int) error {
	for _, m := range members {
		if m < 0 || int(m) >= n {
			return errors.New("engine: members: must be numbers of the table's rows")
		}
	}
	return nil
}

// sound reports whether a scalar may be used: neither NaN nor infinite.
func sound(s float64) bool { return math.Abs(s) <= math.MaxFloat64 }
