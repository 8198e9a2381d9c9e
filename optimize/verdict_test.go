package optimize_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

var long = flag.Bool("long", false, "simulate thousands of verdicts for every kind of fit")

// world is a table whose comparisons are simulated: distinct rows, each of which stands for the same number of
// records, and weights by which the targets were drawn.
type world struct {
	name    string
	loss    loss.Loss
	rows    [][]float32
	targets []float64
	teacher []float64
	best    []float64 // weights of the best constant
	floor   float64   // its mean loss
}

const (
	worldFeatures  = 4
	worldIntercept = .5
	distinct       = 200
	heavyRows      = 4 // rows of the rare level
)

// worldReach returns the interval of the products of v and legal rows: two numbers in [-1/2, 1/2], a rare level that
// is 0 or 1/2, and the intercept.
func worldReach(v []float64) (low, high float64) {
	at := worldIntercept * v[3]
	low, high = -(math.Abs(v[0])+math.Abs(v[1]))/2+min(v[2], 0)/2, (math.Abs(v[0])+math.Abs(v[1]))/2+max(v[2], 0)/2
	return low + at - 1e-9, high + at + 1e-9
}

// newWorld draws a table. share is the share of the second class, the mean count as a share of the largest, or the
// mean of numbers in [0, 1] from the lower to the upper bound.
func newWorld(t testing.TB, name string, share float64, seed uint64) *world {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{name: fmt.Sprintf("%s at %g", name, share), loss: l}
	r := rand.New(rand.NewPCG(seed, 9))
	of := loss.Outputs(l)
	row := loss.RowLoss(l)
	k := loss.Count(of)
	slopes := make([]float64, k)
	for j := range slopes {
		slopes[j] = 3 * r.NormFloat64()
	}
	least := loss.LeastExposure(l)
	members := 1
	units, _ := l.(loss.Units)
	for i := range distinct {
		if units != nil {
			members = 1 + i%units.Rows()
		}
		var rows [][]float32
		var targets []float64
		for range members {
			x := []float32{float32(r.Float64() - .5), float32(r.Float64() - .5), 0, worldIntercept}
			if i < heavyRows {
				x[2] = .5
			}
			signal := float64(x[0]) // in [-1/2, 1/2]
			y := 0.
			switch {
			case l.Target() == loss.Classes:
				y = float64(min(int((r.Float64()*.7+signal+.5-.35)*float64(k)), k-1))
				if r.Float64() < .5*(1-share) {
					y = 0
				}
				y = max(y, 0)
			case l.Target() == loss.Binary:
				// The rank of the signal with noise decides the class, so that the share is exact (below).
				y = signal + .25*r.NormFloat64()
			case loss.Counts(l):
				rate := share * math.Exp(2*signal)
				q := 1.
				if least > 0 {
					q = math.Exp(math.Log(least) * r.Float64())
				}
				s := min(rate*q*2*r.Float64(), 1)
				y = 2*s - 1
				if least > 0 {
					y = loss.Carry(loss.Real, y, q)
				}
			default:
				y = min(max(2*share-1+signal*min(share, 1-share)+.3*min(share, 1-share)*r.NormFloat64(), -1), 1)
			}
			if loss.RowWeighted(of) && l.Target() != loss.Binary {
				y = loss.Carry(l.Target(), y, r.Float64())
			}
			rows, targets = append(rows, x), append(targets, y)
		}
		if l.Target() == loss.Binary { // several rows of a unit have one class
			for j := range targets {
				targets[j] = targets[0]
			}
		}
		x, y := rows[0], targets[0]
		if units != nil {
			if l.Target() == loss.Binary {
				for j := range targets {
					targets[j] = class(targets[0], share)
				}
			}
			x, y = loss.JoinRows(units, rows, targets)
		} else if l.Target() == loss.Binary {
			y = class(targets[0], share)
			if loss.RowWeighted(of) {
				y = loss.Carry(loss.Binary, y, r.Float64())
			}
		}
		w.rows, w.targets = append(w.rows, x), append(w.targets, y)
	}
	w.best = w.constant(t, row, k)
	w.floor = w.mean(w.best)
	w.teacher = w.fitted()
	return w
}

