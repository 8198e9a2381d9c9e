package onestep_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// ofClasses returns n rows of four classes, of which the last is rare.
func ofClasses(seed uint64, n int, strength float64) (rows [][]float32, targets []float64) {
	r := rand.New(rand.NewPCG(seed, 8))
	rows, targets = generated(seed, n)
	for i, x := range rows {
		a, b := float64(x[0])/scale, float64(x[1])/scale
		at := []float64{0, strength * (a - .5*b), .4 - strength*a, -1 + .7*strength*b}
		sum := 0.
		for _, z := range at {
			sum += math.Exp(z)
		}
		u := r.Float64() * sum
		for k, z := range at {
			if u -= math.Exp(z); u < 0 {
				targets[i] = float64(k)
				break
			}
		}
	}
	return rows, targets
}

// softmaxRun runs the plan of four classes, from the released base rate.
func softmaxRun(t *testing.T, n int, epsilon, strength float64) (optimize.Result, *optimizetest.Oracle, [][]float32, []float64) {
	t.Helper()
	l, err := loss.Parse("softmax(4)")
	if err != nil {
		t.Fatal(err)
	}
	rows, targets := ofClasses(4, n, strength)
	whole := budget(t, epsilon, account.ReplaceOne)
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: whole, Seed: 3})
	problem, err := optimize.NewProblem(l, whole, o)
	if err != nil {
		t.Fatal(err)
	}
	rate := optimize.BaseRate{Charge: problem.Charge() / 50, Loss: l, Features: 3, Intercept: scale}
	base, err := rate.Ask(context.Background(), o, problem)
	if err != nil {
		t.Fatal(err)
	}
	problem = rate.Begin(problem, base)
	problem.Mu *= .9
	of := intervals()
	of.Curvature = onestep.Softmax
	res, o, err := runOf(t, problem, o, of)
	if err != nil {
		t.Fatal(err)
	}
	return res, o, rows, targets
}

// TestSoftmaxIsTheMaximumLikelihood: with a large budget the estimate is the maximum of the likelihood of the multinomial
// logit with weights of 0 for the first class, and the standard errors, also of a contrast of two other classes, are those of
// its information. The test computes both from the definition, by Newton's method.
func TestSoftmaxIsTheMaximumLikelihood(t *testing.T) {
	const n, classes, d = 6000, 4, 3
	res, _, rows, targets := softmaxRun(t, n, 400, 1)
	w := make([]float64, (classes-1)*d)
	var inverse mat.Dense
	for range 12 {
		g, h := mat.NewVecDense(len(w), nil), mat.NewDense(len(w), len(w), nil)
		for i, x := range rows {
			p, sum := make([]float64, classes), 0.
			for k := range p {
				z := 0.
				for j, v := range x {
					if k > 0 {
						z += w[(k-1)*d+j] * float64(v)
					}
				}
				p[k] = math.Exp(z)
				sum += p[k]
			}
			for a := range w {
				pa, xa := p[a/d+1]/sum, float64(x[a%d])
				slope := pa
				if targets[i] == float64(a/d+1) {
					slope--
				}
				g.SetVec(a, g.AtVec(a)+slope*xa)
				for b := range w {
					pb, same := p[b/d+1]/sum, 0.
					if a/d == b/d {
						same = pa
					}
					h.Set(a, b, h.At(a, b)+(same-pa*pb)*xa*float64(x[b%d]))
				}
			}
		}
		if err := inverse.Inverse(h); err != nil {
			t.Fatal(err)
		}
		var step mat.VecDense
		step.MulVec(&inverse, g)
		for a := range w {
			w[a] -= step.AtVec(a)
		}
	}
	for j, v := range res.W[:d] {
		if v != 0 {
			t.Errorf("weight %d of the first class is %v: must be 0", j, v)
		}
	}
	fit := res.Inference
	for a, want := range w {
		weights := make([]float64, classes*d)
		weights[d+a] = 1
		got, error := fit.Contrast(weights, 0), math.Sqrt(inverse.At(a, a))
		if !(math.Abs(res.W[d+a]-want) <= .1*error) || !(math.Abs(got.Estimate-want) <= .1*error) || !(math.Abs(got.Error/error-1) <= .06) {
			t.Errorf("weight %d: %v, with a standard error of %v: must be %v and %v", d+a, got.Estimate, got.Error, want, error)
		}
	}
	weights := make([]float64, classes*d)
	weights[d], weights[3*d] = 1, -1
	want := math.Sqrt(inverse.At(0, 0) + inverse.At(2*d, 2*d) - 2*inverse.At(0, 2*d))
	if got := fit.Contrast(weights, 0); !(math.Abs(got.Error/want-1) <= .06) || !(math.Abs(got.Estimate-w[0]+w[2*d]) <= .1*want) {
		t.Errorf("of two classes: %v with a standard error of %v: must be %v and %v", got.Estimate, got.Error, w[0]-w[2*d], want)
	}
}

