package engine

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// pass is the state of one goroutine that adds up contributions: its sums and scratch memory.
type pass struct {
	acc []int64
	// seen is the number of records that were added, including faulty ones.
	seen int64
	// rows are the rows of the current piece that are yet to be added.
	rows row.Block
	long []float32 // the rows' lengths in the query's metric, nil without one
	// steep is the squares of the rows' slopes: known from an earlier query, or kept for a later one. It is nil if they
	// are neither.
	steep []float64
	known bool
	// trying is the number of rows in the current tile. alone is the number of rows that are yet to be
	// processed one by one.
	trying, alone int

	kernel kernel
	// layout is the layout of the rows.
	layout *row.Layout
	// writer expands rows to all their features.
	writer writer
	// shape is the shape of the parameters.
	shape shape
	// scale is the number of grid steps in a unit.
	scale float64
	terms []pointedTerm
	// number is true if a record contributes one number.
	number bool
	// absent is the contribution of a faulty record before scaling: the value zero, minus the public
	// centre, clipped and weighted. It is 0 unless the record contributes a number.
	absent float64
	// filled lists the rows' nonzero features, for sums of products or of squares of features. It is nil if
	// a record contributes multiples of its row, or numbers.
	filled  *nonzeros
	block   *featureBlock // of a query about squares of features, if it has one
	held    held
	centred []float32 // rows of a tile minus a public point, for kinds about such rows
	general *generalPass
	stacked *stackedPass // adds up gradients layer by layer, in place of general, if the loss and the terms allow it
	// weighted computes terms of the weighted kinds. It is nil for other kinds.
	weighted *weightedPass
	rankOne  margins      // the loss; nil if the query needs no loss
	single   loss.RankOne // the same loss, if it has one margin
	kinked   loss.Kinked  // the same loss, if its slopes jump
	fused    *fused       // computes all coefficients, if the question and the loss allow it

	// coef, margin, move, slope and other hold shape.margins numbers for each record of a tile. The numbers of a record
	// precede the numbers of the next record. If number is true, coef holds one number for each record.
	coef, margin, move, slope, other []float64
	norm                             []float64 // norms of rows, for smoothed losses
	faulty                           []bool
	// z, given and target are copies of the loss's arguments, so that a loss that writes to its
	// arguments changes nothing.
	z, given, target []float64
	// reader reads the rows.
	reader row.Reader
	// gathered holds copies of the rows of a cohort.
	gathered row.Block
}

// margins is the interface of a loss phi(W x, y). Its gradient in W is the outer product of its
// slopes, one for each margin, and the row.
type margins interface {
	Values(dst, z, y []float64)
	Slopes(dst, z, y []float64)
}

// pointedTerm is a term with its points in the order and padding in which the kernels read them, and
// with the functions that compute the term.
type pointedTerm struct {
	query.Term
	computation
	number            bool
	weight            float64
	ball              query.ClipBall
	point, prev, step []float64
	smoothed          loss.Smoothing
	drawn             drawn
	along             []float64
	// among is the point without padding, for kinds that depend on the features alone.
	among []float64
	// reuse is true if the term has the same point as the term before it, and so the same margins.
	reuse bool
}