// class returns the class of a row from its noisy signal: the second class for the largest ones. The quantile of the
// signal is that of a uniform plus a normal variate, approximately.
func class(signal, share float64) float64 {
	low, high := -2., 2.
	for range 60 {
		middle := (low + high) / 2
		above := 0.
		for i := range 101 {
			above += .5 * math.Erfc((middle-(float64(i)/100-.5))/(.25*math.Sqrt2)) / 101
		}
		if above > share {
			low = middle
		} else {
			high = middle
		}
	}
	if signal > low {
		return 1
	}
	return -1
}

// mean returns the mean loss of the world's records at the weights v.
func (w *world) mean(v []float64) float64 { return w.meanOf(v, false) }

// meanOf is mean or, if clamped is true, the mean loss of predictions clamped to the bounds of numbers and counts.
func (w *world) meanOf(v []float64, clamped bool) float64 {
	sum := 0.
	value := []float64{0}
	for i, x := range w.rows {
		l, y := w.loss, w.targets[i]
		switch l := l.(type) {
		case loss.RankOne:
			l.Values(value, clampedMargins(l, loss.MarginsAt(v, x), y, clamped), []float64{y})
		case loss.Margins:
			l.Values(value, loss.MarginsAt(v, x), []float64{y})
		case loss.Composed:
			z := clampedMargins(l, l.MarginsAt(v, x), y, clamped)
			switch of := l.Output().(type) {
			case loss.RankOne:
				of.Values(value, z, []float64{y})
			case loss.Margins:
				of.Values(value, z, []float64{y})
			}
		case loss.General:
			value[0] = l.Value(v, x, y)
		}
		sum += value[0]
	}
	return sum / distinct
}

func clampedMargins(l loss.Loss, z []float64, y float64, clamped bool) []float64 {
	switch {
	case !clamped || l.Target() != loss.Real:
	case loss.Counts(l):
		q := 1.
		if loss.LeastExposure(l) > 0 {
			_, q = loss.Carried(loss.Real, y)
		}
		z[0] = min(z[0], -math.Log(q))
	default:
		z[0] = min(max(z[0], -1), 1)
	}
	return z
}

// constant returns the weights of the best constant, by coordinate search over its margins.
func (w *world) constant(t testing.TB, row loss.Loss, k int) []float64 {
	t.Helper()
	z := make([]float64, k)
	at := func(z []float64) []float64 {
		v, ok := loss.ConstantWeights(row, worldFeatures, worldIntercept, z)
		if !ok {
			t.Fatalf("%s: no constant", w.name)
		}
		return v
	}
	for step := 4.; step > 1e-5; step /= 2 {
		for moved := true; moved; {
			moved = false
			for j := range z {
				for _, by := range []float64{step, -step} {
					before := w.mean(at(z))
					z[j] += by
					if w.mean(at(z)) < before-1e-13 {
						moved = true
					} else {
						z[j] -= by
					}
				}
			}
		}
	}
	return at(z)
}

// fitted returns weights near the minimum, by coordinate search from the best constant.
func (w *world) fitted() []float64 {
	v := append([]float64(nil), w.best...)
	if n, ok := loss.RowLoss(w.loss).(loss.Composed); ok {
		start := n.Start(worldFeatures)
		for j := range v {
			v[j] += start[j]
		}
	}
	now := w.mean(v)
	for step := 4.; step > .2; step /= 2 {
		for range 3 {
			for j := range v {
				for _, by := range []float64{step, -step} {
					v[j] += by
					if after := w.mean(v); after < now-1e-12 {
						now = after
						break
					}
					v[j] -= by
				}
			}
		}
	}
	return v
}

// between returns the weights at the share a of the way from v to u.
func between(v, u []float64, a float64) []float64 {
	out := make([]float64, len(v))
	for j := range out {
		out[j] = (1-a)*v[j] + a*u[j]
	}
	return out
}

// equal returns the weights on the line from v, which is below the best constant, to u, which is above, at which the
// mean loss is the best constant's.
func (w *world) equal(v, u []float64) []float64 {
	low, high := 0., 1.
	for range 60 {
		middle := (low + high) / 2
		if w.mean(between(v, u, middle)) < w.floor {
			low = middle
		} else {
			high = middle
		}
	}
	return between(v, u, high)
}

