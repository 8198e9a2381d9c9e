package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// fitRecord has the rows of a made-up record: cells of the columns a, b, g, w and e, and the target as each kind.
type fitRecord struct{ cells map[string]string }

// fitRecords makes up records, of unlike columns. A person has up to three of them in a row.
func fitRecords(n int) (list []fitRecord) {
	r := rand.New(rand.NewPCG(41, 2))
	person, left := 0, 0
	for range n {
		if left--; left < 0 {
			person, left = person+1, r.IntN(3)
		}
		a, b := min(max(.4*r.NormFloat64()+.1, -1), 1), 10*math.Pow(r.Float64(), 2)
		g := "xxxyyz"[r.IntN(6)]
		z := 1.1*a - .15*b + map[byte]float64{'x': 0, 'y': .8, 'z': -.6}[g] + .3
		e := .3 + .7*r.Float64()
		count := 0
		for limit := math.Exp(.5*z) * e; count < 8; count++ {
			if limit -= r.ExpFloat64(); limit < 0 {
				break
			}
		}
		class, third := "0", "p"
		if z+.7*r.NormFloat64() > 0 {
			class = "1"
		}
		if v := z + r.NormFloat64(); v > .6 {
			third = "r"
		} else if v > -.4 {
			third = "q"
		}
		number := min(max(.3*z+.2*r.NormFloat64(), -1), 1)
		if r.IntN(20) == 0 {
			class, third = "?", "?"
		}
		list = append(list, fitRecord{map[string]string{"a": fmt.Sprint(a), "b": fmt.Sprint(b), "g": string(g),
			"w": fmt.Sprint(.2 + .8*r.Float64()), "e": fmt.Sprint(e), "id": fmt.Sprint(person), "two": class,
			"three": third, "real": fmt.Sprint(number), "count": fmt.Sprint(count),
			"amount": fmt.Sprint(math.Exp(number))}})
	}
	return list
}

// Targets of made-up records.
const (
	ofTwo       = `{column: two, classes: ["0", "1"]}`
	ofThree     = "{column: three, classes: [p, q, r]}"
	ofNumbers   = "{column: real, number: [-1, 1]}"
	regularized = "loss: logistic, family: lines, regularizer: l2(0.02)"
	ofCounts    = "{column: count, number: [0, 8]}"
)

