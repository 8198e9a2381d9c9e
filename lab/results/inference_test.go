//go:build results

package results_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
)

var (
	inferenceFits  = flag.Int("inference.fits", 400, "how often TestCoverage fits each design")
	inferenceNamed = flag.String("inference.design", "", "a regular expression of the names of designs or tables")
	inferenceReal  = flag.Bool("inference.session", false,
		"TestCoverage asks simulated sessions in place of computing answers directly, at ten times the time")
	inferenceSeed = flag.Uint64("inference.seed", 1, "the seed of TestCoverage")
)

// population is a distribution from which a simulation (a design of lab/results/inference.md) draws its
// records.
type population struct {
	name      string
	loss      string
	curvature onestep.Curvature
	// tuning reports that cutoffs of the method were chosen with this design, so that its results
	// do not judge them.
	tuning bool
	n      int
	eps    float64
	addOr  bool
	// numbers is the number of numeric columns with values in [-1, 1]. levels are the numbers of levels of
	// the categories; the first level of each is the reference.
	numbers int
	levels  []int
	// knots is the number of knots of each number's curve; 0 if numbers have no curves.
	knots int
	// crossed says that the last category has a level for each pair of levels of the first two, that of
	// (i, j) being i times the levels of the second plus j. The formula has the pairs without a reference level.
	crossed bool
	// rows is the number of rows of a unit; 0 if each row is a record.
	rows int
	// draw draws one row: it sets the numbers x and the levels (in). person is a random number that
	// all rows of a unit share.
	draw func(r *rand.Rand, x []float64, in []int, person float64)
	// mean returns E[y | row], for y in {-1, 1} or in [-1, 1].
	mean func(x []float64, in []int) float64
	// noise draws the target y of a row given its mean. nil means that y is -1 or 1.
	noise func(r *rand.Rand, x []float64, mean, person float64) float64
	// missing returns the probability that a row has no target. nil means that all rows have one.
	missing func(x []float64, in []int) float64
	// exposed says that targets carry an exposure, uniform between the least one and 1.
	exposed bool
	clips   float64 // the clip norm of the loss's slopes, once it was asked for
}

// clip returns the bound at which the loss's slopes are clipped.
func (p *population) clip() float64 {
	if p.clips == 0 {
		l, err := loss.Parse(p.loss)
		if err != nil {
			panic(err)
		}
		p.clips = loss.RowLoss(l).Constants().Lipschitz
	}
	return p.clips
}

func (p *population) features() int {
	d := p.numbers*max(p.knots, 1) + 1
	for _, l := range p.levels {
		d += l
	}
	return d
}

func (p *population) scale() float64 {
	square := p.numbers + len(p.levels) + 1
	if p.knots > 0 { // beside its hats a curve has the number, which is not in the formula
		square += p.numbers
	}
	return 1 / math.Sqrt(float64(square))
}

// columns returns the columns of the regression formula; the levels of a category are coded against
// a reference level, and the knots of a curve against its middle knot.
func (p *population) columns() []inference.Column {
	var list []inference.Column
	for j := range p.numbers * max(p.knots, 1) {
		if p.knots == 0 || j%p.knots != (p.knots-1)/2 {
			list = append(list, inference.Column{Feature: j, Level: p.knots > 0})
		}
	}
	at := p.numbers * max(p.knots, 1)
	for g, l := range p.levels {
		for i := 1; i < l; i++ {
			if pairs := p.crossed && g == 2; pairs && (i < p.levels[1] || i%p.levels[1] == 0) {
				continue
			}
			list = append(list, inference.Column{Feature: at + i, Level: true})
		}
		at += l
	}
	return append(list, inference.Column{Feature: at, Kept: true})
}

// row encodes the numbers x and the levels (in) of a row as features. Of crossed categories it sets the
// level of the pair.
func (p *population) row(x []float64, in []int) []float32 {
	out := make([]float32, p.features())
	s := p.scale()
	for j, v := range x {
		v = min(max(v, -1), 1)
		if p.knots == 0 {
			out[j] = float32(s * v)
			continue
		}
		place := (v + 1) / 2 * float64(p.knots-1)
		cell := min(int(place), p.knots-2)
		share := place - float64(cell)
		out[j*p.knots+cell] = float32(s * spline.Scale * (1 - share))
		out[j*p.knots+cell+1] = float32(s * spline.Scale * share)
	}
	if p.crossed {
		in[2] = in[0]*p.levels[1] + in[1]
	}
	at := p.numbers * max(p.knots, 1)
	for g, l := range p.levels {
		out[at+in[g]] = float32(s)
		at += l
	}
	out[at] = float32(s)
	return out
}

