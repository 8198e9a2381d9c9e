package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// The tests of this file compare printed lines to the letter, at numbers of which no two are alike.

// lineOf returns the text of the line that begins with a name.
func lineOf(t *testing.T, text, name string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, fmt.Sprintf("%-13s", name)); ok {
			return strings.TrimSuffix(rest, "\n")
		}
	}
	t.Errorf("no line %q in\n%s", name, text)
	return ""
}

// lineIs fails the test unless the line with this name is the wanted one.
func lineIs(t *testing.T, text, name, want string) {
	t.Helper()
	if got := lineOf(t, text, name); got != want {
		t.Errorf("%s: %q: must be %q", name, got, want)
	}
}

func budgetOf(t *testing.T, epsilon float64) account.Budget {
	t.Helper()
	b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// moving is a plan that leaves its start, and has no other method that is called.
type moving struct{ optimize.Plan }

func (moving) Properties() optimize.Properties { return optimize.Properties{} }

// TestOutlineToTheLetter tests each line of a plan that shows a number.
func TestOutlineToTheLetter(t *testing.T) {
	b := budgetOf(t, 1.5)
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, High: 9}},
		Target: dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := train.Planned{Budget: b, Records: 4321, Dim: 34, Features: 17, LowerBound: .00123, Plan: moving{}, Schema: schema}
	p.Ranks = &train.Ranks{Columns: []string{"age", "dose"}, Charge: .05 * b.Charge()}
	p.Base = &optimize.BaseRate{Charge: .025 * b.Charge()}
	p.Compare = &optimize.Compare{Charge: .075 * b.Charge()}
	p.Summary = optimize.Summary{Algorithm: "preconditioned", Steps: 31, StepSize: 2.345678, Clip: .75, Charges: "alike",
		Output: "last", Floor: .00456, Effective: 70.4, Predicted: .01234}
	p.First = &train.Stage{Share: .3, Second: .7, Summary: optimize.Summary{Steps: 12}}
	candidate := func(name string, steps int, passes, predicted, floor, best float64) choose.Candidate {
		return choose.Candidate{Summary: optimize.Summary{Algorithm: name, Steps: steps, Passes: passes, Predicted: predicted,
			Floor: floor}, Predicted: best}
	}
	p.Candidates = []choose.Candidate{candidate("preconditioned", 31, 33, .01234, .00456, .01234),
		candidate("storm", 565, 571.5, .5, .00456, .02), candidate("gd", 40, 41, 0, .00456, 0)}
	text := outline(p, true)
	mu := gaussianBudget(1.5, 1e-6)
	lineIs(t, text, "records", "4321 (public), 17 features, 34 weights")
	lineIs(t, text, "budget", fmt.Sprintf("epsilon 1.5, delta 1e-06, replace-one (mu %.5g)", mu))
	lineIs(t, text, "first stage", "30% of the budget for training: the model without interactions, in 12 steps")
	lineIs(t, text, "ranks", "5% of the budget places the knots of age, dose, closer together where there are many rows "+
		"(train.ranks: off turns it off)")
	lineIs(t, text, "start", "2.5% of the budget releases the best constant, at which the fit begins. Steps and charges follow "+
		"from it, and for a class of less than 24% of the rows a larger clip of gradients (train.base: off turns it off)")
	if got := lineOf(t, text, "compare"); !strings.HasPrefix(got, "7.5% of the budget compares the fit with the best constant: ") {
		t.Error(got)
	}
	lineIs(t, text, "steps", "31 of size 2.346; clip norm 0.75")
	lineIs(t, text, "expect", "gradient norm 0.0123; noise level 0.00456, effective size N 70")
	lineIs(t, text, "range", "likely 0.0012 to 0.031, from benchmarks") // .1 and 2.5 times .01234
	lineIs(t, text, "lower bound", "a constant times 0.00123, for any private algorithm on the worst such problem (Arora et al. 2023)")
	if got := lineOf(t, text, "considered"); !strings.HasPrefix(got, "preconditioned   31 steps,    33 passes, ") ||
		!strings.HasSuffix(got, " 0.0123, 2.71 times the noise level") { // .01234/.00456
		t.Errorf("%q", got)
	}
	for _, want := range []string{"storm           565 steps, 571.5 passes, ", " 0.02\n", "gd               40 steps,    41 passes, no prediction\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	p.Summary.Predicted = 0
	lineIs(t, outline(p, true), "expect", "no gradient norm, since predictions for this loss and algorithm were too far off; "+
		"noise level 0.00456, effective size N 70")
	// The same shares as JSON.
	var shares struct{ Compare, Ranks, Base float64 }
	decode(t, marshalled(t, planJSON(p)), &shares)
	nearly(t, "compare", shares.Compare, .075, 1e-12)
	nearly(t, "ranks", shares.Ranks, .05, 1e-12)
	nearly(t, "base", shares.Base, .025, 1e-12)
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	if err := printJSON(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// planned returns the plan of a configuration of people, with changes.
func planned(t *testing.T, n int, changes ...string) train.Planned {
	t.Helper()
	dir := t.TempDir()
	if err := writePeople(dir, n); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "changed.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(changes...).Replace(peopleYAML)), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := train.ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFamiliesToTheLetter tests the lines of a plan about families: each row states the features and the effective size
// of a fit of that family alone, and the family that is taken comes with its reason. Sizes are in inverse proportion to
// the root of the number of weights.
func TestFamiliesToTheLetter(t *testing.T) {
	text := outline(planned(t, 20_000, "loss: logistic", "loss: logistic\n  family: auto"), false)
	for _, family := range []string{"lines", "curves", "effects"} {
		p := planned(t, 20_000, "loss: logistic", "loss: logistic\n  family: "+family)
		row := fmt.Sprintf(`(?m)^ {13}%-8s -?[0-9.]+ +%d +%s +[0-9]+ +[0-9.e-]+$`, family, p.Features,
			regexp.QuoteMeta(fmt.Sprintf("%.4g", p.Summary.Effective)))
		if !regexp.MustCompile(row).MatchString(text) {
			t.Errorf("no row %q in\n%s", row, text)
		}
		lineIs(t, outline(p, false), "family", family+": model.family names it")
	}
	if want := regexp.MustCompile(`(?m)^family       [a-z]+: effective size [0-9.e+]+ is at least [0-9]+(; not effects: effective size ` +
		`[0-9.e+]+ is below [0-9]+)?(; (curves|lines) if a class has a released share below [0-9.]+%)+$`); !want.MatchString(text) {
		t.Errorf("no reason of the family in\n%s", text)
	}
}

// TestCalibrationOfAPlanToTheLetter tests the line of a plan about the calibration, which has half of the comparison's share.
func TestCalibrationOfAPlanToTheLetter(t *testing.T) {
	p := planned(t, 20_000)
	lineIs(t, outline(p, false), "calibrate", fmt.Sprintf("at most %.2g%% of the budget corrects the fit's mean prediction, if a class has at most "+
		"20%% of the rows", 50*p.Compare.Charge/p.Budget.Charge()))
	if text := outline(planned(t, 20_000, "loss: logistic", "loss: logistic\n  radius: 3"), false); strings.Contains(text, "\ncalibrate") {
		t.Errorf("a fit within a radius is calibrated:\n%s", text)
	}
}

// TestStagesToTheLetter tests the lines about the two stages of a fit with features of effects. Steps of the second are
// those of the whole fit less those of the first.
func TestStagesToTheLetter(t *testing.T) {
	p := planned(t, 900, "loss: logistic", "loss: logistic\n  features: effects(2,200)")
	first := p.First.Summary.Steps
	second := p.Summary.Steps - first
	if first < 1 || second < 1 {
		t.Fatalf("%d and %d steps", first, second)
	}
	text := outline(p, false)
	lineIs(t, text, "first stage", fmt.Sprintf("30%% of the budget for training: the model without interactions, in %d steps", first))
	lineIs(t, text, "second stage", fmt.Sprintf("70%%: the model with 200 features made of the effects of the first stage, in %d steps",
		second))
}

// TestRecoveredToTheLetter tests the text about a fit that was recovered: what was released comes before what was
// reserved.
func TestRecoveredToTheLetter(t *testing.T) {
	b := budgetOf(t, 1.5)
	r := &runfolder.Recovered{Files: true, Fit: 3, Budget: b, Folder: "out", ModelPath: "out/model.json", Step: 7, Steps: 19,
		CertificatePath: "out/certificate.json", Releases: 8, Charged: .0625, Damaged: 12}
	text := func() string { return recovered(r) }
	mu := gaussianBudget(1.5, 1e-6)
	lineIs(t, text(), "incomplete", "fit 3 of out: the model is that of step 7 of 19")
	lineIs(t, text(), "released", fmt.Sprintf("at least 0.0625 of %.6g (units of mu^2), in 8 noisy answers (releases) of the journal",
		mu*mu))
	lineIs(t, text(), "WARNING", "line 12 of the journal is damaged or cut off: the releases after it are not known")
	lineIs(t, text(), "model", "out/model.json")
	lineIs(t, text(), "certificate", "out/certificate.json")
	lineIs(t, text(), "guarantee", b.Guarantee("").Text())
	lineIs(t, text(), "ledger", "keeps the whole budget of this fit, in out/ledger.jsonl")
	lineIs(t, text(), "recheck", "stillpoint verify out/certificate.json")
	r.Unit.Column = "person"
	lineIs(t, text(), "guarantee", b.Guarantee("person").Text())
	r.ModelPath, r.Damaged = "", 0
	lineIs(t, text(), "model", "none: no iterate had been released")
	if strings.Contains(text(), "WARNING") {
		t.Error("a whole journal is said to be damaged")
	}
	r.Step = 0
	lineIs(t, text(), "incomplete", "fit 3 of out")
	r.Complete = true
	lineIs(t, text(), "recovered", "fit 3 of out: it had ended before its files were in their places")
	r.Settlements = []runfolder.Settlement{{Store: "s", Dataset: "d", Run: "r", Charged: .125, Before: .0625}}
	lineIs(t, text(), "store", "d: run r is charged 0.125 (units of mu^2): this folder proves more than the 0.0625 at which it was settled")
}

// TestContrastsToTheLetter tests the text of contrasts and of their joint region.
func TestContrastsToTheLetter(t *testing.T) {
	var c model.ContrastOf
	c.Text, c.Estimate, c.Low, c.High, c.Error, c.Privacy, c.Level = "a - b", .51234, -.11111, 1.13579, .31789, .345, .9
	c.State, c.Unit, c.Formula = inference.Reported, "log-odds", "y ~ a + b"
	c.Odds = &model.Ratio{Estimate: 1.6692, Low: .89484, High: 3.11363}
	zero := false
	joint := &inference.Joint{State: inference.Reported, Zero: &zero, Limit: 5.99146}
	if got := contrastText([]*model.ContrastOf{&c}, joint); got != `a - b
  0.5123, 90% interval -0.1111 to 1.136 (log-odds), standard error 0.32, of which privacy makes 34% of the width
  odds ratio 1.669, 90% interval 0.8948 to 3.114
formula: y ~ a + b
joint region (limit 5.991 of the squared distance): does not hold 0 for all of them
` {
		t.Error(got)
	}
	zero = true
	if got := contrastText([]*model.ContrastOf{&c}, joint); !strings.HasSuffix(got,
		"(limit 5.991 of the squared distance): holds 0 for all of them\n") {
		t.Error(got)
	}
	c.Odds, c.Reason, c.Short = nil, "also carries x2", true
	other := model.ContrastOf{}
	other.Text, other.State, other.Reason = "a - d", "not in the formula", "noise hides it"
	joint.State, joint.Reason = "withheld", "two of them are one"
	if got := contrastText([]*model.ContrastOf{&c, &other}, joint); got != `a - b
  0.5123, 90% interval -0.1111 to 1.136 (log-odds), standard error 0.32, of which privacy makes 34% of the width
  also carries x2
a - d
  not in the formula, no interval is stated: noise hides it
SHORT formula, to which the intervals belong: y ~ a + b
joint region: withheld
  two of them are one
` {
		t.Error(got)
	}
	if got := contrastText([]*model.ContrastOf{&c}, nil); !strings.HasSuffix(got, "belong: y ~ a + b\n") {
		t.Error(got)
	}
}

// TestCoefficientsToTheLetter tests the table of coefficients with their noise.
func TestCoefficientsToTheLetter(t *testing.T) {
	sd := .012345
	list := &report.Coefficients{Noise: report.NoiseBounded, Unit: "log-odds", Beyond: 4, Counted: 9, Meaning: "Meaning.",
		Terms: []report.Coefficient{{Value: new(.0345678), Deviation: &sd}, {Value: new(-1.5)}}}
	list.Terms[0].Term, list.Terms[0].Per, list.Terms[1].Term, list.Terms[1].Reference = "age", "1 year", "sex=m", "sex=f"
	if got := coefficientTable(list); got != `term   reference or unit  coefficient  noise sd at most
age    1 year             0.03457      0.012
sex=m  sex=f              -1.5         -

Coefficients are in log-odds.
4 of 9, intercepts left out, differ from 0 by more than two standard deviations of the noise.
Meaning.
` {
		t.Error(got)
	}
	ordered := *list
	ordered.Thresholds, ordered.Counted = []float64{0, 1.23456}, 0
	if got := coefficientTable(&ordered); !strings.HasSuffix(got, `
Coefficients are in log-odds.
threshold 1              0
threshold 2              1.235
Meaning.
`) {
		t.Error(got)
	}
	list.Noise, list.Counted = report.NoiseEstimated, 0
	list.Terms[0].Steps, list.Terms[0].Share, list.Terms[1].State = new(.00567), new(.876), "not arrived"
	if got := coefficientTable(list); got != `term   reference or unit  coefficient  noise sd
age    1 year             0.03457      0.012 (noise 0.0057, 88% of the way)
sex=m  sex=f              -1.5         not arrived

Coefficients are in log-odds.
Meaning.
` {
		t.Error(got)
	}
}