// TestSoftmaxFromItsAnswers: the estimate, both covariances and the allowances of four classes follow from the released
// answers in the weights of all classes, of which the sum over classes is nothing: by pseudoinverses, with none of the
// product's coordinates.
func TestSoftmaxFromItsAnswers(t *testing.T) {
	const n, classes, d, all = 6000, 4, 3, 12
	res, o, _, _ := softmaxRun(t, n, 20, 4)
	fit := res.Inference
	spent := map[query.Kind]float64{}
	for _, a := range o.Asked {
		spent[a.Question.First().Kind()] += a.Answer.Charge / (.9 * .9 * budget(t, 20, account.ReplaceOne).Charge())
	}
	for k, want := range map[query.Kind]float64{query.SecondMoment: .10, query.WeightedGradient: .08 + .14 + .36,
		query.WeightedCurvature: .09 + .17, query.ScoreMoment: .05 + .01, query.WeightedMoment: 0} {
		if !(math.Abs(spent[k]-want) <= 1e-6) {
			t.Errorf("%v: %v of the budget: must be %v", k, spent[k], want)
		}
	}
	centre := mat.NewDense(all, all, nil)
	for a := range all {
		for b := range all {
			if a%d == b%d {
				centre.Set(a, b, -1./classes)
			}
		}
		centre.Set(a, a, 1-1./classes)
	}
	centred := func(m mat.Matrix) *mat.SymDense {
		var left, whole mat.Dense
		left.Mul(centre, m)
		whole.Mul(&left, centre)
		return inference.Symmetric(&whole)
	}
	function := func(m *mat.SymDense, f func(float64) float64) *mat.SymDense {
		var e mat.EigenSym
		if !e.Factorize(m, true) {
			t.Fatal("no eigenvalues")
		}
		var v, left, whole mat.Dense
		e.VectorsTo(&v)
		left.Apply(func(_, j int, x float64) float64 { return x * f(e.Values(nil)[j]) }, &v)
		whole.Mul(&left, v.T())
		return inference.Symmetric(&whole)
	}
	inverse := func(v float64) float64 {
		if math.Abs(v) < 1e-9 {
			return 0
		}
		return 1 / v
	}
	var gradients, curvatures []optimizetest.Asked
	var moment, middle optimizetest.Asked
	for _, a := range o.Asked {
		switch a.Question.First().Kind() {
		case query.SecondMoment:
			moment = a
		case query.WeightedGradient:
			gradients = append(gradients, a)
		case query.WeightedCurvature:
			curvatures = append(curvatures, a)
		case query.ScoreMoment:
			middle = a
		}
	}
	square := func(a optimizetest.Asked) *mat.SymDense {
		m, dim, err := query.Symmetric(a.Answer.Mean)
		if err != nil {
			t.Fatal(err)
		}
		return mat.NewSymDense(dim, m)
	}
	last := gradients[len(gradients)-1]
	metric := mat.NewDense(all, all, nil) // I (x) R
	for i, v := range metricOf(last.Question.First().Metric()) {
		for k := range classes {
			metric.Set(k*d+i/d, k*d+i%d, v)
		}
	}
	step := func(h *mat.SymDense, of optimizetest.Asked, by float64) (v, inMetric *mat.VecDense) {
		v, inMetric = mat.NewVecDense(all, nil), mat.NewVecDense(all, nil)
		inMetric.MulVec(function(centred(h), inverse), mat.NewVecDense(all, slices.Clone(of.Answer.Mean)))
		inMetric.ScaleVec(-by, inMetric)
		v.MulVec(metric, inMetric)
		return v, inMetric
	}
	h := square(curvatures[1])
	move, inMetric := step(h, last, 1)
	ahead, _ := step(square(curvatures[0]), last, .36/(.36+.14))
	w := mat.NewVecDense(all, nil)
	w.AddVec(mat.NewVecDense(all, last.Question.First().Point()), move)
	for a := range all {
		if want := w.AtVec(a) - w.AtVec(a%d); !(math.Abs(res.W[a]-want) <= 1e-5) {
			t.Errorf("weight %d is %v: must be %v", a, res.W[a], want)
		}
	}
	// The released curvature is halfway along the expected step.
	for a, v := range curvatures[1].Question.First().Point() {
		from := last.Question.First().Point()
		want := ahead.AtVec(a)/2 - ahead.AtVec(a%d)/2
		if !(math.Abs(v-from[a]-want) <= 1e-5) {
			t.Errorf("coordinate %d of the middle is %v beyond the step's beginning: must be %v", a, v-from[a], want)
		}
	}
	between := function(centred(h), inverse)
	covariance := func(of *mat.SymDense) *mat.SymDense {
		var left, whole mat.Dense
		whole.Product(metric, between, of, between, metric.T())
		left.CloneFrom(&whole)
		return inference.Symmetric(&left)
	}
	sampling := function(centred(square(middle)), func(v float64) float64 { return max(v, 0) / n })
	noisy, whole := mat.NewSymDense(all, nil), mat.NewSymDense(all, nil)
	length := mat.Dot(inMetric, inMetric)
	a2, s2 := last.Answer.Sigma*last.Answer.Sigma, curvatures[1].Answer.Sigma*curvatures[1].Answer.Sigma/2
	for a := range all {
		for b := a; b < all; b++ {
			noisy.SetSym(a, b, sampling.At(a, b)+a2*centre.At(a, b))
			whole.SetSym(a, b, noisy.At(a, b)+s2*(length*centre.At(a, b)+inMetric.AtVec(a)*inMetric.AtVec(b)))
		}
	}
	against := func(m *mat.SymDense, a, b int) float64 { // of the differences from the first class
		return m.At(a, b) - m.At(a%d, b) - m.At(a, b%d) + m.At(a%d, b%d)
	}
	total, alone, at := covariance(whole), covariance(sampling), 0
	for a := d; a < all; a++ {
		for b := a; b < all; b++ {
			unit := math.Sqrt(against(total, a, a) * against(total, b, b))
			if got, want := fit.Covariance[at], against(total, a, b); !(math.Abs(got-want) <= 1e-4*unit) {
				t.Errorf("covariance of weights %d and %d is %v: must be %v", a, b, got, want)
			}
			if got, want := fit.Sampling[at], against(alone, a, b); !(math.Abs(got-want) <= 1e-4*unit) {
				t.Errorf("sampling covariance of weights %d and %d is %v: must be %v", a, b, got, want)
			}
			at++
		}
	}

	// The allowances: of class k half of (h_k - h_0)(h_k + h_0 - 2 mean h) for the changes h of the margins, without what noise
	// explains, and with what was not foretold in one of the factors.
	steps := covariance(noisy)
	x2 := square(moment)
	shares := func(row []float64, v mat.Vector) (p []float64) {
		sum := 0.
		for k := range classes {
			z := 0.
			for j, x := range row {
				z += x * v.AtVec(k*d+j)
			}
			p = append(p, math.Exp(z))
			sum += p[k]
		}
		for k := range p {
			p[k] /= sum
		}
		return p
	}
	// expected is the mean square of x'(sum_k f_k v_k) over rows with the second moment m, and of its noise.
	expected := func(f []float64, m *mat.SymDense, v *mat.VecDense) (value float64, noise func(*mat.SymDense) float64) {
		form := func(of *mat.VecDense) *mat.VecDense {
			out := mat.NewVecDense(d, nil)
			for a := range all {
				out.SetVec(a%d, out.AtVec(a%d)+f[a/d]*of.AtVec(a))
			}
			return out
		}
		return mat.Inner(form(v), m, form(v)), func(c *mat.SymDense) float64 {
			sum := 0.
			for a := range all {
				for b := range all {
					sum += f[a/d] * f[b/d] * c.At(a, b) * m.At(a%d, b%d)
				}
			}
			return sum
		}
	}
	moves := func(f []float64, m *mat.SymDense) (far, left float64) {
		v, noise := expected(f, m, move)
		far = max(0, v-noise(steps))
		rest := mat.NewVecDense(all, nil)
		rest.SubVec(move, ahead)
		u, _ := expected(f, m, rest)
		return far, min(far, u+noise(steps)-noise(alone))
	}
	allowance := func(k int, p []float64, m *mat.SymDense) (value, most float64) {
		apart, sum := make([]float64, classes), make([]float64, classes)
		for j := range p {
			sum[j] = -2 * p[j]
		}
		apart[k], apart[0] = 1, -1
		sum[k]++
		sum[0]++
		far, left := moves(apart, m)
		other, rest := moves(sum, m)
		return (math.Sqrt(far*rest) + math.Sqrt(other*left)) / 4, max(far, other)
	}
	mean := []float64{x2.At(0, 2) / scale, x2.At(1, 2) / scale, x2.At(2, 2) / scale}
	before := mat.NewVecDense(all, nil)
	before.SubVec(w, move)
	tried := 0
	for k := 1; k < classes; k++ {
		if want, _ := allowance(k, shares(mean, w), x2); !(math.Abs(fit.Allowances[k-1]-want) <= .02*want) {
			t.Errorf("the allowance of class %d is %v: must be %v", k, fit.Allowances[k-1], want)
		} else if want > 0 {
			tried++
		}
		for j := range 2 {
			row, variance := make([]float64, d), x2.At(j, j)-mean[j]*mean[j]
			bound := -math.Copysign(scale, mean[j])
			for i := range row {
				row[i] = mean[i] + (x2.At(i, j)-mean[i]*mean[j])/variance*(bound-mean[j])
			}
			m := mat.NewSymDense(d, nil)
			m.SymRankOne(m, 1, mat.NewVecDense(d, row))
			to, most := allowance(k, shares(row, w), m)
			from, _ := allowance(k, shares(row, before), m)
			jump := math.Abs(bound-mean[j]) + variance/math.Abs(bound-mean[j])
			want := (max(to, from) + math.Pow(most, 1.5)/24) / jump
			if got := fit.Remainders[(k-1)*d+j]; !(math.Abs(got-want) <= .02*want) {
				t.Errorf("the remainder of class %d in column %d is %v: must be %v", k, j, got, want)
			} else if want > 0 {
				tried++
			}
		}
	}
	if tried < 5 || fit.Allowance != slices.Max(fit.Allowances) {
		t.Errorf("%d allowances above 0; the largest is %v", tried, fit.Allowance)
	}
}