// prepare readies the pass for the terms of a query over a number of records of t. Tiles have at most that
// many rows, so that scratch memory need not hold more.
func (p *pass) prepare(l loss.Loss, terms []query.Term, scale float64, s shape, t row.Source, records int) {
	p.scale, p.layout, p.shape = scale, t.Layout(), s
	p.writer.layout = p.layout
	p.acc = make([]int64, s.padded())
	for i, term := range terms {
		pt := pointedTerm{
			Term: term, computation: computations[term.Kind()], number: term.Kind().Facts().Number, weight: term.Weight(),
			ball:  term.Ball(),
			point: s.pad(term.Point()), prev: s.pad(term.Previous()), step: s.pad(term.Step()), along: s.pad(term.Along()),
		}
		pt.smoothed, _ = smoothing(term.Smoothing(), p.layout.Dim()) // no error: smoothable has checked the loss
		pt.drawn = drawnFor(term)
		if term.Kind().Facts().Losses == query.NoLoss {
			pt.among = term.Point()
		}
		pt.reuse = i > 0 && same(pt.point, p.terms[i-1].point)
		p.terms = append(p.terms, pt)
		if pt.number {
			p.number = true
			p.absent += float64(pt.weight * min(max(-pt.ball.Centre, -pt.ball.Radius), pt.ball.Radius))
		}
	}
	facts := terms[0].Kind().Facts()
	if p.weighted = newWeightedPass(l, &p.terms[0], p.layout.Dim()); p.weighted != nil {
		p.acc = make([]int64, len(p.weighted.sum))
		return
	}
	if facts.WithinRightAngle() {
		p.filled = &nonzeros{writer: p.writer}
		whole := terms[0].Whole()
		p.acc = make([]int64, facts.SumDim(p.layout.Dim())+len(whole)*(len(whole)-1)/2)
		p.block = newBlock(whole, p.layout.Dim())
	}
	if facts.Losses != query.NoLoss {
		g, ok := l.(loss.General)
		sampled := slices.ContainsFunc(terms, func(t query.Term) bool { return t.Smoothing().Sampled() })
		if !ok && sampled {
			g, ok = newJoined(l, s.parameters()/p.layout.Dim()), true
		}
		if ok {
			p.faulty = make([]bool, tileRows)
			if p.stacked = newStackedPass(l, p.terms, s, p.layout); p.stacked == nil {
				p.general = newGeneralPass(g, s.parameters(), p.layout.Dim())
			}
			if p.stacked != nil {
				p.acc = make([]int64, p.stacked.padded())
			}
			return
		}
		p.rankOne = l.(margins)
		p.single, _ = l.(loss.RankOne)
		p.kinked, _ = l.(loss.Kinked)
		p.fused = newFused(l, p.kernel, p.terms, scale)
	}
	rows := min(tileRows, records)
	each := s.margins * rows
	scratch := make([]float64, 7*each+2*rows)
	for _, v := range []*[]float64{&p.coef, &p.margin, &p.move, &p.slope, &p.other, &p.z, &p.given} {
		*v, scratch = scratch[:each:each], scratch[each:]
	}
	p.target, p.norm, p.faulty = scratch[:rows:rows], scratch[rows:], make([]bool, rows)
}

// place returns the index in acc of coordinate j of the query's sum. The sums in acc are in the order in
// which rows store features.
func (p *pass) place(j int) int {
	switch {
	case p.number: // a number is added up in the first entry, whatever the layout
		return 0
	case p.filled != nil || p.weighted != nil:
		return j
	case p.stacked != nil:
		return p.stacked.place(j)
	}
	return p.shape.place(j)
}

// call makes the loss write to dst the numbers that f computes from margins z and targets y. The loss
// receives copies of z and y. Entries that the loss leaves unwritten are NaN. dst may be z.
func (p *pass) call(f func(dst, z, y []float64), dst, z, y []float64) {
	dst, given, target := dst[:len(dst):len(dst)], p.z[:len(z):len(z)], p.target[:len(y):len(y)]
	copy(given, z)
	copy(target, y)
	forget(dst)
	f(dst, given, target)
}

// forget fills v with NaN, so that no number of an earlier record is used for the current record.
func forget(v []float64) {
	for i := range v {
		v[i] = math.NaN()
	}
}

// tile adds a tile of rows for a loss phi(<w,x>, y) or phi(W x, y). Each term of a record's
// contribution is a number for each margin, times the row. The clipped terms are therefore added as
// numbers first, and the row is then multiplied, rounded and added once for each margin.
func (p *pass) tile(b row.Block) {
	y := b.Targets
	faulty := p.faulty[:len(y)]
	for i := range y {
		faulty[i] = y[i] != y[i]
	}
	clear(p.coef[:p.shape.margins*len(y)])
	for i := range p.terms {
		t := &p.terms[i]
		if p.rankOne != nil && !t.reuse && !p.known {
			p.dots(p.margin[:p.shape.margins*len(y)], t.point, b)
		}
		t.rankOne(p, t, b)
	}
	each := p.shape.margins
	if p.number {
		each = 1
	}
	coef := p.coef[:each*len(y)]
	p.toSteps(faulty, coef)
	switch {
	case p.terms[0].Kind() == query.CentredMoment:
		p.addCentredPairs(coef, b)
	case p.terms[0].Kind() == query.SquaredFeatures:
		p.addSquares(coef, b)
	case p.filled != nil:
		p.addPairs(coef, b)
	case p.number:
		for _, c := range coef {
			p.acc[0] += Round(c)
		}
	default:
		p.addRows(p.acc, coef, b)
	}
}

