package optimize

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// told is an oracle that gives stated answers, one after the other, and keeps the questions.
type told struct {
	Oracle
	answers []query.Release
	asked   []query.Question
}

func (o *told) All() query.Cohort { return query.NewCohort(account.Everyone, 1000) }

func (o *told) Ask(_ context.Context, q query.Question) (query.Release, error) {
	o.asked = append(o.asked, q)
	a := o.answers[0]
	if len(o.answers) > 1 {
		o.answers = o.answers[1:]
	}
	return a, nil
}

func lossOf(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// alike fails the test unless two numbers are equal to rounding.
func alike(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-10*math.Abs(want)+1e-14) {
		t.Errorf("%s: %v: must be %v", what, got, want)
	}
}

// TestBaseOfSharesByHand works out each number of the base rate from released shares of classes with weights.
func TestBaseOfSharesByHand(t *testing.T) {
	const sigma = .02
	for name, c := range map[string]struct{ weights, shares []float64 }{
		"weighted(logistic,2,3)": {[]float64{2, 3}, []float64{.3, .6}}, "weighted(softmax(3),2,1,4)": {[]float64{2, 1, 4}, []float64{.2, .5, .1}},
	} {
		b := BaseRate{Charge: .01, Loss: lossOf(t, name), Features: 2, Intercept: .5}
		o := &told{}
		for i := range c.shares { // the last class first
			j := len(c.shares) - 1 - i
			o.answers = append(o.answers, query.Release{Mean: []float64{c.weights[j] * c.shares[j]}, Sigma: c.weights[j] * sigma})
		}
		got, err := b.Ask(t.Context(), o, Problem{Records: 1000, Relation: account.ReplaceOne})
		if err != nil {
			t.Fatal(err)
		}
		var weight, gap, squares, losses, mean, sum float64
		P, spread := make([]float64, len(c.shares)), mat.NewSymDense(len(c.shares), nil)
		for j, s := range c.shares {
			P[j] = c.weights[j] * s
			weight += P[j]
			alike(t, name+": sum", got.Sums[j], P[j])
		}
		for j := range P {
			s, d := P[j], sigma*c.weights[j]
			P[j] /= weight
			gap -= s * math.Log(P[j])
			squares, losses, mean = squares+d*d/s, losses+math.Pow(d*math.Log(P[j]), 2), mean+d*d
			sum += math.Log(P[j]) / float64(len(P))
		}
		for j := range P {
			for k := range P {
				spread.SetSym(j, k, -P[j]*P[k])
			}
			spread.SetSym(j, j, P[j]*(1-P[j]))
		}
		excess := squares - mean/weight
		alike(t, name+": gap", got.Gap, gap)
		alike(t, name+": excess", got.Excess, excess)
		alike(t, name+": loss", got.Loss, gap+excess/2)
		alike(t, name+": noise of the loss", got.LossSigma, math.Sqrt(losses+excess*excess))
		alike(t, name+": noise of the shares", got.Sigma, sigma)
		if len(P) == 2 {
			alike(t, name+": curvature", got.Curvature, weight*P[0]*P[1])
			alike(t, name+": margin", got.Margins[0], math.Log(P[1]/P[0]))
			alike(t, name+": noise of the margin", got.MarginSigma[0], math.Sqrt(excess/(weight*P[0]*P[1])))
			continue
		}
		var e mat.EigenSym
		e.Factorize(spread, false)
		alike(t, name+": curvature", got.Curvature, weight*e.Values(nil)[len(P)-1])
		for j := range P {
			alike(t, name+": margin", got.Margins[j], math.Log(P[j])-sum)
			alike(t, name+": noise of a margin", got.MarginSigma[j], sigma*c.weights[j]/(P[j]*weight))
		}
	}
	// The base rate is resolved from three deviations of each share on. One record is the least share.
	for least, want := range map[float64]bool{2.99: false, 3.01: true} {
		if got := baseOfShares(loss.Logistic(), []float64{1, 1}, []float64{least * sigma, .5}, sigma, .001); got.Resolved != want {
			t.Errorf("a share of %v deviations: resolved %v", least, got.Resolved)
		}
	}
	o := &told{answers: []query.Release{{Mean: []float64{-1}, Sigma: 1e-9}, {Mean: []float64{1}, Sigma: 1e-9}}}
	got, err := BaseRate{Charge: .01, Loss: loss.Logistic(), Features: 2, Intercept: .5}.Ask(t.Context(), o, Problem{Records: 1000, Relation: account.ReplaceOne})
	if err != nil || !(math.Abs(got.Margins[0]-math.Log(.001/.999)) <= 1e-6) {
		t.Errorf("no record of a class: margins %v, %v", got.Margins, err)
	}
}

