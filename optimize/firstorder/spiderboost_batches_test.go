package firstorder_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// batchShares returns the shares of the records in anchors and in differences of a plan, 1 without samples.
func batchShares(p optimize.Plan) (anchor, difference float64) {
	s := p.Needs().Schedule
	if s == nil {
		return 1, 1
	}
	_, anchor = s.Step(0)
	_, difference = s.Step(1)
	return anchor, difference
}

// TestSpiderBoostTheorem9Batches computes b1 = n and b2 of Theorem 9 (Arora et al. 2023) a second time, as
// it is printed, with n mu/(2 sqrt(d)) for n epsilon/sqrt(d log(1/delta)). It also checks the two
// conditions of the theorem's proof: b2 >= 1/(T a^2), and b2 >= n/sqrt(T), which the amplification needs.
// The test fails if b2 is the smaller of its two terms, if anchors are sampled, or if b2 is divided by
// another number than n.
func TestSpiderBoostTheorem9Batches(t *testing.T) {
	b, sampled := budget(t), 0
	for i, p := range optimizetest.Problems() {
		for k, N := range []float64{60, 600, 3000} {
			if testing.Short() && (i+k)%3 > 0 {
				continue
			}
			c, d := p.Public.Constants, float64(p.Public.Dim())
			n := math.Ceil(N * math.Sqrt(d) / b.Mu())
			public := with(p.Public, size{Records: n, Mu: b.Mu()}, b)
			L1 := max(-c.Curvature.Lo, c.Curvature.Hi)
			if p.Public.Regularizer != nil {
				L1 += p.Public.Regularizer.Smoothness()
			}
			x := n * b.Mu() / (2 * math.Sqrt(d)) // stands for n epsilon/sqrt(d log(1/delta))
			first := math.Pow(c.Lipschitz*x/math.Sqrt(c.InitialGap*L1), 2./3)
			second := math.Cbrt(c.Lipschitz) * n / (math.Pow(x, 2./3) * math.Pow(L1*c.InitialGap, 1./6))
			b2 := min(math.Floor(max(first, second)), n)
			plan := planned(t, firstorder.SpiderBoost{Theorem: true, Steps: 8, Period: 4}, public)
			anchor, difference := batchShares(plan)
			if anchor != 1 || !close(difference*n, b2, 1e-9) {
				t.Errorf("%s, N = %v: batches of %v and %v records: want %v and %v", p.Name, N, anchor*n, difference*n, n, b2)
			}
			if difference < 1 {
				sampled++
			}
			whole := planned(t, firstorder.SpiderBoost{Theorem: true, Batches: firstorder.AllRecords}, public)
			T := float64(whole.Summary().Steps) + 1 // T and b2 are rounded down
			if least := min(max(x*x/T, n/math.Sqrt(T)), n); T < optimize.MostSteps && b2+1 < least*(1-1e-9) {
				t.Errorf("%s, N = %v: b2 = %v: the proof needs %v", p.Name, N, b2, least)
			}
		}
	}
	if sampled < 6 && !testing.Short() || sampled == 0 {
		t.Errorf("only %d plans sample", sampled)
	}
}

