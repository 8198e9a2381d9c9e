//go:build results

package results_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
)

// bootstraps is the number of draws of a parametric bootstrap.
const bootstraps = 60

// sheet is a table of records as rival methods see it: the columns of the formula, of which the
// references of categories are left out, and the targets. Rows have norm 1 at most.
type sheet struct {
	p *population
	x *mat.Dense
	y []float64
	// mu is the budget as mu-GDP: Gaussian noise of standard deviation sensitivity/mu costs all of it.
	mu float64
	r  *rand.Rand
}

func (p *population) sheet(rows [][]float32, targets []float64, mu float64, r *rand.Rand) *sheet {
	columns := p.columns()
	t := &sheet{p: p, x: mat.NewDense(len(rows), len(columns), nil), y: targets, mu: mu, r: r}
	for i, row := range rows {
		for j, c := range columns {
			t.x.Set(i, j, float64(row[c.Feature]))
		}
	}
	return t
}

// noise adds normal noise to the entries of v.
func (t *sheet) noise(v []float64, sigma float64) []float64 {
	out := slices.Clone(v)
	for j := range out {
		out[j] += sigma * t.r.NormFloat64()
	}
	return out
}

// ends are the lower and upper ends of the intervals of a method, by column.
type ends struct{ low, high []float64 }

func around(at, half []float64) (e ends) {
	for j, v := range at {
		e.low, e.high = append(e.low, v-half[j]), append(e.high, v+half[j])
	}
	return e
}

// pivot returns the bootstrap's intervals about an estimate: the estimate less the quantiles of the draws'
// distance from it.
func pivot(at []float64, draws [][]float64) (e ends) {
	for j, v := range at {
		var list []float64
		for _, d := range draws {
			list = append(list, d[j])
		}
		slices.Sort(list)
		n := float64(len(list) - 1)
		low, high := list[int(math.Floor(.025*n))], list[int(math.Ceil(.975*n))]
		e.low, e.high = append(e.low, 2*v-high), append(e.high, 2*v-low)
	}
	return e
}

// ridge fits logistic regression with (lambda/2)|b|^2 to the rows and targets. Steps divide by the largest
// curvature, whose factor is given.
func (t *sheet) ridge(y []float64, lambda float64, curvature *mat.Cholesky, start []float64) []float64 {
	n, k := t.x.Dims()
	b := slices.Clone(start)
	margins := mat.NewVecDense(n, nil)
	slopes := mat.NewVecDense(n, nil)
	g, step := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	for range 200 {
		margins.MulVec(t.x, mat.NewVecDense(k, b))
		for i := range n {
			slopes.SetVec(i, (sigmoid(margins.AtVec(i))-(1+y[i])/2)/float64(n))
		}
		g.MulVec(t.x.T(), slopes)
		for j := range b {
			g.SetVec(j, g.AtVec(j)+lambda*b[j])
		}
		if curvature.SolveVecTo(step, g) != nil {
			break
		}
		for j := range b {
			b[j] -= step.AtVec(j)
		}
		if mat.Norm(step, 2) < 1e-4 {
			break
		}
	}
	return b
}

// sandwich returns the standard errors of logistic regression with a ridge at b, without noise.
func (t *sheet) sandwich(b []float64, lambda float64) []float64 {
	n, k := t.x.Dims()
	h, s := mat.NewSymDense(k, nil), mat.NewSymDense(k, nil)
	for i := range n {
		row := mat.NewVecDense(k, t.x.RawRowView(i))
		p := sigmoid(mat.Dot(row, mat.NewVecDense(k, b)))
		slope := p - (1+t.y[i])/2
		h.SymRankOne(h, p*(1-p)/float64(n), row)
		s.SymRankOne(s, slope*slope/float64(n), row)
	}
	for j := range k {
		h.SetSym(j, j, h.At(j, j)+lambda)
	}
	var inverse, left, whole mat.Dense
	_ = inverse.Inverse(h)
	left.Mul(&inverse, s)
	whole.Mul(&left, &inverse)
	out := make([]float64, k)
	for j := range out {
		out[j] = math.Sqrt(whole.At(j, j) / float64(n))
	}
	return out
}