// TestBaseOfRatesByHand works out each number of the base rate of counts and of the time to an event, from a released mean
// count and a released mean exposure.
func TestBaseOfRatesByHand(t *testing.T) {
	const s, sigma, q, wide, records = .12, .004, .5, .01, 1000.
	rise := math.Exp(30.) - math.Exp(29.)
	ask := func(l loss.Loss, interval, s, q, sigma, wide, unit float64) Base {
		t.Helper()
		o := &told{answers: []query.Release{{Mean: []float64{s}, Sigma: sigma}, {Mean: []float64{q * unit}, Sigma: wide * unit}}}
		b := BaseRate{Charge: .01, Loss: l, Features: 2, Intercept: .5, Interval: interval}
		got, err := b.Ask(t.Context(), o, Problem{Records: records, Relation: account.ReplaceOne})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	rates := lossOf(t, "poisson-rate(3,0.01)")
	for name, first := range map[string]float64{"poisson(0.3)": .8, "poisson-rate(3,0.01)": .5, "logit-hazard(3,0.01)": .5} {
		o := &told{answers: []query.Release{{Mean: []float64{s}, Sigma: sigma}}}
		b := BaseRate{Charge: .01, Loss: lossOf(t, name), Features: 2, Intercept: .5}
		if _, err := b.Ask(t.Context(), o, Problem{Records: records, Relation: account.ReplaceOne}); err != nil {
			t.Fatal(err)
		}
		alike(t, name+": charge of the mean count", o.asked[0].Charge(), .01*first*usable)
		alike(t, name+": charge of the mean exposure", o.asked[1].Charge(), .01*(1-first)*usable)
	}
	for _, interval := range []float64{0, .4, 3} {
		got := ask(rates, interval, s, q, sigma, wide, rise)
		z := got.Margins[0]
		own := q
		if u := interval * math.Exp(z); u > 0 {
			own += s * interval * (1/u - 1/math.Expm1(u))
		}
		alike(t, "margin", z, math.Log(s/own))
		excess := sigma*sigma/s + s*wide*wide/(own*own)
		alike(t, "excess", got.Excess, excess)
		alike(t, "curvature", got.Curvature, s)
		alike(t, "noise of the margin", got.MarginSigma[0], math.Sqrt(excess/s))
		alike(t, "loss", got.Loss, s-s*z+excess/2)
		alike(t, "noise of the loss", got.LossSigma, math.Sqrt(sigma*sigma*z*z+math.Pow(wide*s/own, 2)+excess*excess))
		alike(t, "gap", got.Gap, s*(1-z))
		alike(t, "count", got.Sums[0], s)
		alike(t, "exposure", got.Sums[1], q)
	}
	alike(t, "gap above a rate of 1", ask(rates, 0, .4, .1, sigma, wide, rise).Gap, .4)
	// Both numbers must be three deviations of their own noise.
	for _, c := range []struct {
		s, q float64
		want bool
	}{{2.99 * sigma, .5, false}, {3.01 * sigma, 3.01 * wide, true}, {.5, 2.99 * wide, false}} {
		if got := ask(rates, 0, c.s, c.q, sigma, wide, rise); got.Resolved != c.want {
			t.Errorf("%+v: resolved %v", c, got.Resolved)
		}
	}
	// Noise, and the count of one record of the mean exposure, are the least.
	alike(t, "no count", ask(rates, 0, -1, q, sigma, wide, rise).Margins[0], math.Log(sigma/q))
	alike(t, "no count without noise", ask(rates, 0, -1, q, 0, 0, rise).Margins[0], math.Log(1/records))
	alike(t, "more exposure than there is", ask(rates, 0, s, 1.4, sigma, wide, rise).Margins[0], math.Log(s))
	alike(t, "no exposure", ask(rates, 0, s, -1, sigma, wide, rise).Margins[0], math.Log(s/wide))

	// With logit hazards q is the mean number of intervals at risk without the event.
	h := []float64{.5, .3, .2}
	oddsByHand(t, atOdds(Base{Sigma: sigma}, h, s, 1.9, wide), h, s, 1.9, sigma, wide)
	one := lossOf(t, "logit-hazard(3,1.52587890625e-05)")
	oddsByHand(t, ask(one, 0, s, .7, sigma, wide, 1), []float64{1}, s, .7, sigma, wide)
}

// oddsByHand works out each number of a base rate with baseline odds, by the probabilities of no event.
func oddsByHand(t *testing.T, got Base, odds []float64, s, q, sigma, wide float64) {
	t.Helper()
	z, left := got.Margins[0], 1.
	var bends, losses, risked float64
	for _, h := range odds {
		p := 1 / (1 + h*math.Exp(z))
		bends, losses, risked = bends+left*p*(1-p), losses-left*math.Log(p), risked+left
		left *= p
	}
	events := 1 - left
	alike(t, "events over intervals without one", events/(risked-events), s/q)
	excess, curvature := sigma*sigma/s+s*wide*wide/(q*q), s*bends/events
	alike(t, "excess of odds", got.Excess, excess)
	alike(t, "curvature of odds", got.Curvature, curvature)
	alike(t, "noise of a margin of odds", got.MarginSigma[0], math.Sqrt(excess/curvature))
	alike(t, "loss of odds", got.Loss, (s+q)*losses/risked-s*z+excess/2)
	alike(t, "noise of the loss of odds", got.LossSigma, math.Sqrt(sigma*sigma*z*z+math.Pow(wide*s/q, 2)+excess*excess))
	alike(t, "gap of odds", got.Gap, s*(1+max(0, -z)+math.Log(float64(len(odds)))))
}

// TestBaseOfMeansByHand works out the base rate of numbers from the two released changes of their squared loss: 1/2 - y and
// 1/2 + y, times the share of the records that are read.
func TestBaseOfMeansByHand(t *testing.T) {
	const sigma, records = .01, 1000
	ask := func(below, above, sigma float64) Base {
		t.Helper()
		o := &told{answers: []query.Release{{Mean: []float64{below}, Sigma: sigma}, {Mean: []float64{above}, Sigma: sigma}}}
		got, err := BaseRate{Charge: .01, Loss: lossOf(t, "squared(1)"), Features: 2, Intercept: .5}.Ask(t.Context(), o,
			Problem{Records: records, Relation: account.ReplaceOne})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask(.2, .6, sigma) // .8 of the records with the mean .25
	alike(t, "mean", got.Margins[0], .25)
	alike(t, "sum", got.Sums[0], .2)
	alike(t, "share", got.Sums[1], .8)
	alike(t, "noise of the sum", got.Sigma, sigma/math.Sqrt2)
	spread := sigma * math.Sqrt(.5+2*.25*.25) / .8
	alike(t, "noise of the mean", got.MarginSigma[0], spread)
	alike(t, "excess", got.Excess, .8*spread*spread)
	for read, want := range map[float64]bool{2.99: false, 3.01: true} {
		if got := ask(read*sigma/math.Sqrt2, read*sigma/math.Sqrt2, sigma); got.Resolved != want {
			t.Errorf("a share of %v deviations: resolved %v", read, got.Resolved)
		}
	}
	alike(t, "a share below its noise", ask(-.004, .004, sigma).Margins[0], .004/(math.Sqrt2*sigma))
	alike(t, "a share below one record", ask(-.0002, .0002, 0).Margins[0], .2)
}

// TestPublicBaseRates works out the base rates that a public rate or a public number states, and where a fit begins with one.
func TestPublicBaseRates(t *testing.T) {
	of := func(name string) BaseRate {
		return BaseRate{Charge: .01, Loss: lossOf(t, name), Features: 2, Intercept: .25}
	}
	for _, c := range []struct {
		name            string
		rate, mean, gap float64
	}{{"poisson(1)", .3, .3, .3 * (1 - math.Log(.3))}, {"poisson-rate(1,0.04)", .3, .06, .06 * (1 - math.Log(.3))}, {"poisson(1)", 1.5, 1, 1}} {
		got, ok := of(c.name).AtRate(c.rate)
		if !ok || !got.Resolved {
			t.Errorf("%+v: %+v", c, got)
		}
		alike(t, c.name+": margin", got.Margins[0], math.Log(c.rate))
		alike(t, c.name+": curvature", got.Curvature, c.mean)
		alike(t, c.name+": gap", got.Gap, c.gap)
	}
	if got, ok := of("squared(1)").AtValue(-.3); !ok || got.Margins[0] != -.3 {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, ok := of("gamma(2,0.1)").AtValue(-.3); !ok || !(math.Abs(got.Margins[0]-math.Log(.1+.9*.35)) <= 1e-12) {
		t.Errorf("%+v, %v: must be at %v", got, ok, math.Log(.1+.9*.35))
	}
	b, base := of("logistic"), Base{Margins: []float64{.5}, MarginSigma: []float64{.03}, Gap: .2}
	l2, err := loss.L2(.1)
	if err != nil {
		t.Fatal(err)
	}
	p := Problem{Constants: loss.Constants{InitialGap: .6931}, Shape: Shape{Features: 2, Margins: 1}}
	q := b.Begin(p, base)
	if !slices.Equal(q.Start, []float64{0, 2}) || q.Constants.InitialGap != .2 || q.startNoise != .12 {
		t.Errorf("begins at %v with the gap %v and the noise %v", q.Start, q.Constants.InitialGap, q.startNoise)
	}
	p.Regularizer = l2 // .2 more at the constant
	if q := b.Begin(p, base); !(math.Abs(q.Constants.InitialGap-.4) <= 1e-12) || q.Start == nil {
		t.Errorf("begins at %v with the gap %v", q.Start, q.Constants.InitialGap)
	}
	p.Constants.InitialGap = .39
	if q := b.Begin(p, base); q.Start != nil || q.Constants.InitialGap != .39 || q.Base == nil {
		t.Errorf("a constant that the regularizer makes worse: begins at %v with the gap %v", q.Start, q.Constants.InitialGap)
	}
	base.Gap = 0 // not known
	if q := b.Begin(p, base); q.Start == nil || q.Constants.InitialGap != .39 {
		t.Errorf("an unknown gap: begins at %v with the gap %v", q.Start, q.Constants.InitialGap)
	}
}

// TestBisectionByHand compares the questions and the result of a bisection with those of a loss whose slope is linear in the
// margin: the constants are half a width to both sides of the middle, the clip is L0 times the width, for sums of rows as many
// times as large, and the rise of the slopes is found.
func TestBisectionByHand(t *testing.T) {
	const records, best, rise, sigma = 1000, .3, .02, 1e-4
	for name, factor := range map[string]float64{"huber(0.5)": 1, "units(huber(0.5),4,sum)": 4, "units(huber(0.5),4)": 1} {
		l := lossOf(t, name)
		o := &rising{told: told{}, best: best, rise: rise, sigma: sigma}
		b := BaseRate{Charge: .01, Loss: l, Features: 2, Intercept: .5}
		got, err := b.Ask(t.Context(), o, Problem{Records: records, Relation: account.ReplaceOne})
		if err != nil {
			t.Fatal(err)
		}
		const width = 2. / 4096
		if len(o.asked) != 12 {
			t.Fatalf("%s: %d questions", name, len(o.asked))
		}
		lo, hi := -1., 1.
		for i, q := range o.asked {
			k := q.First()
			from, to, middle := k.Previous()[1]*.5, k.Point()[1]*.5, (lo+hi)/2
			if !(math.Abs(from-(middle-width/2)) <= 1e-12) || !(math.Abs(to-(middle+width/2)) <= 1e-12) || k.Previous()[0] != 0 {
				t.Errorf("%s: question %d goes from %v to %v, the middle is %v", name, i, from, to, middle)
			}
			alike(t, "clip", k.Ball().Radius, factor*l.Constants().Lipschitz*width)
			alike(t, "charge", q.Charge(), .01/12*usable)
			if middle > best {
				hi = middle
			} else {
				lo = middle
			}
		}
		alike(t, name+": margin", got.Margins[0], best)
		alike(t, name+": noise of the margin", got.MarginSigma[0], sigma/rise)
		alike(t, name+": excess", got.Excess, sigma*sigma/rise/width)
		if !got.Resolved {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// rising answers that the loss changes between two constants in proportion to the distance of their middle from the best.
type rising struct {
	told
	best, rise, sigma float64
}

func (o *rising) Ask(_ context.Context, q query.Question) (query.Release, error) {
	o.asked = append(o.asked, q)
	middle := (q.First().Point()[1] + q.First().Previous()[1]) / 2 * .5
	return query.Release{Mean: []float64{o.rise * (middle - o.best)}, Sigma: o.sigma}, nil
}

// TestRootByHand works out the weighted line through slopes: weights fall with the fourth power of the distance from the end of
// the bisection, over the farthest slope that noise of three deviations hides, at least the given distance and at most another.
// The excess counts the change of the slopes beside the root over the distance between them.
func TestRootByHand(t *testing.T) {
	list := []slope{{-.5, -.3, .05}, {.1, -.1, .05}, {.3, .14, .05}, {.5, .16, .05}, {.9, .6, .05}}
	for _, c := range []struct{ least, most, near float64 }{{.1, 2, .15}, {.4, 2, .4}, {.1, .12, .12}} {
		const end = .25
		var w, x, y, xx, xy float64
		for _, s := range list {
			v := 1 / (1 + math.Pow((s.at-end)/c.near, 4))
			w, x, y = w+v, x+v*s.at, y+v*s.change
		}
		for _, s := range list {
			v := 1 / (1 + math.Pow((s.at-end)/c.near, 4))
			xx, xy = xx+v*math.Pow(s.at-x/w, 2), xy+v*(s.at-x/w)*(s.change-y/w)
		}
		at, rise := root(list, end, c.least, c.most)
		alike(t, "rise", rise, xy/xx)
		if want := min(max(x/w-y/w*xx/xy, end-c.near), end+c.near); !(math.Abs(at-want) <= 1e-12) {
			t.Errorf("%+v: root %v: must be %v", c, at, want)
		}
	}
	steep := []slope{{0, .5, .05}, {.2, .52, .05}, {.4, .54, .05}}
	if at, _ := root(steep, .2, .1, 2); at != .1 {
		t.Errorf("root %v: must be .1 below the end at most", at)
	}
	if at, rise := root([]slope{{0, .5, .05}, {.2, .4, .05}}, .2, .1, 2); at != .2 || rise != 0 {
		t.Errorf("slopes that fall: %v, %v", at, rise)
	}
	for z, want := range map[float64]float64{.2: .2 * .14, .3: 0, .95: .1 * .6, -.9: .5 * .3} {
		if got := within(list, z, -1, 1); z != .3 && !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("beside %v: %v: must be %v", z, got, want)
		}
	}
}

// TestRoundsByHand works out the weighted averages of a round and the weights that its iterates have in them, with weights that
// fade and a landing, which the average begins from anew.
func TestRoundsByHand(t *testing.T) {
	const fade = .2
	s := &rounds{now: Round{Fade: fade}, average: []float64{1, 10}}
	list, weights := [][]float64{{2, 20}, {5, 30}, {-1, 0}}, []float64{1, 3, 2}
	for i, w := range list {
		s.add(w, weights[i])
	}
	// 1 fades to .64, 3 to 2.4, and 2 is fresh.
	sum := .64 + 2.4 + 2
	for j := range 2 {
		alike(t, "average", s.average[j], (.64*list[0][j]+2.4*list[1][j]+2*list[2][j])/sum)
	}
	for i, got := range parts(s.fresh) {
		alike(t, "weight of an iterate", got, []float64{.64, 2.4, 2}[i]/sum)
	}
	ball, err := convex.NewBall([]float64{0, 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.now.Set, s.smallest, s.least = ball, nil, math.Inf(1)
	r := &Run{at: []float64{0, 0}, W: []float64{0, 0}, rounds: s, out: &collector{}, plan: &Settled{}}
	r.Land(newAnswer(query.Release{Mean: []float64{3, 4}, Sigma: .5}, 1), .25)
	if !(math.Abs(r.W[0]-.6) <= 1e-12) || !(math.Abs(r.W[1]-.8) <= 1e-12) || !slices.Equal(r.at, r.W) || !slices.Equal(s.average, r.W) || s.sum != 1 || !slices.Equal(parts(s.fresh), []float64{0, 0, 0, 1}) {
		t.Errorf("lands at %v with the average %v and the weights %v", r.W, s.average, parts(s.fresh))
	}
	if l := r.trace.trace; len(l.StepSizes) != 1 || l.StepSizes[0] != .25 || l.Noise[0] != .5/.25 {
		t.Errorf("a landing is recorded as a step of %v with the noise %v", l.StepSizes, l.Noise)
	}
	s.add([]float64{0, 0}, 1)
	alike(t, "average after landing", s.average[0], .6*.8/1.8)
}

// TestPaceByHand: a step is shortened by the gradient's turn if the gradient points back by more than half, and by more than
// eight deviations of the noise of the product.
func TestPaceByHand(t *testing.T) {
	for _, c := range []struct {
		g           []float64
		noise, want float64
	}{
		{[]float64{-3, 0}, 0, 1 / 2.5}, {[]float64{-3, 0}, math.Sqrt(6/(8*math.Sqrt2)) * 1.001, 1}, {[]float64{-3, 0}, math.Sqrt(6/(8*math.Sqrt2)) * .999, 1 / 2.5},
		{[]float64{-1, 1.8}, 0, 1}, {[]float64{-1, 1.7}, 0, 1 / 1.5}, {[]float64{-99, 0}, 0, .3}, {[]float64{3, 0}, 0, 1},
	} {
		p := NewPace(1, .3)
		p.Next([]float64{2, 0}, c.noise)
		if got := p.Next(c.g, c.noise); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%+v: a step of %v", c, got)
		}
	}
}

// TestLastPointOfTheLastRound: the last round's whole weight goes to its last point, whatever rounds without a step follow.
func TestLastPointOfTheLastRound(t *testing.T) {
	for _, ends := range [][]int{{3, 6}, {1, 3, 6}, {3, 6, 6}} {
		weights := []float64{0, .2, .3, .5, .1, .4, .5}
		if lastAlone(weights, ends); !slices.Equal(weights, []float64{0, .2, .3, .5, 0, 0, 1}) {
			t.Errorf("rounds that end at %v: %v", ends, weights)
		}
	}
}

// TestBoundedMoves: of a run whose moves are bounded no coordinate moves farther than the bound, up or down.
func TestBoundedMoves(t *testing.T) {
	r := &Run{at: []float64{1, 1, 1, 1}}
	r.move([]float64{2, -4, .5, 0}, .5)
	if want := []float64{0, 3, .75, 1}; !slices.Equal(r.at, want) {
		t.Errorf("at %v: must be at %v", r.at, want)
	}
	r.Bounded(.3, func(g []float64) ([]float64, float64) { return g, 1 })
	r.at = []float64{1, 1, 1, 1}
	r.move([]float64{2, -4, .5, -.2}, .5)
	for j, want := range []float64{.7, 1.3, .75, 1.1} {
		alike(t, "a bounded move", r.at[j], want)
	}
}
