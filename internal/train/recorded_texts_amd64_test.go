package train

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// textsOf returns a configuration about people with the given keys of the target, the model, the sections after them,
// and the number of records, at epsilon 1.7 and delta 3e-6.
func textsOf(t *testing.T, target, model, more string, records int) *Config {
	t.Helper()
	c, err := ReadConfig(write(t, filepath.Join(t.TempDir(), "c.yaml"), fmt.Sprintf(`data: t.csv
schema:
  columns:
    age: {number: [17, 90]}
    born: {date: [1950-01-01, 2020-12-31]}
    sex: {category: [f, m]}
    town: {hash: 7}
  target: %s
model: {%s}
privacy: {epsilon: 1.7, delta: 3e-6, relation: replace-one, records: %d}
%s`, target, model, records, more)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBegunPlansAreWhatTheyWere compares the plans that follow from released base rates with testdata/begun.golden,
// which go test ./internal/train -run BegunPlansAreWhatTheyWere -update writes: steps and charges, the family, the
// reason of the choice and the compared plans, the calibration, the outlook, the estimate, the warnings and the
// workload.
func TestBegunPlansAreWhatTheyWere(t *testing.T) {
	const two, three = `{column: ill, classes: ["no", "yes"]}`, `{column: kind, classes: [r, g, b]}`
	const claims, cost = `{column: claims, number: [0, 9]}`, `{column: cost, number: [0, 700]}`
	var got bytes.Buffer
	for _, c := range []struct {
		target, model, more string
		records             int
		bases               [][]float64 // shares of classes, or a rate, or a number
	}{
		{two, "loss: logistic", "", 90_000, [][]float64{{.6, .4}, {.85, .15}, {.03, .97}, {.996, .004}, {.9997, .0003}}},
		{two, "loss: logistic, family: lines", "", 23_000, [][]float64{{.6, .4}, {.77, .23}, {.75, .25}, {.81, .19}, {.79, .21}, {.004, .996}}},
		{two, "loss: logistic, family: effects", "", 90_000, [][]float64{{.6, .4}, {.85, .15}}},
		{two, `loss: logistic, weights: {"yes": 5}`, "", 23_000, [][]float64{{.3, .7}, {.9, .1}}},
		{two, "loss: tanh, family: lines", "", 23_000, [][]float64{{.9, .1}}},
		{two, "loss: logistic", "train: {algorithm: gd}", 23_000, [][]float64{{.9, .1}}},
		{two, "loss: logistic, family: lines", "train: {passes: 30, compare: 0.31}", 23_000, [][]float64{{.9, .1}}},
		{three, "loss: softmax", "", 90_000, [][]float64{{.2, .7, .1}, {.01, .04, .95}}},
		{three, "loss: ordered", "", 90_000, [][]float64{{.2, .7, .1}}},
		{claims, "loss: poisson(2)", "", 90_000, [][]float64{{.3}, {.02}, {.0004}}},
		{claims, "loss: poisson(2), family: lines", "train: {compare: off}", 4_000, [][]float64{{.3}}},
		{cost, "loss: huber(0.2)", "", 23_000, [][]float64{{.3}, {-.9}}},
	} {
		p, err := textsOf(t, c.target, c.model, c.more, c.records).Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range c.bases {
			var base Base
			ok := true
			switch {
			case len(of) > 1:
				base, ok = p.Base.AtShares(of)
			case c.target == claims:
				base, ok = p.Base.AtRate(of[0])
			default:
				base, ok = p.Base.AtValue(of[0])
			}
			base.Resolved, base.Sigma = true, .0013
			if len(base.Sums) == 0 && c.target != cost {
				base.Sums = of
			}
			next, err := p.Begin(t.Context(), base)
			fmt.Fprintf(&got, "=== %s, %s, %s, %d records, at %v: %v\n", c.target, c.model, c.more, c.records, of, ok)
			if err != nil {
				fmt.Fprintf(&got, "%v\n", err)
				continue
			}
			fmt.Fprintf(&got, "base %+v\nplan %+v\nof %d features and %d weights, effective %.6g, %v\nfamily %+v\n%s\n", base, next.Summary,
				next.Features, next.Dim, next.signal(), next.Schema.Scale(), next.Family, next.Why)
			for _, k := range next.Candidates {
				fmt.Fprintf(&got, "  %s: %d steps, predicted %.6g\n", k.Summary.Algorithm, k.Summary.Steps, k.Predicted)
			}
			if next.Compare != nil {
				fmt.Fprintf(&got, "compare %.6g, of it to calibrate %.6g; %s; %s; %s\n", next.Compare.Charge, next.Compare.Calibrate,
					next.Decides(), next.Follows(), next.Calibrates)
			}
			low, high := next.Range()
			o := next.Outlook()
			fmt.Fprintf(&got, "%v\nlost %v %v, %.6g records %.6g, %.6g records %.6g\n%s\nrange %.6g to %.6g\n%v %v\nwarnings %q\n", o, o.Lost, o.Most, o.Records, o.Epsilon, o.HalveRecords, o.HalveEpsilon, o.Halve(), low,
				high, next.costs.estimate(), next.costs.estimate().Time, next.Warnings())
		}
	}
	recordedtest.Compare(t, filepath.Join(packageFolder, "testdata", "begun.golden"), got.String())
}

// momentAbout returns the released second moment of a made-up table of textsOf: a share of the rows counts, and of
// these age and born have the given means and standard deviations, in half widths of their bounds, and a share of sex
// is the second level. The moment is about the mean row if centred.
func momentAbout(t *testing.T, c *Config, share, mean, deviation, second, sigma float64, centred bool) *runrecord.Moment {
	t.Helper()
	s := c.Schema
	d, scale := s.Dim(), s.Scale()
	of := make([]float64, d) // means of the counted rows
	square := make([]float64, d)
	for j, name := range s.Features() {
		switch {
		case name == "age":
			of[j], square[j] = mean, mean*mean+deviation*deviation
		case name == "born":
			of[j], square[j] = -mean/2, mean*mean/4+deviation*deviation*4
		case name == "sex=f":
			of[j] = 1 - second
		case name == "sex=m":
			of[j] = second
		case j == d-1:
			of[j] = 1
		}
		square[j] = max(square[j], of[j])
		if strings.HasPrefix(name, "age") || strings.HasPrefix(name, "born") {
			square[j] = of[j]*of[j] + deviation*deviation
		}
	}
	matrix, means := make([]float64, d*d), make([]float64, d)
	for j := range d {
		means[j] = share * of[j] / scale
		for k := range d {
			v := of[j] * of[k]
			if j == k {
				v = square[j]
			}
			matrix[j*d+k] = share * v / (scale * scale)
			if centred {
				matrix[j*d+k] -= share * of[j] * share * of[k] / (scale * scale)
			}
		}
	}
	m := runrecord.NewMoment(matrix, d, sigma/(scale*scale), .01)
	if centred {
		m.Mean, m.MeanSigma, m.MeanWeight = means, sigma/scale, 3
	}
	return m
}

// TestWarningsAreWhatTheyWere compares the warnings of a fit with testdata/warnings.golden: about columns and rows, by
// released second moments on both sides of each threshold (the arguments of momentAbout); about comparisons with the
// best constant, for losses of each kind; about the budget; and about intervals.
func TestWarningsAreWhatTheyWere(t *testing.T) {
	var got bytes.Buffer
	list := func(title string, all []Warning) {
		if len(all) == 0 {
			title += ": none"
		}
		fmt.Fprintf(&got, "=== %s\n", title)
		for _, w := range all {
			fmt.Fprintf(&got, "%s: %s\n", w.Code, w.Text)
		}
	}
	c := textsOf(t, `{column: ill, classes: ["no", "yes"]}`, "loss: logistic, family: lines", "", 23_000)
	for _, share := range []float64{.13, .29, .71, .87, .95} {
		for _, mean := range []float64{-.99, .3, .98} {
			for _, deviation := range []float64{.001, .4} {
				for _, second := range []float64{.003, .3, .997} {
					for _, sigma := range []float64{.0011, .013} {
						for _, centred := range []bool{false, true} {
							if second != .3 && (mean != .3 || deviation != .4) {
								continue
							}
							list(fmt.Sprintf("%v %v %v %v %v %v", share, mean, deviation, second, sigma,
								centred), qualityWarnings(c.Schema, momentAbout(t, c, share, mean, deviation, second, sigma, centred)))
						}
					}
				}
			}
		}
	}
	for _, name := range []string{"logistic", "softmax(3)", "huber(0.2)", "squared(0.7)", "pinball(0.9)", "poisson(2)", "gamma(5,0.004)", "tanh"} {
		for i, of := range []Compared{
			{Difference: -.21, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .01, Margins: []float64{.4}},
			{Difference: -.021, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .01, Margins: []float64{.4}, Shrunk: .37},
			{Difference: -.021, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .01, Margins: []float64{.4}},
			{Difference: .21, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .01, Margins: []float64{-.4}, Shrunk: 1},
			{Difference: .21, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .01, Margins: []float64{-.4}, LowerBound: true},
			{Difference: .011, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .0071, ConstantSigma: .003, Margins: []float64{.4}},
			{Difference: .011, Sigma: .03, Least: -1.5, Most: 2.5, Constant: -.0071, ConstantSigma: .003, Margins: []float64{.4}},
			{Difference: .011, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .0007, ConstantSigma: .0003, Margins: []float64{.4}},
			{Difference: .011, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .01, Margins: []float64{.98}},
			{Difference: .011, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .01, Margins: []float64{-.98}},
			{Difference: .011, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .61, ConstantSigma: .051, Margins: []float64{-.98}},
			{Difference: -.11, Sigma: .03, Clip: 2, Constant: .61, ConstantSigma: .01, Margins: []float64{.4}, Unresolved: true},
			{Difference: -.11, Sigma: .03, Clip: 2, Constant: .61, ConstantSigma: .01, Margins: []float64{.4, 1, -1}, Counts: true, Cut: true},
			{Difference: -.11, Sigma: .03, Clip: 2, Constant: .61, ConstantSigma: .01, Margins: []float64{.4, 1, -1}, Unresolved: true},
		} {
			of.Counts = of.Counts || strings.HasPrefix(name, "poisson")
			list(fmt.Sprintf("%s, comparison %d: %s", name, i, of.Sentence()), append(comparisonWarnings(&of), targetWarnings(name, &of)...))
		}
	}
	for _, held := range [][2]float64{{.0456, .0123}, {.038, .0123}, {.036, .0123}, {-.1, .01}, {.7, .031}} {
		list(fmt.Sprintf("clip %v", held), clipWarnings(new(optimize.Trace{}.WithClipped(held[0], held[1]))))
	}
	for _, epsilon := range []float64{9.9, 10, 10.5, 37} {
		for _, records := range []float64{7_000, 130_000} {
			list(fmt.Sprintf("epsilon %v, %v records", epsilon, records), privacyWarnings(epsilon, 1.3e-5, records, records/250))
		}
	}
	for i, f := range []inference.Fit{
		{Method: inference.NotIdentified},
		{Method: inference.Wald, Dropped: []int{0}},
		{Method: inference.Wald, Dropped: []int{1, 3, 2}, Gone: []inference.Gone{{Feature: 3, Share: .013}}},
		{Method: inference.Wald, Dropped: []int{3}, Merged: []int{2}},
		{Method: inference.NotIdentified, Dropped: []int{0, 5, 6}},
	} {
		for _, base := range []*Base{nil, {Sums: []float64{.011, .7, .289}, Sigma: .003}, {Sums: []float64{.7, .289, .001}, Sigma: .003}} {
			three := textsOf(t, `{column: kind, classes: [r, g, b]}`, "loss: softmax, family: lines", "", 23_000)
			list(fmt.Sprintf("intervals %d, base %v", i, base), inferenceWarnings(three.Schema, &f, base))
		}
	}
	recordedtest.Compare(t, filepath.Join(packageFolder, "testdata", "warnings.golden"), got.String())
}

// TestHeadsAreWhatTheyWere compares the heads of made-up fits, and the budget's texts, with testdata/heads.golden: sums
// of numbers of a baseline hazard, the shares of two stages, errors about small tables, and the estimate of time and
// memory in its units.
func TestHeadsAreWhatTheyWere(t *testing.T) {
	var got bytes.Buffer
	for _, e := range []Estimate{{Time: 7e8}, {Time: 1.3e9, Memory: 3.4e6}, {Time: 89e9, Memory: 8.7e8}, {Time: 91e9, Memory: 1.1e9},
		{Time: 5399e9, Memory: 2.3e10}, {Time: 5500e9, Memory: 4.1e11}, {Time: 7e14, Memory: 1e13}} {
		fmt.Fprintf(&got, "%d ns, %g bytes: %v\n", e.Time, e.Memory, e)
	}
	for _, e := range []SmallError{{Size: 7.3, Present: 41}, {Size: 7.3, Records: 5300, Present: 41}, {Size: 17.3, Epsilon: 3.7, Present: 41},
		{Size: 27.3, Records: 5300, Epsilon: 3.7, Weights: 13, Present: 41}} {
		fmt.Fprintln(&got, e.Error())
	}
	for _, o := range []Outlook{{Lost: .07, Most: .31, HalveRecords: 5300, HalveEpsilon: 3.7}, {Lost: .43, Most: .83, Assumed: "x"}, {Lost: .9, Most: 1},
		{Lost: 1.1, Most: 1, HalveRecords: 5300}, {Lost: 1, Most: 1}, {Unmeasured: "gd", Assumed: "x"}, {Lost: .5, Most: .5}} {
		fmt.Fprintf(&got, "%v | %s | %s\n", o, o.Halve(), o.Verdict())
	}
	for _, x := range []float64{1, 1.01, 99.9, 101, 1234, .0234, 9.99e7} {
		fmt.Fprint(&got, roundUp(x), " ")
	}
	for _, lost := range []float64{.01, .02, .05, .08, .1, .2, .6, .85, 1.1} {
		fmt.Fprint(&got, sizeOfHalf(lost), " ")
	}
	for _, shares := range [][]float64{{.5, .5}, {.2, .8}, {.2, .7, .1}, {.01, .04, .95}, {.25, .25, .25, .25}} {
		fmt.Fprintf(&got, "%.9g ", steepest(shares))
	}
	fmt.Fprintln(&got)
	for _, kind := range []string{"logistic", "softmax(3)", "huber(0.2)", "poisson(2)", "hinge"} {
		l, err := loss.Parse(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, size := range []float64{24, 25, 36, 59.9, 61, 100, 230, 470, 799, 801} {
				fmt.Fprint(&got, measuredGain(family, l, size), " ")
			}
			fmt.Fprintf(&got, "%s %s %s: least %v, %v, %v\n", kind, kindOf(l), family, leastSize(family, l, 1), leastSize(family, l, .61),
				leastSize(family, l, .9))
		}
	}
	for _, u := range []account.Unit{{}, {Column: "who", Rows: 7, Count: account.Mean}, {Column: "who", Rows: 3, Count: account.Sum}} {
		for _, f := range []account.Filter{{}, {Column: "split", Value: "train"}} {
			for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
				fmt.Fprintf(&got, "%v %v %v: %s | %s | %s | %s | %s | %s\n", u, f, r, u.Protects(f, r), u.Neighbour(f, r), u.Record(), u.Note(),
					f.Note(), f.Neighbour(r))
			}
		}
	}
	for _, g := range []account.Guarantee{{Relation: account.ReplaceOne, Epsilon: 1.7, Delta: 3e-6, Mu: .4}, {Relation: account.AddOrRemove, Epsilon: .3,
		Delta: 1e-9, Unit: "who"}, {}, {Relation: account.AddOrRemove, Epsilon: math.Inf(1), Delta: .1}, {Relation: account.AddOrRemove, Epsilon: 1,
		Delta: 1}, {Relation: account.AddOrRemove, Epsilon: 1, Delta: .1, Mu: -1}} {
		fmt.Fprintf(&got, "%s; %v\n", g.Text(), g.Check())
	}
	b, err := account.NewBudget(1.7, 3e-6, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&got, b)
	for _, e := range []account.ChargedError{{Err: errors.New("no room")}, {Ledger: "out/ledger.jsonl", Folder: "out", Err: errors.New("no room")}} {
		fmt.Fprintln(&got, e.Error())
	}
	recordedtest.Compare(t, filepath.Join(packageFolder, "testdata", "heads.golden"), got.String())
}
