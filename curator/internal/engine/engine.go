// Package engine computes exact integer sums of clipped per-record contributions. It adds no noise
// and charges no budget. Its results are secret and must not leave the packages below curator.
//
// A record's contribution is computed in float64 in a fixed order, rounded to an integer number of
// grid steps, and added in int64. Integer addition is associative, so the sum does not depend on
// the number of goroutines, on the size of blocks or on the order in which blocks are processed.
package engine

import (
	"cmp"
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

// ErrIncomplete reports that some record was not processed. No cause of this error is known. The
// partial sum is dropped.
var ErrIncomplete = errors.New("engine: not every record was looked at")

// ErrOrder reports that an engine makes no passes of SGD because its rows are in several places. The
// steps of a pass depend on each other, so that one process must have all rows.
var ErrOrder = errors.New("engine: rows in several places: a pass needs all of them in one")

// Sum is the exact answer to a query, in grid steps.
type Sum struct {
	// Residual is, for each coordinate, the sum over records of the rounded contribution minus the
	// rounded public centre.
	Residual []int64
}

// Engine answers queries over the rows of one table with one loss, in integers. The integers do not depend
// on the place where rows are stored, on their division into blocks, or on the number of goroutines. The
// rows may be in other processes. An implementation must pass the tests of package enginetest.
//
// Members are row numbers, in any order. A row counts as often as it is listed. The sum over two lists of members
// together is the sum over one list plus the sum over the other, so a sum may be computed in parts.
//
// An error is the context's error, row.ErrUnread, ErrIncomplete, ErrOrder, or an error about the arguments.
// An error never depends on the content of rows.
type Engine interface {
	// Len returns the number of rows. Under add-or-remove this number is secret.
	Len() int
	// Dim returns the number of features of a row.
	Dim() int
	// Loss returns the loss.
	Loss() loss.Loss
	// Parameters returns the number of the loss's parameters for the rows.
	Parameters() int
	// Sum computes the exact answer to a query over the members, or over all rows if members is
	// nil. scale is the number of grid steps in a unit.
	Sum(ctx context.Context, q query.Question, scale float64, members []int32) (Sum, error)
	// Ordered reports whether the engine makes passes of SGD. If it does not, Average returns
	// ErrOrder.
	Ordered() bool
	// Average makes one pass of projected SGD over the members, in their order. It returns the average of the iterates
	// minus the start, in grid steps. scale is the number of grid steps in a unit.
	Average(ctx context.Context, p query.Pass, scale float64, members []int32) ([]int64, error)
	// Close releases the storage of the rows. Later queries may fail. A second call does nothing.
	Close() error
}

// Portable is the engine for every machine. Its kernels are written in plain Go. On some machines
// it uses faster kernels in assembly.
type Portable struct {
	table   row.Source
	layout  *row.Layout
	loss    loss.Loss
	shape   shape
	workers int
	kernel  kernel
	// measured is a channel that holds one element: the lengths of rows in the metric of the latest query with a
	// metric, or nil. A goroutine takes the element out of the channel while it reads or replaces it.
	measured chan *lengths
	// kept is a channel that holds the steepness of all rows at the point of a gradient in a metric, or nothing. A
	// query that reads or replaces it takes it out of the channel.
	kept  chan *steepness
	keeps int // the fewest numbers of a row with which kept is used: leastKept, but for tests
	// idle holds readers that no query uses, with their buffers, at most one for each worker.
	idle chan row.Reader
}

// New returns an engine that answers queries over the rows of the source t with the loss l. workers,
// at least 1, is the number of goroutines.
func New(t row.Source, l loss.Loss, workers int) (*Portable, error) {
	parameters, err := loss.Check(l, t.Layout().Dim())
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if workers < 1 {
		return nil, fmt.Errorf("engine: workers = %d: must be >= 1", workers)
	}
	e := &Portable{table: t, layout: t.Layout(), loss: l, shape: shapeOf(l, parameters, t), workers: workers,
		kernel: fastest(), measured: make(chan *lengths, 1), kept: make(chan *steepness, 1), keeps: leastKept,
		idle: make(chan row.Reader, workers)}
	e.measured <- nil
	return e, nil
}

// Parameters returns the number of parameters.
func (e *Portable) Parameters() int { return e.shape.parameters() }

// Len returns the number of rows.
func (e *Portable) Len() int { return e.table.Len() }

// Dim returns the number of features of a row.
func (e *Portable) Dim() int { return e.layout.Dim() }

// Ordered returns true: this engine has all rows in order and therefore makes passes of SGD.
func (e *Portable) Ordered() bool { return true }

// Close closes the source of the rows.
func (e *Portable) Close() error { return e.table.Close() }

// Sum computes the exact answer to q over the given members (row numbers), or over all rows if members is
// nil. scale is the number of grid steps in a unit. If the context ends, Sum returns the context's error.
func (e *Portable) Sum(ctx context.Context, q query.Question, scale float64, members []int32) (Sum, error) {
	if err := ctx.Err(); err != nil {
		return Sum{}, err
	}
	// The workers use a context of the standard library, whose error is permanent once set. The
	// caller's context may be of another type.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	centre := Centre(q, scale)
	if err := cmp.Or(within(members, e.table.Len()), Answers(e.loss, q),
		MetricFits(e.loss, q, e.layout.Dim(), e.Parameters())); err != nil {
		return Sum{}, err
	}
	tiles := e.tiles(members)
	if q.Facts().Metric {
		var err error
		if tiles.measured, err = e.lengths(ctx, q.First().Metric()); err != nil {
			return Sum{}, err
		}
	}
	if members == nil {
		tiles.steep, tiles.known = e.steepness(q.First())
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	terms, rows := q.Terms(), tiles.records()
	// No more goroutines than pieces: a further one would find nothing to do.
	shares := make([]share, max(min(e.workers, tiles.len()), 1))
	for i := range shares {
		s := &shares[i]
		s.tiles, s.ended = tiles, &wg
		s.reader, s.kernel, s.known = e.reader(), e.kernel, tiles.known
		s.turns = turnsOf(&next, tiles.len(), s.reader)
		s.prepare(e.loss, terms, scale, e.shapeFor(q), e.table, rows)
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
	e.keep(tiles.steep)
	for i := range shares {
		e.leave(shares[i].reader)
	}
	return sum, nil
}

// reader returns a reader of the table that the caller alone has until it gives it to leave.
func (e *Portable) reader() row.Reader {
	select {
	case r := <-e.idle:
		return r
	default:
		return e.table.Reader()
	}
}

// leave keeps a reader for a later query. It is not called after a query that failed.
func (e *Portable) leave(r row.Reader) {
	select {
	case e.idle <- r:
	default:
	}
}

// Centre returns the public centre of contributions to q, in rounded grid steps. The centre is subtracted
// from every record's rounded contribution, and from the contribution zero of a malformed (faulty) record.
// For a query whose contributions are numbers, Centre returns zero: the centre of a number may be large
// compared with the clip radius, and is therefore subtracted before clipping.
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

// CentreVector returns the public centre of a record's contribution to a query, before it is rounded
// to grid steps.
func CentreVector(q query.Question) []float64 {
	c := make([]float64, q.SumDim())
	for i := range q.Len() {
		t := q.Term(i)
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

// Answers returns an error if the loss does not have the form that the query needs, or if the query smooths
// the loss and the loss cannot be smoothed in this way.
func Answers(l loss.Loss, q query.Question) error {
	switch f := q.Facts(); {
	case f.Weighted && scored(l) && !parted(l):
		return fmt.Errorf("curator: %s: loss %s: must tell the parts of a record", q.Name(), l.Name())
	case f.Metric && scored(l) && q.First().Smoothing().On():
		return fmt.Errorf("curator: %s: loss %s: smoothing: must be none in a metric", q.Name(), l.Name())
	case f.Suits(marginsOf(l), loss.Products(l), loss.UnitOfMargin(l)):
		return smoothable(l, q)
	case f.Suits(0, true, false):
		return fmt.Errorf("curator: %s: loss %s: must tell products of its Hessian, as losses of margins do and others by "+
			"a method HessianVector", q.Name(), l.Name())
	case f.Suits(2, true, false):
		return fmt.Errorf("curator: %s: loss %s: must be of the form phi(W x, y), which does not write its own gradient",
			q.Name(), l.Name())
	}
	return fmt.Errorf("curator: %s: loss %s: must be of the form phi(<w,x>, y)", q.Name(), l.Name())
}

// within returns an error unless every member is at least 0 and below n, the number of rows.
func within(members []int32, n int) error {
	for _, m := range members {
		if m < 0 || int(m) >= n {
			return errors.New("engine: members: must be numbers of the table's rows")
		}
	}
	return nil
}

// sound reports whether a computed number may be used, which is the case if it is neither NaN nor
// infinite.
func sound(s float64) bool { return math.Abs(s) <= math.MaxFloat64 }
