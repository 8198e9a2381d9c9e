//go:build results

package experiment_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestArora measures two things about the algorithms of Arora et al. (2023) that a Spec cannot express: the
// gradient over a distribution of which the records are a sample, and several output rules on the same run.
// It prints Markdown, and fails if a result misses its target. Epsilon is 1, delta is n^-1.5 and the
// relation is replace-one.
func TestArora(t *testing.T) {
	t.Run("Population", population)
	t.Run("Convex", convexPopulation)
	t.Run("Bias", bias)
	t.Run("Outputs", outputs)
	t.Run("Dimensions", dimensions)
	t.Run("Cost", phasedCost)
}

// table is a number of records with a budget of epsilon 1. Its rows are either a family's rows, all
// equally often, or a sample of them.
type table struct {
	family  *experiment.Family
	records int
	budget  account.Budget
	// sampled means that the n records are drawn, without replacement, from a population of stock times n
	// records that contains each of the family's rows equally often. The gradient on the family's rows is then
	// the population gradient.
	sampled bool
}

const stock = 10

func newTable(t *testing.T, f *experiment.Family, n int, sampled bool) table {
	t.Helper()
	b, err := account.NewBudget(1, math.Pow(float64(n), -1.5), account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return table{f, n, b, sampled}
}

func (s table) problem(t *testing.T) optimize.Problem {
	t.Helper()
	p, err := s.family.Problem(float64(s.records), s.budget)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sampleOracle is a session in which queries on all records are answered on a sample of the records.
type sampleOracle struct {
	*simulate.Session
	all query.Cohort
}

func (o sampleOracle) All() query.Cohort { return o.all }

// open returns a session. onePass means that the method draws its cohorts itself.
func (s table) open(t *testing.T, onePass bool, seed uint64) optimize.Oracle {
	t.Helper()
	f := s.family
	repeat := s.records / len(f.Sample.Rows)
	if s.sampled {
		repeat *= stock
	}
	session, err := simulate.Open(simulate.Config{
		Rows: f.Sample.Rows, Targets: f.Sample.Targets, Repeat: repeat, Loss: f.Loss, Budget: s.budget, Seed: seed,
		Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !s.sampled || onePass {
		return session
	}
	all, err := session.Draw(s.records)
	if err != nil {
		t.Fatal(err)
	}
	return sampleOracle{session, all}
}

// method is an algorithm in a table of results.
type method struct {
	name     string
	settings train.Train
	onePass  bool
	// random means that the result is an iterate drawn by the run's seed.
	random bool
	// most, if > 0, is the largest number of records at which the method is measured.
	most int
	// limit, if > 0, is the number of steps for a million records or more.
	limit int
	// whole means that the table contains every row of the family equally often.
	whole bool
}

func (m method) plan(t *testing.T, s table) optimize.Plan {
	t.Helper()
	c := m.settings
	if m.limit > 0 && s.records >= 1_000_000 {
		c.Settings = train.Settings{"steps": m.limit}
	}
	p, _, err := c.Plan(context.Background(), s.problem(t))
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	return p
}

// reach runs a plan and returns the point that is its result.
func (m method) reach(t *testing.T, s table, p optimize.Plan, seed uint64) []float64 {
	t.Helper()
	pick := -1
	if m.random {
		pick = rand.New(rand.NewPCG(seed, 0x0a17)).IntN(max(p.Summary().Steps, 1))
	}
	w := make([]float64, s.family.Dim())
	result, err := p.Run(context.Background(), s.open(t, m.onePass, seed), func(step optimize.Step) {
		if step.Number == pick {
			copy(w, step.W)
		}
	})
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	if !m.random {
		w = result.W
	}
	return w
}

func gradient(t *testing.T, f *experiment.Family, w []float64) float64 {
	t.Helper()
	g, err := f.GradientNorm(w)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// grow measures methods at increasing numbers n of records. It prints medians and exponents in n,
// and returns the medians.
func grow(t *testing.T, f *experiment.Family, methods []method, sizes []int,
	seeds func(m method, n int) int) map[string][]float64 {
	t.Helper()
	fmt.Print("| method |")
	for _, n := range sizes {
		fmt.Printf(" n = %d |", n)
	}
	fmt.Print(" exponent in n | interval | steps | passes | predicted |\n|---|")
	for range sizes {
		fmt.Print("---|")
	}
	fmt.Print("---|---|---|---|---|\n")
	medians := map[string][]float64{}
	for _, m := range methods {
		var x []float64
		var logs [][]float64
		var o optimize.Summary
		fmt.Printf("| %s |", m.name)
		for _, n := range sizes {
			if m.most > 0 && n > m.most {
				fmt.Print(" |")
				continue
			}
			s := newTable(t, f, n, !m.whole)
			p := m.plan(t, s)
			o = p.Summary()
			norms := make([]float64, seeds(m, n))
			group := make([]float64, len(norms))
			for i := range norms {
				norms[i] = gradient(t, f, m.reach(t, s, p, uint64(i)+1))
				group[i] = math.Log(norms[i])
			}
			median := experiment.Median(norms)
			medians[m.name] = append(medians[m.name], median)
			x, logs = append(x, math.Log(float64(n))), append(logs, group)
			fmt.Printf(" %.2e (%d) |", median, len(norms))
		}
		slope, err := measure.Slope(x, logs)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf(" %.2f | %.2f to %.2f | %d | %.4g | %.2e |\n", slope.Value, slope.Low, slope.High, o.Steps, o.Passes,
			o.Predicted)
	}
	return medians
}

// population measures the population gradient for nonconvex losses (Arora et al. 2023, Theorem 4).
func population(t *testing.T) {
	f, err := experiment.Tanh(100, 5000, 1)
	if err != nil {
		t.Fatal(err)
	}
	start := gradient(t, f, make([]float64, 100))
	fmt.Printf("\n## Population, tanh, d = 100\n\nGradient norm of the distribution over 5000 rows, %.2e at the start; medians (runs). Steps, passes and predictions are those at the last size measured.\n\n", start)
	sizes := []int{10_000, 100_000, 1_000_000}
	got := grow(t, f, []method{
		{name: "tree-spider", settings: train.Train{Algorithm: "tree-spider"}, onePass: true},
		{name: "tree-spider, theorem", settings: train.Train{Algorithm: "tree-spider",
			Settings: train.Settings{"theorem": true, "output": "last"}}, onePass: true, random: true},
		{name: "tree-spider, theorem, no early return", settings: train.Train{Algorithm: "tree-spider",
			Settings: train.Settings{"theorem": true, "accuracy": 1e-12, "output": "last"}}, onePass: true, random: true},
		{name: "one-pass-sgd", settings: train.Train{Algorithm: "one-pass-sgd"}, onePass: true},
		{name: "one-pass-storm", settings: train.Train{Algorithm: "one-pass-storm"}, onePass: true},
		{name: "gd", settings: train.Train{Algorithm: "gd"}, limit: 200},
		{name: "storm", settings: train.Train{Algorithm: "storm"}, limit: 200},
		{name: "tree-spider, whole table", settings: train.Train{Algorithm: "tree-spider"}, onePass: true, whole: true},
		{name: "gd, whole table", settings: train.Train{Algorithm: "gd"}, whole: true},
	}, sizes, func(m method, n int) int {
		switch {
		case m.onePass:
			return map[int]int{10_000: 101, 100_000: 31, 1_000_000: 11}[n]
		case m.whole:
			return 5
		}
		return map[int]int{10_000: 21, 100_000: 3, 1_000_000: 2}[n]
	})
	for i, want := range []float64{2.4e-2, 6.5e-3, 1.6e-3} {
		if tree := got["tree-spider"][i]; !(tree <= 1.15*want) {
			t.Errorf("n = %d: tree-spider reaches %.2e: want at most 1.15 times %.1e", sizes[i], tree, want)
		}
	}
}

// convexPopulation measures the population gradient for convex losses (Arora et al. 2023, Theorem 5).
func convexPopulation(t *testing.T) {
	f, err := experiment.Logistic(100, 5000, 1)
	if err != nil {
		t.Fatal(err)
	}
	hinge := *f
	hinge.Name = "smoothed hinge"
	if hinge.Loss, err = loss.SmoothedHinge(.5); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*experiment.Family{f, &hinge} {
		fmt.Printf("\n## Population, %s + l2(0.01), d = 100\n\n%.2e at the start.\n\n", f.Name,
			gradient(t, f, make([]float64, 100)))
		grow(t, f, []method{
			{name: "recursive, disjoint", settings: train.Train{Algorithm: "recursive",
				Settings: train.Settings{"cohorts": "disjoint"}}, onePass: true, most: 100_000},
			{name: "recursive, theorem, 300 steps a round", settings: train.Train{Algorithm: "recursive",
				Settings: train.Settings{"theorem": true, "steps": 300}}, onePass: true, most: 100_000},
			{name: "recursive, all", settings: train.Train{Algorithm: "recursive", Settings: train.Settings{"cohorts": "all"}},
				most: 100_000},
			{name: "phased-sgd", settings: train.Train{Algorithm: "recursive", Settings: train.Settings{"inner": "phased-sgd"}},
				onePass: true},
			{name: "phased-sgd, theorem", settings: train.Train{Algorithm: "recursive",
				Settings: train.Settings{"inner": "phased-sgd", "theorem": true}}, onePass: true},
			{name: "one-pass-sgd", settings: train.Train{Algorithm: "one-pass-sgd"}, onePass: true},
			{name: "gd", settings: train.Train{Algorithm: "gd"}, most: 100_000},
		}, []int{10_000, 30_000, 100_000, 1_000_000}, func(m method, n int) int {
			full := m.most > 0
			switch {
			case full:
				return map[int]int{10_000: 9, 30_000: 4, 100_000: 3}[n]
			case n == 1_000_000:
				return 5
			}
			return 15
		})
	}
}

// bias measures the problem in the lower bound of Arora et al. 2023, Theorem 7, on which no method,
// private or not, is better than order L0/sqrt(n). Every run has its own rows.
func bias(t *testing.T) {
	fmt.Print("\n## A coin's bias, d = 1\n\nMeans over families of the population's gradient norm, in units of L0/sqrt(n), with standard errors. The start has .125.\n\n")
	methods := []method{
		{name: "gd, one step", settings: train.Train{Algorithm: "gd",
			Settings: train.Settings{"steps": 1, "step_scale": 1, "output": "last"}}},
		{name: "gd, 100 steps", settings: train.Train{Algorithm: "gd", Settings: train.Settings{"steps": 100}}},
		{name: "recursive, all, 20 steps a round",
			settings: train.Train{Algorithm: "recursive", Settings: train.Settings{"cohorts": "all", "steps": 20}}},
		{name: "recursive, disjoint, 20 steps a round",
			settings: train.Train{Algorithm: "recursive", Settings: train.Settings{"cohorts": "disjoint", "steps": 20}}},
		{name: "tree-spider", settings: train.Train{Algorithm: "tree-spider"}},
		{name: "one-pass-sgd", settings: train.Train{Algorithm: "one-pass-sgd"}},
	}
	fmt.Print("| n | families | the records' minimiser |")
	for _, m := range methods {
		fmt.Printf(" %s |", m.name)
	}
	fmt.Print("\n|---|---|---|---|---|---|---|---|---|\n")
	for _, n := range []int{1000, 10_000, 100_000} {
		families := map[int]int{1000: 400, 10_000: 200, 100_000: 60}[n]
		norms := make([][]float64, 1+len(methods))
		var agreement float64
		for seed := range uint64(families) {
			f, err := experiment.HuberBias(1, n, seed)
			if err != nil {
				t.Fatal(err)
			}
			// The sign v is the first draw of the family's stream.
			v := 2*float64(rand.New(rand.NewPCG(seed, 0xb1a5)).IntN(2)) - 1
			var mean float64
			for _, x := range f.Sample.Rows {
				mean += float64(x[0]) / float64(n)
			}
			agreement += v * mean
			// The exact gradient over the distribution.
			at := func(w float64) float64 {
				return math.Abs(v/(8*math.Sqrt(float64(n)))+min(max(w, -.5), .5)) * math.Sqrt(float64(n))
			}
			norms[0] = append(norms[0], at(-mean/2))
			s := newTable(t, f, n, false)
			for i, m := range methods {
				norms[i+1] = append(norms[i+1], at(m.reach(t, s, m.plan(t, s), seed)[0]))
			}
		}
		// agreement is a sum of independent means with expectation p and standard deviation 1/sqrt(n).
		if z := (agreement/float64(families) - 1/(4*math.Sqrt(float64(n)))) *
			math.Sqrt(float64(n*families)); math.Abs(z) > 5 {
			t.Errorf("n = %d: biases are %v standard errors from their own", n, z)
		}
		fmt.Printf("| %d | %d |", n, families)
		for _, v := range norms {
			var mean, squares float64
			for _, x := range v {
				mean += x / float64(families)
				squares += x * x / float64(families)
			}
			fmt.Printf(" %.3f +- %.3f |", mean, math.Sqrt((squares-mean*mean)/float64(families)))
		}
		fmt.Println()
	}
}