// TestForeseeClasses: the forecast of several classes is the mean over the classes of what the information of the shares says of
// a column with the deviation 1: inverses of the 2 x 2 information of the coefficients against the first class, in which a
// gradient's noise, alike in all directions, has the covariance I - 11'/K. Less even classes let fewer columns be seen.
func TestForeseeClasses(t *testing.T) {
	l, err := loss.Parse("softmax(3)")
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000.
	rows, targets := ofClasses(4, 10, 1)
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: budget(t, 1, account.ReplaceOne)})
	p, err := optimize.NewProblem(l, budget(t, 1, account.ReplaceOne), o)
	if err != nil {
		t.Fatal(err)
	}
	of, last := intervals(), math.Inf(1)
	of.Curvature = onestep.Softmax
	for _, shares := range [][]float64{nil, {.2, .3, .5}, {.3, .65, .05}} {
		of.Known.Shares = shares
		if shares == nil {
			shares = []float64{1. / 3, 1. / 3, 1. / 3}
		}
		a, b := shares[1], shares[2]
		det := a*(1-a)*b*(1-b) - a*a*b*b
		inverse := [2][2]float64{{b * (1 - b) / det, a * b / det}, {a * b / det, a * (1 - a) / det}}
		mix := [2][2]float64{{2. / 3, -1. / 3}, {-1. / 3, 2. / 3}}
		var variance, noise float64
		for k := range 2 {
			variance += inverse[k][k] / 2
			for i := range 2 {
				for j := range 2 {
					noise += inverse[k][i] * mix[i][j] * inverse[j][k] / 2
				}
			}
		}
		total, sampling := of.Foresee(p, n, .5)
		reach := math.Sqrt(2.5 * 3) // beta times the columns: the noise is not small
		sigma := 2 * math.Sqrt2 * reach / (n * .5 * .6)
		if want := math.Sqrt(variance / n); !(math.Abs(sampling/want-1) <= 1e-9) {
			t.Errorf("%v: by sampling %v: must be %v", shares, sampling, want)
		}
		if want := math.Sqrt(variance/n + noise*sigma*sigma); !(math.Abs(total/want-1) <= 1e-6) {
			t.Errorf("%v: in all %v: must be %v", shares, total, want)
		}
		if size := of.Size(p, n, .5); !(size < last) {
			t.Errorf("%v: the size %v must be below %v", shares, size, last)
		} else {
			last = size
		}
	}
}