// one draws a row of the population. It returns the encoded row, the mean of its target and its
// target.
func (p *population) one(r *rand.Rand, person float64) (row []float32, mean, y float64) {
	return p.drawn(r, make([]float64, p.numbers), make([]int, len(p.levels)), person)
}

// drawn draws a row of the population as one does, and stores the row's numbers and levels in x and
// in.
func (p *population) drawn(r *rand.Rand, x []float64, in []int, person float64) (row []float32, mean, y float64) {
	p.draw(r, x, in, person)
	for j := range x {
		x[j] = min(max(x[j], -1), 1)
	}
	mean = p.mean(x, in)
	switch {
	case p.noise != nil:
		y = p.target(r, x, mean, person)
	case r.Float64() < (1+mean)/2:
		y = 1
	default:
		y = -1
	}
	return p.row(x, in), mean, y
}

// target draws the target of a row for a population whose target is a number.
func (p *population) target(r *rand.Rand, x []float64, mean, person float64) float64 {
	if p.exposed {
		q := .1 + .9*r.Float64()
		return loss.Carry(loss.Real, min(max(p.noise(r, x, q*mean, person), -1), 1), q)
	}
	return min(max(p.noise(r, x, mean, person), -1), 1)
}

// curved reports whether the mean slope of the loss at a row depends on more than the mean of the
// row's target.
func (p *population) curved() bool {
	return p.curvature == onestep.Exponential || strings.Contains(p.loss, "huber")
}

// crowd is a large sample of a population: rows, the probabilities that they have a target, and the
// means and draws of their targets. draws are several targets of each row, for losses whose slope is not
// linear in the target.
type crowd struct {
	rows  [][]float32
	kept  []float64
	mean  []float64
	y     []float64
	draws [][]float64
}

// slope returns the mean first and second derivative of the loss at the given margin, over the
// targets of row i.
func (c *crowd) slope(p *population, i int, margin float64) (slope, curvature float64) {
	if c.draws == nil {
		return p.slope(margin, c.mean[i])
	}
	for _, y := range c.draws[i] {
		s, b := p.slope(margin, y)
		slope, curvature = slope+s, curvature+b
	}
	n := float64(len(c.draws[i]))
	return slope / n, curvature / n
}

func (p *population) sample(seed uint64, n int) *crowd {
	r := rand.New(rand.NewPCG(seed, 0x707))
	out := &crowd{}
	person := 0.
	for i := range n {
		if p.rows == 0 || i%p.rows == 0 {
			person = r.NormFloat64()
		}
		v, in := make([]float64, p.numbers), make([]int, len(p.levels))
		x, m, y := p.drawn(r, v, in, person)
		if p.curved() {
			const draws = 40
			list := make([]float64, draws)
			for k := range list {
				list[k] = p.target(r, v, m, r.NormFloat64())
			}
			out.draws = append(out.draws, list)
		} else if p.noise != nil && p.curvature == onestep.Flat {
			// Targets end at -1 and 1, which moves their means.
			const draws = 300
			sum := 0.
			for range draws {
				sum += min(max(p.noise(r, v, m, r.NormFloat64()), -1), 1)
			}
			m = sum / draws
		}
		kept := 1.
		if p.missing != nil {
			kept -= p.missing(v, in)
		}
		out.rows, out.kept = append(out.rows, x), append(out.kept, kept)
		out.mean, out.y = append(out.mean, m), append(out.y, y)
	}
	return out
}

