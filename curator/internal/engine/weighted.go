package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// weightedPass computes contributions to terms of the weighted kinds, which weight a row by its length in a metric, one
// record at a time. A row x of a record becomes z = sqrt(u) R x. R is the metric's matrix. The weight u is the largest
// number up to 1 for which z is at most as long as a public limit, Term.Reach. The loss's slopes or second derivatives
// are clipped to the term's limit. A record's contribution is therefore at most as long as the radius of the term's
// clip ball, whatever the loss writes (docs/explanation/exactness.md, L5b).
type weightedPass struct {
	row   loss.RankOne
	units loss.Units // the loss of a unit; nil if a record is a row
	parts Parted     // the loss of ordered classes, in place of row; nil for others
	// several is a loss of several margins, in place of row; nil for others.
	several loss.Margins
	each    []float64
	packed  targetpair.Rows
	dim     int
	// features is the number of features of a row of ordered classes, whose metric has further dimensions.
	features int
	term     *pointedTerm
	// matrix is the metric's matrix R, row after row. Its entries are exact.
	matrix []float64
	w      []float64
	// x holds a row of a unit. sum is the record's contribution, and score is the record's weighted
	// gradient.
	x          []float32
	sum, score []float64
	// rows holds the record's rows z = sqrt(u) R x, for its rows x, the metric's matrix R and the
	// rows' weights u. factor holds the square roots of the weights.
	rows, factor []float64
	// margin, scalar and target hold a number for each row of the record. given and shown are
	// copies of the loss's arguments, so that a loss that writes to its arguments changes nothing.
	margin, scalar, target, given, shown []float64
}

// newWeightedPass returns the pass for a term of a kind that weights rows by their length in a
// metric, and nil for terms of other kinds.
func newWeightedPass(l loss.Loss, t *pointedTerm, features int) *weightedPass {
	if !t.Kind().Facts().Weighted {
		return nil
	}
	p := &weightedPass{term: t, dim: t.Metric().Dim(), w: t.Term.Point()}
	most := 1
	if u, ok := l.(loss.Units); ok {
		p.units, p.row = u, u.Row().(loss.RankOne)
		p.packed, _ = targetpair.RowsIn(features, u.Rows())
		p.x = make([]float32, p.dim)
		most = u.Rows()
	} else if parts, ok := l.(Parted); ok {
		p.parts, p.features, most = parts, features, p.dim-features+1
	} else if p.several, ok = l.(loss.Margins); ok {
		k := p.several.K()
		p.each, most = make([]float64, k*k), k*k
	} else {
		p.row = l.(loss.RankOne)
	}
	m := t.Metric()
	p.matrix = make([]float64, p.dim*p.dim)
	steps := make([]int64, p.dim)
	for j := range p.dim {
		m.Row(steps, j)
		for k, v := range steps {
			p.matrix[j*p.dim+k] = float64(float64(v) * m.Step())
		}
	}
	p.sum, p.score = make([]float64, t.Kind().Facts().SumDim(len(p.w))), make([]float64, len(p.w))
	for _, v := range []*[]float64{&p.margin, &p.scalar, &p.target, &p.given, &p.shown, &p.factor} {
		*v = make([]float64, most)
	}
	p.rows = make([]float64, most*p.dim)
	if p.several != nil {
		p.rows = p.rows[:p.dim]
	}
	return p
}

// add adds one record's contribution. It calls the loss before it adds anything.
func (g *weightedPass) add(p *pass, x []float32, y float64) {
	if !g.contribution(x, y) || !toSteps(g.sum, p.scale) {
		return // a faulty record contributes zero
	}
	for j, v := range g.sum {
		p.acc[j] += Round(v)
	}
}

// contribution sets the field sum to the record's weighted contribution. It returns false if the
// record is faulty: malformed, or with a result of the loss that is not finite.
func (g *weightedPass) contribution(x []float32, y float64) bool {
	if y != y {
		return false
	}
	clear(g.sum)
	clear(g.score)
	if g.parts != nil {
		return g.ofParts(x, y) && g.finish()
	}
	if g.several != nil {
		return g.ofMargins(x[:g.dim], y) && g.finish()
	}
	n, share := 1, 1.
	g.target[0] = y
	if g.units != nil {
		count, ok := g.packed.Count(y)
		if !ok {
			return false
		}
		if n, share = count, 1/float64(count); g.units.Summed() {
			share = 1 / float64(g.units.Rows())
		}
	}
	for i := range n {
		if g.units != nil {
			g.packed.Take(g.x, x, i)
			g.target[i] = g.packed.Target(x, i)
			g.measure(i, g.x)
			continue
		}
		g.measure(i, x[:g.dim])
	}
	kind := g.term.Kind()
	if kind != query.WeightedMoment && !g.scalars(kind, n) {
		return false
	}
	for i := range n {
		z := g.rows[i*g.dim : (i+1)*g.dim]
		switch kind {
		case query.WeightedMoment:
			addOuter(g.sum, share, z)
		case query.WeightedCurvature:
			addOuter(g.sum, float64(share*g.scalar[i]), z)
		default:
			c := float64(share * float64(g.scalar[i]*g.factor[i]))
			for j, v := range z {
				g.score[j] += float64(c * v)
			}
		}
	}
	return g.finish()
}

