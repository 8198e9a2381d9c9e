package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// stackedPass adds up gradients, and differences of gradients, of a loss whose first layer is linear in the
// row (loss.Stacked), a tile of rows at a time. A record's gradient has two parts: the outer product of
// slopes and row, and the gradient with respect to the parameters above the first layer. The gradient is
// clipped by its norm, which follows from the slopes, the row's norm and the second part. The outer product
// is rounded and added as for a loss of margins.
type stackedPass struct {
	loss  loss.Stacked
	first shape // the shape of the first layer
	units int
	above int

	terms []stackedTerm
	// margin holds the first layer's margins of the rows of a tile at a term's point, and other the margins
	// at the term's previous point. coef holds the coefficients by which each record's row is multiplied.
	// rest holds each record's gradient above the first layer.
	margin, other, coef, rest []float64
	// slopes and gradient are the two parts of the current record's gradient at a term's point. moved and
	// gradient2 are the two parts at the term's previous point.
	slopes, moved       []float64
	gradient, gradient2 []float64
	// z and theta are copies of the loss's arguments, so that a loss that writes to its arguments
	// changes nothing.
	z, theta []float64
}

// stackedTerm is a term with its first-layer parameters in the order and padding of the rows: first at the
// term's point and, for a difference, before at its previous point.
type stackedTerm struct {
	*pointedTerm
	first, before []float64
	between       bool // whether the term is a difference of gradients
}

// mostAbove is the largest number of parameters above the first layer for which a [stackedPass] is used. It
// bounds the pass's scratch memory, which holds these parameters' gradient for each row of a tile.
const mostAbove = 1 << 12

// newStackedPass returns the pass for a loss.Stacked with at most mostAbove parameters above its first
// layer, if every term is a gradient or a difference of gradients of the unsmoothed loss, clipped around
// zero. Otherwise it returns nil.
func newStackedPass(l loss.Loss, terms []pointedTerm, s shape, rows *row.Layout) *stackedPass {
	of, ok := l.(loss.Stacked)
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
		case query.Gradient, query.Norm:
		case query.Difference:
			st.between, st.before = true, p.first.pad(t.prev[:p.first.parameters()])
		default:
			return nil
		}
		if t.ball.Centre != 0 || t.Smoothing().On() {
			return nil
		}
		p.terms = append(p.terms, st)
	}
	for _, v := range []*[]float64{&p.margin, &p.other, &p.coef} {
		*v = make([]float64, tileRows*p.units)
	}
	for _, v := range []*[]float64{&p.slopes, &p.moved, &p.z} {
		*v = make([]float64, p.units)
	}
	for _, v := range []*[]float64{&p.gradient, &p.gradient2, &p.theta} {
		*v = make([]float64, p.above)
	}
	p.rest = make([]float64, tileRows*p.above)
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

// tile adds a tile of rows. It calls the loss for all rows before it adds any row.
func (s *stackedPass) tile(p *pass, b row.Block) {
	y, n, stride := b.Targets, len(b.Targets), p.layout.Stride()
	faulty, coef, rest := p.faulty[:n], s.coef[:n*s.units], s.rest[:n*s.above]
	clear(coef)
	clear(rest)
	for i := range y {
		faulty[i] = y[i] != y[i]
	}
	for i := range s.terms {
		t := &s.terms[i]
		p.dots(s.margin[:n*s.units], t.first, b)
		if t.between {
			p.dots(s.other[:n*s.units], t.before, b)
		}
		for r := range y {
			if !faulty[r] {
				faulty[r] = !s.add(t, r, p.square(square(b.Rows[r*stride:(r+1)*stride]), b, r), y[r])
			}
		}
	}
	p.toSteps(faulty, coef, rest)
	p.addRows(p.acc[:s.first.padded()], coef, b)
	acc := p.acc[s.first.padded():]
	for r := range y {
		if faulty[r] {
			continue
		}
		for j, v := range rest[r*s.above : (r+1)*s.above] {
			acc[j] += Round(v)
		}
	}
}