// outputs releases logistic regression with a ridge by output perturbation (Chaudhuri, Monteleoni and
// Sarwate 2011): a replaced record moves the minimum by 2/(n lambda) at most. It returns the intervals that
// add the known noise to the sandwich variance, which it is given for nothing, and those of a parametric
// bootstrap (Ferrando, Wang and Sheldon 2022), which draws targets from the released model at the table's
// rows, given for nothing as well, and releases a fit to each.
func (t *sheet) outputs(lambda float64) (known, bootstrap ends) {
	n, k := t.x.Dims()
	curvature := mat.NewSymDense(k, nil)
	curvature.SymOuterK(.25/float64(n), t.x.T())
	for j := range k {
		curvature.SetSym(j, j, curvature.At(j, j)+lambda)
	}
	var factor mat.Cholesky
	if !factor.Factorize(curvature) {
		panic("results: a ridge without a factor")
	}
	sigma := 2 / (float64(n) * lambda * t.mu)
	fit := t.ridge(t.y, lambda, &factor, make([]float64, k))
	at := t.noise(fit, sigma)
	half := t.sandwich(fit, lambda)
	for j, sd := range half {
		half[j] = inference.Quantile(.95) * math.Sqrt(sd*sd+sigma*sigma)
	}
	var draws [][]float64
	y := make([]float64, n)
	for range bootstraps {
		for i := range y {
			y[i] = -1
			if t.r.Float64() < sigmoid(mat.Dot(mat.NewVecDense(k, t.x.RawRowView(i)), mat.NewVecDense(k, at))) {
				y[i] = 1
			}
		}
		draws = append(draws, t.noise(t.ridge(y, lambda, &factor, at), sigma))
	}
	return around(at, half), pivot(at, draws)
}

// sums releases the second moments of rows and target together (sufficient statistics) and solves the normal
// equations: a replaced record moves the matrix of (x, y)(x, y)', of squared length 2 at most, by 2 sqrt 2
// in Frobenius norm. It returns the intervals of a parametric bootstrap (Ferrando, Wang and Sheldon 2022):
// moments of rows and targets drawn from the released ones as if errors were normal and of one variance,
// with noise of the release. ok is false if the released moments are no covariance.
func (t *sheet) sums() (e ends, ok bool) {
	n, k := t.x.Dims()
	sigma := 2 * math.Sqrt2 / (float64(n) * t.mu) // of a diagonal entry; sqrt 2 less off the diagonal
	rows, with := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	rows.SymOuterK(1/float64(n), t.x.T())
	with.MulVec(t.x.T(), mat.NewVecDense(n, t.y))
	with.ScaleVec(1/float64(n), with)
	square := 0.
	for _, v := range t.y {
		square += v * v / float64(n)
	}
	released := t.noisy(rows, sigma)
	cross := t.noise(with.RawVector().Data, sigma/math.Sqrt2)
	square += sigma * t.r.NormFloat64()
	at, root, ok := solve(released, cross)
	if !ok {
		return e, false
	}
	variance := square - mat.Dot(mat.NewVecDense(k, at), mat.NewVecDense(k, cross)) // of the errors
	if variance <= 0 {
		return e, false
	}
	var draws [][]float64
	for range bootstraps {
		z := mat.NewVecDense(k, t.noise(make([]float64, k), math.Sqrt(variance/float64(n))))
		errors := mat.NewVecDense(k, nil)
		errors.MulVec(root, z) // of the covariance of mean x e
		expected := mat.NewVecDense(k, nil)
		expected.MulVec(released, mat.NewVecDense(k, at))
		expected.AddVec(expected, errors)
		d, _, ok := solve(t.noisy(released, sigma), t.noise(expected.RawVector().Data, sigma/math.Sqrt2))
		if ok {
			draws = append(draws, d)
		}
	}
	return pivot(at, draws), len(draws) > bootstraps/2
}

// noisy adds the noise of a release to a symmetric matrix.
func (t *sheet) noisy(m *mat.SymDense, sigma float64) *mat.SymDense {
	k := m.SymmetricDim()
	out := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			s := sigma
			if i != j {
				s /= math.Sqrt2
			}
			out.SetSym(i, j, m.At(i, j)+s*t.r.NormFloat64())
		}
	}
	return out
}