// recordedFits are configurations of fits: the target, and lines of YAML.
var recordedFits = []struct{ name, target, model, more string }{
	{"classes", ofTwo, "loss: logistic, family: lines", ""},
	{"classes, curves", ofTwo, "loss: logistic", "curve"},
	{"classes, a start", ofTwo, "loss: logistic, family: lines, start: {share: 0.3}", ""},
	{"classes, a measure", ofTwo, "loss: logistic, family: lines, regularizer: l2(0.01)",
		"train: {measure: 0.1}"},
	{"classes, a ball", ofTwo, "loss: logistic, family: lines, radius: 2", ""},
	{"classes, their weights", ofTwo, "loss: logistic, family: lines, weights: {\"1\": 3}", ""},
	{"classes, weights of rows", `{column: two, classes: ["0", "1"], weight: w}`, "loss: logistic, family: lines",
		""},
	{"classes, present or not", ofTwo, "loss: logistic, family: lines", "add-or-remove"},
	{"classes, persons", ofTwo, "loss: logistic, family: lines", "unit"},
	{"classes, persons, sums", ofTwo, "loss: logistic, family: lines, units: sum", "unit"},
	{"classes, persons, present or not", ofTwo, "loss: logistic, family: lines, units: sum",
		"unit, add-or-remove"},
	{"classes, hinge", ofTwo, "loss: hinge, family: lines", ""},
	{"classes, a network", ofTwo, "loss: \"network(3,tanh,logistic)\", family: lines", ""},
	{"classes, fewer features", ofTwo, "loss: logistic, family: lines, reduce: \"jl(3)\"", ""},
	{"classes, intervals", ofTwo, "loss: logistic, family: lines", "inference: {level: 0.9}"},
	{"classes, intervals of persons", ofTwo, "loss: logistic, family: lines",
		"unit, inference: {level: 0.9}"},
	{"three classes", ofThree, "loss: softmax, family: lines", ""},
	{"three classes, intervals", ofThree, "loss: softmax, family: lines", "inference: {level: 0.95}"},
	{"classes in order", ofThree, "loss: ordered, family: lines", ""},
	{"classes in order, intervals", ofThree, "loss: ordered, family: lines", "inference: {level: 0.95}"},
	{"numbers, huber", ofNumbers, "loss: huber(0.3), family: lines", ""},
	{"numbers, squared", ofNumbers, "loss: squared(1), family: lines", ""},
	{"numbers, curves", ofNumbers, "loss: huber(0.5)", "curve"},
	{"numbers, a value", ofNumbers, "loss: huber(0.5), start: {value: 0.1}", ""},
	{"numbers, absolute", ofNumbers, "loss: absolute, family: lines", ""},
	{"numbers, a quantile", ofNumbers, "loss: pinball(0.7), family: lines", ""},
	{"numbers, tukey", ofNumbers, "loss: tukey(0.8), family: lines", ""},
	{"numbers, intervals", ofNumbers, "loss: huber(0.5), family: lines", "inference: {level: 0.95}"},
	{"numbers, effects", ofNumbers, "loss: huber(0.5), features: \"effects(2,20)\"", ""},
	{"numbers, effects of curves", ofNumbers, "loss: huber(0.5), features: \"effects(3,16)\"", "curve"},
	{"classes, effects", ofTwo, "loss: logistic, features: \"effects(2,20)\"", ""},
	{"counts", ofCounts, "loss: poisson(1), family: lines", ""},
	{"counts, exposures", "{column: count, number: [0, 8], exposure: {column: e, number: [0.2, 1]}}",
		"loss: poisson(1), family: lines", ""},
	{"counts, a rate", ofCounts, "loss: poisson(1), family: lines, start: {rate: 1.5}", ""},
	{"counts, intervals", ofCounts, "loss: poisson(1), family: lines", "inference: {level: 0.95}"},
	{"counts, negative binomial", ofCounts, "loss: \"negbinomial(2,3,8)\", family: lines", ""},
	{"amounts", "{column: amount, number: [0.1, 3]}", "loss: gamma(3), family: lines", ""},
	{"amounts, intervals", "{column: amount, number: [0.1, 3]}", "loss: gamma(3), family: lines",
		"inference: {level: 0.95}"},
	{"persons, gd", ofTwo, regularized, "unit, train: {algorithm: gd}"},
	{"persons, nesterov", ofTwo, regularized, "unit, train: {algorithm: nesterov}"},
	{"persons, spiderboost", ofTwo, regularized, "unit, train: {algorithm: spiderboost}"},
	{"persons, storm", ofTwo, regularized, "unit, train: {algorithm: storm}"},
	{"persons, warm", ofTwo, regularized, "unit, train: {algorithm: warm}"},
	{"persons, recursive", ofTwo, regularized, "unit, train: {algorithm: recursive}"},
	{"persons, kl-spider", ofTwo, regularized, "unit, train: {algorithm: kl-spider}"},
	{"persons, proximal-point", ofTwo, regularized, "unit, train: {algorithm: proximal-point}"},
	{"persons, strongly-convex", ofTwo, regularized, "unit, train: {algorithm: strongly-convex}"},
	{"persons, adaptive-gd", ofTwo, regularized, "unit, train: {algorithm: adaptive-gd}"},
	{"persons, kl-geometric", ofTwo, regularized, "unit, train: {algorithm: kl-geometric}"},
	{"persons, tree-spider", ofTwo, regularized, "unit, train: {algorithm: tree-spider}"},
	{"persons, one-pass-sgd", ofTwo, regularized, "unit, train: {algorithm: one-pass-sgd}"},
	{"persons, one-pass-storm", ofTwo, regularized, "unit, train: {algorithm: one-pass-storm}"},
	{"three classes, storm", ofThree, "loss: softmax, family: lines, radius: 3", "train: {algorithm: storm}"},
	{"three classes, nesterov", ofThree, "loss: softmax, family: lines, radius: 3", "train: {algorithm: nesterov}"},
	{"three classes, spiderboost", ofThree, "loss: softmax, family: lines, radius: 3",
		"train: {algorithm: spiderboost}"},
	{"three classes, proximal-point", ofThree, "loss: softmax, family: lines, radius: 3",
		"train: {algorithm: proximal-point}"},
	{"three classes, recursive", ofThree, "loss: softmax, family: lines, radius: 3", "train: {algorithm: recursive}"},
	{"three classes, samples", ofThree, "loss: softmax, family: lines", "train: {algorithm: dp-sgd, steps: 5}"},
	{"samples, steps of their own", ofTwo, regularized, "train: {algorithm: dp-adam, steps: 4}"},
	{"phases", ofTwo, regularized, "train: {algorithm: recursive, inner: phased-sgd}"},
	{"an inner solver", ofTwo, regularized, "train: {algorithm: proximal-point, inner: spiderboost}"},
	{"a choice among points", ofTwo, regularized, "train: {algorithm: storm, output: selected, candidates: 3}"},
	{"a network, second-order", ofTwo, "loss: \"network(3,tanh,logistic)\", family: lines",
		"train: {algorithm: second-order}"},
	{"a network, perturbed-gd", ofTwo, "loss: \"network(3,tanh,logistic)\", family: lines",
		"train: {algorithm: perturbed-gd}"},
	{"a network of jumps, o2nc", ofTwo, "loss: \"network(2,relu,logistic)\", family: lines",
		"train: {algorithm: o2nc, steps: 12}"},
	{"numbers, o2nc", ofNumbers, "loss: absolute, family: lines",
		"train: {algorithm: o2nc, oracle: single-pass, steps: 20, look: 2}"},
	{"numbers, o2nc, samples", ofNumbers, "loss: absolute, family: lines",
		"train: {algorithm: o2nc, oracle: multi-pass, steps: 9, anchor_batch: 0.5, difference_batch: 0.3}"},
	{"numbers, smoothed in plain space", ofNumbers, "loss: \"pinball(0.3)\", family: lines",
		"train: {algorithm: smoothed, space: plain, steps: 40}"},
	{"numbers, subgradient", ofNumbers, "loss: \"epsilon-insensitive(0.1)\", family: lines",
		"train: {algorithm: subgradient, steps: 40}"},
	{"numbers, dpzero", ofNumbers, "loss: huber(0.4), family: lines", "train: {algorithm: dpzero, steps: 30}"},
}

