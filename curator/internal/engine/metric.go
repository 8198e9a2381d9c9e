package engine

import (
	"context"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// lengths holds the length ||R x||, rounded up, of every row x of a table, for the matrix R of a
// metric. It takes 4 bytes for each row.
type lengths struct {
	metric query.Metric
	blocks [][]float32
	// starts[i] is the number of the first row of block i. It has one more entry than there are blocks; the
	// last one is the number of rows.
	starts []int
}

func (l *lengths) block(i int) []float32 { return l.blocks[i] }

func (l *lengths) rows(members []int32) []float32 {
	v := make([]float32, len(members))
	for i, m := range members {
		b := l.blockOf(int(m))
		v[i] = l.blocks[b][int(m)-l.starts[b]]
	}
	return v
}

// blockOf returns the index of the block that holds row m. It first tries the block with index m divided by
// the size of the first block. This block holds the row if all blocks have equal size, as in most sources.
// Otherwise it searches for the block.
func (l *lengths) blockOf(m int) int {
	if b := m / max(len(l.blocks[0]), 1); b < len(l.blocks) && m >= l.starts[b] && m < l.starts[b+1] {
		return b
	}
	return sort.SearchInts(l.starts, m+1) - 1
}

// lengths returns the lengths ||R x|| of all rows x, for the matrix R of the metric. It keeps the lengths for the
// latest metric only. If the metric is another one, it computes the lengths in a pass over the table.
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

// measure computes the lengths ||R x|| of all rows x, for the matrix R of the metric, in a pass over
// the table.
func (e *Portable) measure(ctx context.Context, m query.Metric) (*lengths, error) {
	blocks := make([][]float32, e.table.Blocks())
	r := newRuler(m, e.kernel, e.layout.Dim())
	var next atomic.Int64
	var wg sync.WaitGroup
	unread, readers := make([]error, e.workers), make([]row.Reader, e.workers)
	for i := range unread {
		readers[i] = e.reader()
		wg.Go(func() { unread[i] = r.measure(ctx, blocks, &next, readers[i], e.layout) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &lengths{metric: m, blocks: blocks, starts: make([]int, 1, len(blocks)+1)}
	n := 0
	for _, b := range blocks {
		n += len(b)
		l.starts = append(l.starts, n)
	}
	for _, err := range unread {
		if err != nil {
			return nil, err
		}
	}
	if n != e.table.Len() {
		return nil, ErrIncomplete
	}
	for _, reader := range readers {
		e.leave(reader)
	}
	return l, nil
}

// ruler computes the lengths ||R x|| of rows x for the symmetric matrix R of a metric, from ||R x||^2
// = x' R^2 x.
type ruler struct {
	kernel kernel
	dim    int
	// step is the metric's rounding unit, Metric.Step. square holds the rows of R^2, each from its diagonal
	// entry on, as integer multiples of step^2. Entries are sums of at most 2^11 products below 2^41, which
	// float64 holds exactly.
	square [][]float64
	step   float64
	// lost is an upper bound on the rounding error of a computed squared length, in squared steps.
	lost float64
	// largest is the largest sum of absolute values along a row of R^2, in squared steps.
	largest float64
	// diagonal holds the diagonal of R^2 if the metric is diagonal. square is then the square of its block's matrix, if it
	// has a block.
	diagonal []float64
	block    *featureBlock
}

// newRuler returns the ruler for rows of the given number of features, which are the first dimensions of the metric.
func newRuler(m query.Metric, by kernel, features int) *ruler {
	if m.Diagonal() {
		return newDiagonalRuler(m, by)
	}
	d := m.Dim()
	r := &ruler{kernel: by, dim: features, square: make([][]float64, d), step: m.Step()}
	rows, entries := make([][]float64, d), make([]int64, d)
	for j := range rows {
		m.Row(entries, j)
		rows[j] = make([]float64, (d+row.Lane-1)/row.Lane*row.Lane)
		for k, v := range entries {
			rows[j][k] = float64(v)
		}
	}
	for j := range rows {
		r.square[j] = make([]float64, d-j)
		for k := j; k < d && by.weigh == nil; k++ {
			r.square[j][k-j] = exactDot(rows[j], rows[k])
		}
	}
	if by.weigh != nil {
		productsBy(by, r.square, rows)
	}
	sums := make([]float64, d)
	for j := range rows {
		for k := j; k < d; k++ {
			v := math.Abs(r.square[j][k-j])
			sums[j] += v
			if k > j {
				sums[k] += v
			}
		}
	}
	// Each term x_j (R^2)_jk x_k of the squared length ||R x||^2 goes through at most 2d + 4
	// roundings. The absolute values of these terms add up to at most ||x||^2 times the largest sum
	// of absolute values along a row of R^2, and ||x||^2 <= 1 + 2^-22. The factor 2 covers the excess
	// of ||x||^2 over 1, the roundings of these sums and the rounding of the root.
	r.largest = slices.Max(sums)
	r.lost = lostOf(d, r.largest)
	for j := range features {
		r.square[j] = r.square[j][:features-j]
	}
	r.square = r.square[:features]
	return r
}

// exactDot returns <a, b> for vectors of integers, whose length is a multiple of 4. The result is exact if
// no partial sum exceeds 2^53.
func exactDot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for j := 0; j <= len(a)-4; j += 4 {
		s0 += a[j] * b[j]
		s1 += a[j+1] * b[j+1]
		s2 += a[j+2] * b[j+2]
		s3 += a[j+3] * b[j+3]
	}
	return (s0 + s1) + (s2 + s3)
}

// measure takes blocks, numbered by the shared counter next, until no block is left or the context ends. It
// sets blocks[i] to the lengths ||R x|| of the rows x of block i, for the metric's matrix R. It returns an
// error if a block cannot be read.
func (r *ruler) measure(ctx context.Context, blocks [][]float32, next *atomic.Int64, reader row.Reader,
	l *row.Layout) error {
	f := nonzeros{writer: writer{layout: l}}
	turns := turnsOf(next, len(blocks), reader)
	for ctx.Err() == nil {
		i, ok := turns.take()
		if !ok {
			return nil
		}
		b, err := block(reader, i, turns.after)
		if err != nil {
			return err
		}
		blocks[i] = make([]float32, len(b.Targets))
		for at := 0; at < len(b.Targets) && ctx.Err() == nil; at += tileRows {
			to := min(at+tileRows, len(b.Targets))
			r.lengths(blocks[i][at:to], &f, l.Cut(b, at, to))
		}
	}
	return nil
}

// lengths sets dst to the lengths ||R x||, rounded up, of the rows x of a tile.
func (r *ruler) lengths(dst []float32, f *nonzeros, b row.Block) {
	var squares [tileRows]float64
	if r.diagonal != nil {
		f.gather(b)
		r.diagonals(squares[:len(dst)], f)
	} else if f.dense(b) {
		if x, stride := f.writer.out(b), f.writer.layout.Full(); r.kernel.weigh == nil {
			r.quadratics(squares[:len(dst)], x, stride)
		} else {
			r.quadraticsBy(&f.weighed, squares[:len(dst)], x, stride)
		}
	} else {
		for j := range r.dim {
			for i, features := range f.from(j) {
				squares[i] += quadratic(r.square[j], features)
			}
		}
	}
	for i := range dst {
		dst[i] = r.rooted(squares[i])
	}
}

// quadratic returns x_j (S_jj x_j + 2 sum S_jk x_k), with the sum over k > j: the terms of x'Sx that
// belong to feature j and the later features. j is the first feature of x, and s is row j of the
// matrix S from its diagonal entry on. The sum is formed by fused multiplications and additions.
func quadratic(s []float64, x run) float64 {
	j, first := int(x.index[0]), x.value[0]
	var sum float64
	index, value := x.index[1:], x.value[1:len(x.index)]
	for t, k := range index {
		sum = math.FMA(s[int(k)-j], value[t], sum)
	}
	return float64(first * (float64(s[0]*first) + 2*sum))
}

// quadratics adds to dst the same numbers as calls of the function quadratic for all features of each
// row. It is faster for rows with few zeros, and a feature that is zero adds zero. Each row's terms
// are added in the same order, so a row's length does not depend on the other rows.
func (r *ruler) quadratics(dst []float64, x []float32, stride int) {
	for j, s := range r.square {
		i := 0
		for ; i <= len(dst)-4; i += 4 {
			at := x[i*stride+j:]
			products4(dst[i:i+4], s, at[:len(s)], at[stride:][:len(s)], at[2*stride:][:len(s)], at[3*stride:][:len(s)])
		}
		for ; i < len(dst); i++ {
			var sum float64
			row := x[i*stride+j:][:len(s)]
			for k, v := range s[1:] {
				sum = math.FMA(v, float64(row[k+1]), sum)
			}
			first := float64(row[0])
			dst[i] += float64(first * (float64(s[0]*first) + 2*sum))
		}
	}
}

// products4 is the inner loop of quadratics for four rows. It adds to dst, for each row, the terms of one
// feature with itself and with the later features.
func products4(dst, s []float64, x0, x1, x2, x3 []float32) {
	var s0, s1, s2, s3 float64
	x0, x1, x2, x3 = x0[:len(s)], x1[:len(s)], x2[:len(s)], x3[:len(s)]
	for k := 1; k < len(s); k++ {
		v := s[k]
		s0 = math.FMA(v, float64(x0[k]), s0)
		s1 = math.FMA(v, float64(x1[k]), s1)
		s2 = math.FMA(v, float64(x2[k]), s2)
		s3 = math.FMA(v, float64(x3[k]), s3)
	}
	for i, f := range [4]float64{float64(x0[0]), float64(x1[0]), float64(x2[0]), float64(x3[0])} {
		dst[i] += float64(f * (float64(s[0]*f) + 2*[4]float64{s0, s1, s2, s3}[i]))
	}
}

// above returns v rounded up to a float32.
func above(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// addOnes adds the term's weight to the coefficient of each row x of a tile. The kind of query determines
// what the coefficient multiplies: x, its second moment x x', or the squares of its features.
func addOnes(p *pass, t *pointedTerm, b row.Block) {
	for i := range b.Targets {
		p.coef[i] += t.weight
	}
}

// addCurvatures adds to the coefficient of x x', for each row x of a tile, the second derivative of the
// loss phi(<w,x>, y) in its margin, clipped to [0, radius] and times the term's weight. A derivative that
// is not finite makes its record faulty.
func addCurvatures(p *pass, t *pointedTerm, b row.Block) {
	y := b.Targets
	curvature := p.slope[:len(y)]
	p.call(p.single.Curvatures, curvature, p.margin[:len(y)], y)
	addClipped(p.coef, p.faulty, curvature, t.weight, 0, t.ball.Radius)
}

// addSlopesInMetric adds to p.coef the weighted coefficients of gradients that are later multiplied by a metric's
// matrix R. It clips the slopes of a row x to two limits: their norm times ||R x|| is at most the term's radius, and
// their norm is at most the term's largest slope. A slope that is not finite makes its record faulty.
func addSlopesInMetric(p *pass, t *pointedTerm, b row.Block) {
	y := b.Targets
	k := p.shape.margins
	slope := p.slope[:k*len(y)]
	p.slopes(t, slope, p.margin[:k*len(y)], b)
	if p.steep != nil {
		steep(p.steep[:len(y)], slope, y, k)
	}
	for i := range y {
		v := slope[i*k : (i+1)*k]
		if !clip(v, min(t.ball.Radius/float64(p.long[i]), t.Slope())) {
			p.faulty[i] = true
			continue
		}
		for j, s := range v {
			p.coef[i*k+j] += float64(t.weight * s)
		}
	}
}

// addSquaredSlopes computes the squared length of each record's gradient in a metric, that is, after
// multiplication by the metric's matrix. It subtracts the term's public centre, clips the difference to the
// term's radius, and adds it, times the term's weight, to the record's number. If the slopes are finite but
// their squares overflow, the result is clipped like any other number.
func addSquaredSlopes(p *pass, t *pointedTerm, b row.Block) {
	y := b.Targets
	k := p.shape.margins
	squares := p.move[:len(y)]
	if p.known {
		copy(squares, p.steep)
	} else {
		slope := p.slope[:k*len(y)]
		p.slopes(t, slope, p.margin[:k*len(y)], b)
		steep(squares, slope, y, k)
	}
	most := t.ball.Centre + t.ball.Radius
	for i, square := range squares {
		if square != square {
			p.faulty[i] = true
		}
		long := float64(p.long[i])
		v := min(float64(square*float64(long*long)), most) - t.ball.Centre
		p.coef[i] += float64(t.weight * min(max(v, -t.ball.Radius), t.ball.Radius))
	}
}

// The functions of this file answer queries about x - m, for rows x and a public point m. They read every feature of a
// row, in the order of the features. They cannot skip features that are zero in x, since x - m need not be zero there.

// apart returns ||x - m||^2 as the sum of four interleaved partial sums. Every engine adds in this order, so
// that all engines return the same bits.
func apart(x []float32, m []float64) float64 {
	var s [4]float64
	for j, v := range m {
		z := float64(x[j]) - v
		s[j%4] += float64(z * z)
	}
	return (s[0] + s[2]) + (s[1] + s[3])
}

// addSquaredDistances computes the squared distance ||x - m||^2 of each row x of a tile from the term's
// public point m. It subtracts the term's public centre, clips the difference to the term's radius, and
// adds the result, times the term's weight, to the number that the row contributes.
func addSquaredDistances(p *pass, t *pointedTerm, b row.Block) {
	x, stride := p.writer.out(b), p.layout.Full()
	most := t.ball.Centre + t.ball.Radius
	for i := range b.Targets {
		v := min(apart(x[i*stride:], t.among), most) - t.ball.Centre
		p.coef[i] += float64(t.weight * min(max(v, -t.ball.Radius), t.ball.Radius))
	}
}

// shortest is the largest length to which a centred row x - m is shortened, as a fraction of its length
// limit. It is so far below 1 that rounding the row to float32 does not make the row longer than the limit.
const shortest = 1 - 0x1p-23

// centre sets z to x - m, shortened to the radius if x - m is longer. If the squared length of x - m
// overflows, z is zero, so that z is always finite.
func centre(z []float32, x []float32, m []float64, radius float64) {
	f, most := 1., float64(radius*shortest)
	if n := math.Sqrt(apart(x, m)); n > most {
		f = most / n
	}
	for j, v := range m {
		z[j] = float32(float64((float64(x[j]) - v) * f))
	}
}

// addCentredPairs adds round(c[i] svec(z z')) for the rows x of a tile, to the sums p.acc, where z is x - m for the
// term's public point m, shortened to the square root of the term's radius. The norm of svec(z z') is therefore at most
// the radius. svec lists the upper triangle of a symmetric matrix, with the entries above the diagonal times sqrt 2.
func (p *pass) addCentredPairs(c []float64, b row.Block) {
	t := &p.terms[0]
	d := len(t.among)
	if p.centred == nil {
		p.centred = make([]float32, tileRows*d)
	}
	x, stride := p.writer.out(b), p.layout.Full()
	radius := math.Sqrt(t.ball.Radius)
	for i, v := range c {
		Round(float64(float64(v*math.Sqrt2) * t.ball.Radius)) // in tests, checks a bound on all products of this row
		centre(p.centred[i*d:(i+1)*d], x[i*stride:], t.among, radius)
	}
	p.hold(c, p.centred, d, d)
}
