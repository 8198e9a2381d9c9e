package experiment_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
)

// powerSpec has sizes that differ by a factor of 4. Only b has settings to choose from.
const powerSpec = `name: powers
families: [huber-mean]
dimensions: [9]
rows: 10
records: [1000, 4000, 16000]
epsilons: [1, 2]
delta: 1e-6
seeds: 5
tuning_seeds: 1
algorithms:
  - {name: gd, label: a, settings: {steps: 5}}
  - {name: gd, label: b, settings: {steps: 5}, tune: {step_scale: [.1, .5]}}
`

// powers makes finished runs whose gradient norms are proportional to N^exponent, where N is the effective
// size. The medians over seeds are exactly proportional to N^exponent, too. In the tuning runs, the step
// scale .5 of algorithm b is better than its other value.
func powers(t *testing.T, s *experiment.Spec) []experiment.Finished {
	t.Helper()
	var all []experiment.Finished
	for _, c := range experiment.Trials(s) {
		n := float64(c.Records()) * c.Epsilon // proportional to N if mu were constant
		o := experiment.Outcome{Effective: n, Floor: 2 / n, LowerBound: 1 / n, Predicted: 4 / n, Steps: 5, Passes: 5,
			Loss: .3}
		exponent := map[string]float64{"a": -.5, "b": -2. / 3}[c.Label]
		spread := []float64{1, .8, 1.3, 1, 1}[c.Seed%5]
		o.GradientNorm = spread * math.Pow(n, exponent)
		if c.Tuning() && strings.Contains(string(c.Settings), "0.1") {
			o.GradientNorm *= 3
		}
		all = append(all, experiment.Finished{Key: c.Key(), Trial: c, Outcome: o, Seconds: float64(c.Seed % 5)})
	}
	return all
}

// TestSummary tests that a summary has cells in the specification's order, the better settings,
// quartiles, slopes and ratios of medians, and the number of missing runs.
func TestSummary(t *testing.T) {
	s := parseSpec(t, powerSpec)
	records := powers(t, s)
	// A run of another specification is ignored.
	foreign := records[0]
	foreign.Label, foreign.Key = "c", "x"
	summary, err := s.Summarize(append(records, foreign))
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Cells) != 12 || summary.Done != 2*3*(5+2+5) || summary.Missing != 0 {
		t.Fatalf("%d cells, %d done, %d missing", len(summary.Cells), summary.Done, summary.Missing)
	}
	for i, c := range summary.Cells {
		want := experiment.Group{Family: "huber-mean", Dim: 9, Epsilon: []float64{1, 2}[i/6], Label: []string{"a", "b"}[i%2]}
		n := []int{1000, 4000, 16000}[i/2%3]
		if c.Group != want || c.Records != n || c.Delta != 1e-6 || c.Runs != 5 || c.Grid != 1+i%2 {
			t.Errorf("cell %d: %+v", i, c)
		}
		if i%2 == 1 && !strings.Contains(string(c.Settings), `"step_scale":0.5`) {
			t.Errorf("cell %d: chose %s", i, c.Settings)
		}
		x := float64(n) * c.Epsilon
		median := math.Pow(x, []float64{-.5, -2. / 3}[i%2])
		if g := c.GradientNorm; math.Abs(g.Median/median-1) > 1e-12 || g.Low != g.Median || g.High != g.Median {
			t.Errorf("cell %d: %+v: want %v", i, g, median)
		}
		if c.Seconds != (experiment.Quartiles{Low: 1, Median: 2, High: 3}) {
			t.Errorf("cell %d: seconds %+v", i, c.Seconds)
		}
	}
	if len(summary.Slopes) != 4 || len(summary.Comparisons) != 6 {
		t.Fatalf("%d slopes, %d comparisons", len(summary.Slopes), len(summary.Comparisons))
	}
	for _, x := range summary.Slopes {
		want := map[string]float64{"a": -.5, "b": -2. / 3}[x.Label]
		if math.Abs(x.Value-want) > 1e-12 || x.Sizes != 3 || !(x.Low <= want && want <= x.High && x.High-x.Low < .3) {
			t.Errorf("%+v: want %v", x, want)
		}
	}
	for _, x := range summary.Comparisons {
		want := math.Pow(float64(x.Records)*x.Epsilon, -1./6)
		if math.Abs(x.Value/want-1) > 1e-12 || x.Baseline != "a" || x.Label != "b" || !(x.Low <= want && want <= x.High) {
			t.Errorf("%+v: want %v", x, want)
		}
	}
	// Without one of its tuning runs a cell has no settings yet.
	for i, r := range records {
		if r.Tuning() {
			records = append(records[:i:i], records[i+1:]...)
			break
		}
	}
	less, err := s.Summarize(records[:len(records)-1])
	if err != nil || len(less.Cells) != 11 || less.Missing != 1+5+1 {
		t.Errorf("%d cells, %d missing, %v", len(less.Cells), less.Missing, err)
	}
}