func planned(t *testing.T, a optimize.Algorithm, p optimize.Problem) optimize.Plan {
	t.Helper()
	plan, err := a.Plan(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// wideProblem is a problem of 100 coefficients on 100,000 records, under a relation.
func wideProblem(t *testing.T, relation account.Relation) (optimize.Problem, account.Budget) {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, relation)
	if err != nil {
		t.Fatal(err)
	}
	p := optimizetest.Problems()[0].Public
	p.Shape, p.Start = optimize.Vector(100), nil
	return with(p, size{Records: 1e5, Mu: b.Mu(), Neighbours: map[account.Relation]float64{account.ReplaceOne: 2,
		account.AddOrRemove: 1}[relation]}, b), b
}

// TestAutoBatchesKeepTheirSlack: with the noise that the accountant calibrates, the variance of a release
// on samples must be at most (1+slack)^2 times its variance on all records. The test allows 3 % more, for
// the rounding of the calibration and for the use of the limit of many releases. With batches a tenth
// smaller the variance must be larger. The test fails if the variance of the samples, or the price of
// amplification, is left out of the rule, or if the slack is not squared.
func TestAutoBatchesKeepTheirSlack(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, slack := range []float64{0, .3, 2} {
			if testing.Short() && (relation == account.ReplaceOne) != (slack == .3) {
				continue
			}
			c := firstorder.SpiderBoost{Steps: 60, Period: 20}
			p, _ := wideProblem(t, relation)
			all := planned(t, c, p)
			c.Batches, c.BatchSlack = firstorder.AutoBatches, slack
			if slack == 0 {
				slack = .1
			}
			plan := planned(t, c, p)
			b1, b2 := batchShares(plan)
			wholeAnchor, wholeDifference := firstorder.SpiderBoostCharges(all)
			anchor, difference := firstorder.SpiderBoostCharges(plan)
			for _, x := range []struct {
				name              string
				b, whole, sampled float64
			}{{"anchors", b1, wholeAnchor, anchor}, {"differences", b2, wholeDifference, difference}} {
				// Both variances in units of (v C/n)^2 d/whole, where C is the clip norm and whole the charge.
				v := p.Neighbours()
				ratio := func(b float64) float64 {
					return x.whole/x.sampled + (1/b-1)*p.Records*x.whole/(v*v*float64(p.Dim()))
				}
				want := (1 + slack) * (1 + slack)
				if got := ratio(x.b); got > want*1.03 || ratio(.9*x.b) < want*.99 || x.b >= 1 {
					t.Errorf("%v, slack %v: %s on %v of the records have %v times the variance, on a tenth fewer %v: want at most %v",
						relation, slack, x.name, x.b, got, ratio(.9*x.b), want)
				}
			}
			if got := plan.Summary().Passes; !close(got, 3*b1+2*57*b2, 1e-9) || got > all.Summary().Passes/2 {
				t.Errorf("%v, slack %v: %v passes, %v on all records", relation, slack, got, all.Summary().Passes)
			}
		}
	}
}

// lossOf is the distribution of the privacy loss of a release with noise multiplier z on a Poisson sample
// of the share q, when one record is replaced by its opposite. mass[i] is the probability of the loss (low
// + i) step, after losses are rounded to multiples of step: up if up is set, and down otherwise.
func lossOf(z, q, step float64, up bool) (low int, mass []float64) {
	normal := func(x float64) float64 { return .5 * math.Erfc(-x/math.Sqrt2) }
	below := func(x, shift float64) float64 { return (1-q)*normal(x/z) + q*normal((x-shift)/z) }
	loss := func(x float64) float64 {
		f := func(shift float64) float64 {
			return (1 - q) + q*math.Exp((x*shift-shift*shift/2)/(z*z))
		}
		return math.Log(f(1) / f(-1))
	}
	const cells = 40_000
	width := 24 * z / cells
	bin := func(x float64) int {
		if up {
			return int(math.Ceil(loss(x+width) / step))
		}
		return int(math.Floor(loss(x) / step))
	}
	low = bin(-12 * z)
	mass = make([]float64, bin(12*z)-low+1)
	for i := range cells {
		x := -12*z + float64(i)*width
		mass[bin(x)-low] += below(x+width, 1) - below(x, 1)
	}
	return low, mass
}

