package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestWhatIsCalibrated: the comparison of a fit pays for a calibration, with half as much again, if one of two classes is rare
// and the noise small beside its share. What it pays is no longer the steps'.
func TestWhatIsCalibrated(t *testing.T) {
	margin := func(share float64) []float64 { return []float64{math.Log(share / (1 - share))} }
	weighted, err := loss.NewWeighted(loss.Logistic(), loss.Weights{Classes: []float64{1, .5}})
	if err != nil {
		t.Fatal(err)
	}
	units := func(of loss.Loss, summed bool) loss.Loss {
		l, err := loss.NewUnits(of, 3, summed)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	of := func(name string) loss.Loss {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	counted := func(sigma float64) func(*optimize.Compare, *Base) {
		return func(_ *optimize.Compare, b *Base) { b.Sums, b.Sigma = []float64{.1, 1}, sigma }
	}
	const mu, charge = .2, .0016
	few := 5 / (.2 * math.Sqrt(charge/2)) // for counts without noise of the mean count
	// Under replace-one the sum of numbers in [-1, 1] moves by 2: 2 / (n sqrt(.0008)) is half of the share .1 for this n.
	least := 2 / (.05 * math.Sqrt(charge/2))
	for name, c := range map[string]struct {
		loss     loss.Loss
		share    float64
		records  float64
		relation account.Relation
		change   func(*optimize.Compare, *Base)
		want     bool
	}{
		"rare":                        {loss.Logistic(), .1, least * 1.001, account.ReplaceOne, nil, true},
		"too few records":             {loss.Logistic(), .1, least * .999, account.ReplaceOne, nil, false},
		"removed records move less":   {loss.Logistic(), .1, least * .501, account.AddOrRemove, nil, true},
		"too few if removed":          {loss.Logistic(), .1, least * .499, account.AddOrRemove, nil, false},
		"the other class is rare":     {loss.Logistic(), .9, least * 1.001, account.ReplaceOne, nil, true},
		"just rare":                   {loss.Logistic(), rareShare - .001, 1e6, account.ReplaceOne, nil, true},
		"not rare":                    {loss.Logistic(), rareShare + .001, 1e6, account.ReplaceOne, nil, false},
		"mean over a person's rows":   {units(loss.Logistic(), false), .1, 1e6, account.ReplaceOne, nil, true},
		"sum over a person's rows":    {units(loss.Logistic(), true), .1, 1e6, account.ReplaceOne, nil, false},
		"weights of classes":          {weighted, .1, 1e6, account.ReplaceOne, nil, false},
		"another loss":                {loss.Sigmoid(), .1, 1e6, account.ReplaceOne, nil, false},
		"intervals":                   {loss.Logistic(), .1, 1e6, account.ReplaceOne, func(c *optimize.Compare, _ *Base) { c.Keep = true }, false},
		"no intercept":                {loss.Logistic(), .1, 1e6, account.ReplaceOne, func(c *optimize.Compare, _ *Base) { c.Intercept = 0 }, false},
		"the base rate is noise":      {loss.Logistic(), .1, 1e6, account.ReplaceOne, func(_ *optimize.Compare, b *Base) { b.Resolved = false }, false},
		"half of a share":             {loss.Logistic(), .1, 1e6, account.ReplaceOne, func(c *optimize.Compare, _ *Base) { c.Charge = .199 * mu * mu }, true},
		"counts":                      {of("poisson(0.3)"), .1, few * 1.001, account.ReplaceOne, counted(0), true},
		"too few counts":              {of("poisson(0.3)"), .1, few * .999, account.ReplaceOne, counted(0), false},
		"rates":                       {of("poisson-rate(0.3,0.01)"), .1, few * 1.001, account.AddOrRemove, counted(0), true},
		"a certain mean count":        {of("poisson(0.3)"), .1, 1e6, account.ReplaceOne, counted(.0199), true},
		"an uncertain mean count":     {of("poisson(0.3)"), .1, 1e6, account.ReplaceOne, counted(.0201), false},
		"a stated mean count":         {of("poisson(0.3)"), .1, 1e6, account.ReplaceOne, nil, false},
		"mean over a person's counts": {units(of("poisson(0.3)"), false), .1, 1e6, account.ReplaceOne, counted(0), true},
		"sum over a person's counts":  {units(of("poisson(0.3)"), true), .1, 1e6, account.ReplaceOne, counted(0), false},
		"weighted counts":             {of("weighted(poisson(3),row)"), .1, 1e6, account.ReplaceOne, counted(0), false},
		"events of intervals":         {of("cloglog(3,0.01)"), .1, 1e6, account.ReplaceOne, counted(0), false},
		"odds of intervals":           {of("logit-hazard(3,0.01)"), .1, 1e6, account.ReplaceOne, counted(0), false},
		"negative binomial counts":    {of("negbinomial(1,3,20)"), .1, 1e6, account.ReplaceOne, counted(0), false},
		"counts by a network":         {of("network(2,tanh,poisson(3))"), .1, 1e6, account.ReplaceOne, counted(0), false},
		"a tenth of the steps' share": {loss.Logistic(), .1, 1e6, account.ReplaceOne, func(c *optimize.Compare, _ *Base) { c.Charge = 9 * mu * mu }, true},
	} {
		compare := optimize.Compare{Loss: c.loss, Charge: charge, Intercept: .5}
		base := Base{Margins: margin(c.share), Resolved: true}
		if c.change != nil {
			c.change(&compare, &base)
		}
		before := compare
		p := optimize.Problem{Mu: mu, Records: c.records, Relation: c.relation}
		got, left := (&Config{}).calibrated(&compare, p, base)
		spent := p.Mu*p.Mu - left.Mu*left.Mu
		if want := min(before.Charge/2, .1*mu*mu); !c.want {
			if got.Calibrate != 0 || got.Charge != before.Charge || left.Mu != p.Mu {
				t.Errorf("%s: %+v, and the steps lose %v", name, got, spent)
			}
		} else if !(math.Abs(got.Calibrate-want) <= 1e-15) || got.Charge != before.Charge+got.Calibrate || !(math.Abs(spent-want) <= 1e-15) {
			t.Errorf("%s: %+v, and the steps lose %v: must be %v", name, got, spent, want)
		}
		if compare.Charge != before.Charge || compare.Calibrate != 0 {
			t.Errorf("%s: the plan before was changed", name)
		}
	}
	rare := Base{Margins: margin(.1), Resolved: true}
	within := &Config{Model: Model{Radius: 3}} // a shifted intercept could leave the ball of model.radius
	if got, _ := within.calibrated(&optimize.Compare{Loss: loss.Logistic(), Charge: charge, Intercept: .5},
		optimize.Problem{Mu: mu, Records: 1e6, Relation: account.ReplaceOne}, rare); got.Calibrate != 0 {
		t.Errorf("a fit within a radius: %+v", got)
	}
	if got, _ := (&Config{}).calibrated(nil, optimize.Problem{Mu: mu}, Base{Margins: margin(.1), Resolved: true}); got != nil {
		t.Error("a fit without a comparison is calibrated")
	}
}

// TestPlansAnnounceCalibrations: a plan states the condition of a calibration, if the fit releases a base rate that decides.
func TestPlansAnnounceCalibrations(t *testing.T) {
	classes, counts := "if a class has at most 20% of the rows", "if noise is at most a fifth of the mean outcome"
	number := []string{`column: sick, classes: ["0", "1"]`, "column: sick, number: [0, 20]"}
	for name, c := range map[string]struct {
		change []string
		want   string
	}{
		"classes":             {[]string{"loss: logistic", "loss: logistic, family: lines"}, classes},
		"counts":              {append([]string{"loss: logistic", "loss: poisson(0.1), family: lines"}, number...), counts},
		"numbers":             {append([]string{"loss: logistic", "loss: huber(0.1), family: lines"}, number...), ""},
		"within a radius":     {[]string{"loss: logistic", "loss: logistic, family: lines, radius: 3"}, ""},
		"without a base rate": {[]string{"loss: logistic", "loss: logistic, family: lines", "privacy:", "train: {base: off}\nprivacy:"}, ""},
	} {
		config := config(t, 2, c.change...)
		budget, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		_, p, _, err := config.planFor(t.Context(), budget, 20_000, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.Calibrates != c.want {
			t.Errorf("%s: %q: must be %q", name, p.Calibrates, c.want)
		}
	}
}

// TestEdgesOfCalibration: a class of exactly the largest share is rare, and noise of exactly the largest size is small enough.
// The shares and noises of this test are exact.
func TestEdgesOfCalibration(t *testing.T) {
	margin := -math.Log(4)
	if share := 1 / (1 + math.Exp(-margin)); share != rareShare {
		t.Fatalf("a share of %v", share)
	}
	// The calibration is charged 2^-10, so that 640 records have noise of 2/(640/32) = .1.
	const charge = 0x1p-9
	for _, c := range []struct {
		margin, records float64
		want            bool
	}{
		{margin, 1e6, true}, {math.Nextafter(margin, -9), 1e6, true}, {margin + 1e-15, 1e6, false}, {-margin, 1e6, true}, {-margin - 1e-15, 1e6, false},
		{margin, 640, true}, {margin, math.Nextafter(640, 0), false}, {-margin, 640, true}, {-margin, 639, false},
	} {
		p := optimize.Problem{Mu: .2, Records: c.records, Relation: account.ReplaceOne}
		got, _ := (&Config{}).calibrated(&optimize.Compare{Loss: loss.Logistic(), Charge: charge, Intercept: .5}, p,
			Base{Margins: []float64{c.margin}, Resolved: true})
		if (got.Calibrate == charge/2) != c.want || (got.Calibrate == 0) == c.want {
			t.Errorf("%+v: a calibration of %v", c, got.Calibrate)
		}
	}
}

// TestRareClassIsPredictedAsOften: a fit of a class of 8% spends its whole budget and no more, and its mean prediction over the
// table is the released share of the class, up to six deviations of the residual's noise. Without the shift it is less.
func TestRareClassIsPredictedAsOften(t *testing.T) {
	const n = 20_000
	c := config(t, 2, "epsilon: 1", "epsilon: 4", "loss: logistic", "loss: logistic, family: lines")
	f := fittedTo(t, c, n, func(coin *rand.Rand, age, sex float64) (sick int) {
		if coin.Float64() < .08*(1+sex)/1.5*age/50 {
			sick = 1
		}
		return sick
	})
	k, whole := f.Compared, f.Budget.Charge()
	if sigma := 1.5 / (n * math.Sqrt(.01*whole)); k == nil || !(math.Abs(k.ResidualSigma-sigma) <= 1e-3*sigma) {
		t.Fatalf("%+v: the residual must have noise of %v", k, sigma)
	}
	if !(f.Charged <= whole && f.Charged > .999*whole) {
		t.Errorf("charged %v of %v", f.Charged, whole)
	}
	mean := func(shift float64) (sum float64) {
		for p, err := range f.Model.Predictions(t.Context(), model.Source{Path: c.DataPath()}) {
			if err != nil {
				t.Fatal(err)
			}
			sum += 1 / (1 + math.Exp(-p.Margins[0]-shift)) / n
		}
		return sum
	}
	share := 1 / (1 + math.Exp(-k.Margins[0]))
	if got := mean(0); !(math.Abs(got-share) <= 6*k.ResidualSigma) || k.Shrunk != 0 {
		t.Errorf("the mean prediction is %v: must be about %v (%+v)", got, share, k)
	}
	if before := mean(-k.Shift); !(math.Abs(before-share-k.Residual) <= 6*k.ResidualSigma) {
		t.Errorf("the mean prediction was %v: must be about %v", before, share+k.Residual)
	}
}

// fittedTo fits a table of n drawn rows, whose target is sick of their age and sex.
func fittedTo(t *testing.T, c *Config, n int, sick func(coin *rand.Rand, age, sex float64) int) *Fitted {
	t.Helper()
	coin := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString("age,sex,note,sick\n")
	for range n {
		age, sex := coin.IntN(100), coin.IntN(2)
		fmt.Fprintf(&b, "%d,%s,x,%d\n", age, []string{"f", "m"}[sex], sick(coin, float64(age), float64(sex)))
	}
	write(t, c.DataPath(), b.String())
	f, err := c.Fit(t.Context(), Options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCountsHaveTheirMean: the mean prediction of a calibrated fit of counts over the table is the released mean count, up to
// six deviations of the noise and what the shift leaves.
func TestCountsHaveTheirMean(t *testing.T) {
	const n, largest = 20_000, 20
	c := config(t, 2, "epsilon: 1", "epsilon: 30", "loss: logistic", "loss: poisson(0.1), family: lines",
		`column: sick, classes: ["0", "1"]`, "column: sick, number: [0, 20]")
	f := fittedTo(t, c, n, func(coin *rand.Rand, age, sex float64) (sick int) {
		for at := coin.ExpFloat64(); sick < largest; at += coin.ExpFloat64() {
			if at >= .6*(1+sex)*math.Exp(age/50)/math.E*(2*coin.Float64()) {
				break
			}
			sick++
		}
		return sick
	})
	k, whole := f.Compared, f.Budget.Charge()
	if k == nil || k.ResidualSigma == 0 || k.Shrunk != 0 || f.Base == nil || !(f.Charged <= whole && f.Charged > .999*whole) {
		t.Fatalf("%+v, charged %v of %v", k, f.Charged, whole)
	}
	mean := func(shift float64) (sum float64) {
		for p, err := range f.Model.Predictions(t.Context(), model.Source{Path: c.DataPath()}) {
			if err != nil {
				t.Fatal(err)
			}
			sum += math.Exp(p.Margins[0]+shift) / n
		}
		return sum / f.Base.Sums[0]
	}
	before := mean(-k.Shift) - 1
	if !(math.Abs(before-k.Residual) <= 6*k.ResidualSigma) {
		t.Errorf("the mean prediction differed by %v: must be about %v", before, k.Residual)
	}
	if got := mean(0) - 1; !(math.Abs(got) < math.Abs(before)/4+6*k.ResidualSigma) {
		t.Errorf("the mean prediction differs by %v, before the shift by %v", got, before)
	}
}

// TestCalibratedFitIsPublished: the published intercept is higher by the shift, and other weights are those of the fit.
func TestCalibratedFitIsPublished(t *testing.T) {
	s := config(t, 2).Schema
	w := slices.Repeat([]float64{.5}, s.Dim())
	got, err := Header{Loss: "logistic", Schema: s}.published(&Compared{Shift: .25, Margins: []float64{-3}}, w)
	if last := s.Dim() - 1; err != nil || !slices.Equal(got[:last], w[:last]) || !(math.Abs(got[last]-.5-.25*s.Scale()) <= 1e-12) {
		t.Errorf("%v, %v: must be %v with the last higher by %v", got, err, w, .25*s.Scale())
	}
}

// TestPlanForABaseRateCanBeMadeAgain: a plan that was made for a rare class leaves the plan before as it was, so that the
// same base rate gives the same charges again.
func TestPlanForABaseRateCanBeMadeAgain(t *testing.T) {
	c := config(t, 2, "loss: logistic", "loss: logistic, family: lines")
	budget, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	_, p, _, err := c.planFor(t.Context(), budget, 20_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	before := p.Compare.Charge
	var charges []float64
	for range 2 {
		begun, err := p.Begin(t.Context(), Base{Margins: []float64{-2.5}, Resolved: true, Sums: []float64{.924, .076}, Sigma: .001})
		if err != nil {
			t.Fatal(err)
		}
		charges = append(charges, begun.Summary.Predicted, begun.Compare.Charge)
	}
	if p.Compare.Charge != before || charges[1] != 1.5*before || !slices.Equal(charges[:2], charges[2:]) {
		t.Errorf("the predicted norm and the charge of the comparison %v, of the comparison before %v", charges, before)
	}
}
