package simulate_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// saddle is a general loss whose Hessian has the signs of the row and the target.
type saddle struct{ loss.Loss }

func (saddle) Name() string { return "saddle" }

func (saddle) Value(w []float64, x []float32, y float64) float64 {
	var sum float64
	for j, v := range w {
		d := v - float64(x[j])
		sum += float64(float64(d*d) * float64(1-2*(j%2)))
	}
	return y / 2 * sum
}

func (saddle) Gradient(dst, w []float64, x []float32, y float64) {
	for j, v := range w {
		dst[j] = float64(y * float64((v-float64(x[j]))*float64(1-2*(j%2))))
	}
}

// TestRecordedIntegers: every kind of query, in every way that it allows, gives the integers, charges
// and answers in testdata/exchanges.txt. This test wrote the file with an earlier implementation of
// queries. UPDATE=1 writes it again, for a change that is meant to change them.
func TestRecordedIntegers(t *testing.T) {
	const path = "testdata/exchanges.txt"
	var got []string
	for _, l := range []loss.Loss{parse(t, "logistic"), parse(t, "tanh"), saddle{parse(t, "tanh")}} {
		for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			got = append(got, recorded(t, l, r)...)
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d exchanges, recorded were %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("exchange %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// cube returns a table of rows in a cube inside the unit ball. It uses only operations that no
// processor fuses, so that the table is the same on every machine.
func cube(n int) (rows [][]float32, targets []float64) {
	r := rand.New(rand.NewPCG(3, 9))
	for range n {
		rows = append(rows, []float32{r.Float32() - .5, r.Float32() - .5, r.Float32() - .5})
		targets = append(targets, float64(2*r.IntN(2)-1))
	}
	return rows, targets
}

// recorded makes all queries on a table with faulty records and returns a line for each exchange.
func recorded(t *testing.T, l loss.Loss, r account.Relation) []string {
	t.Helper()
	rows, targets := cube(150)
	targets[7], targets[90] = math.NaN(), math.Inf(1)
	rows[30] = []float32{3, 0, 0}
	c := simulate.Config{Rows: rows, Targets: targets, Loss: l, Budget: wide(t, r), Seed: 11, Workers: 3, BlockRows: 40}
	if r == account.AddOrRemove {
		c.Declared = 140
	}
	s, err := recordtest.Record(c)
	if err != nil {
		t.Fatal(err)
	}
	asked := &asker{t: t, s: s, relation: r, loss: l}
	asked.everything()
	asked.measured()
	var lines []string
	for _, x := range s.Exchanges() {
		e := x.Event
		lines = append(lines,
			fmt.Sprintf("%s %v %v %q %d %x %x %x scale %x 2^%d members %d exact %s scores %s noisy %s released %s",
				l.Name(), r, e.Kind, e.Question, e.Cohort, e.Sensitivity, e.Sigma, e.Charge, x.Scale, x.Bits,
				len(x.Members), digest(x.Exact), digest(x.Scores), digest(x.Noisy), shown(x.Released)))
	}
	return append(lines, sampledLines(t, c)...)
}

func wide(t *testing.T, r account.Relation) account.Budget {
	t.Helper()
	b, err := account.NewBudget(8, 1e-5, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sampledLines makes queries on a schedule of samples.
func sampledLines(t *testing.T, c simulate.Config) []string {
	t.Helper()
	schedule, err := account.CalibrateSchedule(context.Background(), c.Budget, 0,
		account.SampledSteps{NoiseMultiplier: 1, Sampling: .5, Count: len(forms)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := recordtest.Record(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Follow(schedule); err != nil {
		t.Fatal(err)
	}
	a := &asker{t: t, s: s, relation: c.Budget.Relation(), loss: c.Loss}
	for _, f := range forms {
		cohort, err := s.Sample()
		if err != nil {
			t.Fatal(err)
		}
		a.ask(f(cohort))
	}
	var lines []string
	for _, x := range s.Exchanges() {
		lines = append(lines, fmt.Sprintf("%s %v %v %q %x exact %s noisy %s released %s", c.Loss.Name(), c.Budget.Relation(),
			x.Event.Kind, x.Event.Question, x.Event.Sigma, digest(x.Exact), digest(x.Noisy), shown(x.Released)))
	}
	return lines
}

// digest returns the first integers and a hash of all of them.
func digest(v []int64) string {
	if v == nil {
		return "none"
	}
	h := fnv.New64a()
	for _, x := range v {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(x)))
	}
	return fmt.Sprintf("%d#%x", v[:min(len(v), 2)], h.Sum64())
}

func shown(released any) string {
	r, ok := released.(query.Release)
	if !ok {
		return fmt.Sprint(released)
	}
	h := fnv.New64a()
	for _, x := range append(slices.Clone(r.Mean), r.Sigma, r.Charge) {
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
	return fmt.Sprintf("%x#%x", r.Mean[0], h.Sum64())
}
