//go:build results

package results_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

var (
	outcomeIn    = flag.String("outcome", "", "the folder of configurations that outcome.py wrote")
	outcomeOnly  = flag.String("only", "", "the names of the configurations, separated by commas; empty for all")
	outcomeAt    = flag.String("epsilons", "0.05,0.1,0.5,1,2,8", "the epsilons of TestOutcome")
	outcomeRules = flag.String("rules", "auto", "the algorithms of TestOutcome, separated by commas")
	outcomeTo    = flag.String("to", "", "the file that TestOutcome appends its fits to, a line of JSON each")
	outcomeFrom  = flag.String("from", "", "such files, separated by commas, of which TestOutcomePage makes a page")
)

// fitted is the outcome of one fit on one table, or of a reference that fits are compared with.
type fitted struct {
	Table   string  `json:"table"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Rule    string  `json:"rule"` // the algorithm asked for, constant, or without privacy
	Seed    uint64  `json:"seed,omitempty"`
	Chosen  string  `json:"chosen,omitempty"`
	Steps   int     `json:"steps,omitempty"`
	N       float64 `json:"effective,omitempty"`
	// Loss is the mean loss on the held-out rows. Error is their mean absolute error in the target's units
	// or, for classes, 1 - AUC.
	Loss      float64 `json:"loss"`
	Error     float64 `json:"error"`
	Gradient  float64 `json:"gradient,omitempty"`
	Predicted float64 `json:"predicted,omitempty"`
	Foreseen  float64 `json:"foreseen,omitempty"`
	// Fit is the mean loss of the fit itself, before the comparison with the constant decided which model
	// is published. Verdict is the result of the comparison, and Resolved the standard deviation of its
	// noise.
	Fit      float64 `json:"fit,omitempty"`
	Verdict  string  `json:"verdict,omitempty"`
	Resolved float64 `json:"resolved,omitempty"`
}

// TestOutcome fits every configuration of a folder in simulated sessions with seeds 1, 2, and so on. The
// random bits follow from the seed, so that two versions of the program can be compared on the same random
// bits. As in a real fit, the comparison with the best constant decides which model is published.
func TestOutcome(t *testing.T) {
	if *outcomeIn == "" {
		t.Skip("-outcome names no folder")
	}
	names, err := filepath.Glob(filepath.Join(*outcomeIn, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := os.Stdout
	if *outcomeTo != "" {
		if out, err = os.OpenFile(*outcomeTo, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			t.Fatal(err)
		}
		defer out.Close()
	}
	say := func(f fitted) {
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if *outcomeOnly == "" || slices.Contains(strings.Split(*outcomeOnly, ","), name) {
			outcome(t, name, config(t, path), say)
		}
	}
}

func outcome(t *testing.T, name string, c *train.Config, say func(fitted)) {
	training := read(t, c.DataPath(), c.Schema, "split=train")
	held := read(t, c.DataPath(), c.Schema, "split=test")
	l := parse(t, string(c.Model.Loss))
	tell := func(f fitted, z []float64) {
		f.Table, f.Loss = name, mean(l, z, held.y)
		if l.Target() == loss.Real && !loss.Counts(l) {
			f.Error, _ = held.errorsOf(func(i int) float64 { return c.Schema.TargetFromUnit(z[i]) })
		} else if l.Target() != loss.Real {
			_, auc := held.accuracyAndAUC(z)
			f.Error = 1 - auc
		}
		say(f)
	}
	if strings.Contains(*outcomeRules, "auto") {
		z := constant(l, training.y)
		tell(fitted{Rule: "constant"}, slices.Repeat([]float64{z}, held.n()))
		if l.Constants().Curvature.Lo >= 0 || math.IsInf(l.Constants().Curvature.Lo, -1) {
			tell(fitted{Rule: "without privacy"}, held.margins(reference1(t, training, l)))
		}
	}
	dense := training.dense()
	for _, word := range strings.Split(*outcomeAt, ",") {
		epsilon, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		b, err := account.NewBudget(epsilon, *c.Privacy.Delta, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := c.Problem(b, float64(training.n()))
		if err != nil {
			t.Fatal(err)
		}
		share := train.CompareShare(p)
		compare := train.Compare{Charge: share * b.Charge(), Loss: l, Features: training.dim, Intercept: 1 / c.Schema.Scale(),
			Reach: c.Schema.MarginRange}
		whole := p
		p.Mu *= math.Sqrt(1 - share)
		for _, rule := range strings.Split(*outcomeRules, ",") {
			asked := c.Train
			if err := asked.Set(map[string]any{"algorithm": rule}); err != nil {
				t.Fatal(err)
			}
			plan, _, err := asked.Plan(context.Background(), p)
			if err != nil {
				fmt.Printf("%s, %v, %s: %v\n", name, epsilon, rule, err)
				continue
			}
			for seed := range uint64(*rivalRuns) {
				s, err := simulate.Open(simulate.Config{Rows: dense, Targets: training.y, Loss: l, Budget: b, Seed: seed + 1})
				if err != nil {
					t.Fatal(err)
				}
				result, err := plan.Run(context.Background(), s, nil)
				if err != nil {
					t.Fatal(err)
				}
				compared, err := compare.Ask(context.Background(), s, whole, result.W,
					optimize.Found{Square: result.Rows.Square, Excess: result.Excess})
				if err != nil {
					t.Fatal(err)
				}
				sum := plan.Summary()
				published := compared.Model(result.W, compare.Constant(compared.Margins, len(result.W)))
				tell(fitted{
					Epsilon: epsilon, Rule: rule, Seed: seed + 1, Chosen: sum.Algorithm, Steps: sum.Steps, N: p.Effective(),
					Gradient: training.gradient(l, result.W), Predicted: sum.Predicted, Foreseen: result.Foreseen,
					Fit: mean(l, held.margins(result.W), held.y), Verdict: compared.Verdict().Code(), Resolved: compared.Sigma,
				}, held.margins(published))
			}
		}
	}
}

// dense returns all features of the rows as float32, zeros included, as the row map computes them.
func (r *rows) dense() [][]float32 {
	all := make([]float32, r.n()*r.dim)
	out := make([][]float32, r.n())
	for i := range out {
		out[i] = all[i*r.dim : (i+1)*r.dim]
		at, x := r.row(i)
		for k, j := range at {
			out[i][j] = float32(x[k])
		}
	}
	return out
}

func (r *rows) gradient(l loss.RankOne, w []float64) float64 {
	s := make([]float64, r.n())
	l.Slopes(s, r.margins(w), r.y)
	g := r.mean(s)
	return math.Sqrt(dot(g, g))
}

// mean returns the mean loss at margins z and targets y.
func mean(l loss.RankOne, z, y []float64) (sum float64) {
	v := make([]float64, len(z))
	l.Values(v, z, y)
	for _, x := range v {
		sum += x / float64(len(v))
	}
	return sum
}

// constant returns the margin with the smallest mean loss among 4,000 values.
func constant(l loss.RankOne, y []float64) (best float64) {
	lo, hi := -8., 8.
	if l.Target() == loss.Real {
		lo, hi = -1, 1
	}
	if loss.Counts(l) {
		lo, hi = -16, 2
	}
	count := map[float64]int{}
	for _, v := range y {
		count[v]++
	}
	targets := slices.Sorted(maps.Keys(count))
	least := math.Inf(1)
	values, z := make([]float64, len(targets)), make([]float64, len(targets))
	for i := range 4001 {
		at := lo + (hi-lo)*float64(i)/4000
		for k := range z {
			z[k] = at
		}
		l.Values(values, z, targets)
		sum := 0.
		for k, v := range values {
			sum += v * float64(count[targets[k]])
		}
		if sum < least {
			best, least = at, sum
		}
	}
	return best
}

// reference1 minimises, without privacy, the mean of a loss with one margin: by minimise if it
// supports the loss, otherwise by Newton's method or, for a loss whose slope jumps, by the
// majorization of Hunter and Lange (2000). Each step is halved until the loss decreases.
func reference1(t *testing.T, r *rows, l loss.RankOne) []float64 {
	t.Helper()
	_, kinked := l.(loss.Kinked)
	if !kinked && !loss.Counts(l) {
		return minimise(t, r, l)
	}
	const near = 1e-3 // a kink counts as a parabola within
	w, n := make([]float64, r.dim), r.n()
	if !kinked {
		w = descend(r, l, 1000) // at zero every slope of a count may be clipped, and the curvature be zero
	}
	slope, curvature, up, down := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for range 200 {
		z := r.margins(w)
		value := mean(l, z, r.y)
		l.Slopes(slope, z, r.y)
		if kinked {
			above, below := make([]float64, n), make([]float64, n)
			for i := range z {
				above[i], below[i] = r.y[i]+2, r.y[i]-2
			}
			l.Slopes(up, above, r.y)
			l.Slopes(down, below, r.y)
			for i := range z {
				e := z[i] - r.y[i] // the kink of a hinge is where y z = 1, which is z = y
				jump := up[i] - down[i]
				curvature[i] = jump / 2 / max(math.Abs(e), near)
				if math.Abs(e) < near {
					slope[i] = (up[i]+down[i])/2 + curvature[i]*e
				}
			}
		} else {
			l.Curvatures(curvature, z, r.y)
		}
		g, h := r.mean(slope), r.weighted(curvature)
		for j := range r.dim {
			h.SetSym(j, j, h.At(j, j)+1e-9)
		}
		var factor mat.Cholesky
		if !factor.Factorize(h) {
			t.Fatalf("%s: the matrix is not positive definite", l.Name())
		}
		var step mat.VecDense
		if err := factor.SolveVecTo(&step, mat.NewVecDense(r.dim, g)); err != nil {
			if _, bad := err.(mat.Condition); !bad {
				t.Fatal(err)
			}
		}
		size, next := 1., slices.Clone(w)
		for ; size > 1e-6; size /= 2 {
			for j := range w {
				next[j] = w[j] - size*step.AtVec(j)
			}
			if mean(l, r.margins(next), r.y) <= value {
				break
			}
		}
		w = next
		if after := mean(l, r.margins(w), r.y); value-after < 1e-9*value {
			return w
		}
	}
	return w
}

// TestOutcomePage makes Markdown from the output of TestOutcome: for each table and epsilon, the medians
// over seeds of the held-out loss and of the measured divided by the predicted gradient norm. A second table
// has what the comparison with the constant decided, and its noise, in shares of what can be saved.
func TestOutcomePage(t *testing.T) {
	if *outcomeFrom == "" {
		t.Skip("-from names no file")
	}
	var all []fitted
	for _, path := range strings.Split(*outcomeFrom, ",") {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var v fitted
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		f.Close()
	}
	of := func(table, rule string, epsilon float64, value func(fitted) float64) (v float64, n int) {
		var list []float64
		for _, f := range all {
			if f.Table == table && f.Rule == rule && f.Epsilon == epsilon {
				list = append(list, value(f))
			}
		}
		if len(list) == 0 {
			return math.NaN(), 0
		}
		return median(list), len(list)
	}
	tables, epsilons, rules := map[string]bool{}, map[float64]bool{}, map[string]bool{}
	for _, f := range all {
		if tables[f.Table] = true; f.Epsilon > 0 {
			epsilons[f.Epsilon], rules[f.Rule] = true, true
		}
	}
	heldOut := func(f fitted) float64 { return f.Loss }
	fmt.Println("| table | epsilon | N | fits | chosen | loss | constant | best other | without privacy | saved | error | constant | without | measured/predicted |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		constant, _ := of(table, "constant", 0, heldOut)
		free, _ := of(table, "without privacy", 0, heldOut)
		for _, epsilon := range slices.Sorted(maps.Keys(epsilons)) {
			loss, fits := of(table, "auto", epsilon, heldOut)
			if fits == 0 {
				continue
			}
			other, whose := math.Inf(1), "-"
			for rule := range rules {
				if v, n := of(table, rule, epsilon, heldOut); rule != "auto" && n > 0 && v < other {
					other, whose = v, fmt.Sprintf("%.5g %s", v, rule)
				}
			}
			wrong, _ := of(table, "auto", epsilon, func(f fitted) float64 { return f.Error })
			flat, _ := of(table, "constant", 0, func(f fitted) float64 { return f.Error })
			least, _ := of(table, "without privacy", 0, func(f fitted) float64 { return f.Error })
			N, _ := of(table, "auto", epsilon, func(f fitted) float64 { return f.N })
			ratio, _ := of(table, "auto", epsilon, func(f fitted) float64 { return f.Gradient / f.Predicted })
			chosen := ""
			for _, f := range all {
				if f.Table == table && f.Rule == "auto" && f.Epsilon == epsilon {
					chosen = fmt.Sprintf("%s, %d", f.Chosen, f.Steps)
				}
			}
			fmt.Printf("| %s | %v | %.3g | %d | %s | %.5g | %.5g | %s | %.5g | %.0f%% | %.4g | %.4g | %.4g | %.2f |\n",
				table, epsilon, N, fits, chosen, loss, constant, whose, free, 100*(constant-loss)/(constant-free), wrong, flat,
				least, ratio)
		}
	}
	fmt.Println("\nWhat the comparison decides\n| table | epsilon | N | fits | saved by the fit | as published | noise | better | unclear | worse |\n|---|---|---|---|---|---|---|---|---|---|")
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		constant, _ := of(table, "constant", 0, heldOut)
		free, _ := of(table, "without privacy", 0, heldOut)
		for _, epsilon := range slices.Sorted(maps.Keys(epsilons)) {
			fit, fits := of(table, "auto", epsilon, func(f fitted) float64 { return f.Fit })
			if fits == 0 {
				continue
			}
			verdicts := map[string]int{}
			for _, f := range all {
				if f.Table == table && f.Rule == "auto" && f.Epsilon == epsilon {
					verdicts[f.Verdict]++
				}
			}
			published, _ := of(table, "auto", epsilon, heldOut)
			N, _ := of(table, "auto", epsilon, func(f fitted) float64 { return f.N })
			noise, _ := of(table, "auto", epsilon, func(f fitted) float64 { return f.Resolved })
			percent := func(v float64) float64 { return 100 * v / (constant - free) }
			fmt.Printf("| %s | %v | %.3g | %d | %.0f%% | %.0f%% | %.0f%% | %d | %d | %d |\n", table, epsilon, N, fits,
				percent(constant-fit), percent(constant-published), percent(noise), verdicts["better"], verdicts["unclear"],
				verdicts["worse"])
		}
	}
}
