package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// gaussianBudget returns the largest mu for which mu-GDP implies (epsilon, delta)-DP, by bisection
// (Balle and Wang 2018).
func gaussianBudget(epsilon, delta float64) float64 {
	return bisected(1e-3, 20, func(mu float64) bool { return gaussianDelta(mu, epsilon) < delta })
}

func gaussianDelta(mu, epsilon float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(mu/2-epsilon/mu) - math.Exp(epsilon)*phi(-mu/2-epsilon/mu)
}

func bisected(low, high float64, below func(float64) bool) float64 {
	for range 200 {
		if x := (low + high) / 2; below(x) {
			low = x
		} else {
			high = x
		}
	}
	return low
}

// printed returns the numbers in the first line of output that matches a pattern.
func printed(t *testing.T, out, pattern string) []float64 {
	t.Helper()
	m := regexp.MustCompile("(?m)^" + pattern + "$").FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no line %q in\n%s", pattern, out)
	}
	var list []float64
	for _, s := range m[1:] {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// nearly fails the test unless the relative difference of got and want is at most r. what names the
// number in the error.
func nearly(t *testing.T, what string, got, want, r float64) {
	t.Helper()
	if !(math.Abs(got-want) <= r*math.Abs(want)) {
		t.Errorf("%s: %v: must be %v", what, got, want)
	}
}

const num = `([-+.e0-9]+)`

// TestPlanAndFitInNumbers recomputes the numbers that plan and fit print from the configuration, the
// documented formulas and the releases in the certificate.
func TestPlanAndFitInNumbers(t *testing.T) {
	const n, epsilon, delta = 3000, .8, 1e-5
	dir := t.TempDir()
	if err := writePeople(dir, n); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, relation := range []string{"replace-one", "add-or-remove"} {
		config := strings.NewReplacer("replace-one", relation, "epsilon: 1\n", fmt.Sprintf("epsilon: %v\n", epsilon), "1e-6",
			"1e-5").Replace(peopleYAML)
		if relation == "add-or-remove" {
			config = strings.Replace(config, "privacy:\n", fmt.Sprintf("privacy:\n  records: %d\n", n), 1)
		}
		config += "train: {algorithm: gd}\n"
		if err := os.WriteFile("c.yaml", []byte(config), 0o666); err != nil {
			t.Fatal(err)
		}
		code, text, message := inProcess("plan", "c.yaml", "--verbose")
		if code != 0 {
			t.Fatal(message)
		}
		_, out, _ := inProcess("plan", "c.yaml", "--json")
		planned := decodeJSON(t, out)
		inner := planned["plan"].(map[string]any)
		// The features are two numbers, three levels of sex and the intercept. The slopes of the logistic
		// loss are at most 1.
		const d = 6
		mu := gaussianBudget(epsilon, delta)
		size := n * mu / math.Sqrt(d)
		if relation == "add-or-remove" {
			size *= 2 // a record changes a sum by half as much
		}
		if size < 1000 { // the share of the budget that is left for the plan after the base rate and the comparison
			size *= math.Sqrt(.94)
		} else {
			size *= math.Sqrt(.96)
		}
		lower := math.Min(1, math.Sqrt(d*math.Log(1/delta))/(n*epsilon))
		for what, c := range map[string][2]float64{
			"mu": {planned["mu"].(float64), mu}, "effective size": {inner["effective_size"].(float64), size},
			"floor": {inner["floor"].(float64), 2 / size}, "lower bound": {planned["lower_bound"].(float64), lower},
			"dim": {planned["dim"].(float64), d}, "passes": {inner["passes"].(float64), inner["steps"].(float64)},
		} {
			nearly(t, relation+": "+what, c[0], c[1], 1e-9)
		}
		budget := printed(t, text, `budget +epsilon `+num+`, delta `+num+`, `+relation+` \(mu `+num+`\)`)
		for i, want := range []float64{epsilon, delta, mu} {
			nearly(t, "budget", budget[i], want, 1e-4)
		}
		expect := printed(t, text, `expect +gradient norm `+num+`; noise level `+num+`, effective size N `+num)
		for i, want := range []float64{inner["predicted_gradient_norm"].(float64), 2 / size, size} {
			nearly(t, fmt.Sprintf("%s: expect %d", relation, i), expect[i], want, 6e-3)
		}
		if inner["predicted_population_gradient_norm"].(float64) != 0 {
			t.Errorf("%s: the plan states a forecast of the population's gradient, which is not reliable", relation)
		}
		nearly(t, "lower bound", printed(t, text, `lower bound +a constant times `+num+`, .*`)[0], lower, 6e-3)
		steps := printed(t, text, `steps +`+num+` of size `+num+`; clip norm `+num)
		for i, key := range []string{"steps", "step_size", "clip"} {
			nearly(t, key, steps[i], inner[key].(float64), 6e-4)
		}
		if warned := strings.Contains(text, "\nwarning"); warned != (size < 30) {
			t.Errorf("%s: N %v, warned %v", relation, size, warned)
		}

		// Three fits of one table in one folder.
		for k := range 3 {
			code, text, message = inProcess("fit", "c.yaml", "--out", relation, "--overwrite", "--verbose")
			if code != 0 {
				t.Fatal(message)
			}
			total := 0.0
			events := eventsOf(t, relation)
			for _, e := range events {
				total += math.Pow(e.Sensitivity/e.Sigma, 2)
			}
			charged := printed(t, text, `budget +.*: `+num+` of `+num+` spent \(units of mu\^2\), on `+num+` noisy answers \(releases\)`)
			for i, want := range []float64{total, mu * mu, float64(len(events))} {
				nearly(t, fmt.Sprintf("%s: charged %d", relation, i), charged[i], want, 6e-6)
			}
			guarantee := printed(t, text,
				`budget +epsilon `+num+`, delta `+num+`, `+relation+`: .*`)
			nearly(t, "epsilon", guarantee[0], epsilon, 0)
			nearly(t, "delta", guarantee[1], delta, 0)
			if k == 0 {
				continue
			}
			sum := bisected(0, 50, func(e float64) bool { return gaussianDelta(math.Sqrt(float64(k+1))*mu, e) > delta })
			together := printed(t, text,
				`together +with `+num+` earlier fits? of this table: epsilon `+num+` at delta `+num+`; .*`)
			// The accountant's upper bound exceeds the exact value by up to a thousandth, and four digits
			// are shown.
			if together[0] != float64(k) || !(together[1] >= sum && together[1] <= sum*1.003) || together[2] != delta {
				t.Errorf("%s: %v: must be %d, %v, %v", relation, together, k, sum, delta)
			}
		}
	}
}

type releaseLaw struct{ Sensitivity, Sigma float64 }

func eventsOf(t *testing.T, folder string) []releaseLaw {
	t.Helper()
	var c struct{ Events []releaseLaw }
	if err := json.Unmarshal([]byte(readFile(t, folder, "certificate.json")), &c); err != nil {
		t.Fatal(err)
	}
	return c.Events
}

// TestSmallTablesAreWarnedOf tests the warning about a table that is too small for its budget: it
// must appear if and only if the effective size, n mu/sqrt(d) for n records and d weights, is below
// 30.
func TestSmallTablesAreWarnedOf(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	mu := gaussianBudget(1, 1e-6)
	for _, size := range []float64{10, 28, 32, 60} {
		n := int(size * math.Sqrt(6) / mu)
		if err := writePeople(dir, n); err != nil {
			t.Fatal(err)
		}
		code, out, message := inProcess("plan", "people.yaml")
		if code != 0 {
			t.Fatal(message)
		}
		if warned := strings.Contains(out, "too few rows for this budget: a model is almost all noise"); warned != (size < 30) {
			t.Errorf("N = %v: warned %v\n%s", size, warned, out)
		}
	}
}
