package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

func evaluate(t testing.TB, m *Model, path, where string) Metrics {
	t.Helper()
	got, err := m.Evaluate(t.Context(), path, where, "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantValue(t testing.TB, name string, got *float64, want float64) {
	t.Helper()
	switch {
	case got == nil && !math.IsNaN(want):
		t.Errorf("%s is absent, want %v", name, want)
	case got != nil && math.IsNaN(want):
		t.Errorf("%s = %v, want none", name, *got)
	case got != nil && !(math.Abs(*got-want) <= 1e-14*(1+math.Abs(want))):
		t.Errorf("%s = %v, want %v", name, *got, want)
	}
}

var absent = math.NaN()

// TestEvaluateClasses tests results computed by hand. The weights (2, 0, 0, 0) make the margin
// equal to a, the row's first number; the encoded row is (a/2, 0, 0, 1/2).
//
//	a     y    margin  predicted
//	1     +1   1       yes, right
//	-1    -1   -1      no, right
//	0.5   -1   0.5     yes, wrong
//	0     +1   0       no, wrong
func TestEvaluateClasses(t *testing.T) {
	path := writeFile(t, "a,b,c,split,label",
		"1,0,0,test,yes",
		"-1,0,0,test,no",
		"0.5,0,0,test,no",
		"1,1,1,train,no",
		"0,0,0,test,yes",
		"1,0,0,test,maybe",  // no valid target: skipped
		"1,0,0,test,",       // skipped
		"1,0,0",             // malformed, kept by any filter: skipped
		"1,0,0,train,maybe", // not kept, not counted
	)
	e := math.E
	logLoss := (2*math.Log(1+1/e) + math.Log(1+math.Sqrt(e)) + math.Ln2) / 4
	// d/dz of log(1+e^-yz) is -y/(1+e^yz).
	slopes := []float64{-1 / (1 + e), 1 / (1 + e), 1 / (1 + 1/math.Sqrt(e)), -0.5}
	ga := (slopes[0] - slopes[1] + slopes[2]/2) / 2 / 4
	g1 := (slopes[0] + slopes[1] + slopes[2] + slopes[3]) / 2 / 4

	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	got := evaluate(t, m, path, "split=test")
	if got.N != 4 || got.Skipped != 3 || got.Private {
		t.Errorf("n = %d, skipped %d, private %v", got.N, got.Skipped, got.Private)
	}
	wantValue(t, "accuracy", got.Accuracy, 0.5)
	wantValue(t, "auc", got.AUC, 0.75) // of the pairs, only 0 against 0.5 is lost
	wantValue(t, "log loss", got.LogLoss, logLoss)
	wantValue(t, "rmse", got.RMSE, absent)
	wantValue(t, "mae", got.MAE, absent)
	wantValue(t, "objective", got.Objective, logLoss)
	wantValue(t, "gradient norm", got.GradientNorm, math.Hypot(ga, g1))

	// The regularizer adds (lambda/2) 4 to the objective, and lambda w to the gradient.
	m = makeModel(t, classes, "logistic", "l2(0.25)", 2, 0, 0, 0)
	got = evaluate(t, m, path, "split=test")
	wantValue(t, "log loss", got.LogLoss, logLoss)
	wantValue(t, "objective", got.Objective, logLoss+0.5)
	wantValue(t, "gradient norm", got.GradientNorm, math.Hypot(ga+0.5, g1))

	m = makeModel(t, classes, "tanh", "none", 2, 0, 0, 0)
	got = evaluate(t, m, path, "split=test")
	wantValue(t, "accuracy", got.Accuracy, 0.5)
	wantValue(t, "log loss", got.LogLoss, absent)
	wantValue(t, "objective", got.Objective, (2*(1-math.Tanh(1))+1-math.Tanh(-0.5)+1)/4)

	if all := evaluate(t, m, path, ""); all.N != 5 || all.Skipped != 4 {
		t.Errorf("without a filter: n = %d, skipped %d", all.N, all.Skipped)
	}
	one := evaluate(t, m, writeFile(t, "a,b,c,split,label", "1,0,0,x,yes"), "")
	wantValue(t, "auc of one class", one.AUC, absent)
	wantValue(t, "accuracy of one class", one.Accuracy, 1)
}

// TestShareBelow tests the fraction of targets strictly below the prediction of a quantile fit.
// With weights (2, 0, 0, 0) the prediction is 90 + 150 a, where a is the row's first number.
func TestShareBelow(t *testing.T) {
	path := writeFile(t, "a,b,c,delay,split", "0.5,0,0,175,x", "1,0,0,200,x", "-1,0,0,-60,x", "0,0,0,89,x", "0,0,0,NA,x")
	got := evaluate(t, makeModel(t, delay, "pinball(0.9)", "none", 2, 0, 0, 0), path, "")
	wantValue(t, "share below", got.ShareBelow, .5)
	got = evaluate(t, makeModel(t, delay, "huber(0.5)", "none", 2, 0, 0, 0), path, "")
	wantValue(t, "share below", got.ShareBelow, absent)
}

// TestEvaluateRegression tests the measures of a regression against results computed by hand. With
// weights (2, 0, 0, 0) the prediction is 90 + 150 a, where a is the row's first number.
func TestEvaluateRegression(t *testing.T) {
	m := makeModel(t, delay, "huber(0.5)", "none", 2, 0, 0, 0)
	path := writeFile(t, "a,b,c,delay,split",
		"0.5,0,0,175,x",    // 165: error -10
		"1,0,0, 300 ,x",    // 240: error -60, from the cell and not its bound
		"-1,0,0,-60,x",     // -60: 0
		"0,0,0,+Inf,x",     // 90: error -150, from the bound 240
		"0,0,0,-1e999,x",   // 90: error 150, from the bound -60
		"0,0,0,NA,x",       // skipped
		"0,0,0,NaN,x",      // skipped
		"0,0,0,tomorrow,x", // skipped
	)
	got := evaluate(t, m, path, "")
	if got.N != 5 || got.Skipped != 3 {
		t.Errorf("n = %d, skipped %d", got.N, got.Skipped)
	}
	wantValue(t, "rmse", got.RMSE, math.Sqrt((100+3600+0+22500+22500)/5.0))
	wantValue(t, "mae", got.MAE, (10+60+0+150+150)/5.0)
	wantValue(t, "accuracy", got.Accuracy, absent)
	wantValue(t, "auc", got.AUC, absent)
	wantValue(t, "log loss", got.LogLoss, absent)
	// On encoded targets the residuals are -1/15, 0, 0, -1, 1. huber(1/2) is r^2/2 up to 1/2 and
	// (|r| - 1/4)/2 beyond, with the slope clipped to 1/2.
	wantValue(t, "objective", got.Objective, (1.0/450+2*0.375)/5)
	ga := (-1.0 / 15 * 0.25) / 5
	g1 := (-1.0/15*0.5 - 0.25 + 0.25) / 5
	wantValue(t, "gradient norm", got.GradientNorm, math.Hypot(ga, g1))
}

// TestGradientNormIsTheObjectives compares the gradient norm of an evaluation with central
// differences of the objectives of evaluations at weights nearby.
func TestGradientNormIsTheObjectives(t *testing.T) {
	lines := []string{"a,b,c,split,label,delay"}
	for i := range 40 {
		a, b, c := math.Sin(float64(i)), math.Cos(3*float64(i)), math.Sin(5*float64(i)+1)
		lines = append(lines, fmt.Sprintf("%v,%v,%v,x,%s,%v", a, b, c, []string{"no", "yes"}[i*i%7%2], 90+150*a*b))
	}
	withTarget := func(drop int) string {
		out := make([]string, len(lines))
		for i, line := range lines {
			cells := strings.Split(line, ",")
			out[i] = strings.Join(append(cells[:drop:drop], cells[drop+1:]...), ",")
		}
		return writeFile(t, out...)
	}
	labels, delays := withTarget(5), withTarget(4)
	for _, test := range []struct {
		target      dataset.Target
		path        string
		loss        string
		regularizer string
	}{
		{classes, labels, "logistic", "l2(0.3)"},
		{classes, labels, "tanh", "nonconvex(0.1)"},
		{classes, labels, "sigmoid", "none"},
		{delay, delays, "welsch(0.5)", "l2(0.1)"},
		{delay, delays, "geman-mcclure(0.5)", "none"},
	} {
		w := []float64{0.7, -1.1, 0.4, 0.2}
		objective := func(j int, h float64) float64 {
			v := append([]float64{}, w...)
			v[j] += h
			return *evaluate(t, makeModel(t, test.target, test.loss, test.regularizer, v...), test.path, "").Objective
		}
		const h = 1e-5
		var sum float64
		for j := range w {
			d := (objective(j, h) - objective(j, -h)) / (2 * h)
			sum += d * d
		}
		got := *evaluate(t, makeModel(t, test.target, test.loss, test.regularizer, w...), test.path, "").GradientNorm
		// The error of the differences is h^2 times a third derivative of a few units, plus
		// 1e-16/h.
		if want := math.Sqrt(sum); !(math.Abs(got-want) <= 1e-8) {
			t.Errorf("%s, %s: gradient norm %v, differences give %v", test.loss, test.regularizer, got, want)
		}
	}
}

// TestEvaluateInvariances tests that the results of an evaluation do not depend on the order of
// rows, except for rounding, nor on rows that are skipped or that the filter leaves out.
func TestEvaluateInvariances(t *testing.T) {
	m := makeModel(t, classes, "logistic", "l2(0.1)", 3, -2, 1, 0.5)
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		cell := rapid.Map(rapid.IntRange(-4, 4), func(i int) string { return fmt.Sprint(float64(i) / 4) })
		row := rapid.Custom(func(r *rapid.T) string {
			return strings.Join([]string{cell.Draw(r, "a"), cell.Draw(r, "b"), cell.Draw(r, "c"), "test",
				rapid.SampledFrom([]string{"no", "yes"}).Draw(r, "label")}, ",")
		})
		rows := rapid.SliceOfN(row, 1, 30).Draw(r, "rows")
		write := func(name string, rows []string) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("a,b,c,split,label\n"+strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
				r.Fatal(err)
			}
			return path
		}
		plain := evaluate(t, m, write("plain", rows), "split=test")
		noise := []string{"1,1,1,train,yes", "1,1,1,test,", "1,1", `x"y`, "1,1,1,test,YES"}
		other := evaluate(t, m, write("other", rapid.Permutation(append(noise, rows...)).Draw(r, "order")), "split=test")
		if other.N != plain.N || plain.Skipped != 0 || other.Skipped != 4 {
			r.Fatalf("n = %d and %d, skipped %d and %d", plain.N, other.N, plain.Skipped, other.Skipped)
		}
		for i, a := range plain.measures() {
			b := other.measures()[i]
			if (a.value == nil) != (b.value == nil) {
				r.Fatalf("%s: %v and %v", a.name, a.value, b.value)
			}
			within := 1e-13
			if a.name == "calibration_slope" { // the solution of two equations, of which few rows may leave nearly one
				within = 1e-6
			}
			if a.value != nil && !(math.Abs(*a.value-*b.value) <= within*max(1, math.Abs(*a.value))) {
				r.Fatalf("%s: %v and %v", a.name, *a.value, *b.value)
			}
		}
	})
}