// TestFitsAreWhatTheyWere makes fits of many kinds, from the configuration to the comparison with the best constant, on
// simulated sessions whose noise has a fixed seed. It compares questions, charges, steps and results, to the bit, with
// testdata/fits.golden. The file is written by go test ./internal/train -run FitsAreWhatTheyWere -update. If a number
// changes on purpose, the commit states the reason. Other processors fuse multiplications and additions, and results
// then have other bits.
func TestFitsAreWhatTheyWere(t *testing.T) {
	var got bytes.Buffer
	for _, c := range recordedFits {
		fmt.Fprintf(&got, "= %s\n%s\n", c.name, recordedFit(t, c.target, c.model, c.more, 30, false))
		for _, other := range []struct {
			epsilon float64 // by which other rules choose settings
			pushed  bool
		}{{3, false}, {300, false}, {60, true}} {
			for part := range strings.SplitSeq(recordedFit(t, c.target, c.model, c.more, other.epsilon, other.pushed), "\n") {
				sum := sha256.Sum256([]byte(part))
				name, _, _ := strings.Cut(part, " ")
				fmt.Fprintf(&got, "%.12s %x ", name, sum[:5])
			}
			fmt.Fprintf(&got, "with epsilon %v, pushed %v\n", other.epsilon, other.pushed)
		}
	}
	recordedtest.Compare(t, filepath.Join(packageFolder, "testdata", "fits.golden"), got.String())
}