// project computes the true coefficients that a fit estimates: it solves E[u phi'(z'b) z] = 0 over
// a large sample of rows z, with the loss phi, with targets replaced by their means, for the
// formula and the row weights u of the fit. It returns the model's weights, and the sandwich
// standard deviations of the formula's coefficients for n rows without row weights.
func (p *population) project(of *crowd, f *inference.Fit, weighted bool) (w, sd []float64) {
	k, d := len(f.Columns), p.features()
	metric := make([]float64, k*k)
	at := 0
	for i := range k {
		for j := i; j < k; j++ {
			metric[i*k+j], metric[j*k+i] = f.Metric[at], f.Metric[at]
			at++
		}
	}
	z, u := make([][]float64, len(of.rows)), make([]float64, len(of.rows))
	for i, x := range of.rows {
		short := reduce(f, x)
		long := make([]float64, k)
		square := 0.
		for a := range k {
			for b := range k {
				long[a] += metric[a*k+b] * short[b]
			}
			square += long[a] * long[a]
		}
		z[i], u[i] = long, of.kept[i]
		if weighted {
			u[i] *= min(1, f.Reach*f.Reach/square)
		}
	}
	// Newton's method begins at the fit: a clipped loss may have no curvature at 0.
	start := mat.NewVecDense(k, nil)
	if start.SolveVec(mat.NewDense(k, k, metric), mat.NewVecDense(k, f.Beta)) != nil {
		return make([]float64, d), make([]float64, k)
	}
	b := start.RawVector().Data
	if p.curvature == onestep.Logistic { // from a fit that noise led far away the method would diverge
		clear(b)
	}
	var h *mat.SymDense
	for range 30 {
		g := mat.NewVecDense(k, nil)
		h = mat.NewSymDense(k, nil)
		for i, v := range z {
			margin := 0.
			for a := range k {
				margin += v[a] * b[a]
			}
			slope, curvature := of.slope(p, i, margin)
			for a := range k {
				g.SetVec(a, g.AtVec(a)+u[i]*slope*v[a])
				for c := a; c < k; c++ {
					h.SetSym(a, c, h.At(a, c)+u[i]*curvature*v[a]*v[c])
				}
			}
		}
		step := mat.NewVecDense(k, nil)
		var chol mat.Cholesky
		if !chol.Factorize(h) || chol.SolveVecTo(step, g) != nil {
			break
		}
		for a := range k {
			b[a] -= step.AtVec(a)
		}
		if mat.Norm(step, 2) < 1e-9 {
			break
		}
	}
	w = make([]float64, d)
	for i, c := range f.Columns {
		beta := 0.
		for j := range k {
			beta += metric[i*k+j] * b[j]
		}
		w[c.Feature] = beta
	}
	// The sandwich variance without row weights and without noise, from the drawn targets.
	s := mat.NewSymDense(k, nil)
	h = mat.NewSymDense(k, nil)
	unit := max(p.rows, 1)
	score := mat.NewVecDense(k, nil) // of a person, whose rows follow each other
	for i, v := range z {
		margin := 0.
		for a := range k {
			margin += v[a] * b[a]
		}
		slope, _ := p.slope(margin, of.y[i])
		_, curvature := of.slope(p, i, margin)
		h.SymRankOne(h, of.kept[i]*curvature/float64(unit), mat.NewVecDense(k, v))
		score.AddScaledVec(score, math.Sqrt(of.kept[i])*slope/float64(unit), mat.NewVecDense(k, v))
		if (i+1)%unit == 0 {
			s.SymRankOne(s, 1, score)
			score.Zero()
		}
	}
	var inverse, left, whole mat.Dense
	sd = make([]float64, k)
	if inverse.Inverse(h) != nil {
		return w, sd
	}
	left.Mul(&inverse, s)
	whole.Mul(&left, &inverse)
	p2 := mat.NewDense(k, k, metric)
	var pw, pwp mat.Dense
	pw.Mul(p2, &whole)
	pwp.Mul(&pw, p2)
	for i := range f.Columns {
		sd[i] = math.Sqrt(pwp.At(i, i) * float64(len(of.rows)/unit) / float64(p.n))
	}
	return w, sd
}

func reduce(f *inference.Fit, x []float32) []float64 {
	out := make([]float64, len(f.Columns))
	for i, c := range f.Columns {
		out[i] = float64(x[c.Feature])
	}
	return out
}

// slope returns the first and second derivative of the loss at the margin z for the target y. For
// log loss and the square y may be the target's mean.
func (p *population) slope(z, y float64) (slope, curvature float64) {
	switch {
	case p.curvature == onestep.Logistic:
		s := 1 / (1 + math.Exp(-z))
		return s - (1+y)/2, s * (1 - s)
	case p.curvature == onestep.Flat && !p.curved():
		return z - y, 1
	case p.curvature == onestep.Flat:
		slope, curvature = z-y, 1
	default:
		q := 1.
		if p.exposed {
			y, q = loss.Carried(loss.Real, y)
		}
		curvature = q * math.Exp(z)
		slope = curvature - (1+y)/2
	}
	if c := p.clip(); math.Abs(slope) > c {
		return math.Copysign(c, slope), 0
	}
	return slope, curvature
}