func TestEvaluateFaults(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	const header = "a,b,c,split,label"
	for _, test := range []struct{ name, path, where, want string }{
		{"no rows", writeFile(t, header), "", "no row of the table can be scored"},
		{"no targets", writeFile(t, header, "1,1,1,x,", "1,1"), "", "no row of the table can be scored"},
		{"none kept", writeFile(t, header, "1,1,1,x,yes"), "split=test", "no row of the table can be scored"},
		{"no target column", writeFile(t, "a,b,c,split", "1,1,1,x"), "", `"label"`},
		{"a column too many", writeFile(t, header+",id", "1,1,1,x,yes,1"), "", `"id"`},
		{"no file", filepath.Join(t.TempDir(), "none"), "", "no such file"},
		{"bad filter", writeFile(t, header, "1,1,1,x,yes"), "label=yes", "where"},
	} {
		_, err := m.Evaluate(t.Context(), test.path, test.where, "")
		if err == nil || !strings.HasPrefix(err.Error(), "model: evaluate: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Evaluate(ctx, writeFile(t, header, "1,1,1,x,yes"), "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	huge := makeModel(t, delay, "huber(0.5)", "none", 2, 0, 0, 0)
	if _, err := huge.Evaluate(t.Context(), writeFile(t, "a,b,c,split,delay", "0,0,0,x,1e200"), "", ""); err == nil ||
		!strings.Contains(err.Error(), "rmse = +Inf") {
		t.Errorf("overflow: %v", err)
	}
}

func TestMetricsSaySo(t *testing.T) {
	m := Metrics{N: 4, Skipped: 1, Accuracy: new(0.5), GradientNorm: new(1.0 / 3)}
	got, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"private":false,"n":4,"skipped":1,"accuracy":0.5,"gradient_norm":0.3333333333333333}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := "NOT private: computed directly from the table; do not publish without accounting.\n" +
		"n              4\nskipped        1\naccuracy       0.5\ngradient_norm  0.333333\n"
	if m.String() != want {
		t.Errorf("got\n%s\nwant\n%s", m, want)
	}
}

// wide writes a table of n rows that encode to 113 features, and returns a model for it.
func wide(t testing.TB, n int) (*Model, string) {
	t.Helper()
	def := dataset.Definition{Target: classes}
	var header []string
	for j := range 12 {
		name := fmt.Sprintf("c%d", j)
		header = append(header, name)
		if j < 4 {
			def.Columns = append(def.Columns, dataset.Column{Name: name, Kind: dataset.Number, Low: 0, High: 100})
			continue
		}
		var values []string
		for k := range 12 + j%2 {
			values = append(values, fmt.Sprintf("value-%d", k))
		}
		def.Columns = append(def.Columns, dataset.Column{Name: name, Kind: dataset.Category, Categories: values})
	}
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	if s.Dim() != 113 {
		t.Fatalf("%d features", s.Dim())
	}
	weights := make([]float64, s.Dim())
	for j := range weights {
		weights[j] = math.Sin(float64(j))
	}
	m, err := New(Params{Software: "s", Privacy: privacy, Loss: loss.Logistic(), Regularizer: loss.None(), Schema: s,
		Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(strings.Join(append(header, "label"), ",") + "\n")
	for i := range n {
		for j := range 12 {
			if j < 4 {
				fmt.Fprintf(&b, "%d,", (i*(j+3))%101)
			} else {
				fmt.Fprintf(&b, "value-%d,", (i*(j+7)/3)%13)
			}
		}
		b.WriteString([]string{"no\n", "yes\n"}[i/5%2])
	}
	return m, writeFile(t, strings.TrimSuffix(b.String(), "\n"))
}

func BenchmarkEvaluate(b *testing.B) {
	m, path := wide(b, 16281)
	for b.Loop() {
		evaluate(b, m, path, "")
	}
}