// kindsOfFit names the fits that fits makes.
var kindsOfFit = []string{"good", "noisy", "mediocre", "constant", "noise", "equal, overshot", "equal, by a heavy group",
	"equal, by the intercept", "heavy group", "wrong intercept", "diverged"}

// fits returns weights of every kind whose verdicts are simulated.
func (w *world) fits(seed uint64) map[string][]float64 {
	r := rand.New(rand.NewPCG(seed, 10))
	noise := func(v []float64, size float64) []float64 {
		out := append([]float64(nil), v...)
		for j := range out {
			out[j] += size * r.NormFloat64()
		}
		return out
	}
	heavy := append([]float64(nil), w.teacher...)
	shifted := append([]float64(nil), w.teacher...)
	k := loss.Count(loss.Outputs(w.loss))
	if _, network := loss.RowLoss(w.loss).(loss.Composed); network {
		for j := range heavy {
			heavy[j] *= 4
		}
		shifted[len(shifted)-1] += 4
	} else {
		for j := range k {
			heavy[j*worldFeatures+2] += float64(40 * (1 - 2*(j%2)))
			shifted[j*worldFeatures+3] += float64(8 * (1 - 2*(j%2)))
		}
	}
	over := between(w.best, w.teacher, 30)
	list := map[string][]float64{
		"good": w.teacher, "mediocre": between(w.best, w.teacher, .3), "constant": w.best,
		"noise": noise(w.best, 1), "noisy": noise(w.teacher, 2), "diverged": noise(between(w.best, w.teacher, -20), 60),
		"heavy group": heavy, "wrong intercept": shifted,
	}
	for name, far := range map[string][]float64{"equal, overshot": over, "equal, by a heavy group": heavy,
		"equal, by the intercept": shifted} {
		if w.mean(w.teacher) < w.floor && w.mean(far) > w.floor {
			list[name] = w.equal(w.teacher, far)
		}
	}
	return list
}

