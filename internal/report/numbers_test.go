package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// number parses a number in the form in which pages write it.
func number(t *testing.T, text string) float64 {
	t.Helper()
	s, scale := strings.ReplaceAll(text, ",", ""), 1.0
	if share, ok := strings.CutSuffix(s, " %"); ok {
		s, scale = share, .01
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "μ = "), "ε = ")
	s = strings.ReplaceAll(s, "−", "-")
	if mantissa, power, ok := strings.Cut(s, "×10"); ok {
		power = strings.NewReplacer("⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7",
			"⁸", "8", "⁹", "9").Replace(power)
		s = mantissa + "e" + power
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatalf("no number: %q", text)
	}
	return x * scale
}

// shows fails the test unless text shows the number want, rounded to the given number of digits.
// what names the number in the error.
func shows(t *testing.T, what, text string, want float64, digits int) {
	t.Helper()
	if got := number(t, text); !(math.Abs(got-want) <= math.Abs(want)*math.Pow(10, 1-float64(digits))*1.01) {
		t.Errorf("%s: shows %s: must be %v", what, text, want)
	}
}

// factOf returns the fact with this name in a section.
func factOf(t *testing.T, s Section, name string) Fact {
	t.Helper()
	for _, p := range s.Parts {
		if facts, ok := p.(Facts); ok {
			for _, f := range facts {
				if f.Name == name {
					return f
				}
			}
		}
	}
	t.Fatalf("no fact %q in %q", name, s.Title)
	return Fact{}
}

// partOf returns the first part of type T in a section for which the function is returns true.
func partOf[T any](t *testing.T, s Section, is func(T) bool) T {
	t.Helper()
	for _, p := range s.Parts {
		if x, ok := p.(T); ok && is(x) {
			return x
		}
	}
	t.Fatalf("no such part in %q", s.Title)
	panic("unreachable")
}

// root returns a zero of an increasing function, by bisection.
func root(low, high float64, f func(float64) float64) float64 {
	for range 200 {
		if x := (low + high) / 2; f(x) < 0 {
			low = x
		} else {
			high = x
		}
	}
	return low
}

// profile is delta(epsilon) of mu-GDP (Balle and Wang 2018, Theorem 8).
func profile(mu, epsilon float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(mu/2-epsilon/mu) - math.Exp(epsilon)*phi(-mu/2-epsilon/mu)
}

func read(t *testing.T, f folder) *Fit {
	t.Helper()
	fit, err := ReadFit(t.Context(), f.write(t))
	if err != nil {
		t.Fatal(err)
	}
	return fit
}

// TestCostInNumbers recomputes the page's numbers about the cost of a fit from (epsilon, delta) and the
// events alone.
func TestCostInNumbers(t *testing.T) {
	f := people(t, "p", 50)
	f.events = f.events[:20]
	f.complete = false
	f.ledger = entries(f.budget, "x.csv", "x.csv", "x.csv")
	fit := read(t, f)
	a, err := fit.attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := fit.cost(t.Context(), a)
	mu := root(1e-3, 5, func(mu float64) float64 { return profile(mu, 1) - 1e-6 })
	e := f.events[0]
	charged := 20 * math.Pow(e.Sensitivity/e.Sigma, 2)
	shows(t, "mu", factOf(t, s, "Budget (privacy filter)").Value, mu, 5)
	running := factOf(t, s, "Spent (running total)")
	shows(t, "spent", running.Value, charged, 5)
	of, _, _ := strings.Cut(strings.TrimPrefix(running.Note, "of μ² = "), ",")
	shows(t, "mu^2", of, mu*mu, 5)
	shows(t, "releases", factOf(t, s, "Releases").Value, 20, 3)
	shows(t, "recomputed", strings.TrimPrefix(factOf(t, s, "Guarantee").Note, "recomputed here from the certificate: "), 1,
		6)

	// The likelihood ratio test of N(0, 1) against N(mu, 1) with threshold x.
	power := func(alarm float64) float64 {
		x := root(-10, 10, func(x float64) float64 { return alarm - math.Erfc(x/math.Sqrt2)/2 })
		return math.Erfc((x-mu)/math.Sqrt2) / 2
	}
	curve := partOf(t, s, func(p Plot) bool { return strings.HasPrefix(p.Title, "The best attack") })
	for i, x := range curve.Series[0].X {
		if x == 0 || x == 1 {
			continue
		}
		if y := curve.Series[0].Y[i]; !(math.Abs(y-power(x)) <= 1e-9) {
			t.Errorf("power at %v: %v: must be %v", x, y, power(x))
		}
		// Both inequalities of (epsilon, delta) bound a test with false-alarm probability x.
		want := min(1, math.E*x+1e-6, 1-math.Exp(-1)*(1-1e-6-x))
		if y := curve.Series[1].Y[i]; !(math.Abs(y-want) <= 1e-12) {
			t.Errorf("(epsilon, delta) at %v: %v: must be %v", x, y, want)
		}
	}
	numbers := partOf(t, s, func(x Table) bool { return x.Title == "The same in numbers" })
	for i, x := range []float64{.001, .01, .05, .1, .5} {
		shows(t, "false alarms", numbers.Rows[i].Cells[0], x, 9)
		shows(t, "recognised", numbers.Rows[i].Cells[1], power(x), 2)
		if number(t, numbers.Rows[i].Cells[1]) < power(x) {
			t.Errorf("recognised at %v: %s is below %v", x, numbers.Rows[i].Cells[1], power(x))
		}
	}
	// If both cases are equally likely, the best threshold is mu/2, and its error probability is the mean
	// of both errors.
	right := math.Erfc(-mu/2/math.Sqrt2) / 2
	_, after, _ := strings.Cut(a.guess(), "at most ")
	guessed, _, _ := strings.Cut(after, " %")
	shows(t, "right guesses", guessed+" %", right, 3)
	if number(t, guessed+" %") < right {
		t.Errorf("right guesses: %s %% is below %v", guessed, right)
	}

	// Three fits with the same mu compose to sqrt(3) mu.
	sum := root(1e-3, 50, func(epsilon float64) float64 { return 1e-6 - profile(math.Sqrt(3)*mu, epsilon) })
	note := partOf(t, s, func(n Note) bool { return strings.HasPrefix(string(n), "All 3 fits") })
	_, after, _ = strings.Cut(string(note), "ε = ")
	total, _, _ := strings.Cut(after, " ")
	// The accountant's upper bound may exceed the exact value by a thousandth.
	if got := number(t, total); got < sum || got > sum*1.002 {
		t.Errorf("three fits: %v: must be %v", got, sum)
	}
}

