package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// pass is an accumulator and its scratch.
type pass struct {
	acc []int64
	// seen counts the records that were added, faulty ones included.
	seen int64
	// The rows at hand and their targets; how many of them are being tried, and
	// how many of them are to be tried one by one.
	x             []float32
	y             []float64
	long          []float32 // their lengths in the question's metric, if it has one
	trying, alone int

	stride, dim int
	scale       float64
	terms       []pointedTerm
	// number says that a record contributes one number, absent what a faulty one
	// contributes before scaling: zero, clipped like any other.
	number bool
	absent float64
	// filled lists features for their products; nil where a record contributes the
	// features themselves.
	filled  *filled
	general *generalPass
	rankOne loss.RankOne

	// Per tile: the records' coefficients, margins and slopes.
	coef, margin, move, slope, other []float64
	faulty                           []bool
	// What a loss is given: copies, so that what it writes there is lost.
	z, target []float64
	// Where the rows come from, and those of a cohort: found, and gathered.
	reader  row.Reader
	members [tileRows][]float32
	rows    []float32
	targets [tileRows]float64
}

// pointedTerm is a term with its points padded to the stride, and how it is
// computed.
type pointedTerm struct {
	query.Term
	computation
	number            bool
	weight            float64
	ball              query.ClipBall
	point, prev, step []float64
	// reuse says that the margin at point is that of the term before.
	reuse bool
}

func (p *pass) prepare(l loss.Loss, terms []query.Term, scale float64, dim, stride, answer int) {
	p.scale, p.stride = scale, stride
	p.acc = make([]int64, max(answer, stride))
	for i, t := range terms {
		pt := pointedTerm{
			Term: t, computation: computations[t.Kind()], number: t.Kind().Facts().Number, weight: t.Weight(), ball: t.Ball(),
			point: pad(t.Point(), stride), prev: pad(t.Previous(), stride), step: pad(t.Step(), stride),
		}
		pt.reuse = i > 0 && same(pt.point, p.terms[i-1].point)
		p.terms = append(p.terms, pt)
		if pt.number {
			p.number = true
			p.absent += float64(pt.weight * min(max(-pt.ball.Centre, -pt.ball.Radius), pt.ball.Radius))
		}
	}
	facts := terms[0].Kind().Facts()
	if facts.Pairs {
		p.filled, p.dim = new(filled), dim
	}
	r, ok := l.(loss.RankOne)
	if ok || facts.Lossless {
		p.rankOne = r
		for _, s := range []*[]float64{&p.coef, &p.margin, &p.move, &p.slope, &p.other, &p.z, &p.target} {
			*s = make([]float64, tileRows)
		}
		p.faulty = make([]bool, tileRows)
		return
	}
	p.general = newGeneralPass(l.(loss.General), dim)
}

// call has the loss write what it computes from margins z and targets y to dst.
// The loss is given copies, and what it leaves unwritten is NaN. dst may be z.
func (p *pass) call(f func(dst, z, y []float64), dst, z, y []float64) {
	n := len(y)
	copy(p.z, z)
	copy(p.target, y)
	forget(dst)
	f(dst[:n:n], p.z[:n:n], p.target[:n:n])
}

// forget fills v with NaN: what is left of another record's must not be taken
// for this one's.
func forget(v []float64) {
	for i := range v {
		v[i] = math.NaN()
	}
}

// tile adds a tile of rows for a rank-one loss phi(<w,x>, y): every term is a
// scalar times the row, so the clipped terms are added as scalars and the row
// is scaled, rounded and added once.
func (p *pass) tile(x []float32, y []float64) {
	coef, faulty := p.coef[:len(y)], p.faulty[:len(y)]
	for i := range y {
		coef[i] = 0
		faulty[i] = y[i] != y[i]
	}
	for i := range p.terms {
		t := &p.terms[i]
		if !t.reuse {
			dots(p.margin[:len(y)], t.point, x)
		}
		t.rankOne(p, t, x, y)
	}
	for i := range coef {
		if faulty[i] {
			coef[i] = p.absent
		}
		coef[i] = float64(coef[i] * p.scale)
	}
	if p.number {
		for _, c := range coef {
			p.acc[0] += Round(c)
		}
		return
	}
	if p.filled != nil {
		addPairs(p.acc, coef, p.filled, x, p.stride, p.dim)
		return
	}
	addRounded(p.acc, coef, x)
}

// addClipped adds weight * clamp(s, lo, hi) to coef. A scalar that is not
// finite makes the record faulty.
func addClipped(coef []float64, faulty []bool, s []float64, weight, lo, hi float64) {
	coef, faulty = coef[:len(s)], faulty[:len(s)]
	for i, v := range s {
		if !sound(v) {
			faulty[i] = true
			continue
		}
		coef[i] += float64(weight * min(max(v, lo), hi))
	}
}

// addClippedBetween adds weight * clamp(s, [lo, hi] * move) to coef: with
// phi's curvature in [lo, hi] the difference of slopes lies between lo and hi times the
// difference of margins, and a row times such a scalar lies in the ball
// declared by the term.
func addClippedBetween(coef []float64, faulty []bool, s, move []float64, weight, lo, hi float64) {
	coef, faulty, move = coef[:len(s)], faulty[:len(s)], move[:len(s)]
	for i, v := range s {
		a, b := float64(lo*move[i]), float64(hi*move[i])
		if !sound(v) || !sound(a) || !sound(b) {
			faulty[i] = true
			continue
		}
		coef[i] += float64(weight * min(max(v, min(a, b)), max(a, b)))
	}
}

func pad(v []float64, stride int) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, stride)
	copy(out, v)
	return out
}

func same(a, b []float64) bool {
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}
