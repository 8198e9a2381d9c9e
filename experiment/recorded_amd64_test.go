package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/problem"
	"github.com/stillpoint-dp/stillpoint/train"
)

var record = flag.Bool("record", false, "write testdata/recorded.txt anew")

// recordedSettings are settings, as JSON, with values that the rules would not choose.
var recordedSettings = []string{
	`{}`, `{"output":"tail-average"}`, `{"output":"last"}`, `{"output":"smallest"}`, `{"output":"random"}`, `{"output":"average"}`,
	`{"output":"selected"}`, `{"output":"selected","held_out":0.3}`, `{"output":"selected","candidates":3}`, `{"output":"selected","score":"value"}`,
	`{"goal":"second-order"}`, `{"goal":"population"}`, `{"goal":"excess-risk"}`, `{"passes":7}`,
	`{"steps":9}`, `{"step_scale":0.3}`, `{"multiplier":0.5}`, `{"period":3}`, `{"anchor_share":0.3}`, `{"theorem":true}`,
	`{"anchor_batch":0.6,"difference_batch":0.4}`, `{"sampling":0.3}`, `{"rate":0.02}`, `{"front_load":0.5}`, `{"equal_cohorts":true}`,
	`{"rounds":2}`, `{"depth":2}`, `{"decay":0.7}`, `{"accuracy":0.05}`, `{"inner":"phased-sgd"}`, `{"cohorts":"disjoint"}`,
	`{"constant_charges":true}`, `{"theorem":true,"failure":0.2}`, `{"theorem":true,"beta":0.3}`,
	`{"lambda":0.05}`, `{"growth":5}`, `{"distance":3}`, `{"ball_fraction":0.5}`,
	`{"inner":"phased-sgd","theorem":true}`, `{"cohorts":"disjoint","theorem":true,"steps":7}`, `{"theorem":true,"output":"last"}`,
	`{"theorem":true,"accuracy":1e-9}`,
	`{"kappa":1.5,"gamma":2}`, `{"kappa":3,"gamma":2}`, `{"threshold":2}`, `{"kappa":1,"gamma":0.5,"theorem":true}`, `{"shrink":1.1}`, `{"descent":0.3}`, `{"noise_scale":3}`, `{"proportion":2}`, `{"norm_charge":0.003}`, `{"landing":0.5}`, `{"landing_steps":11}`,
	`{"gap":0.3}`, `{"items":9}`, `{"without_products":true}`, `{"without_selection":true}`, `{"output":"selected","score":"second-order"}`,
	`{"moment_share":0.3}`, `{"clip_share":0.2}`, `{"clip_scale":0.5}`,
	`{"radius":0.2}`, `{"radius":0.2,"smoothing":"lasry-lions"}`, `{"space":"plain"}`, `{"one_pass":true}`, `{"oracle":"multi-pass"}`, `{"oracle":"single-pass"}`, `{"oracle":"single-pass","prefix":"tree"}`, `{"block":2}`, `{"oracle":"multi-pass","theorem":true}`,
	`{"smoothing":"sampled"}`, `{"smoothing":"sampled","directions":2}`, `{"order":"first"}`, `{"order":"first","directions":2}`, `{"order":"zero"}`, `{"order":"zero","oracle":"multi-pass"}`, `{"order":"zero","oracle":"single-pass"}`,
}

// recordedProblems are the losses recorded, each with its regularizer.
var recordedProblems = []struct {
	loss, regularizer string
	radius            float64
}{{"tanh", "l2(0.01)", 0}, {"huber(0.3)", "l2(0.01)", 0}, {"logistic", "", 0}, {"logistic", "", 2}, {"slow-tail", "", 0}, {"hinge", "l2(0.01)", 0}}

// TestRunsAreWhatTheyWere: every algorithm with each of its settings, every output and both
// relations make the same queries, charges and results, to the bit, as in testdata/recorded.txt.
// Origin: go test ./experiment -run RunsAreWhatTheyWere -record. If a number is meant to change,
// the file is changed, and the commit gives the reason.
//
// Other processors fuse multiplications and additions, and so give other bits.
func TestRunsAreWhatTheyWere(t *testing.T) {
	if *record && testing.Short() {
		t.Fatal("-record: must be without -short, which runs a part of what is recorded: the rest would be lost")
	}
	var lines []string
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, name := range train.Algorithms() {
			for k := range recordedProblems {
				if testing.Short() && (relation == account.AddOrRemove || k > 0) {
					continue
				}
				for i, settings := range recordedSettings {
					if i > 0 && !recordedInFull(relation, name, k) {
						break // settings are tried on one problem, defaults on all
					}
					if line := recorded(t, relation, name, k, settings); line != "" {
						lines = append(lines, line)
					}
				}
			}
		}
	}
	const file = "testdata/recorded.txt"
	text := strings.Join(lines, "\n") + "\n"
	if *record {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old, now := byTitle(strings.Split(strings.TrimSpace(string(want)), "\n")), byTitle(lines)
	for title, line := range old {
		if _, ran := now[title]; !ran && testing.Short() {
			continue
		}
		if now[title] != line {
			t.Errorf("%s:\nnow  %s\nthen %s", title, now[title], line)
		}
	}
	for title := range now {
		if _, ok := old[title]; !ok {
			t.Errorf("%s: was refused", title)
		}
	}
}

// byTitle splits lines into title and rest.
func byTitle(lines []string) map[string]string {
	m := map[string]string{}
	for _, line := range lines {
		title, rest, _ := strings.Cut(line, ": ")
		m[title] = rest
	}
	return m
}