// finish makes the contribution of the record's weighted gradient, for kinds that are made of it, and multiplies the
// contribution by the term's weight. It returns true.
func (g *weightedPass) finish() bool {
	switch g.term.Kind() {
	case query.WeightedGradient:
		copy(g.sum, g.score)
	case query.ScoreMoment:
		addOuter(g.sum, 1, g.score)
	}
	for j, v := range g.sum {
		g.sum[j] = float64(g.term.weight * v)
	}
	return true
}

// measure computes the margin of row x, the record's row i, and the product of the metric's matrix
// and the row. It shortens the product to the public length limit of the term (its reach).
func (g *weightedPass) measure(i int, x []float32) {
	z := g.product(i, x)
	g.factor[i] = 1
	reach := g.term.Reach()
	if n := math.Sqrt(squares(z, 0)); n > reach {
		g.factor[i] = reach / n
		for k := range z {
			z[k] = float64(z[k] * g.factor[i])
		}
	}
}

// product computes the margin of row x, the record's row i, and returns the product of the metric's matrix and the row.
func (g *weightedPass) product(i int, x []float32) []float64 {
	z := g.rows[i*g.dim : (i+1)*g.dim]
	clear(z)
	margin := 0.
	for j, v := range x {
		if v == 0 {
			continue
		}
		f := float64(v)
		margin += float64(f * g.w[j])
		for k, r := range g.matrix[j*g.dim : (j+1)*g.dim] {
			z[k] += float64(f * r)
		}
	}
	g.margin[i] = margin
	return z
}

// scalars computes the slopes of n rows, or their second derivatives, and clips them to the term's limit. It
// returns false if one of them is not finite.
func (g *weightedPass) scalars(kind query.Kind, n int) bool {
	scalar, given, shown := g.scalar[:n:n], g.given[:n:n], g.shown[:n:n]
	copy(given, g.margin)
	copy(shown, g.target)
	forget(scalar)
	lo, hi := -g.term.Slope(), g.term.Slope()
	if kind == query.WeightedCurvature {
		lo = 0
		g.row.Curvatures(scalar, given, shown)
	} else {
		g.row.Slopes(scalar, given, shown)
	}
	for i, s := range scalar {
		if !sound(s) {
			return false
		}
		scalar[i] = min(max(s, lo), hi)
	}
	return true
}

// addOuter adds c z z' to sum, which has the form svec: the entries on and above the diagonal, row
// after row, with the entries above the diagonal times sqrt 2.
func addOuter(sum []float64, c float64, z []float64) {
	for j, first := range z {
		out := sum[:len(z)-j]
		sum = sum[len(z)-j:]
		f := float64(c * first)
		out[0] += float64(f * first)
		f = float64(f * math.Sqrt2)
		for k, v := range z[j+1:] {
			out[k+1] += float64(f * v)
		}
	}
}

// Parted is a loss with a score that is a sum of at most three parts, each a function of one product of a row with the
// score's weights and further parameters, the gaps between thresholds. Parts returns the parts of a record with the score
// z and the target y, at the parameters theta beside the weights: the slopes and second derivatives in their products. The
// rows of the parts follow from class: those of cuts class and class - 1, and of gap class - 1, where row (x, -1, ..., -1,
// 0, ...) of a cut has -1 for each gap below it. A part that does not exist has zeros.
type Parted interface {
	Stacked
	Parts(theta []float64, z, y float64) (class int, slopes, curvatures [3]float64, ok bool)
}