// run fits the records of a design repeatedly, with fresh records and fresh noise.
func (p *population) run(t *testing.T, fits int, seed uint64) *judged {
	t.Helper()
	out := newJudged(p)
	relation, declared := account.ReplaceOne, 0.
	if p.addOr {
		relation, declared = account.AddOrRemove, float64(p.n)
	}
	b, err := account.NewBudget(p.eps, 1e-6, relation)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse(p.loss)
	if err != nil {
		t.Fatal(err)
	}
	for fit := range fits {
		rows, targets := p.records(rand.New(rand.NewPCG(seed, uint64(fit))), l)
		var s session = &direct{p: p, rows: rows, targets: targets, relation: relation,
			noise: rand.New(rand.NewPCG(seed, 1<<40+uint64(fit)))}
		if *inferenceReal {
			if s, err = simulate.Open(simulate.Config{Rows: rows, Targets: targets, Loss: l, Budget: b, Declared: declared,
				Seed: seed<<20 + uint64(fit), Workers: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.add(p.fitted(t, l, b, s)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// fitted makes a fit with intervals from the session s.
func (p *population) fitted(t *testing.T, l loss.Loss, b account.Budget, s session) *inference.Fit {
	t.Helper()
	problem, err := optimize.NewProblem(l, b, s)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := onestep.Intervals{Level: .95, Columns: p.columns(), Curvature: p.curvature, Intercept: p.scale(),
		Features: p.features()}.Plan(context.Background(), problem)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Inference
}

// records draws the records of a fit. The rows of a unit follow each other, or are joined to one record
// of the loss l if a session is asked.
func (p *population) records(r *rand.Rand, l loss.Loss) (rows [][]float32, targets []float64) {
	for range p.n {
		person := r.NormFloat64()
		if p.rows == 0 {
			v, in := make([]float64, p.numbers), make([]int, len(p.levels))
			x, _, y := p.drawn(r, v, in, person)
			if p.missing != nil && r.Float64() < p.missing(v, in) {
				y = math.NaN()
			}
			rows, targets = append(rows, x), append(targets, y)
			continue
		}
		var xs [][]float32
		var ys []float64
		for range p.rows {
			x, _, y := p.one(r, person)
			xs, ys = append(xs, x), append(ys, y)
		}
		if !*inferenceReal {
			rows, targets = append(rows, xs...), append(targets, ys...)
			continue
		}
		x, y := loss.JoinRows(l.(loss.Units), xs, ys)
		rows, targets = append(rows, x), append(targets, y)
	}
	return rows, targets
}

// TestReported prints which share of the coefficients has an interval, as a function of n mu / p^1.5 for p
// columns of the formula with the intercept.
func TestReported(t *testing.T) {
	for _, p := range designs() {
		if p.name != "independent" && p.name != "independent, n 5,000" && p.name != "8 levels and 6 numbers, epsilon 2" {
			continue
		}
		p.eps = 1
		b, err := account.NewBudget(p.eps, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		columns := float64(len(p.columns()))
		for _, p.n = range []int{1000, 2000, 4000, 8000, 16000} {
			j := p.run(t, *inferenceFits, *inferenceSeed)
			fmt.Printf("| %g | %d | %.0f | %.2f | %.2f | %.2f | %.2f |\n", columns, p.n,
				float64(p.n)*math.Sqrt(b.Charge())/math.Pow(columns, 1.5), j.reported(), j.medianWidth(),
				j.coefficients.coverage(), j.share(j.short))
		}
	}
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// countsOf returns a function that draws counts, cuts them at most, and maps them to targets in
// [-1, 1]. With variance 0 they follow Poisson's law; with variance 1 their rate is multiplied by a
// gamma variable of this variance.
func countsOf(most, variance float64) func(r *rand.Rand, x []float64, mean, _ float64) float64 {
	return func(r *rand.Rand, _ []float64, mean, _ float64) float64 {
		rate := most * mean
		if variance > 0 {
			rate *= r.ExpFloat64()
		}
		count := 0.
		for at := r.ExpFloat64(); at < rate; at += r.ExpFloat64() {
			count++
		}
		return 2*min(count, most)/most - 1
	}
}

// odds returns the mean 2 p - 1 of a target in {-1, 1} whose second value has the log odds z.
func odds(z float64) float64 { return 2*sigmoid(z) - 1 }

// logOdds is the inverse of odds.
func logOdds(mean float64) float64 { return math.Log((1 + mean) / (1 - mean)) }

func uniform(r *rand.Rand) float64 { return 2*r.Float64() - 1 }

// designs returns the populations of the simulations. The method's cutoffs were chosen with those
// that are marked tuning.
func designs() []*population {
	linear := func(x []float64, by ...float64) (sum float64) {
		for j, v := range x {
			sum += v * by[j%len(by)]
		}
		return sum
	}
	levels := func(shares ...float64) func(r *rand.Rand) int {
		return func(r *rand.Rand) int {
			v := r.Float64()
			for i, s := range shares {
				if v -= s; v < 0 {
					return i
				}
			}
			return 0
		}
	}
	of := func(number func(r *rand.Rand, x []float64), level ...func(r *rand.Rand) int) func(r *rand.Rand, x []float64,
		in []int, person float64) {
		return func(r *rand.Rand, x []float64, in []int, _ float64) {
			number(r, x)
			for g := range in {
				in[g] = level[g%len(level)](r)
			}
		}
	}
	flat := func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = uniform(r)
		}
	}
	correlated := func(rho float64) func(r *rand.Rand, x []float64) {
		return func(r *rand.Rand, x []float64) {
			common := r.NormFloat64()
			for j := range x {
				x[j] = .4 * (math.Sqrt(rho)*common + math.Sqrt(1-rho)*r.NormFloat64())
			}
		}
	}
	skewed := func(r *rand.Rand, x []float64) {
		for j := range x {
			x[j] = -1 + .25*r.ExpFloat64()
			if j%2 == 1 {
				x[j] = .08 * r.NormFloat64() / math.Sqrt(r.ExpFloat64()+1e-3) // heavy tails
			}
		}
	}
	three, two := levels(.4, .3, .3), levels(.5, .5)
	logit := func(curvature float64) func(x []float64, in []int) float64 {
		return func(x []float64, in []int) float64 {
			z := .2 + linear(x, .6, -.4, 0)
			for g, l := range in {
				z += curvature * float64(l) * []float64{.5, -.3}[g%2]
			}
			return odds(z)
		}
	}
	// A person's effect correlates the targets of the person's rows and does not change the mean of any
	// row.
	ofPerson := func(r *rand.Rand, _ []float64, mean, person float64) float64 {
		if phi := .5 * math.Erfc(-(math.Sqrt(.4)*person+math.Sqrt(.6)*r.NormFloat64())/math.Sqrt2); phi < (1+mean)/2 {
			return 1
		}
		return -1
	}
	student := func(r *rand.Rand) float64 { // three degrees of freedom, variance 3
		return r.NormFloat64() / math.Sqrt((r.ExpFloat64()*2+math.Pow(r.NormFloat64(), 2))/3)
	}
	line := func(x []float64, in []int) float64 {
		z := .1 + linear(x, .2, -.1, 0)
		for _, l := range in {
			z += .06 * float64(l)
		}
		return z
	}
	rate := func(level float64) func(x []float64, in []int) float64 {
		return func(x []float64, in []int) float64 {
			z := level + linear(x, .4, -.25, 0)
			for g, l := range in {
				z += .2 * float64(l) * []float64{1, -.5}[g%2]
			}
			return math.Exp(z)
		}
	}
	const log = "logistic"
	L := onestep.Logistic
	return []*population{
		{name: "independent", loss: log, curvature: L, tuning: true, n: 20000, eps: 1, numbers: 5, levels: []int{3, 3},
			draw: of(flat, three), mean: logit(1)},
		{name: "1% outcome", loss: log, curvature: L, tuning: true, n: 50000, eps: 1, numbers: 4, levels: []int{2},
			draw: of(flat, two),
			mean: func(x []float64, in []int) float64 { return odds(-4.8 + linear(x, .6, -.4) + .3*float64(in[0])) }},
		{name: "independent, n 5,000", loss: log, curvature: L, n: 5000, eps: 1, numbers: 4, levels: []int{2}, draw: of(flat, two),
			mean: logit(1)},
		{name: "correlated .8", loss: log, curvature: L, n: 20000, eps: 1, numbers: 6, draw: of(correlated(.8)), mean: logit(1)},
		{name: "rare levels", loss: log, curvature: L, n: 20000, eps: 1, numbers: 3, levels: []int{6},
			draw: of(flat, levels(.5, .25, .15, .06, .03, .01)),
			mean: func(x []float64, in []int) float64 {
				return odds(linear(x, .6, -.4) + []float64{0, .3, -.3, .5, -.5, 1}[in[0]])
			}},
		{name: "20 levels, n 50,000", loss: log, curvature: L, n: 50000, eps: 1, numbers: 3, levels: []int{20},
			draw: of(flat, func(r *rand.Rand) int { return min(int(r.ExpFloat64()*4), 19) }),
			mean: func(x []float64, in []int) float64 { return odds(linear(x, .6, -.4) + math.Sin(float64(in[0]))/2) }},
		{name: "n 300,000", loss: log, curvature: L, n: 300000, eps: 1, numbers: 5, levels: []int{3, 3}, draw: of(flat, three),
			mean: logit(1)},
		{name: "crossed categories", loss: log, curvature: L, n: 20000, eps: 2, numbers: 2, levels: []int{3, 2, 6},
			crossed: true, draw: of(flat, three, two, func(*rand.Rand) int { return 0 }),
			mean: func(x []float64, in []int) float64 {
				return odds(.1 + linear(x, .6, -.4) + []float64{0, .5, -.3}[in[0]] + []float64{0, .4}[in[1]] +
					[]float64{0, 0, 0, -.6, 0, .8}[in[0]*2+in[1]])
			}},
		{name: "linear, crossed categories", loss: "squared(1)", n: 20000, eps: 1, numbers: 2, levels: []int{2, 2, 4},
			crossed: true, draw: of(flat, two, two, func(*rand.Rand) int { return 0 }),
			mean: func(x []float64, in []int) float64 {
				return -.1 + linear(x, .3, -.2) + .2*float64(in[0]) - .1*float64(in[1]) + .15*float64(in[0]*in[1])
			},
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .12*r.NormFloat64() }},
		{name: "skewed, heavy tails, wrong link", loss: log, curvature: L, n: 20000, eps: 1, numbers: 6, draw: of(skewed),
			mean: func(x []float64, in []int) float64 { return 1 - 2*math.Exp(-math.Exp(.3+linear(x, 1, .8, -.6))) }},
		{name: "cloglog, an interaction left out", loss: log, curvature: L, n: 20000, eps: 1, numbers: 4, levels: []int{2},
			draw: of(flat, two),
			mean: func(x []float64, in []int) float64 {
				return 1 - 2*math.Exp(-math.Exp(-.3+linear(x, .6, -.5)+.4*float64(in[0])+.5*x[0]*float64(in[0])))
			}},
		{name: "5% outcome, epsilon 4", loss: log, curvature: L, n: 20000, eps: 4, numbers: 4, levels: []int{2},
			draw: of(flat, two),
			mean: func(x []float64, in []int) float64 { return odds(-3.2 + linear(x, .6, -.4) + .5*float64(in[0])) }},
		{name: "3% outcome, n 100,000", loss: log, curvature: L, n: 100000, eps: 1, numbers: 4, levels: []int{2},
			draw: of(flat, two),
			mean: func(x []float64, in []int) float64 { return odds(-3.7 + linear(x, .6, -.4) + .4*float64(in[0])) }},
		{name: "2% outcome, epsilon 8", loss: log, curvature: L, n: 10000, eps: 8, numbers: 3, draw: of(flat),
			mean: func(x []float64, in []int) float64 { return odds(-4.1 + linear(x, .8, -.5)) }},
		{name: "a third without target", loss: log, curvature: L, n: 20000, eps: 1, numbers: 4, levels: []int{3},
			draw: of(flat, three), mean: logit(1), missing: func([]float64, []int) float64 { return 1. / 3 }},
		// The second of three classes against the first, of a multinomial model. A row of the third has no target.
		{name: "two of three classes", loss: log, curvature: L, n: 20000, eps: 1, numbers: 4, levels: []int{3},
			draw: of(flat, three), mean: logit(1), missing: func(x []float64, in []int) float64 {
				third := math.Exp(-.5 + linear(x, -.8, .5, 0, .3) + .4*float64(in[0]))
				return third / (1 + math.Exp(logOdds(logit(1)(x, in))) + third)
			}},
		{name: "strong effects", loss: log, curvature: L, n: 20000, eps: 1, numbers: 4, draw: of(flat),
			mean: func(x []float64, in []int) float64 { return odds(linear(x, 3, -2, 1, 0)) }},
		{name: "add-or-remove", loss: log, curvature: L, addOr: true, n: 10000, eps: 1, numbers: 4, levels: []int{3},
			draw: of(flat, three), mean: logit(1)},
		{name: "epsilon .5", loss: log, curvature: L, n: 20000, eps: .5, numbers: 4, levels: []int{2}, draw: of(flat, two),
			mean: logit(1)},
		{name: "epsilon 8, n 2,000", loss: log, curvature: L, n: 2000, eps: 8, numbers: 4, levels: []int{3}, draw: of(flat, three),
			mean: logit(1)},
		{name: "two columns nearly the same", loss: log, curvature: L, n: 20000, eps: 1, numbers: 4,
			draw: of(func(r *rand.Rand, x []float64) { flat(r, x); x[1] = .97*x[0] + .05*uniform(r) }), mean: logit(1)},
		{name: "four rows a person", loss: "units(logistic,4)", curvature: L, n: 5000, eps: 1, numbers: 4, levels: []int{2},
			rows: 4, draw: of(flat, two), mean: logit(1), noise: ofPerson},
		{name: "four rows a person, add-or-remove, epsilon 4", loss: "units(logistic,4,sum)", curvature: L, addOr: true, n: 4000,
			eps: 4, numbers: 4, levels: []int{2}, rows: 4, draw: of(flat, two), mean: logit(1), noise: ofPerson},
		{name: "linear, t3, heteroscedastic", loss: "squared(1)", n: 20000, eps: 1, numbers: 4, levels: []int{3},
			draw: of(flat, three), mean: line,
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .08*(1+x[0])*student(r) }},
		{name: "linear, short clip", loss: "squared(0.5)", n: 20000, eps: 1, numbers: 5, draw: of(correlated(.5)), mean: line,
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .12*r.NormFloat64() }},
		{name: "linear, a square left out, epsilon 4", loss: "squared(1)", n: 5000, eps: 4, numbers: 4, levels: []int{2},
			draw:  of(flat, two),
			mean:  func(x []float64, in []int) float64 { return line(x, in) + .3*x[0]*x[0] - .1 },
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .15*r.NormFloat64() }},
		{name: "linear, four rows a person", loss: "units(squared(1),4)", n: 5000, eps: 1, numbers: 4, rows: 4,
			draw: of(flat), mean: line,
			noise: func(r *rand.Rand, x []float64, mean, person float64) float64 {
				return mean + .1*person + .1*r.NormFloat64()
			}},
		{name: "rare ones in numbers", loss: log, curvature: L, n: 20000, eps: 1, numbers: 4,
			draw: of(func(r *rand.Rand, x []float64) {
				flat(r, x)
				for _, j := range []int{2, 3} {
					if x[j] = -1; r.Float64() < .05 {
						x[j] = 1
					}
				}
			}), mean: logit(1)},
		{name: "huber, t3, heteroscedastic", loss: "huber(0.15)", n: 20000, eps: 1, numbers: 4, levels: []int{3},
			draw: of(flat, three), mean: line,
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .08*(1+x[0])*student(r) }},
		{name: "huber, skewed errors", loss: "huber(0.2)", n: 20000, eps: 1, numbers: 5, draw: of(correlated(.5)), mean: line,
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean - .1 + .1*r.ExpFloat64() }},
		{name: "huber, one in twenty anywhere, epsilon 4", loss: "huber(0.1)", n: 5000, eps: 4, numbers: 4, levels: []int{2},
			draw: of(flat, two), mean: line,
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 {
				if r.Float64() < .05 {
					return uniform(r)
				}
				return mean + .08*r.NormFloat64()
			}},
		{name: "huber, a square left out, add-or-remove", loss: "huber(0.25)", addOr: true, n: 10000, eps: 1, numbers: 4,
			levels: []int{2}, draw: of(flat, two),
			mean:  func(x []float64, in []int) float64 { return line(x, in) + .3*x[0]*x[0] - .1 },
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .12*r.NormFloat64() }},
		{name: "huber, four rows a person", loss: "units(huber(0.3),4)", n: 10000, eps: 2, numbers: 4, rows: 4,
			draw: of(flat), mean: line,
			noise: func(r *rand.Rand, x []float64, mean, person float64) float64 {
				return mean + .1*person + .1*r.NormFloat64()
			}},
		{name: "counts, mean 1 of at most 8", loss: "poisson(0.375)", curvature: onestep.Exponential, n: 20000, eps: 1, numbers: 4,
			levels: []int{2}, draw: of(flat, two), mean: rate(-2.1), noise: countsOf(8, 0)},
		{name: "counts, more spread than Poisson", loss: "poisson(0.4)", curvature: onestep.Exponential, n: 50000, eps: 1,
			numbers: 4, levels: []int{3}, draw: of(flat, three), mean: rate(-2.3), noise: countsOf(10, 1)},
		{name: "counts, mean .2 of at most 4", loss: "poisson(0.5)", curvature: onestep.Exponential, n: 50000, eps: 1, numbers: 3,
			levels: []int{2}, draw: of(flat, two), mean: rate(-3), noise: countsOf(4, 0)},
		{name: "counts, rates that add, epsilon 4", loss: "poisson(0.375)", curvature: onestep.Exponential, n: 5000, eps: 4,
			numbers: 3, levels: []int{2}, draw: of(flat, two), noise: countsOf(8, 0),
			mean: func(x []float64, in []int) float64 { return .14 + linear(x, .06, -.03) + .04*float64(in[0]) }},
		{name: "counts, four rows a person, epsilon 2", loss: "units(poisson(0.375),4)", curvature: onestep.Exponential, n: 10000,
			eps: 2, numbers: 3, levels: []int{2}, rows: 4, draw: of(flat, two), mean: rate(-2.1),
			noise: func(r *rand.Rand, x []float64, mean, person float64) float64 {
				return countsOf(8, 0)(r, x, mean*math.Exp(.4*person-.08), person)
			}},
		{name: "counts, rates 1 to 50", loss: "poisson(0.375)", curvature: onestep.Exponential, n: 20000, eps: 2, numbers: 4,
			draw: of(flat), noise: countsOf(8, 0),
			mean: func(x []float64, _ []int) float64 { return math.Exp(-2.8 + linear(x, 1.2, -.8, 0)) }},
		{name: "counts with exposures, epsilon 2", loss: "poisson-rate(0.375,0.05)", exposed: true, curvature: onestep.Exponential,
			n: 20000, eps: 2, numbers: 3, levels: []int{2}, draw: of(flat, two), mean: rate(-1.8), noise: countsOf(8, 0)},
		{name: "curves of 6 knots", loss: log, curvature: L, n: 20000, eps: 1, numbers: 2, knots: 6, draw: of(flat),
			mean: func(x []float64, _ []int) float64 { return odds(.2 + 1.2*math.Sin(3*x[0]) - .8*math.Abs(x[1])) }},
		{name: "curves of 6 knots, thin ends, epsilon 2", loss: log, curvature: L, n: 20000, eps: 2, numbers: 2, levels: []int{3},
			knots: 6, draw: of(correlated(.3), three), mean: logit(1)},
		{name: "a curve of 16 knots, n 100,000", loss: log, curvature: L, n: 100000, eps: 1, numbers: 1, levels: []int{3},
			knots: 16, draw: of(flat, three),
			mean: func(x []float64, in []int) float64 { return odds(math.Sin(6*x[0]) + .4*float64(in[0])) }},
		{name: "linear, curves of 5 knots, heteroscedastic", loss: "squared(1)", n: 20000, eps: 1, numbers: 2,
			levels: []int{2}, knots: 5, draw: of(flat, two),
			mean:  func(x []float64, in []int) float64 { return .3*x[0]*x[0] - .2*x[1] + .1*float64(in[0]) },
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .1*(1.2+x[0])*r.NormFloat64() }},
		{name: "huber, a skewed curve of 8 knots, epsilon 4", loss: "huber(0.2)", n: 20000, eps: 4, numbers: 1,
			levels: []int{3}, knots: 8, draw: of(skewed, three),
			mean:  func(x []float64, in []int) float64 { return .4*math.Tanh(3*x[0]+2) + .05*float64(in[0]) },
			noise: func(r *rand.Rand, x []float64, mean, _ float64) float64 { return mean + .06*student(r) }},
		{name: "counts, curves of 5 knots, n 50,000", loss: "poisson(0.375)", curvature: onestep.Exponential, n: 50000, eps: 1,
			numbers: 2, knots: 5, draw: of(flat), noise: countsOf(8, 0),
			mean: func(x []float64, _ []int) float64 { return math.Exp(-2.2 + .8*x[0]*x[0] - .4*x[1]) }},
		{name: "8 levels and 6 numbers, epsilon 2", loss: log, curvature: L, n: 20000, eps: 2, numbers: 6, levels: []int{8},
			draw: of(correlated(.3), levels(.3, .2, .15, .1, .1, .05, .05, .05)), mean: logit(.3)},
	}
}