// add adds the contribution of record r of the tile to one term, clipped and weighted, to the record's
// coefficients and to its gradient above the first layer. square is the squared norm of the record's row.
// add returns false, and adds nothing, if the contribution is not finite.
func (s *stackedPass) add(t *stackedTerm, r int, square, y float64) bool {
	z := func(of []float64) []float64 { return of[r*s.units : (r+1)*s.units] }
	s.backward(s.slopes, s.gradient, z(s.margin), t.point, square, y)
	if t.between {
		s.backward(s.moved, s.gradient2, z(s.other), t.prev, square, y)
		for k, v := range s.moved {
			s.slopes[k] -= v
		}
		for j, v := range s.gradient2 {
			s.gradient[j] -= v
		}
	}
	if !clipStacked(s.slopes, s.gradient, square, t.ball.Radius) {
		return false
	}
	coef, rest := z(s.coef), s.rest[r*s.above:(r+1)*s.above]
	for k, v := range s.slopes {
		coef[k] += float64(t.weight * v)
	}
	for j, v := range s.gradient {
		rest[j] += float64(t.weight * v)
	}
	return true
}

// backward makes the loss write a record's gradient: slopes, its derivatives in the first layer's
// margins, and rest, its gradient in all other parameters. Entries that the loss leaves unwritten are
// NaN.
func (s *stackedPass) backward(slopes, rest, z, w []float64, square, y float64) {
	copy(s.z, z)
	copy(s.theta, w[s.first.parameters():])
	forget(slopes)
	forget(rest)
	s.loss.Backward(slopes, rest, s.z, s.theta, square, y)
}

// square returns the sum of the squares of a row's numbers. In float64 the squares of float32 numbers neither
// over- nor underflow.
func square(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}

// clipStacked scales slopes and rest by one factor, so that their joint norm is at most radius. A shorter
// gradient is left unchanged. The joint norm is the norm of two things together: the outer product of
// slopes and a row whose squared norm is square, and rest. For a row of norm 0, clipStacked sets the slopes
// to 0. Their outer product with this row is zero, so the joint norm would not bound the slopes. It returns
// false if a number is not finite.
func clipStacked(slopes, rest []float64, square, radius float64) bool {
	for _, list := range [...][]float64{slopes, rest} {
		for _, v := range list {
			if !sound(v) {
				return false
			}
		}
	}
	if square == 0 {
		clear(slopes)
	}
	norm, exp := stackedNorm(slopes, rest, square)
	if math.Ldexp(norm, exp) <= radius {
		return true
	}
	factor := radius / norm
	for _, list := range [...][]float64{slopes, rest} {
		for j, v := range list {
			list[j] = float64(math.Ldexp(v, -exp) * factor)
		}
	}
	return true
}

// stackedNorm returns the joint norm of a record's gradient as norm times 2^exp: the norm of the
// outer product of slopes and a row with the given squared norm, together with rest. If the sums of
// squares could over- or underflow, slopes and rest are each scaled by a power of two of their own.
// With a common power, one of the two could be lost when large slopes belong to a row of tiny norm.
func stackedNorm(slopes, rest []float64, square float64) (norm float64, exp int) {
	ofSlopes, ofRest := maxAbs(slopes), maxAbs(rest)
	if big := max(ofSlopes, ofRest); 0x1p-100 <= big && big <= 0x1p100 {
		return math.Sqrt(float64(squares(slopes, 0)*square) + squares(rest, 0)), 0
	}
	_, first := math.Frexp(ofSlopes)
	_, above := math.Frexp(ofRest)
	s, at := math.Frexp(math.Sqrt(squares(slopes, first)) * math.Sqrt(square))
	g, beside := math.Frexp(math.Sqrt(squares(rest, above)))
	first, above = first+at, above+beside
	switch {
	case g == 0:
		return s, first
	case s == 0:
		return g, above
	}
	exp = max(first, above)
	s, g = math.Ldexp(s, first-exp), math.Ldexp(g, above-exp)
	return math.Sqrt(float64(s*s) + float64(g*g)), exp
}

// maxAbs returns the largest absolute value of the entries of v.
func maxAbs(v []float64) (big float64) {
	for _, x := range v {
		big = max(big, math.Abs(x))
	}
	return big
}

// squares returns the sum of (x/2^exp)^2 over the entries x of v.
func squares(v []float64, exp int) (sum float64) {
	if exp == 0 {
		for _, x := range v {
			sum += float64(x * x)
		}
		return sum
	}
	for _, x := range v {
		s := math.Ldexp(x, -exp)
		sum += float64(s * s)
	}
	return sum
}