// recordedInFull reports whether problem k is the one on which an algorithm is tried with its
// settings.
func recordedInFull(r account.Relation, name string, k int) bool {
	switch name {
	case "recursive":
		return k == 1 // for convex losses
	case "smoothed":
		return k == 5 // for losses whose slope jumps
	case "dp-sgd", "dp-adam":
		return k == 0 && r == account.ReplaceOne // schedules take long to plan
	}
	return k == 0
}

// recorded runs one case and returns its line.
func recorded(t *testing.T, relation account.Relation, name string, k int, settings string) string {
	t.Helper()
	const records, dim = 160, 3
	title := fmt.Sprintf("%v %s %s%s%v %s:", relation, name, recordedProblems[k].loss, recordedProblems[k].regularizer, recordedProblems[k].radius, settings)
	b, err := account.NewBudget(4, 1e-6, relation)
	if err != nil {
		t.Fatal(err)
	}
	with := map[string]any{"algorithm": name}
	extra := map[string]any{}
	if err := json.Unmarshal([]byte(settings), &extra); err != nil {
		t.Fatal(err)
	}
	maps.Copy(with, extra)
	if name == "recursive" && settings == `{"theorem":true}` || (name == "strongly-convex" || name == "proximal-point") && extra["theorem"] != nil && extra["steps"] == nil {
		with["steps"] = 40 // the rule's number may be up to 10^6
	}
	if name == "storm" && extra["output"] == "random" {
		with["steps"] = 9 // the rule's number follows from forecasts, which depend on random draws
	}
	if (name == "dp-sgd" || name == "dp-adam") && extra["steps"] == nil {
		with["steps"] = 6 // schedules of many steps take long to calibrate
	}
	if extra["anchor_batch"] != nil {
		with["steps"], with["period"] = 6, 3
	}
	text, err := json.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	plan, l, err := recordedPlan(t, text, k, dim, records, b, extra["score"] == "value")
	if err != nil {
		return "" // refused
	}
	r := rand.New(rand.NewPCG(1, uint64(k)))
	c := simulate.Config{Loss: l, Budget: b, Seed: 7, Workers: 1, BlockRows: 64}
	for range records {
		x := make([]float32, dim)
		for j := range x {
			x[j] = float32((2*r.Float64() - 1) / math.Sqrt(dim))
		}
		y := math.Copysign(1, float64(x[0])+.5*r.NormFloat64())
		c.Rows, c.Targets = append(c.Rows, x), append(c.Targets, y)
	}
	if relation == account.AddOrRemove {
		c.Declared = records
	}
	session, err := simulate.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if s := plan.Needs().Schedule; s != nil {
		if err := session.Follow(s); err != nil {
			t.Fatal(err)
		}
	}
	steps := sha256.New()
	bits := func(w io.Writer, v ...float64) { binary.Write(w, binary.LittleEndian, v) }
	result, err := plan.Run(context.Background(), session, func(s optimize.Step) {
		bits(steps, float64(s.Number), float64(s.Of), s.GradientNorm, s.Charged)
		bits(steps, s.W...)
	})
	if err != nil {
		return title + " " + err.Error()
	}
	events, weights := sha256.New(), sha256.New()
	list := session.Ledger().Events()
	for _, e := range list {
		fmt.Fprintln(events, e.Kind, e.Question, e.Cohort, e.Charge, e.Sensitivity, e.Sigma, e.Sampling)
	}
	bits(weights, result.W...)
	o := plan.Summary()
	got, predicted := fmt.Sprintf("%x", weights.Sum(nil)[:6]), fmt.Sprintf("%.9g %.9g %.9g", o.Predicted, o.Population, o.Excess)
	if strings.Contains(o.Output, "random") { // drawn by the plan itself
		got, predicted = "drawn", "of the iterate drawn"
	}
	return fmt.Sprintf("%s %s steps %d of %v clip %v N %v r %v passes %v predicted %s; %d events %x steps %x result %d %v %s", title, o.Algorithm,
		o.Steps, o.StepSize, o.Clip, o.Effective, o.Floor, o.Passes, predicted,
		len(list), events.Sum(nil)[:6], steps.Sum(nil)[:6], result.Steps, result.Complete, got)
}

// recordedPlan makes the plan of a case.
func recordedPlan(t *testing.T, settings []byte, k, dim int, records float64, b account.Budget, plain bool) (optimize.Plan, loss.Loss, error) {
	t.Helper()
	p := recordedProblems[k]
	l, err := problem.Parse(p.loss)
	if err != nil {
		t.Fatal(err)
	}
	f := Family{Loss: l}
	f.Sample.Rows = [][]float32{make([]float32, dim)}
	if p.regularizer != "" && !plain { // scores by value allow no regularizer
		if f.Regularizer, err = loss.ParseRegularizer(p.regularizer); err != nil {
			t.Fatal(err)
		}
	}
	problem, err := f.Problem(records, b)
	if err != nil {
		t.Fatal(err)
	}
	if p.radius > 0 {
		if problem.Set, err = newRecordedBall(dim, p.radius); err != nil {
			t.Fatal(err)
		}
	}
	c, err := decodeSettings(settings)
	if err != nil {
		return nil, nil, err
	}
	plan, _, err := c.Plan(context.Background(), problem)
	return plan, l, err
}

func newRecordedBall(dim int, radius float64) (convex.Set, error) {
	return convex.NewBall(make([]float64, dim), radius)
}