// ofParts computes the contribution of a record of a [Parted], whose metric R has a dimension for each parameter. The
// weight u is that of the longest of the record's rows of cuts, in the metric, and so depends on the record's features
// alone. The weighted gradient is shortened to the product of the term's limits where it is longer. The weighted curvature
// is scaled down where its trace is above the radius. It returns false if the record is faulty.
func (g *weightedPass) ofParts(x []float32, y float64) bool {
	x = x[:g.features]
	d, above := g.dim, g.dim-len(x)
	g.product(0, x)
	theta := append([]float64(nil), g.w[len(x):]...) // a copy, so that a loss that writes to it changes nothing
	class, slopes, curvatures, ok := g.parts.Parts(theta, g.margin[0], y)
	if !ok || class < 0 || class > above+1 {
		return false
	}
	var longest float64
	for cut := range above + 1 {
		row := g.rows[cut*d : (cut+1)*d]
		if cut > 0 {
			copy(row, g.rows[(cut-1)*d:cut*d])
			for k, r := range g.matrix[(len(x)+cut-1)*d : (len(x)+cut)*d] {
				row[k] -= r
			}
		}
		longest = max(longest, squares(row, 0))
	}
	factor, reach := 1., g.term.Reach()
	if n := math.Sqrt(longest); n > reach {
		factor = reach / n
	}
	var rows [3][]float64
	if class <= above {
		rows[0] = g.rows[class*d : (class+1)*d]
	}
	if class > 0 {
		rows[1] = g.rows[(class-1)*d : class*d]
		if class <= above {
			rows[2] = g.matrix[(len(x)+class-1)*d : (len(x)+class)*d]
		}
	}
	u := float64(factor * factor)
	if g.term.Kind() == query.WeightedCurvature {
		return g.bent(u, curvatures, rows)
	}
	for i, row := range rows {
		for k, v := range row {
			g.score[k] += float64(float64(u*slopes[i]) * v)
		}
	}
	n := math.Sqrt(squares(g.score, 0))
	if !sound(n) {
		return false
	}
	if most := float64(g.term.Slope() * reach); n > most {
		for k, v := range g.score {
			g.score[k] = float64(v * (most / n))
		}
	}
	return true
}

// bent adds the curvatures of the parts to the sum, scaled down such that the trace is at most the term's radius.
func (g *weightedPass) bent(u float64, curvatures [3]float64, rows [3][]float64) bool {
	trace := 0.
	for i, row := range rows {
		curvatures[i] = float64(u * max(curvatures[i], 0))
		trace += float64(curvatures[i] * squares(row, 0))
	}
	if !sound(trace) {
		return false
	}
	by := 1.
	if most := g.term.ball.Radius; trace > most {
		by = most / trace
	}
	for i, row := range rows {
		if row != nil {
			addOuter(g.sum, float64(by*curvatures[i]), row)
		}
	}
	return true
}

// ofMargins computes the contribution of a record of a loss of several margins. The weighted gradient is u s R x for each
// entry of the vector of slopes s, whose length is clipped to the term's limit. It returns false if the record is faulty.
func (g *weightedPass) ofMargins(x []float32, y float64) bool {
	g.measure(0, x)
	k, n, z := g.several.K(), 1, g.rows
	bent := g.term.Kind() == query.WeightedCurvature
	if bent {
		n = k // the loss is asked for the products of its Hessian and each unit vector
	}
	given, shown, scalar := g.given[:n*k:n*k], g.shown[:n:n], g.scalar[:n*k:n*k]
	clear(given)
	clear(g.each)
	for m := range k {
		for j, v := range x {
			given[m] += float64(float64(v) * g.w[m*len(x)+j])
		}
		g.each[m*k+m] = 1
	}
	for i := range n {
		copy(given[i*k:], given[:k])
		shown[i] = y
	}
	forget(scalar)
	if bent {
		g.several.CurvaturesAlong(scalar, given, g.each, shown)
		return g.coupled(scalar, z, k)
	}
	g.several.Slopes(scalar, given, shown)
	if !clip(scalar, g.term.Slope()) {
		return false
	}
	for m, s := range scalar {
		c := float64(s * g.factor[0])
		for j, v := range z {
			g.score[m*len(z)+j] = float64(c * v)
		}
	}
	return true
}

// coupled adds L (x) z z' to the sum, the Kronecker product, for the k x k matrix L = sum_(i<j) c_ij (e_i - e_j)(e_i - e_j)'
// with c_ij = max(0, -a_ij). L is positive semidefinite whatever a is. It is scaled down where its Frobenius norm is above the
// term's limit. coupled writes over a, and returns false if a number of it is not finite.
func (g *weightedPass) coupled(a, z []float64, k int) bool {
	for i := range k {
		for j := range k {
			if !sound(a[i*k+j]) {
				return false
			}
		}
		a[i*k+i] = 0
	}
	for i := range k {
		for j := i + 1; j < k; j++ {
			c := max(0, -a[i*k+j])
			a[i*k+j] = -c
			a[j*k+i] = -c
			a[i*k+i] += c
			a[j*k+j] += c
		}
	}
	n := math.Sqrt(squares(a[:k*k], 0))
	if !sound(n) {
		return false
	}
	by := 1.
	if most := g.term.Slope(); n > most {
		by = most / n
	}
	sum, d := g.sum, len(z)
	for i := range k {
		for p, first := range z {
			for j := i; j < k; j++ {
				from, c := 0, float64(float64(by*a[i*k+j])*float64(first*math.Sqrt2))
				if j == i {
					sum[0] = float64(float64(by*a[i*k+i]) * float64(first*first))
					from, sum = p+1, sum[1:]
				}
				for q, v := range z[from:] {
					sum[q] = float64(c * v)
				}
				sum = sum[d-from:]
			}
		}
	}
	return true
}
