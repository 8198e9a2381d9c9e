package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Stacked is a loss.Composed whose first layer is linear in the row: f(w; x, y) = phi(W x, theta, y). w holds the Units
// rows of W, one after the other, followed by theta. The gradient consists of the outer product s x' for W and a vector
// for theta. Callers can therefore clip and sum gradients without writing out the outer product.
type Stacked interface {
	loss.Composed
	// Units is the number of rows of W.
	Units() int
	// Forward computes the losses of a block of n = len(y) records from the margins z = W x of the first
	// layer, and writes them to dst. Number j of record i is at [j*n+i] in z. Forward panics unless len(dst) =
	// n, len(z) = Units n, and len(theta) is the number of parameters in theta.
	Forward(dst, z, theta, y []float64)
	// Backward computes the gradients of a block of n = len(y) records. For each record it writes to s the
	// vector for which the gradient in W is s x', and to rest the gradient in theta. s and rest are scaled
	// down by the factor by which Gradient scales the whole gradient. square holds the squared norms of the
	// rows. Number j of record i is at [j*n+i] in s, rest and z. Backward panics unless len(s) = len(z) =
	// Units n, len(rest) = n len(theta), len(square) = n, and len(theta) is the number of parameters in theta.
	Backward(s, rest, z, theta, square, y []float64)
}

// stackedPass adds up values, gradients, and differences of them, of a loss whose first layer is linear in the row
// (Stacked), a tile of rows at a time. A record's gradient has two parts: the outer product of slopes and row, and the
// gradient with respect to the parameters above the first layer. The gradient is clipped by its norm, which follows
// from the slopes, the row's norm and the second part. The outer product is rounded and added as for a loss of margins.
//
// What is computed of a tile of n records is a block (package simd): number j of record i is at [j*n+i].
type stackedPass struct {
	loss  Stacked
	first shape // the shape of the first layer
	units int
	above int
	// rows is the number of rows of a tile.
	rows int

	terms []stackedTerm
	// margin holds the first layer's margins of the rows of a tile, record by record. coef holds the
	// coefficients by which each record's row is multiplied, and byRow the same, record by record. rest holds
	// each record's gradient above the first layer.
	margin, coef, byRow, rest []float64
	// slopes and gradient are the two parts of the records' gradients at a term's point. moved and
	// gradient2 are the two parts at the term's previous point.
	slopes, moved       []float64
	gradient, gradient2 []float64
	// value and before hold the records' values at a term's point and at its previous point.
	value, before []float64
	clip          stackedClip
	metric        *inMetric // of the term of a loss with a score; nil without one
	// square holds the squared norms of the rows of a tile, and scale the number of grid steps in a unit for each
	// row.
	square, scale []float64
	// z, theta, squares and y are copies of the loss's arguments, so that a loss that writes to its arguments
	// changes nothing.
	z, theta, squares, y []float64
}

// stackedTerm is a term with its first-layer parameters in the order and padding of the rows: first at the
// term's point and, for a difference, before at its previous point.
type stackedTerm struct {
	*pointedTerm
	first, before []float64
	between       bool // whether the term is a difference of gradients or values
}

// mostAbove is the largest number of parameters above the first layer for which a [stackedPass] is used. It
// bounds the pass's scratch memory, which holds these parameters' gradient for each row of a tile.
const mostAbove = 1 << 12

// aboveAtOnce is the number of gradient entries above the first layer that a tile may have. The block of the
// gradients of a tile then stays in the second-level cache.
const aboveAtOnce = 1 << 13

// newStackedPass returns the pass for a Stacked with at most mostAbove parameters above its first
// layer, if every term is a value or a difference of values, or a gradient or a difference of gradients clipped
// around zero, of the unsmoothed loss. Otherwise it returns nil.
func newStackedPass(l loss.Loss, terms []pointedTerm, s shape, rows *row.Layout) *stackedPass {
	of, ok := l.(Stacked)
	if !ok {
		return nil
	}
	p := &stackedPass{loss: of, units: of.Units(), first: shaped(of.Units(), rows)}
	p.above = s.parameters() - p.first.parameters()
	if p.units < 1 || p.above < 0 || p.above > mostAbove {
		return nil
	}
	for i := range terms {
		t := &terms[i]
		st := stackedTerm{pointedTerm: t, first: p.first.pad(t.point[:p.first.parameters()])}
		switch t.Kind() {
		case query.Gradient, query.Norm, query.Value:
		case query.MetricGradient, query.SquaredSlope:
			p.metric = newInMetric(t.Metric(), p.above, rows, tileRows)
		case query.Difference, query.ValueChange:
			st.between, st.before = true, p.first.pad(t.prev[:p.first.parameters()])
		default:
			return nil
		}
		if t.ball.Centre != 0 && !t.number || t.Smoothing().On() {
			return nil
		}
		p.terms = append(p.terms, st)
	}
	p.rows = min(max(aboveAtOnce/max(p.above, 1)&^7, 8), tileRows)
	for _, v := range []*[]float64{&p.margin, &p.coef, &p.byRow, &p.slopes, &p.moved, &p.z} {
		*v = make([]float64, p.rows*p.units)
	}
	for _, v := range []*[]float64{&p.rest, &p.gradient, &p.gradient2} {
		*v = make([]float64, p.rows*p.above)
	}
	for _, v := range []*[]float64{&p.value, &p.before, &p.square, &p.scale, &p.squares, &p.y} {
		*v = make([]float64, p.rows)
	}
	p.theta = make([]float64, p.above)
	p.clip.make(p.rows, p.units, p.above)
	return p
}