// TestMarkdown tests that each table has one row for each entry, with as many columns as its head.
func TestMarkdown(t *testing.T) {
	s := parseSpec(t, powerSpec)
	summary, err := s.Summarize(powers(t, s))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := summary.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	columns, rows := 0, 0
	for line := range strings.Lines(b.String()) {
		n := strings.Count(line, "|") - 1
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = n
		case n != columns:
			t.Errorf("%d columns, the head has %d: %s", n, columns, line)
		case !strings.HasPrefix(line, "|---"):
			rows++
		}
	}
	if rows != 12+4+6 {
		t.Errorf("%d rows:\n%s", rows, b.String())
	}
	for _, want := range []string{
		"# powers\n", "| huber-mean | 9 | 1 | a | 3 | -0.500 | ", "| huber-mean | 9 | 1 | 1000 | ", "0.0316 (0.0316, 0.0316)",
		"`{\"algorithm\":\"gd\",\"step_scale\":0.5,\"steps\":5}`",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	text, err := json.Marshal(summary)
	if err != nil || !strings.Contains(string(text), `"family":"huber-mean"`) || strings.Contains(string(text), "Group") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestRisksAreTold tests the columns for families whose minimum is known: quartiles of the excess risk, its
// exponents and ratios of medians, and the first run's estimate of kappa and gamma. For other families
// these columns must be empty. The test fails if gradient norms appear in their place.
func TestRisksAreTold(t *testing.T) {
	s := parseSpec(t, powerSpec)
	records := powers(t, s)
	for i, r := range records {
		if r.Epsilon == 2 {
			continue // the minimum is not known
		}
		above := 4 * math.Pow(r.Outcome.GradientNorm, 2)
		records[i].Outcome.Excess = &above
		records[i].Outcome.Rise = &measure.Rise{Kappa: float64(r.Seed), Gamma: 2, Points: 9}
	}
	summary, err := s.Summarize(records)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range summary.Cells {
		if c.Epsilon == 2 {
			if c.Excess != nil || c.Rise != nil {
				t.Errorf("%+v", c)
			}
			continue
		}
		if want := 4 * math.Pow(c.GradientNorm.Median, 2); c.Excess == nil || math.Abs(c.Excess.Median/want-1) > 1e-12 ||
			c.Rise == nil || c.Rise.Kappa != 1 {
			t.Errorf("%+v, %+v: want %v", c.Excess, c.Rise, want)
		}
	}
	if len(summary.Risks) != 2 {
		t.Fatalf("%d exponents: want 2", len(summary.Risks))
	}
	for _, x := range summary.Risks {
		if want := map[string]float64{"a": -1, "b": -4. / 3}[x.Label]; math.Abs(x.Value-want) > 1e-12 || x.Epsilon != 1 ||
			!(x.Low <= want && want <= x.High) {
			t.Errorf("%+v: want %v", x, want)
		}
	}
	for _, x := range summary.Comparisons {
		want := 0.
		if x.Epsilon == 1 {
			want = math.Pow(float64(x.Records), -1./3)
		}
		if math.Abs(x.Excess-want) > 1e-12 {
			t.Errorf("%+v: want %v", x, want)
		}
	}
	var b strings.Builder
	if err := summary.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Slopes of the excess risk\n\nExponents of the median excess risk in N",
		"| huber-mean | 9 | 1 | a | 3 | -1.000 | ", "| huber-mean | 9 | 1 | b | 3 | -1.333 | ",
		"| of median excess risks |", " | 0.1 |\n", " |  |\n",
		"| excess risk | seen: F - min F <= (gamma ||grad F||)^kappa |",
		"| 0.004 (0.004, 0.004) | gamma 2, kappa 1 |\n", "|  |  |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	table := summary.Study(s.Question).Tables[0]
	for i, r := range table.Rows {
		if k := len(r.Cells); len(table.Columns) != k || table.Columns[k-2].Name != "excess risk" ||
			table.Columns[k-1].Number || (r.Cells[k-1] == "gamma 2, kappa 1") != (i < 6) {
			t.Errorf("row %d of the page: %v", i, r.Cells)
		}
	}
}

// TestDivergedRunsCount tests that results of diverged runs that JSON cannot represent are recorded as the
// largest float64.
func TestDivergedRunsCount(t *testing.T) {
	for x, want := range map[float64]float64{math.Inf(1): math.MaxFloat64, math.Inf(-1): -math.MaxFloat64, 3: 3} {
		if got := experiment.Finite(x); got != want {
			t.Errorf("%v: %v", x, got)
		}
	}
	if got := experiment.Finite(math.NaN()); got != math.MaxFloat64 {
		t.Errorf("NaN: %v", got)
	}
}

func ExampleParseSpec() {
	s, err := experiment.ParseSpec([]byte(`
name: GD against STORM
families: [tanh, saddle(0.15)]
dimensions: [20]
rows: 500
effective: [250, 1000, 4000]
epsilons: [1]
seeds: 5
algorithms:
  - name: gd
    settings: {output: last}
    tune: {step_scale: [1, 4]}
    scale: {steps: {power: 1, factors: [.5, 2], most: 5000}}
  - name: storm
`))
	fmt.Println(s.Name, s.Delta, s.Relation, len(s.Algorithms), err)
	// Output:
	// GD against STORM n^-1.5 replace-one 2 <nil>
}