// solve returns m^-1 v and the lower Cholesky factor of m. ok is false if m is not positive definite.
func solve(m *mat.SymDense, v []float64) (x []float64, root *mat.TriDense, ok bool) {
	var chol mat.Cholesky
	if !chol.Factorize(m) {
		return nil, nil, false
	}
	out := mat.NewVecDense(len(v), nil)
	if chol.SolveVecTo(out, mat.NewVecDense(len(v), v)) != nil {
		return nil, nil, false
	}
	root = new(mat.TriDense)
	chol.LTo(root)
	return out.RawVector().Data, root, true
}

// method collects the outcomes of a method's intervals.
type method struct {
	tally
	width []float64
	asked int
}

// judge adds a fit's intervals of all columns but the intercept.
func (m *method) judge(e ends, ok bool, w truth, columns []inference.Column) {
	m.asked += len(columns) - 1
	if !ok {
		return
	}
	hits, made := 0, 0
	for j, c := range columns[:len(columns)-1] {
		made++
		if v := w.w[c.Feature]; e.low[j] <= v && v <= e.high[j] {
			hits++
		}
		m.width = append(m.width, (e.high[j]-e.low[j])/(2*inference.Quantile(.95)*w.sd[j]))
	}
	m.add(hits, made)
}

func (m *method) print(p *population, name string) {
	if len(m.width) == 0 {
		fmt.Printf("| %s | %d | %g | %s | - | - | 0.00 |\n", p.name, p.n, p.eps, name)
		return
	}
	slices.Sort(m.width)
	fmt.Printf("| %s | %d | %g | %s | %.3f | %.2f | %.2f |\n", p.name, p.n, p.eps, name, m.coverage(),
		m.width[len(m.width)/2], total(m.made)/float64(m.asked))
}

// TestIntervalRivals prints coverage and width of intervals by other methods beside those of package
// inference, on the same rows at the same epsilon and delta. The others are output perturbation with known
// noise and the parametric bootstrap of dp-ci, written here from the published methods.
func TestIntervalRivals(t *testing.T) {
	ridges := []float64{.0003, .003, .03}
	named := regexp.MustCompile(*inferenceNamed)
	for _, p := range designs() {
		switch p.name {
		case "independent, n 5,000", "cloglog, an interaction left out", "linear, short clip",
			"linear, t3, heteroscedastic":
		default:
			continue
		}
		if !named.MatchString(p.name) {
			continue
		}
		if p.name[0] == 'c' {
			p.n = 5000 // a bootstrap fits a hundred times
		}
		b, err := account.NewBudget(p.eps, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		l, err := loss.Parse(p.loss)
		if err != nil {
			t.Fatal(err)
		}
		own, all := newJudged(p), map[string]*method{}
		var order []string
		of := func(name string) *method {
			if all[name] == nil {
				all[name], order = new(method), append(order, name)
			}
			return all[name]
		}
		var plain truth
		for fit := range *inferenceFits {
			rows, targets := p.records(rand.New(rand.NewPCG(*inferenceSeed, uint64(fit))), l)
			s := &direct{p: p, rows: rows, targets: targets, noise: rand.New(rand.NewPCG(*inferenceSeed, 1<<40+uint64(fit)))}
			f := p.fitted(t, l, b, s)
			if err := own.add(f); err != nil {
				t.Fatal(err)
			}
			if plain.w == nil && len(f.Columns) == len(p.columns()) {
				plain.w, plain.sd = p.project(own.crowd, f, false)
			}
			if plain.w == nil {
				t.Fatalf("%s: the first formula is short", p.name)
			}
			tab := p.sheet(rows, targets, math.Sqrt(b.Charge()), rand.New(rand.NewPCG(*inferenceSeed, 1<<41+uint64(fit))))
			if p.curvature == onestep.Flat {
				e, ok := tab.sums()
				of("sufficient statistics, parametric bootstrap").judge(e, ok, plain, p.columns())
				continue
			}
			for _, lambda := range ridges {
				known, bootstrap := tab.outputs(lambda)
				name := fmt.Sprintf("output perturbation, ridge %g, ", lambda)
				of(name+"known noise").judge(known, true, plain, p.columns())
				of(name+"parametric bootstrap").judge(bootstrap, true, plain, p.columns())
			}
		}
		fmt.Printf("| %s | %d | %g | stillpoint | %.3f | %.2f | %.2f |\n", p.name, p.n, p.eps, own.coefficients.coverage(),
			own.medianWidth(), own.reported())
		for _, name := range order {
			all[name].print(p, name)
		}
	}
}
