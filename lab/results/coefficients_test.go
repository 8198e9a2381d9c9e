//go:build results

package results_test

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

var (
	coefficientFits = flag.Int("coefficients.fits", 200,
		"how often TestCoefficientNoise fits each table; the others half as often")
	coefficientNamed      = flag.String("coefficients.cell", "", "what the names of TestCoefficientNoise's cells contain")
	coefficientsPublished = flag.Bool("coefficients.published", false, "spreads are of published coefficients, shifts to the constant included")
)

// noiseCell is one row of the results table: a configuration whose fit is repeated with fresh
// noise.
type noiseCell struct {
	name, yaml string
	fits       int
}

// generatedColumns are the columns of the generated table: correlated numbers, one of them with a long
// tail, and categories whose level "other" occurs in no row.
const generatedColumns = `columns: {age: {number: [18, 95]}, bmi: {number: [15, 45]}, income: {number: [0, 100000], transform: log1p}, sex: {category: [m, f]}, region: {category: [north, south, east, west]}}`

// generated writes a generated table whose target is of the given kind: classes, a number, or
// another key of targetOf.
func generated(t *testing.T, path, kind string, rows int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	_ = w.Write([]string{"age", "bmi", "income", "sex", "region", "y"})
	r := rand.New(rand.NewPCG(7, 7))
	for range rows {
		age := min(max(50+15*r.NormFloat64(), 18), 95)
		bmi := min(max(26+.1*(age-50)+3*r.NormFloat64(), 15), 45)
		income := math.Exp(8 + 1.2*r.NormFloat64())
		sex := []string{"f", "m"}[r.IntN(2)]
		region := []string{"north", "south", "east", "west"}[min(3, int(r.ExpFloat64()*1.5))]
		z := -.5 + .03*(age-50) + .08*(bmi-26)
		if sex == "m" {
			z += .35
		}
		if region == "north" {
			z += .6
		}
		_ = w.Write([]string{fmt.Sprintf("%.2f", age), fmt.Sprintf("%.2f", bmi), fmt.Sprintf("%.0f", income), sex, region,
			drawn(r, kind, z)})
	}
	w.Flush()
	if err := errors.Join(w.Error(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// drawn returns a random target, of the given kind, of a row with score z.
func drawn(r *rand.Rand, kind string, z float64) string {
	switch kind {
	case "two classes":
		return strconv.Itoa(map[bool]int{true: 1}[r.Float64() < 1/(1+math.Exp(-z))])
	case "three classes":
		shares := []float64{1, math.Exp(z), math.Exp(.3 - z)}
		u := r.Float64() * (shares[0] + shares[1] + shares[2])
		switch {
		case u < shares[0]:
			return "a"
		case u < shares[0]+shares[1]:
			return "b"
		}
		return "c"
	case "a count":
		k, rate := 0, math.Exp(z/2-.5)
		for p := r.ExpFloat64(); p < rate && k < 10; p += r.ExpFloat64() {
			k++
		}
		return strconv.Itoa(k)
	}
	return strconv.FormatFloat(120+8*z+12*r.NormFloat64(), 'f', 2, 64)
}

// targetOf gives, for each kind of target, the schema's text for it.
var targetOf = map[string]string{
	"two classes": "{column: y, classes: [0, 1]}", "three classes": "{column: y, classes: [a, b, c]}",
	"a count": "{column: y, number: [0, 10]}", "a number": "{column: y, number: [60, 200]}",
}

// TestCoefficientNoise prints the table of lab/results/inference.md: for repeated fits of one table with fresh
// noise, the stated standard deviations of the coefficients beside the spread of the fits.
//
//	go test -tags results -run TestCoefficientNoise -timeout 3h ./lab/results
func TestCoefficientNoise(t *testing.T) {
	dir := t.TempDir()
	var cells []noiseCell
	add := func(name, kind, loss, algorithm, relation string, epsilon float64, rows, fits int) {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d.csv", strings.ReplaceAll(kind, " ", "-"), rows))
		if _, err := os.Stat(path); err != nil {
			generated(t, path, kind, rows)
		}
		if algorithm == "dp-sgd" || algorithm == "dp-adam" {
			algorithm += ", steps: 30"
		}
		cells = append(cells, noiseCell{name,
			fmt.Sprintf("data: %s\nprivacy: {epsilon: %v, delta: 1e-6, relation: %s, records: %d}\nschema:\n  %s\n  target: %s\nmodel: {loss: %s}\ntrain: {algorithm: %s}\n",
				path, epsilon, relation, rows, generatedColumns, targetOf[kind], loss, algorithm), fits})
	}
	const rows = 20_000
	for _, relation := range []string{"replace-one", "add-or-remove"} {
		for _, x := range [][2]string{{"two classes", "logistic"}, {"three classes", "softmax"}, {"a number", "squared(1)"},
			{"a number", "huber(0.1)"}, {"a number", "absolute"}, {"a count", "poisson(1)"}} {
			fits := *coefficientFits
			if x[1] != "logistic" {
				fits /= 2
			}
			add(fmt.Sprintf("generated, %s, %s, eps 1, %s", x[0], x[1], relation), x[0], x[1], "auto", relation, 1, rows, fits)
		}
	}
	for _, epsilon := range []float64{.5, 1} { // fits that the comparison often moves toward the constant
		add(fmt.Sprintf("few rows, two classes, logistic, eps %g", epsilon), "two classes", "logistic", "auto", "replace-one", epsilon, 3000,
			*coefficientFits)
	}
	for _, name := range train.Algorithms() {
		loss, kind := "logistic", "two classes"
		if name == "smoothed" {
			loss, kind = "absolute", "a number"
		}
		add("algorithm "+name+", "+loss+", eps 2, replace-one", kind, loss, name, "replace-one", 2, 4000, *coefficientFits/2)
	}
	adult, err := os.ReadFile("../../examples/adult/adult.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := filepath.Abs("../../examples/adult/adult.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, epsilon := range []string{"0.5", "2"} {
		for _, relation := range []string{"replace-one", "add-or-remove"} {
			yaml := strings.Replace(string(adult), "data: adult.csv.gz", "data: "+table, 1)
			yaml = strings.Replace(yaml, "epsilon: 1", "epsilon: "+epsilon, 1)
			if relation == "add-or-remove" {
				yaml = strings.Replace(yaml, "relation: replace-one", "relation: add-or-remove\n  records: 32561", 1)
			}
			cells = append(cells, noiseCell{fmt.Sprintf("adult, eps %s, %s", epsilon, relation), yaml, *coefficientFits / 2})
		}
	}
	fmt.Println("| table | fits | noise | coefficients | stated/measured: 5%, median, 95% | within .7 to 1.4 | beyond two deviations, of a fit |\n|---|---|---|---|---|---|---|")
	for _, c := range cells {
		if strings.Contains(c.name, *coefficientNamed) {
			fmt.Println(c.row(t, dir))
		}
	}
}

// row computes the line of the results table for a configuration.
func (c noiseCell) row(t *testing.T, dir string) string {
	t.Helper()
	yaml := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(yaml, []byte(c.yaml), 0o666); err != nil {
		t.Fatal(err)
	}
	var sum, squares, stated []float64
	var last *report.Coefficients
	beyond, fits := 0, 0
	for i := range c.fits {
		config, err := train.ReadConfig(yaml)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "fit")
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		fitted, err := runfolder.Fit(t.Context(), config, runfolder.Out{Path: out}, train.Options{Software: "test"})
		if err != nil {
			return fmt.Sprintf("| %s | %d | %v | | | | |", c.name, i, err)
		}
		f, err := report.ReadFit(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		// A model halfway between its fit and the best constant has half of the fit's coefficients and of their noise:
		// which of the two was published is no part of what is stated. Constants have no coefficients.
		// With -published the spread is that of the published coefficients, to which the noise in the share belongs.
		share := 1.
		if fitted.Compared != nil {
			share -= fitted.Compared.Shrunk
		}
		if share == 0 {
			continue
		}
		if *coefficientsPublished {
			share = 1
		}
		if last, err = f.Coefficients(); err != nil {
			t.Fatal(err)
		}
		fits++
		if last.Noise == report.NoiseNotStated {
			return fmt.Sprintf("| %s | %d | %s | %d | | | |", c.name, i+1, last.Meaning, len(last.Terms))
		}
		if fits == 1 {
			n := len(last.Terms)
			sum, squares, stated = make([]float64, n), make([]float64, n), make([]float64, n)
		}
		for j, k := range last.Terms {
			if k.Deviation == nil {
				continue
			}
			value, deviation := *k.Value/share, *k.Deviation/share
			sum[j], squares[j], stated[j] = sum[j]+value, squares[j]+value*value, stated[j]+deviation*deviation
		}
		beyond += last.Beyond
	}
	if fits == 0 {
		return fmt.Sprintf("| %s | 0 | no fit had coefficients | | | | |", c.name)
	}
	n := float64(fits)
	var ratios []float64
	within := 0
	for j, k := range last.Terms {
		if k.Column == "" {
			continue
		}
		ratio := math.Sqrt(stated[j] / n / ((squares[j] - sum[j]*sum[j]/n) / (n - 1)))
		ratios = append(ratios, ratio)
		if ratio >= .7 && ratio <= 1.4 {
			within++
		}
		if testing.Verbose() {
			t.Logf("%s: %s %s: mean %.4g, spread %.3g, stated/measured %.2f", c.name, k.Class, k.Term, sum[j]/n,
				math.Sqrt((squares[j]-sum[j]*sum[j]/n)/(n-1)), ratio)
		}
	}
	slices.Sort(ratios)
	at := func(q float64) float64 { return ratios[int(math.Round(q*float64(len(ratios)-1)))] }
	return fmt.Sprintf("| %s | %d | %s | %d | %.2f, %.2f, %.2f | %.0f%% | %.1f |", c.name, fits, last.Noise, len(ratios),
		at(.05), at(.5), at(.95), 100*float64(within)/float64(len(ratios)), float64(beyond)/n)
}