// deltaOf returns delta at epsilon of the releases of a schedule, by convolving their privacy losses.
func deltaOf(s *account.Schedule, epsilon float64, up bool) (delta float64) {
	const step = 1e-3
	low, mass := 0, []float64{1}
	type release struct{ z, q float64 }
	type losses struct {
		low  int
		mass []float64
	}
	seen := map[release]losses{}
	for i := range s.Len() {
		z, q := s.Step(i)
		l, ok := seen[release{z, q}]
		if !ok {
			l.low, l.mass = lossOf(z, q, step, up)
			seen[release{z, q}] = l
		}
		from, one := l.low, l.mass
		next := make([]float64, len(mass)+len(one)-1)
		for j, m := range mass {
			for k, x := range one {
				next[j+k] += m * x
			}
		}
		low, mass = low+from, next
	}
	for i, m := range mass {
		if l := float64(low+i) * step; l > epsilon {
			delta += m * (1 - math.Exp(epsilon-l))
		}
	}
	return delta
}

// TestBatchesAreCharged composes the privacy losses of the releases of a plan by direct convolution, which
// shares nothing with the accountant, for the theorem's batches and the rule's. At epsilon 1, delta must be
// at most 1e-6. At epsilon .97, delta must be above 1e-6. The test fails if differences have half the
// noise, or if anchors are not counted.
func TestBatchesAreCharged(t *testing.T) {
	p, _ := wideProblem(t, account.ReplaceOne)
	for i, c := range []firstorder.SpiderBoost{
		{Theorem: true}, {Batches: firstorder.AutoBatches}, {Batches: firstorder.AutoBatches, BatchSlack: 3},
	} {
		if testing.Short() && i != 1 {
			continue
		}
		c.Steps, c.Period = 6, 3
		s := planned(t, c, p).Needs().Schedule
		if s.Len() != 6 {
			t.Fatalf("%d releases", s.Len())
		}
		if least, most := deltaOf(s, 1, false), deltaOf(s, .97, true); least > 1e-6 || most < 1e-6 {
			t.Errorf("%+v: delta is at least %v at epsilon 1, at most %v at .97", c, least, most)
		}
	}
}

func TestBatchRulesAreChecked(t *testing.T) {
	p, _ := wideProblem(t, account.ReplaceOne)
	for want, c := range map[string]firstorder.SpiderBoost{
		"batch slack = 0.3":       {BatchSlack: .3},
		"batch slack = -1":        {Batches: firstorder.AutoBatches, BatchSlack: -1},
		"batch slack = NaN":       {Batches: firstorder.AutoBatches, BatchSlack: math.NaN()},
		"batches = all":           {Batches: firstorder.AllRecords, AnchorBatch: .5, DifferenceBatch: .5},
		"difference batch = 0":    {AnchorBatch: .5},
		"batches = batches(17)":   {Batches: 17},
		"anchor batch = 2":        {Batches: firstorder.AutoBatches, AnchorBatch: 2},
		"difference batch = -0.1": {Theorem: true, DifferenceBatch: -.1},
	} {
		if _, err := c.Plan(ctx, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v: want %q", c, err, want)
		}
	}
	// A plan whose calibration is cancelled is no plan.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if plan, err := (firstorder.SpiderBoost{Steps: 6, Period: 3, AnchorBatch: .5, DifferenceBatch: .25}).Plan(gone, p); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", plan, err)
	}
	// A share that is set must stay, and the rule must determine the share that is not set.
	c := firstorder.SpiderBoost{Steps: 6, Period: 3, Batches: firstorder.AutoBatches, BatchSlack: 1, AnchorBatch: .75}
	if b1, b2 := batchShares(planned(t, c, p)); b1 != .75 || !(b2 < .75) {
		t.Errorf("batches of %v and %v", b1, b2)
	}
	// On few records in many dimensions with little noise nothing is sampled.
	small := with(optimizetest.Problems()[0].Public, size{Records: 100, Mu: 20}, budget(t))
	if s := planned(t, firstorder.SpiderBoost{Steps: 2, Period: 2, Batches: firstorder.AutoBatches, BatchSlack: 1e-9},
		small).Needs().Schedule; s != nil {
		t.Errorf("sampled: %v", s.Steps())
	}
}