func recordedFit(t *testing.T, target, of, more string, epsilon float64, push bool) string {
	t.Helper()
	const n, seed = 420, 77
	has := func(word string) (is bool) {
		if is = strings.Contains(more, word); is {
			more = strings.TrimPrefix(strings.Replace(more, word, "", 1), ", ")
		}
		return is
	}
	unit, curve, relation := "", "", "replace-one"
	if has("unit") {
		unit = "\n  unit: {column: id, rows: 3}"
	}
	if has("add-or-remove") {
		relation = fmt.Sprintf("add-or-remove, records: %d", n)
	}
	if has("curve") {
		curve = ", curve: 5"
	}
	ignored := ""
	for _, name := range []string{"w", "e"} {
		if !strings.Contains(target, ": "+name+"}") && !strings.Contains(target, "column: "+name+",") {
			ignored += ", " + name + ": ignore"
		}
	}
	c, err := ReadConfig(write(t, filepath.Join(t.TempDir(), "people.yaml"), `
data: people.csv
schema:
  columns: {a: {number: [-1, 1]`+curve+`}, b: {number: [0, 10]}, g: {category: [x, y, z]}`+ignored+`}
  target: `+target+unit+`
model: {`+of+`}
privacy: {epsilon: `+fmt.Sprint(epsilon)+`, delta: 1e-6, relation: `+relation+`}
`+more+"\n"))
	if err != nil {
		return "REFUSED " + err.Error()
	}
	b, err := c.budget()
	if err != nil {
		t.Fatal(err)
	}
	x, y := fitRows(t, c, n)
	records := float64(len(x))
	_, planned, l, err := c.planFor(t.Context(), b, records, seed)
	if err != nil {
		return err.Error()
	}
	table := simulate.Config{Rows: x, Targets: y, Loss: l, Budget: b, Seed: 7, Workers: 1, BlockRows: 64}
	if relation != "replace-one" {
		table.Declared = records
	}
	reduce, err := c.Reduction()
	if err != nil {
		t.Fatal(err)
	}
	if reduce != nil {
		for i := range x {
			row := make([]float32, reduce.Size())
			reduce.Map(row, make([]float64, reduce.Size()), x[i])
			x[i] = row
		}
	}
	asked := sha256.New()
	real, err := simulate.Watched(table, hashed(asked))
	if err != nil {
		t.Fatal(err)
	}
	session := &pushed{Session: real, on: push}
	start, _, err := c.Problem(b, records)
	if err != nil {
		t.Fatal(err)
	}
	f := &Fitted{Planned: planned, Base: planned.Start}
	if planned.Base != nil {
		base, err := planned.Base.Ask(t.Context(), session, start)
		if err != nil {
			return err.Error()
		}
		if planned, err = planned.Begin(t.Context(), base); err != nil {
			return err.Error()
		}
		f.Planned, f.Base = planned, &base
	}
	if schedule := planned.Plan.Needs().Schedule; schedule != nil {
		if err := session.Follow(schedule); err != nil {
			t.Fatal(err)
		}
	}
	steps := sha256.New()
	observe := func(s Step) {
		facts := []float64{float64(s.Number), float64(s.Of), s.GradientNorm, s.Noise, s.Charged}
		binary.Write(steps, binary.LittleEndian, append(facts, s.W...))
	}
	var result optimize.Result
	schema := planned.Schema
	if s := planned.First; s != nil {
		result, schema, err = s.Run(t.Context(), session, planned.Schema, seed, func(with *dataset.Schema) error {
			next, at := encoded(t, with, n), 0
			return session.Refine(with.Dim(), func([]float32) []float32 { at++; return next[at-1] })
		}, observe)
	} else {
		result, err = planned.Plan.Run(t.Context(), session, observe)
	}
	text := fmt.Sprintf("plan %+v\nbase %+v\n", planned.Summary, value(f.Base))
	if err != nil {
		return text + err.Error()
	}
	text += fmt.Sprintf("steps %d %v %q %x\nfound %.9g %.9g late %+v\n", result.Steps, result.Complete, result.Output,
		steps.Sum(nil)[:6], result.Foreseen, result.Excess, result.Late)
	trace := result.Trace.Compact()
	if m := trace.Moment; m != nil {
		text += fmt.Sprintf("moment %+v\n", *m)
		trace.Moment = nil
	}
	if m := trace.Curvature; m != nil {
		text += fmt.Sprintf("curvature %+v\n", *m)
		trace.Curvature = nil
	}
	text += fmt.Sprintf("law %+v\n", trace)
	if in := result.Inference; in != nil {
		text += fmt.Sprintf("intervals %+v\n", *in)
	}
	text += fmt.Sprintf("weights %.9g\n", result.W)
	if planned.Compare != nil && schema != nil {
		p, _, err := c.of(schema).Problem(b, records)
		if err != nil {
			t.Fatal(err)
		}
		of := *planned.Compare
		of.Loss = withOdds(of.Loss, schema.Target())
		if c.Model.Reduce == "" {
			of.Reach = schema.MarginRange
		}
		compared, err := of.Ask(t.Context(), session, f.with(p), result.W,
			optimize.Found{Square: result.Rows.Square, Excess: result.Excess})
		text += fmt.Sprintf("compared %+v %v\n", compared, err)
	}
	if share := c.Train.Measure; share > 0 {
		measured, err := optimize.Measure{Charge: b.Charge() * share}.Ask(t.Context(), session, start, result.W)
		text += fmt.Sprintf("measured %+v %v\n", measured, err)
	}
	charged := session.Ledger().Charged()
	return text + fmt.Sprintf("asked %d times %x, charged %.12g", session.Ledger().Len(), asked.Sum(nil)[:6], charged)
}