// faultySteps returns the contribution of a faulty record in grid steps. It returns 0 if the
// contribution is not finite, which cannot happen with the scales that package session chooses.
func (p *pass) faultySteps() float64 {
	if v := float64(p.absent * p.scale); sound(v) {
		return v
	}
	return 0
}

// toSteps converts lists of coefficients to grid steps. Each list has the same number of coefficients for
// every record. A record with a coefficient that is not finite in steps is faulty. All coefficients of a
// faulty record are set to p.faultySteps(), which is the same for all faulty records.
func (p *pass) toSteps(faulty []bool, lists ...[]float64) {
	for _, list := range lists {
		for i, c := range list {
			steps := float64(c * p.scale)
			if !sound(steps) {
				faulty[i/(len(list)/len(faulty))] = true
			}
			list[i] = steps
		}
	}
	absent := p.faultySteps()
	for i, bad := range faulty {
		if !bad {
			continue
		}
		for _, list := range lists {
			each := len(list) / len(faulty)
			for k := range each {
				list[i*each+k] = absent
			}
		}
	}
}

// addWithin adds the records' slopes, clipped to the term's radius and times the term's weight, to the
// records' coefficients. A slope that is not finite makes its record faulty.
func (p *pass) addWithin(slope []float64, t *pointedTerm) {
	radius := t.ball.Radius
	k := p.shape.margins
	if k == 1 {
		addClipped(p.coef, p.faulty, slope, t.weight, -radius, radius)
		return
	}
	for i := 0; i < len(slope); i += k {
		v, coef := slope[i:i+k], p.coef[i:i+k]
		if !clip(v, radius) {
			p.faulty[i/k] = true
			continue
		}
		for j, s := range v {
			coef[j] += float64(t.weight * s)
		}
	}
}

// addBetween adds the records' changes of slopes, clipped and times the term's weight, to the records' coefficients.
// move holds the changes of the margins. The changes of slopes are clipped to the values that are possible for a
// curvature in [lo, hi]. A number that is not finite makes its record faulty.
//
// With several margins, the slopes change by A m, for the changes m of the margins and a symmetric
// matrix A with eigenvalues in [lo, hi]. Such a change is within ((hi-lo)/2) ||m|| of ((lo+hi)/2)
// m, and is clipped to that ball. The product of the change with the row then lies in the ball that
// the term declares (docs/explanation/exactness.md, L3 and L4).
func (p *pass) addBetween(slope, move []float64, t *pointedTerm, lo, hi float64) {
	k := p.shape.margins
	if k == 1 {
		addClippedBetween(p.coef, p.faulty, slope, move, t.weight, lo, hi)
		return
	}
	centre, half := (lo+hi)/2, (hi-lo)/2
	for i := 0; i < len(slope); i += k {
		v, m, coef := slope[i:i+k], move[i:i+k], p.coef[i:i+k]
		var square float64
		for j := range v {
			square += float64(m[j] * m[j])
			v[j] -= float64(centre * m[j])
		}
		radius := float64(half * math.Sqrt(square))
		if !sound(radius) || !clip(v, radius) {
			p.faulty[i/k] = true
			continue
		}
		for j, s := range v {
			coef[j] += float64(t.weight * (s + float64(centre*m[j])))
		}
	}
}

// addClipped adds weight * clamp(s, lo, hi) to coef, for each record's number s. A number s that is
// not finite makes its record faulty.
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