// compare simulates the releases of the base rate and of the comparison of the fit v.
func (w *world) compare(t testing.TB, v []float64, n int, epsilon float64, r account.Relation, seed uint64) optimize.Compared {
	t.Helper()
	b, err := account.NewBudget(epsilon, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	repeat := max(n/distinct, 1)
	o := optimizetest.New(optimizetest.Config{Rows: w.rows, Targets: w.targets, Loss: w.loss, Budget: b, Repeat: repeat, Seed: seed,
		Declared: float64(distinct * repeat)})
	p, err := optimize.NewProblem(w.loss, b, optimize.Stated(len(w.rows[0]), float64(distinct*repeat)))
	if err != nil {
		t.Fatal(err)
	}
	rate := optimize.BaseRate{Charge: optimize.BaseShare * b.Charge(), Loss: w.loss, Features: worldFeatures,
		Intercept: worldIntercept}
	base := optimize.Base{}
	if rate.Possible(r) {
		if base, err = rate.Ask(context.Background(), o, p); err != nil {
			t.Fatal(err)
		}
		p.Base = &base
	}
	c := optimize.Compare{Charge: .02 * b.Charge(), Loss: w.loss, Features: worldFeatures, Intercept: worldIntercept,
		Reach: worldReach}
	got, err := c.Ask(context.Background(), o, p, v, optimize.Found{})
	if err != nil {
		t.Fatal(err)
	}
	if last := o.Asked[len(o.Asked)-1]; last.Clipped > 0 && !got.LowerBound && w.loss.Target() != loss.Real {
		t.Errorf("%s: the differences of %d rows were clipped", w.name, last.Clipped)
	}
	return got
}

// tally counts the verdicts of one kind of fit.
type tally struct {
	runs, better, worse int
	falseBetter         int
	falseWorse          int
	bounded, unresolved int
	stated, covered     int // released losses of the constant, and those that lie within 2 deviations of it
	saved, spanned      int // stated shares saved, and those in their interval
}

// verdicts are the worlds and sizes whose verdicts are simulated.
var verdicts = []struct {
	loss   string
	shares []float64
}{
	{"logistic", []float64{.01, .05, .2, .5}},
	{"weighted(logistic,1,5)", []float64{.05, .3}},
	{"weighted(logistic,row)", []float64{.1, .5}},
	{"units(logistic,3)", []float64{.1}},
	{"units(logistic,3,sum)", []float64{.1}},
	{"tanh", []float64{.2}},
	{"ramp", []float64{.2}},
	{"hinge", []float64{.2}},
	{"smoothed-hinge(0.5)", []float64{.2}},
	{"softmax(3)", []float64{.5}},
	{"softmax(6)", []float64{.2}},
	{"units(softmax(3),3,sum)", []float64{.5}},
	{"poisson(3)", []float64{.02, .1}},
	{"poisson-rate(3,0.001)", []float64{.05}},
	{"huber(0.1)", []float64{.1, .5}},
	{"squared(1)", []float64{.05, .5}},
	{"absolute", []float64{.2}},
	{"pinball(0.9)", []float64{.3}},
	{"weighted(huber(0.1),row)", []float64{.5}},
	{"network(4,tanh,logistic)", []float64{.1, .5}},
	{"network(4,relu,squared(1))", []float64{.3}},
	{"network(3,tanh,softmax(3))", []float64{.5}},
}

// TestVerdictsAreTrue simulates comparisons of fits of every kind with the best constant: good, mediocre and noisy
// ones, noise alone, fits with a wrong intercept or a heavy group, diverged ones, and fits that are exactly as good as
// the constant. For every kind of loss and every kind of fit, for every loss and for all together, at most one of 40
// verdicts may be a false "better", and at most one of 40 a false "worse". The test fails if a number of false verdicts
// has a probability below 1e-9 at a rate of 1/40: it looks at less than 1,000 such numbers, so that it fails by chance
// for less than one of a million choices of seeds. The seeds are fixed. A stated loss of the constant must be within
// two deviations of its noise in 19 of 20 comparisons, and a share saved, which better fits alone have, in its interval
// in nine of ten (of numbers and counts not below it), judged in the same way. With -long the test makes six times as
// many comparisons, at more sizes, and prints the table of lab/results/outcome.md.
func TestVerdictsAreTrue(t *testing.T) {
	runs, sizes, epsilons := 8, []int{2000, 20000}, []float64{.5, 4}
	switch {
	case *long:
		runs, sizes, epsilons = 30, []int{1200, 20000}, []float64{.3, 1, 8}
	case testing.Short():
		runs = 2
	}
	seed := uint64(0)
	var all tally
	for _, v := range verdicts {
		for _, share := range v.shares {
			whole, byKind := tally{}, map[string]tally{}
			w := newWorld(t, v.loss, share, 5)
			fits := w.fits(6)
			for _, kind := range kindsOfFit {
				weights, drawn := fits[kind]
				if !drawn {
					continue
				}
				var c tally
				truth, clamped := w.mean(weights)-w.floor, w.meanOf(weights, true)-w.floor
				for _, n := range sizes {
					for _, epsilon := range epsilons {
						for i := range runs {
							relation := account.ReplaceOne
							if i%4 == 1 {
								relation = account.AddOrRemove
							}
							seed++
							c.add(w.loss, w.compare(t, weights, n, epsilon, relation, seed), truth, clamped, w.floor)
						}
					}
				}
				c.judge(t, w.name+", "+kind)
				t.Logf("%-30s %-24s %s", w.name, kind, c)
				byKind[kind] = c
				whole.plus(c)
			}
			if *long {
				fmt.Println(row(w.name, whole, byKind))
			}
			whole.judge(t, w.name)
			all.plus(whole)
		}
	}
	all.judge(t, "all")
	t.Logf("all: %s", all)
	if all.better == 0 || all.worse == 0 || all.bounded == 0 || all.unresolved == 0 {
		t.Errorf("all: %s: each kind of verdict must occur", all)
	}
}

// row returns a line of the table of lab/results/outcome.md for the comparisons of a world.
func row(name string, whole tally, kinds map[string]tally) string {
	falseBetter, falseWorse := 0., 0.
	for _, c := range kinds {
		falseBetter, falseWorse = max(falseBetter, rate(c.falseBetter, c.runs)), max(falseWorse, rate(c.falseWorse, c.runs))
	}
	covered := "-"
	if whole.stated >= 100 {
		covered = fmt.Sprintf("%.3f", rate(whole.covered, whole.stated))
	}
	good, diverged := kinds["good"], kinds["diverged"]
	return fmt.Sprintf("| %s | %d | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f | %.2f | %.2f | %s |", name, whole.runs,
		rate(whole.falseBetter, whole.runs), falseBetter, rate(whole.falseWorse, whole.runs), falseWorse, rate(good.better, good.runs),
		rate(diverged.worse, diverged.runs), rate(whole.bounded, whole.runs), rate(whole.unresolved, whole.runs), covered)
}

func rate(k, n int) float64 { return float64(k) / max(float64(n), 1) }

func (c tally) String() string {
	return fmt.Sprintf("%6d comparisons: better %.3f, worse %.3f, false %.4f and %.4f, lower bounds %.2f, unresolved %.2f, "+
		"loss of the constant covered %.3f of %d, share saved %.3f of %d", c.runs, rate(c.better, c.runs), rate(c.worse, c.runs), rate(c.falseBetter, c.runs),
		rate(c.falseWorse, c.runs), rate(c.bounded, c.runs), rate(c.unresolved, c.runs), rate(c.covered, c.stated), c.stated,
		rate(c.spanned, c.saved), c.saved)
}

// add counts a comparison of a fit whose mean loss is above the best constant's by truth, and that of its clamped
// predictions by clamped.
func (c *tally) add(l loss.Loss, got optimize.Compared, truth, clamped, floor float64) {
	const equal = 1e-12
	c.runs++
	switch got.Verdict() {
	case optimize.Better:
		c.better++
		if clamped >= -equal {
			c.falseBetter++
		}
	case optimize.Worse:
		c.worse++
		if truth <= equal {
			c.falseWorse++
		}
	}
	if got.LowerBound {
		c.bounded++
	}
	if got.Unresolved {
		c.unresolved++
	}
	if _, low, high, ok := got.Explained(); ok && clamped < -equal {
		c.saved++
		// Where predictions beyond the bounds are cut at the largest difference, the share is stated too small.
		if share := -clamped / floor; low <= share && (share <= high || l.Target() == loss.Real) {
			c.spanned++
		}
	}
	if got.ConstantSigma > 0 && !got.Unresolved {
		c.stated++
		if math.Abs(got.Constant-floor) <= 2*got.ConstantSigma {
			c.covered++
		}
	}
}

func (c *tally) plus(d tally) {
	c.runs, c.better, c.worse = c.runs+d.runs, c.better+d.better, c.worse+d.worse
	c.falseBetter, c.falseWorse = c.falseBetter+d.falseBetter, c.falseWorse+d.falseWorse
	c.bounded, c.unresolved = c.bounded+d.bounded, c.unresolved+d.unresolved
	c.stated, c.covered = c.stated+d.stated, c.covered+d.covered
	c.saved, c.spanned = c.saved+d.saved, c.spanned+d.spanned
}

func (c tally) judge(t *testing.T, name string) {
	t.Helper()
	if most := mostFalse(c.runs, 1./40); c.falseBetter > most || c.falseWorse > most {
		t.Errorf("%s: %d false better, %d false worse of %d: at most %d may be", name, c.falseBetter, c.falseWorse, c.runs, most)
	}
	if most := mostFalse(c.saved, 1./10); c.saved-c.spanned > most {
		t.Errorf("%s: the share saved is outside of its interval in %d of %d: in at most %d may it be", name, c.saved-c.spanned,
			c.saved, most)
	}
	if most := mostFalse(c.stated, 1./20); c.stated-c.covered > most {
		t.Errorf("%s: the loss of the constant is off in %d of %d: in at most %d may it be", name, c.stated-c.covered, c.stated, most)
	}
}

// mostFalse returns the largest number of events among runs whose probability is at least 1e-9 if each has the given
// rate.
func mostFalse(runs int, rate float64) int {
	above, sum := math.Log(1-rate)*float64(runs), 0.
	for k := 0; ; k++ {
		if sum += math.Exp(above); 1-sum < 1e-9 {
			return k
		}
		above += math.Log(float64(runs-k) / float64(k+1) * rate / (1 - rate))
	}
}