// pushed is a session that changes answers about gradients and losses by much more than noise does, if it is on: steps
// go too far, overshoot and end early, and the remainder of a Newton step is large.
type pushed struct {
	*simulate.Session
	on    bool
	asked int
}

func (p *pushed) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a, err := p.Session.Ask(ctx, q)
	by := 0.
	switch q.First().Kind() {
	case query.Gradient, query.MetricGradient, query.WeightedGradient:
		by = .15 * q.Clip()
	case query.ValueChange:
		by = .3 * q.Clip()
	}
	if p.asked++; p.on && err == nil && by > 0 {
		a.Mean = slices.Clone(a.Mean)
		for j := range a.Mean {
			a.Mean[j] += by * math.Sin(2.4*float64(p.asked)+1.1*float64(j)) / math.Sqrt(float64(len(a.Mean)))
		}
	}
	return a, err
}

// hashed returns a watcher that writes to a hash what is asked, of which records, with the exact sums and the answers.
func hashed(to io.Writer) func(simulate.Exchange) (any, error) {
	return func(x simulate.Exchange) (any, error) {
		e := x.Event
		fmt.Fprintln(to, e.Kind, e.Question, e.Cohort, e.Charge, e.Sensitivity, e.Sigma, e.Sampling, x.Members, x.Exact, x.Scores,
			x.Released)
		return x.Released, nil
	}
}

// value returns what p points to, or nil.
func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// fitRows encodes made-up records as those of the configuration.
func fitRows(t *testing.T, c *Config, n int) (x [][]float32, y []float64) {
	t.Helper()
	b, err := c.budget()
	if err != nil {
		t.Fatal(err)
	}
	_, planned, l, err := c.planFor(t.Context(), b, float64(n), 0)
	if err != nil {
		t.Fatal(err)
	}
	schema := planned.Schema
	names := columnsFor(schema)
	bound, err := schema.Bind(names)
	if err != nil {
		t.Fatal(err)
	}
	units, _ := l.(loss.Units)
	var person string
	var rows [][]float32
	var targets []float64
	flush := func() {
		if len(rows) > 0 {
			record, target := loss.JoinRows(units, rows, targets)
			x, y, rows, targets = append(x, record), append(y, target), nil, nil
		}
	}
	for _, r := range fitRecords(n) {
		cells := make([]string, len(names))
		for i, name := range names {
			cells[i] = r.cells[name]
		}
		row := make([]float32, bound.Dim())
		target, ok := bound.Encode(row, cells)
		if units == nil {
			if !ok {
				target = math.NaN()
			}
			x, y = append(x, row), append(y, target)
			continue
		}
		if r.cells["id"] != person {
			flush()
			person = r.cells["id"]
		}
		if ok {
			rows, targets = append(rows, row), append(targets, target)
		}
	}
	if units != nil {
		flush()
	}
	return x, y
}

// columnsFor are the names of the columns of a table of made-up records for a schema.
func columnsFor(s *dataset.Schema) []string {
	names := []string{"a", "b", "g", "w", "e", s.Target().Column}
	if s.Unit() != (dataset.Unit{}) {
		names = append(names, "id")
	}
	return names
}

// encoded returns the rows of made-up records that can be read, in their order.
func encoded(t *testing.T, s *dataset.Schema, n int) (list [][]float32) {
	t.Helper()
	names := columnsFor(s)
	bound, err := s.Bind(names)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range fitRecords(n) {
		cells := make([]string, len(names))
		for i, name := range names {
			cells[i] = r.cells[name]
		}
		row := make([]float32, bound.Dim())
		if _, ok := bound.Encode(row, cells); ok {
			list = append(list, row)
		}
	}
	return list
}