// padded returns the length in memory of the sum of contributions. place returns the index in memory
// of the sum's coordinate j.
func (s *stackedPass) padded() int { return s.first.padded() + s.above }

func (s *stackedPass) place(j int) int {
	if n := s.first.parameters(); j >= n {
		return s.first.padded() + j - n
	}
	return s.first.place(j)
}

// tile adds a tile of at most s.rows rows. It calls the loss for all rows before it adds any row.
func (s *stackedPass) tile(p *pass, b row.Block) {
	y, n := b.Targets, len(b.Targets)
	faulty := p.faulty[:n]
	for i := range y {
		faulty[i] = y[i] != y[i]
	}
	if p.number {
		s.values(p, b, faulty)
		return
	}
	scale := s.scale[:n]
	for i := range y {
		scale[i] = p.scale
	}
	s.squaresOf(p, b)
	coef, byRow, rest := s.coef[:n*s.units], s.byRow[:n*s.units], s.rest[:n*s.above]
	clear(coef)
	clear(rest)
	for i := range s.terms {
		s.add(p, &s.terms[i], b, faulty, coef, rest)
	}
	simd.Turn(byRow, coef, n)
	simd.Times(rest, rest, scale)
	s.clip.unsound(faulty, rest)
	p.toSteps(faulty, byRow)
	p.addRows(p.acc[:s.first.padded()], byRow, b)
	for i, bad := range faulty {
		for j := i; bad && j < len(rest); j += n {
			rest[j] = 0
		}
	}
	if Unrounded != nil {
		for _, v := range rest {
			Round(v)
		}
	}
	for j := range s.above {
		p.acc[s.first.padded()+j] += simd.Rounded(rest[j*n : (j+1)*n])
	}
}

// squaresOf computes the squared norms of the rows of a tile.
func (s *stackedPass) squaresOf(p *pass, b row.Block) {
	stride := p.layout.Stride()
	for i := range b.Targets {
		s.square[i] = p.square(square(b.Rows[i*stride:(i+1)*stride]), b, i)
	}
}

// values adds a tile of records that contribute numbers: values of the loss, or differences of values.
func (s *stackedPass) values(p *pass, b row.Block, faulty []bool) {
	n := len(b.Targets)
	coef, value, before := s.coef[:n], s.value[:n], s.before[:n]
	clear(coef)
	for i := range s.terms {
		t := &s.terms[i]
		if t.Kind() == query.SquaredSlope {
			s.squaredSlopes(p, value, t, b, faulty)
		} else {
			s.forward(p, value, t.first, t.point, b)
		}
		if t.between {
			s.forward(p, before, t.before, t.prev, b)
			simd.Add(value, -1, before)
		}
		for i := range value {
			value[i] -= t.ball.Centre
		}
		addClipped(coef, faulty, value, t.weight, -t.ball.Radius, t.ball.Radius)
	}
	p.toSteps(faulty, coef)
	for _, c := range coef {
		p.acc[0] += Round(c)
	}
}

// add adds the tile's contributions to one term, clipped and weighted, to the coefficients and to the gradients
// above the first layer. A contribution that is not finite makes its record faulty.
func (s *stackedPass) add(p *pass, t *stackedTerm, b row.Block, faulty []bool, coef, rest []float64) {
	slopes, gradient := s.slopes[:len(coef)], s.gradient[:len(rest)]
	s.backward(p, slopes, gradient, t.first, t.point, b)
	if s.metric != nil {
		s.clipInMetric(p, b, slopes, gradient, t, faulty)
		simd.Add(coef, t.weight, slopes)
		simd.Add(rest, t.weight, gradient)
		return
	}
	if t.between {
		moved, gradient2 := s.moved[:len(coef)], s.gradient2[:len(rest)]
		s.backward(p, moved, gradient2, t.before, t.prev, b)
		simd.Add(slopes, -1, moved)
		simd.Add(gradient, -1, gradient2)
	}
	s.clip.clip(slopes, gradient, s.square[:len(faulty)], t.ball.Radius, faulty)
	simd.Add(coef, t.weight, slopes)
	simd.Add(rest, t.weight, gradient)
}

// arguments copies the loss's arguments for a tile at the point w, whose first layer is first in the order and
// padding of the rows: the first layer's margins, the parameters above it and the targets.
func (s *stackedPass) arguments(p *pass, first, w []float64, b row.Block) (z, theta, y []float64) {
	n := len(b.Targets)
	margin, z, y := s.margin[:n*s.units], s.z[:n*s.units], s.y[:n]
	p.dots(margin, first, b)
	simd.Turn(z, margin, s.units)
	copy(s.theta, w[s.first.parameters():])
	copy(y, b.Targets)
	return z, s.theta, y
}

// forward makes the loss write the records' values at the point w to dst. Entries that the loss leaves unwritten
// are NaN.
func (s *stackedPass) forward(p *pass, dst, first, w []float64, b row.Block) {
	z, theta, y := s.arguments(p, first, w, b)
	forget(dst)
	s.loss.Forward(dst, z, theta, y)
}

// backward makes the loss write the records' gradients at the point w: slopes, the derivatives in the first layer's
// margins, and rest, the gradients in all other parameters. Entries that the loss leaves unwritten are NaN.
func (s *stackedPass) backward(p *pass, slopes, rest, first, w []float64, b row.Block) {
	z, theta, y := s.arguments(p, first, w, b)
	squares := s.squares[:len(y)]
	copy(squares, s.square)
	forget(slopes)
	forget(rest)
	s.loss.Backward(slopes, rest, z, theta, squares, y)
}

// square returns the sum of the squares of a row's numbers. In float64 the squares of float32 numbers neither
// over- nor underflow.
func square(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}