// TestChargesOfCohortsAreDrawn tests that the plot of charges shows, after each release, the
// largest total charge of any record. The test adds up the charges of one record of each cohort,
// and of a record in no cohort.
func TestChargesOfCohortsAreDrawn(t *testing.T) {
	f := people(t, "p", 6)
	mu := f.budget.Mu()
	var charges []float64
	cohorts := []uint64{1, 0, 2, 2, 1, 3}
	f.events = nil
	for i, c := range cohorts {
		share := mu * []float64{.3, .2, .25, .35, .1, .05}[i]
		e, err := account.GaussianEvent("gradient", c, share, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Index, e.Relation = i, account.ReplaceOne
		f.events, charges = append(f.events, e), append(charges, share*share)
	}
	p := read(t, f).chargePlot()
	for n := range len(cohorts) + 1 {
		most := 0.0
		for record := uint64(1); record <= 4; record++ { // 4 is in no cohort
			total := 0.0
			for i := range n {
				if cohorts[i] == 0 || cohorts[i] == record {
					total += charges[i]
				}
			}
			most = max(most, total)
		}
		if p.Series[0].X[n] != float64(n) || !near(p.Series[0].Y[n], most, 1e-12) {
			t.Errorf("after %v releases: %v: must be %v", p.Series[0].X[n], p.Series[0].Y[n], most)
		}
	}
	if y := p.References[0].Y[0]; !near(y, mu*mu, 1e-12) {
		t.Errorf("the line is at %v: must be %v", y, mu*mu)
	}
}

// TestModelInNumbers recomputes the page's numbers about signal, noise and coefficients for a run of
// gradient descent from the weights, the schema's bounds and the noise of the releases.
func TestModelInNumbers(t *testing.T) {
	f := people(t, "p", 50)
	f.weights = func(j int) float64 { return []float64{-.9, .02, .8, -.001, .45, .3}[j] }
	const records, features, step = 10000, 6, 4
	each := f.events[0].Sigma / records
	law := fmt.Sprintf(`"law":{"noise":[%v],"step_sizes":[%v],"weight_noise":%v}`,
		strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%v,", each), 50), ","), step, step*math.Sqrt(50)*each)
	f.algorithm = certificate.Algorithm{Name: "gd", Plan: []byte(`{` + law + `,"steps":50,"step_size":4,"clip":0.7,"charges":"alike","output":"last","effective_size":701,"floor":0.0031,
		"predicted_gradient_norm":0.0042,"measured":{"loss":0.51,"loss_sigma":0.013,"gradient_norm":0.0067,"gradient_sigma":0.0011}}`)}
	fit := read(t, f)
	noise := fit.noise()

	s := fit.signal(noise)
	for name, want := range map[string]struct{ value, note float64 }{
		"Noise in the last gradient estimate": {each * math.Sqrt(features), each},
		"Gradient norm expected by the plan":  {.0042, 0}, "Noise level": {.0031, 0}, "Longest gradient of a row": {.7, 0},
		"Effective size N":       {701, 0},
		"Gradient norm measured": {.0067, .0011}, "Mean loss measured": {.51, .013},
	} {
		of := s
		if name == "Mean loss measured" {
			of, _ = fit.quality()
		}
		fact := factOf(t, of, name)
		shows(t, name, fact.Value, want.value, 3)
		if want.note != 0 && !strings.Contains(fact.Note, Number(want.note)) {
			t.Errorf("%s: says %q: must speak of %v", name, fact.Note, want.note)
		}
	}
	asked := fit.asked()
	shows(t, "features", factOf(t, asked, "Features").Value, features, 9)
	steps := factOf(t, asked, "Steps planned")
	shows(t, "steps", steps.Value, 50, 9)
	if !strings.HasPrefix(steps.Note, "of size 4;") {
		t.Errorf("steps: %q", steps.Note)
	}
	drawn := partOf(t, s, func(p Plot) bool { return strings.HasPrefix(p.Title, "Length of the noise") })
	if y := drawn.Series[0].Y; len(y) != 50 || !near(slices.Max(y), each*math.Sqrt(features), 1e-12) ||
		!near(slices.Min(y), slices.Max(y), 1e-12) {
		t.Errorf("noise is drawn at %v", y)
	}

	// A weight is the sum of 50 independent steps. The encoded row is divided by 2, the square root of its
	// four parts: two numbers, a category and the intercept.
	w, sd, scale := []float64{-.9, .02, .8, -.001, .45, .3}, step*math.Sqrt(50)*each, 2.0
	width := math.Log1p(1e6)
	type line struct{ effect, sd, span, spanSD float64 }
	want := map[string]line{}
	want["p1"] = line{2 * w[0] / 80 / scale, 2 * sd / 80 / scale, 2 * w[0] / scale, 2 * sd / scale}
	want["p2"] = line{2 * w[1] / width * math.Ln2 / scale, 2 * sd / width * math.Ln2 / scale, 2 * w[1] / scale,
		2 * sd / scale}
	for j, name := range []string{"pb", "other"} { // compared with pa
		effect, deviation := (w[3+j]-w[2])/scale, sd*math.Sqrt2/scale
		want[name] = line{effect, deviation, effect, deviation}
	}
	// If both cells are 0, p1 is encoded as (0-50)/40 and p2 as -1; the category is pa.
	at := []float64{-50. / 40, -1, 1, 1}
	intercept := (at[0]*w[0] + at[1]*w[1] + at[2]*w[5] + at[3]*w[2]) / scale
	interceptSD := sd / scale * math.Sqrt(at[0]*at[0]+at[1]*at[1]+at[2]*at[2]+at[3]*at[3])
	want["intercept"] = line{intercept, interceptSD, intercept, interceptSD}

	c := fit.coefficients(noise)
	table := partOf(t, c, func(x Table) bool { return x.Title == "Coefficients" })
	beyond := 0
	for _, row := range table.Rows {
		var l line
		var name string
		for n, x := range want {
			if strings.HasPrefix(strings.TrimPrefix(row.Cells[0], "p3="), n) {
				l, name = x, n
			}
		}
		if name == "" || len(row.Cells) != 6 {
			t.Fatalf("row %q", row.Cells)
		}
		shows(t, name+" effect", row.Cells[2], l.effect, 3)
		shows(t, name+" noise", row.Cells[3], l.sd, 2)
		shows(t, name+" effect/noise", row.Cells[4], math.Abs(l.effect)/l.sd, 2)
		if row.Cells[3] != digits(l.sd, 2) || row.Cells[4] != digits(math.Abs(l.effect)/l.sd, 2) {
			t.Errorf("%s: noise %s, ratio %s: must be of %v, %v", name, row.Cells[3], row.Cells[4], l.sd, math.Abs(l.effect)/l.sd)
		}
		shows(t, name+" odds", row.Cells[5], math.Exp(l.effect), 3)
		if within := math.Abs(l.effect) < 2*l.sd; within != row.Faint {
			t.Errorf("%s: faint %v, %v against a noise of %v", name, row.Faint, l.effect, l.sd)
		} else if !within && name != "intercept" {
			beyond++
		}
	}
	if len(table.Rows) != len(want) || beyond == 0 || beyond == len(want)-1 {
		t.Fatalf("%d rows, %d beyond the noise", len(table.Rows), beyond)
	}
	bars := partOf(t, c, func(Bars) bool { return true })
	for _, b := range bars.Items {
		for n, l := range want {
			if !strings.HasPrefix(strings.TrimPrefix(b.Name, "p3="), n) {
				continue
			}
			if !near(b.Value, l.span, 1e-12) || !near(b.Interval.Low, l.span-2*l.spanSD, 1e-9) ||
				!near(b.Interval.High, l.span+2*l.spanSD, 1e-9) {
				t.Errorf("bar %s: %v, %v: must be %v, %v either way", n, b.Value, b.Interval, l.span, 2*l.spanSD)
			}
			if within := math.Abs(l.effect) < 2*l.sd; within != b.Faint {
				t.Errorf("bar %s: faint %v", n, b.Faint)
			}
		}
	}
	partOf(t, c, func(n Note) bool { return strings.Contains(string(n), "upper bounds") })
	if list, err := fit.Coefficients(); err != nil || list.Beyond != beyond || list.Counted != len(want)-1 {
		t.Errorf("%d of %d are beyond the noise, %v: must be %d of %d", list.Beyond, list.Counted, err, beyond, len(want)-1)
	}
}

// TestBoundsAreOfConvexLosses tests for which losses noise is stated. For a run without a
// preconditioner on a convex loss, the page must bound the noise of a coefficient by the noise on a
// flat loss. If steps are so long that they overshoot the minimum where the curvature is largest,
// the explanation must say so. For a loss that is not convex, no noise may be stated and no
// coefficients counted.
func TestBoundsAreOfConvexLosses(t *testing.T) {
	f := people(t, "p", 50)
	c, err := read(t, f).Coefficients()
	if err != nil || c.Noise != NoiseBounded || c.Counted != 4 || c.Terms[0].Deviation == nil ||
		strings.Contains(c.Meaning, "farther from the minimum") || !strings.Contains(c.Meaning, "may be larger than the deviation") ||
		!strings.Contains(c.Meaning, "train: {algorithm: preconditioned}") {
		t.Errorf("%+v, %v", c, err)
	}
	f.algorithm.Plan = []byte(strings.Replace(string(f.algorithm.Plan), `"step_sizes":[4]`, `"step_sizes":[9]`, 1))
	if c, err = read(t, f).Coefficients(); err != nil || !strings.Contains(c.Meaning, "farther from the minimum") {
		t.Errorf("%+v, %v", c, err)
	}
	f.loss = "sigmoid"
	if c, err = read(t, f).Coefficients(); err != nil || c.Noise != NoiseNotStated || c.Counted != 0 ||
		c.Terms[0].Deviation != nil || !strings.Contains(c.Meaning, "not convex") {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestReasonsOfUnknownCurvature tests the reason with which the noise of a loss is not stated.
func TestReasonsOfUnknownCurvature(t *testing.T) {
	for _, x := range []struct {
		of    dataset.Target
		jumps bool
		value float64
		want  string
	}{{dataset.Target{Weight: "w"}, false, 1, "mean weight"}, {dataset.Target{Exposure: dataset.Exposure{Column: "e"}}, false, 1, "mean exposure"},
		{dataset.Target{Event: "death"}, false, 1, "mean exposure"}, {dataset.Target{}, true, 0, "mean loss"},
		{dataset.Target{}, true, .1, ""}, {dataset.Target{}, false, 0, ""}} {
		if got := uncurved(x.of, x.jumps, x.value); !strings.Contains(got, x.want) || (got == "") != (x.want == "") {
			t.Errorf("%+v: %q", x, got)
		}
	}
}

// TestScheduledCurveIsReadFromAbove tests an attack's curve that is known at some points only: between two
// known points, the method at must return a number that is not below the chord between them and not above
// the next point.
func TestScheduledCurveIsReadFromAbove(t *testing.T) {
	a := attack{alarms: []float64{0, .1, .3, 1}, detected: []float64{0, .4, .7, 1}}
	for x := 0.0; x <= 1; x += 1. / 64 {
		i := 0
		for a.alarms[i] < x {
			i++
		}
		least := a.detected[i]
		if i > 0 && x < a.alarms[i] { // a chord is below a concave curve
			share := (x - a.alarms[i-1]) / (a.alarms[i] - a.alarms[i-1])
			least = a.detected[i-1] + share*(a.detected[i]-a.detected[i-1])
		}
		if y := a.at(x); y < least || y > a.detected[i] {
			t.Errorf("at %v: %v: must be within [%v, %v]", x, y, least, a.detected[i])
		}
	}
}
