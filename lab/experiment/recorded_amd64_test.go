package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

var (
	record    = flag.Bool("record", false, "write testdata/recorded.txt anew")
	recordNew = flag.Bool("record-new", false, "add to testdata/recorded.txt what is not recorded yet")
)

// recordedProblems are the problems on which runs are recorded: a loss, its regularizer and the
// radius of a ball (0 for none).
var recordedProblems = []struct {
	loss, regularizer string
	radius            float64
}{{"tanh", "l2(0.01)", 0}, {"huber(0.3)", "l2(0.01)", 0}, {"logistic", "", 0}, {"logistic", "", 2},
	{"slow-tail", "", 0}, {"hinge", "l2(0.01)", 0}}

// TestRunsAreWhatTheyWere tests that every algorithm with its defaults, on every problem and under both
// relations, makes the same queries, charges and results, to the bit, as in testdata/recorded.txt. The
// settings of algorithms are tested by the algorithms' own tests. The file is made by go test ./lab/experiment
// -run RunsAreWhatTheyWere -record. If a number changes on purpose, the file is made again, and the commit
// states the reason.
//
// Other processors fuse multiplications and additions, and results then have other bits.
func TestRunsAreWhatTheyWere(t *testing.T) {
	if (*record || *recordNew) && testing.Short() {
		t.Fatal("-record: must be without -short, which runs a part of what is recorded: the rest would be lost")
	}
	var lines []string
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, name := range train.Algorithms() {
			for k := range recordedProblems {
				if testing.Short() && (relation == account.AddOrRemove || k > 0) {
					continue
				}
				if line := recorded(t, relation, name, k); line != "" {
					lines = append(lines, line)
				}
			}
		}
	}
	const file = "testdata/recorded.txt"
	if *record {
		writeRecorded(t, file, lines)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	then := strings.Split(strings.TrimSpace(string(want)), "\n")
	if *recordNew {
		then = withNew(then, lines)
		writeRecorded(t, file, then)
	}
	old, now := byTitle(then), byTitle(lines)
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

// withNew returns the recorded lines (then) unchanged, with those lines added whose titles are new. A new
// line is put after the line that precedes it in lines.
func withNew(then, lines []string) []string {
	old := byTitle(then)
	for i, line := range lines {
		if title, _, _ := strings.Cut(line, ": "); old[title] != "" {
			continue
		}
		at := 0
		if i > 0 {
			before, _, _ := strings.Cut(lines[i-1], ": ")
			at = 1 + slices.IndexFunc(then, func(l string) bool { return strings.HasPrefix(l, before+": ") })
		}
		then = slices.Insert(then, at, line)
	}
	return then
}

// TestNewRunsAreAdded tests that -record-new changes no recorded line, and puts a new line at the position
// at which -record would put it.
func TestNewRunsAreAdded(t *testing.T) {
	then := []string{"a: 1", "b: 2", "gone: 4"}
	got := withNew(then, []string{"new: 0", "a: 9", "x: 5", "y: 6", "b: 2", "z: 7"})
	if want := "new: 0,a: 1,x: 5,y: 6,b: 2,z: 7,gone: 4"; strings.Join(got, ",") != want {
		t.Errorf("%v: want %v", got, want)
	}
}

func writeRecorded(t *testing.T, file string, lines []string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// byTitle splits each line into a title and a rest, and returns a map from title to rest.
func byTitle(lines []string) map[string]string {
	m := map[string]string{}
	for _, line := range lines {
		title, rest, _ := strings.Cut(line, ": ")
		m[title] = rest
	}
	return m
}

// recorded runs one case and returns its line, or "" if the algorithm refuses the problem.
func recorded(t *testing.T, relation account.Relation, name string, k int) string {
	t.Helper()
	const records, dim = 160, 3
	title := fmt.Sprintf("%v %s %s%s%v:", relation, name, recordedProblems[k].loss, recordedProblems[k].regularizer,
		recordedProblems[k].radius)
	b, err := account.NewBudget(4, 1e-6, relation)
	if err != nil {
		t.Fatal(err)
	}
	with := map[string]any{"algorithm": name}
	if name == "dp-sgd" || name == "dp-adam" {
		with["steps"] = 6 // schedules of many steps take long to calibrate
	}
	text, err := json.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	plan, l, err := recordedPlan(t, text, k, dim, records, b)
	if err != nil {
		return ""
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
	return fmt.Sprintf("%s %s steps %d of %v clip %v N %v r %v passes %v predicted %.9g %.9g %.9g; %d events %x steps %x result %d %v %x", title, o.Algorithm,
		o.Steps, o.StepSize, o.Clip, o.Effective, o.Floor, o.Passes, o.Predicted, o.Population, o.Excess,
		len(list), events.Sum(nil)[:6], steps.Sum(nil)[:6], result.Steps, result.Complete, weights.Sum(nil)[:6])
}

// recordedPlan makes the plan of a case.
func recordedPlan(t *testing.T, settings []byte, k, dim int, records float64, b account.Budget) (optimize.Plan,
	loss.Loss, error) {
	t.Helper()
	p := recordedProblems[k]
	l, err := synthetic.Parse(p.loss)
	if err != nil {
		t.Fatal(err)
	}
	f := Family{Loss: l}
	f.Sample.Rows = [][]float32{make([]float32, dim)}
	if p.regularizer != "" {
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