// addClippedBetween adds weight * clamp(s, [lo, hi] * move) to coef, for each record's difference of slopes s and
// difference of margins move. If the second derivative of phi is in [lo, hi], s lies between lo and hi times move. The
// clipped s times the row lies in the ball that the term declares. A number that is not finite makes its record faulty.
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

func same(a, b []float64) bool {
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

// fused computes the sum of a single gradient for a loss of this library whose slopes are known. Slope,
// clip, weight and scale are one loop, over several records at a time where the machine has the
// instructions. The integers are those of the separate steps of the method pass.tile. These steps guard
// against losses of other packages, which may panic or write to their arguments. The losses here do
// neither, so margins and targets need no copies, and no record is tried alone.
type fused struct {
	loss loss.RankOne
	// several is the kernel's loop for the loss. It is nil if there is none.
	several func(c, z, y []float64, f *fused) int
	// parameter is the loss's parameter: the largest slope of a clipped residual. The logistic loss has none.
	parameter             float64
	radius, weight, scale float64
}

// newFused returns nil unless the question is a single gradient of a loss whose slopes are known.
func newFused(l loss.Loss, k kernel, terms []pointedTerm, scale float64) *fused {
	if len(terms) != 1 || terms[0].Kind() != query.Gradient || terms[0].Smoothing().On() {
		return nil
	}
	f := &fused{radius: terms[0].ball.Radius, weight: terms[0].weight, scale: scale}
	switch {
	case loss.IsLogistic(l):
		f.several = k.logistic
	case loss.IsSquared(l), loss.IsHuber(l):
		f.several, f.parameter = k.residual, l.Constants().Lipschitz
	default:
		return nil
	}
	f.loss = l.(loss.RankOne)
	return f
}

// piece adds the rows of b, a tile at a time.
func (f *fused) piece(p *pass, b row.Block) {
	if p.layout.Groups()+p.layout.Edges() == 0 {
		f.numbers(p, b.Rows, b.Targets)
		return
	}
	for n := 0; n < len(b.Targets); n += tileRows {
		tile := p.layout.Cut(b, n, min(n+tileRows, len(b.Targets)))
		y := tile.Targets
		coef, margin := p.coef[:len(y)], p.margin[:len(y)]
		p.dots(margin, p.terms[0].point, tile)
		f.coefficients(coef, margin, y)
		p.addRows(p.acc, coef, tile)
	}
}

// tileBytes is the number of bytes of rows that stay in the first-level cache, beside the point and the sums, from
// their products to the sums.
const tileBytes = 28 << 10

// numbers adds rows without codes and edges, as piece does. It is separate because cutting blocks takes a
// tenth of the time where rows are short.
func (f *fused) numbers(p *pass, x []float32, y []float64) {
	w, stride, width := p.terms[0].point, p.layout.Stride(), p.layout.Width()
	rows := min(max(tileBytes/(4*stride)&^7, 8), tileRows)
	for len(y) > 0 {
		n := min(rows, len(y))
		coef, margin, tile := p.coef[:n], p.margin[:n], x[:n*stride]
		p.kernel.dots(margin, w, tile, stride, width)
		f.coefficients(coef, margin, y[:n])
		if Unrounded != nil {
			p.rounded(1, coef, row.Block{Rows: tile})
		}
		p.kernel.add(p.acc, width, coef, tile, stride)
		x, y = x[n*stride:], y[n:]
	}
}

// coefficients sets c[i] to the clipped and weighted slope at margin z[i] and target y[i], in grid steps.
func (f *fused) coefficients(c, z, y []float64) {
	done := 0
	if f.several != nil {
		done = f.several(c, z, y, f)
	}
	f.portable(c[done:], z[done:], y[done:])
}

// portable computes the same numbers as the method coefficients. It sets c[i] to 0 if the slope or the result
// is not finite. The target of a faulty record is NaN, and so is its slope.
func (f *fused) portable(c, z, y []float64) {
	f.loss.Slopes(c, z, y)
	for i, s := range c {
		steps := float64(float64(f.weight*min(max(s, -f.radius), f.radius)) * f.scale)
		if !sound(s) || !sound(steps) {
			steps = 0
		}
		c[i] = steps
	}
}
