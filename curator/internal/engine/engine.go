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

// Engine computes sums over one table with one loss.
type Engine struct {
	table   *row.Table
	loss    loss.Loss
	workers int
}

// New returns an engine with the given number of goroutines, at least one.
func New(t *row.Table, l loss.Loss, workers int) (*Engine, error) {
	switch l.(type) {
	case loss.RankOne, loss.General:
	default:
		return nil, fmt.Errorf("engine: loss = %s: must be a rank-one or a general loss", l.Name())
	}
	if workers < 1 {
		return nil, fmt.Errorf("engine: workers = %d: must be >= 1", workers)
	}
	return &Engine{table: t, loss: l, workers: workers}, nil
}

// Table returns the rows.
func (e *Engine) Table() *row.Table { return e.table }

// Sum computes q's exact answer over the given members (row numbers), or over
// all rows when members is nil. scale is the number of grid steps in a unit.
// A cancelled context ends it with the context's error.
func (e *Engine) Sum(ctx context.Context, q query.Question, scale float64, members []int32) (Sum, error) {
	if err := ctx.Err(); err != nil {
		return Sum{}, err
	}
	// The workers ask the standard library's context, whose errors stay, rather
	// than whatever the caller passed.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	centre := Centre(q, scale)
	tiles := e.tiles(members)
	var next atomic.Int64
	var wg sync.WaitGroup
	shares := make([]share, e.workers)
	for i := range shares {
		s := &shares[i]
		s.tiles, s.next, s.ended = tiles, &next, &wg
		s.prepare(e.loss, q.Terms(), scale, e.table.Dim(), e.table.Stride(), len(centre))
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
		seen += s.seen
		for j := range sum.Residual {
			sum.Residual[j] += s.acc[j] - s.seen*centre[j]
		}
	}
	if seen != int64(tiles.records()) {
		return Sum{}, ErrIncomplete
	}
	return sum, nil
}

// Centre returns what is subtracted from a record's rounded contribution, that
// of a faulty record included: its public centre in rounded grid steps. A value's
// centre is subtracted before it
// is clipped, since it may be large beside the radius, and is zero here.
func Centre(q query.Question, scale float64) []int64 {
	c := make([]int64, q.SumDim())
	if q.Terms()[0].Kind() == query.Value {
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
		if t.Kind() == query.Value {
			c[0] += centre
			continue
		}
		for j, s := range t.Step() {
			c[j] += float64(centre * s)
		}
	}
	return c
}

// sound reports whether a scalar may be used: neither NaN nor infinite.
func sound(s float64) bool { return math.Abs(s) <= math.MaxFloat64 }
