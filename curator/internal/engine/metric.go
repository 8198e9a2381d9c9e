package engine

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// lengths are ||R x|| of all rows x of a table, in a metric, rounded up: 4 bytes a
// row.
type lengths struct {
	metric query.Metric
	all    []float32
	// starts[i] is where those of block i start.
	starts []int
}

func (l *lengths) block(i int) []float32 { return l.all[l.starts[i]:l.starts[i+1]] }

func (l *lengths) rows(members []int32) []float32 {
	v := make([]float32, len(members))
	for i, m := range members {
		v[i] = l.all[m]
	}
	return v
}

// lengths returns the rows' lengths in a metric: those it has, if it was asked about
// that metric last.
func (e *Portable) lengths(ctx context.Context, m query.Metric) (*lengths, error) {
	var l *lengths
	select {
	case l = <-e.measured:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { e.measured <- l }()
	if l != nil && l.metric == m {
		return l, nil
	}
	measured, err := e.measure(ctx, m)
	if err != nil {
		return nil, err
	}
	l = measured
	return l, nil
}

// measure takes a pass over the table.
func (e *Portable) measure(ctx context.Context, m query.Metric) (*lengths, error) {
	blocks := make([][]float32, e.table.Blocks())
	r := newRuler(m)
	var next atomic.Int64
	var wg sync.WaitGroup
	unread := make([]error, e.workers)
	for i := range unread {
		wg.Go(func() { unread[i] = r.measure(ctx, blocks, &next, e.table.Reader(), e.table.Stride()) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &lengths{metric: m, starts: []int{0}}
	for _, b := range blocks {
		l.all = append(l.all, b...)
		l.starts = append(l.starts, len(l.all))
	}
	for _, err := range unread {
		if err != nil {
			return nil, err
		}
	}
	if len(l.all) != e.table.Len() {
		return nil, ErrIncomplete
	}
	return l, nil
}

// ruler measures rows in a metric.
type ruler struct {
	dim int
	// matrix is R in steps, row after row: integers that float32 holds exactly, as it
	// does features, so that products are exact in float64.
	matrix []float32
	step   float64
	// excess, relative to a length, and lost, in steps, bound what a computed length
	// may fall short by.
	excess, lost float64
}

func newRuler(m query.Metric) *ruler {
	d := m.Dim()
	r := &ruler{dim: d, matrix: make([]float32, 0, d*d), step: m.Step()}
	entries := make([]int64, d)
	for j := range d {
		m.Row(entries, j)
		for _, v := range entries {
			r.matrix = append(r.matrix, float32(v))
		}
	}
	// Each coordinate of R x is a sum of d exact products, off by (d-1)u sum |R_jk x_k|;
	// together they are off by (d-1)u ||x|| times the Frobenius norm of R, which is at
	// most sqrt d times a bound of the operator norm, and ||x|| <= 1 + 2^-23. Their norm
	// is off by a relative (d/2 + 2)u.
	r.lost = float64(d+1) * 0x1p-53 * math.Sqrt(float64(d)) * m.Norm()
	r.excess = float64(d+8) * 0x1p-53
	return r
}

// measure sets the lengths of blocks until there are none left.
func (r *ruler) measure(ctx context.Context, blocks [][]float32, next *atomic.Int64, reader row.Reader, stride int) error {
	scratch := make([]float64, r.dim)
	for ctx.Err() == nil {
		i := int(next.Add(1)) - 1
		if i >= len(blocks) {
			return nil
		}
		b, err := reader.Block(i)
		if err != nil {
			return err
		}
		blocks[i] = make([]float32, len(b.Targets))
		for k := range blocks[i] {
			blocks[i][k] = r.length(b.Rows[k*stride:k*stride+r.dim], scratch)
		}
	}
	return nil
}

// length returns ||R x||, rounded up. Features that are zero are skipped.
func (r *ruler) length(x []float32, scratch []float64) float32 {
	clear(scratch)
	for j, v := range x {
		if v != 0 {
			addMultiple(scratch, float64(v), r.matrix[j*r.dim:(j+1)*r.dim])
		}
	}
	var square float64
	for _, v := range scratch {
		square += float64(v * v)
	}
	return above((math.Sqrt(square)*(1+r.excess) + r.lost) * r.step)
}

// addMultiple adds c v to sum.
func addMultiple(sum []float64, c float64, v []float32) {
	v = v[:len(sum)]
	for k := range sum {
		sum[k] += float64(c * float64(v[k]))
	}
}

// above is v rounded up.
func above(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// addOnes is x x'.
func addOnes(p *pass, t *pointedTerm, _ []float32, y []float64) {
	for i := range y {
		p.coef[i] += t.weight
	}
}

// addCurvatures is phi” x x'.
func addCurvatures(p *pass, t *pointedTerm, _ []float32, y []float64) {
	bend := p.slope[:len(y)]
	p.call(p.rankOne.Curvatures, bend, p.margin[:len(y)], y)
	addClipped(p.coef, p.faulty, bend, t.weight, 0, t.ball.Radius)
}

// addSlopesInMetric is the gradient clipped in a metric: the slope, such that the
// slope times the row's length in the metric is within the radius, times the row.
func addSlopesInMetric(p *pass, t *pointedTerm, _ []float32, y []float64) {
	slope := p.slope[:len(y)]
	p.call(p.rankOne.Slopes, slope, p.margin[:len(y)], y)
	for i, s := range slope {
		if !sound(s) {
			p.faulty[i] = true
			continue
		}
		most := min(t.ball.Radius/float64(p.long[i]), t.Slope())
		p.coef[i] += float64(t.weight * min(max(s, -most), most))
	}
}

// addSquaredSlopes is the squared length in a metric of the gradient, less its public
// centre: a slope too large to be squared is finite all the same, and is clipped.
func addSquaredSlopes(p *pass, t *pointedTerm, _ []float32, y []float64) {
	square := p.slope[:len(y)]
	p.call(p.rankOne.Slopes, square, p.margin[:len(y)], y)
	most := t.ball.Centre + t.ball.Radius
	for i, s := range square {
		if !sound(s) {
			p.faulty[i] = true
		}
		length := float64(s * float64(p.long[i]))
		square[i] = min(float64(length*length), most) - t.ball.Centre
	}
	addClipped(p.coef, p.faulty, square, t.weight, -t.ball.Radius, t.ball.Radius)
}
