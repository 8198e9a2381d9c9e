package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// stackedPass adds up gradients of a loss whose first layer is linear in the row
// (loss.Stacked), and their differences, a tile at a time: a record's is clipped from the
// slopes of its first margins, the square of its row's norm and the gradient above, and
// the part that is an outer product is rounded and added as that of a loss of margins is.
type stackedPass struct {
	loss  loss.Stacked
	first shape // of the first layer
	units int
	above int

	terms []stackedTerm
	// Of a tile: the first layer's margins, and those at another point; each record's
	// coefficients of its row, and its gradient above.
	margin, other, coef, rest []float64
	// One record's slopes and gradient above, at one point and another.
	slopes, moved       []float64
	gradient, gradient2 []float64
	// What the loss is given: copies, so that what it writes there is lost.
	z, theta []float64
}

// stackedTerm is a term with the first layer's rows padded to the rows' stride.
type stackedTerm struct {
	*pointedTerm
	first, before []float64
	between       bool // a difference
}

// mostAbove bounds the scratch of a tile.
const mostAbove = 1 << 12

// newStackedPass returns nil where the loss is no such one, or a term is not asked for a
// gradient, or a difference of two, clipped around zero, of the loss as it is.
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

// padded is how much room the sum takes, place where its coordinate j is added up.
func (s *stackedPass) padded() int { return s.first.padded() + s.above }

func (s *stackedPass) place(j int) int {
	if n := s.first.parameters(); j >= n {
		return s.first.padded() + j - n
	}
	return s.first.place(j)
}

// tile adds a tile of rows. The loss is asked about all of them before any is added.
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

// add adds what a term makes of record r of the tile, clipped and weighted. It reports
// false where that is not finite.
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

// backward has the loss write to slopes and rest. What it leaves unwritten is NaN.
func (s *stackedPass) backward(slopes, rest, z, w []float64, square, y float64) {
	copy(s.z, z)
	copy(s.theta, w[s.first.parameters():])
	forget(slopes)
	forget(rest)
	s.loss.Backward(slopes, rest, s.z, s.theta, square, y)
}

// square is the sum of the squares of a row's numbers. Those of floats of 24 bits neither over- nor
// underflow.
func square(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}

// clipStacked scales slopes and rest, which stand for the outer product of slopes and a
// row of that squared norm and for rest beside it, so that together they have norm at most
// radius. A row of norm 0 has no slopes: the outer product is zero whatever they are, and
// nothing would bound them. It reports false when a number is not finite.
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

// stackedNorm returns the norm of what slopes and rest stand for as norm times 2^exp. Where
// the sum of the squares of both could over- or underflow, each is taken over a power of two
// of its own: slopes as large as floats are may belong to a row of next to no norm, and
// neither they nor rest must be lost beside the other.
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

// maxAbs is the largest absolute value.
func maxAbs(v []float64) (big float64) {
	for _, x := range v {
		big = max(big, math.Abs(x))
	}
	return big
}

// squares is the sum of the squares of v, each over 2^exp.
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
