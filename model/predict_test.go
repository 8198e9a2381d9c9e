package model

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

func predict(t *testing.T, m *Model, path, where string) string {
	t.Helper()
	var out strings.Builder
	if err := m.Predict(t.Context(), path, &out, PredictOptions{Where: where}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPredictProbability tests the probabilities and classes that Predict writes. With weights (2,
// 0, 0, 0) the margin is a, the row's first number.
func TestPredictProbability(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	path := writeFile(t, "c,extra,b,a", "0,x,0,0", "0,x,0,1", "0,,0,-1", "NA,?,,0.5", "0,x,0", "0,x,0,nothing")
	got := strings.Split(predict(t, m, path, ""), "\n")
	want := []struct {
		p     float64
		class string
	}{
		{0.5, "no"},                     // a tie
		{1 / (1 + math.Exp(-1)), "yes"}, // 0.7310585786300049
		{1 / (1 + math.Exp(1)), "no"},
		{1 / (1 + math.Exp(-0.5)), "yes"},
		{math.NaN(), ""}, // a cell is missing
		{0.5, "no"},      // an unreadable number counts as the midpoint
	}
	if got[0] != "probability,class" || len(got) != len(want)+2 || got[len(got)-1] != "" {
		t.Fatalf("got %q", got)
	}
	for i, w := range want {
		shown, class, _ := strings.Cut(got[i+1], ",")
		p, err := strconv.ParseFloat(shown, 64)
		if class != w.class || (shown == "") != math.IsNaN(w.p) || err == nil && !(math.Abs(p-w.p) <= 1e-15) {
			t.Errorf("row %d: got %q, want %v, %s", i, got[i+1], w.p, w.class)
		}
	}
}

func TestPredictScore(t *testing.T) {
	for _, name := range []string{"tanh", "sigmoid", "smoothed-hinge(0.5)"} {
		m := makeModel(t, classes, name, "none", 2, 4, 0, -0.5)
		path := writeFile(t, "a,b,c", "0.5,0.25,1", "-1,0,1", "0.25,0,0")
		if got, want := predict(t, m, path, ""), "score,class\n0.75,yes\n-1.25,no\n0,no\n"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestPredictRegression tests that margin 1 is predicted as the upper bound 240, margin -1 as the
// lower bound, and that margin 2 is not clamped.
func TestPredictRegression(t *testing.T) {
	m := makeModel(t, delay, "huber(0.5)", "none", 4, 0, 0, 0)
	path := writeFile(t, "a,b,c", "0.5,0,0", "0,0,0", `0"5,0,0`, "-0.5,0,0", "1,0,0")
	if got, want := predict(t, m, path, ""), "prediction\n240\n90\n\"\"\n-60\n390\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestClampedPredictions tests the margins of TestPredictRegression with a model that clamps,
// before and after it is written and read. Errors must be computed from clamped predictions. The
// test fails if either bound is not applied, or if the file loses the setting.
func TestClampedPredictions(t *testing.T) {
	plain := makeModel(t, delay, "huber(0.5)", "none", 4, 0, 0, 0)
	p := params(t, delay, "huber(0.5)", "none", 4, 0, 0, 0)
	p.Clamped = true
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	path := writeFile(t, "a,b,c", "0.75,0,0", "0,0,0", "-0.75,0,0", "1,0,0")
	for _, m := range []*Model{m, read} {
		if got, want := predict(t, m, path, ""), "prediction\n240\n90\n-60\n240\n"; got != want || !m.Clamped() {
			t.Errorf("got %q, want %q; clamped %v", got, want, m.Clamped())
		}
	}
	labelled := writeFile(t, "a,b,c,delay,split", "1,0,0,200,x", "-1,0,0,-60,x")
	wantValue(t, "mae", evaluate(t, read, labelled, "").MAE, 20)
	wantValue(t, "mae without clamping", evaluate(t, plain, labelled, "").MAE, 170)
	if old, err := plain.Bytes(); err != nil || strings.Contains(string(old), "clamped") {
		t.Errorf("a model that does not clamp is written as before: %s, %v", old, err)
	}
}

// TestClampingNeedsBounds tests that a model of rates or classes cannot be clamped.
func TestClampingNeedsBounds(t *testing.T) {
	rates := dataset.Target{Column: "claims", Kind: dataset.Number, High: 6,
		Exposure: dataset.Exposure{Column: "years", Low: 1, High: 4}}
	for name, p := range map[string]Params{
		"rates":   params(t, rates, "poisson-rate(3,0.25)", "none", 2, 0, 0, 0),
		"classes": params(t, classes, "logistic", "none", 2, 0, 0, 0),
	} {
		p.Clamped = true
		if _, err := New(p); err == nil || !strings.Contains(err.Error(), "clamped = true") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPredictStaysAligned tests that row n of the output is for row n of the table, for any rows
// and any filter.
func TestPredictStaysAligned(t *testing.T) {
	var lines []string
	var kept []bool
	for i := range 3000 {
		switch i % 7 {
		case 2:
			lines = append(lines, "1,2")
		case 4:
			lines = append(lines, `1,"x"y,2,train`)
		default:
			lines = append(lines, strconv.FormatFloat(float64(i)/3000, 'g', -1, 64)+",0,0,"+[]string{"train", " test"}[i%2])
		}
		kept = append(kept, i%7 != 2 && i%7 != 4)
	}
	path := writeFile(t, append([]string{"a,b,c,split"}, lines...)...)
	for _, m := range []*Model{
		makeModel(t, classes, "logistic", "none", 2, 0, 0, 0),
		makeModel(t, classes, "tanh", "none", 2, 0, 0, 0),
		makeModel(t, delay, "squared(1)", "none", 2, 0, 0, 0),
	} {
		for _, where := range []string{"", "split=test", "split=train"} {
			rows, err := csv.NewReader(strings.NewReader(predict(t, m, path, where))).ReadAll()
			if err != nil || len(rows) != len(lines)+1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			for i, row := range rows[1:] {
				want := kept[i] && (where == "" || where == "split=test" && i%2 == 1 || where == "split=train" && i%2 == 0)
				for _, cell := range row {
					if (cell != "") != want {
						t.Fatalf("%s, %q: row %d: got %q", m.loss.Name(), where, i, row)
					}
				}
				if want && row[0] != m.shown(float64(i)/3000) {
					t.Fatalf("%s: row %d: got %q", m.loss.Name(), i, row)
				}
			}
		}
	}
}

// shown returns the text of the first prediction column for a row in which only the number a is not
// zero.
func (m *Model) shown(a float64) string {
	x := []float32{float32((2*((a+1)/2) - 1) / 2), 0, 0, 0.5}
	o, err := m.Output()
	if err != nil {
		panic(err)
	}
	_, predict, err := m.predictor(o, m.loss.(loss.RankOne), PredictOptions{})
	if err != nil {
		panic(err)
	}
	return string(show(nil, predict(nil, record{x: x})[0].number))
}

func TestPredictFaults(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	path := writeFile(t, "a,b,c", "0,0,0")
	for _, test := range []struct{ path, where, want string }{
		{writeFile(t, "a,b", "0,0"), "", `column "c" of the schema is not in the table's header`},
		{path + "x", "", "no such file"},
		{path, "split=test", `column "split"`},
		{path, "region=north", "where"},
		{path, "split", "where"},
	} {
		err := m.Predict(t.Context(), test.path, io.Discard, PredictOptions{Where: test.where})
		if err == nil || !strings.HasPrefix(err.Error(), "model: predict: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Predict(ctx, path, io.Discard, PredictOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := m.Predict(t.Context(), path, broken{}, PredictOptions{}); !errors.Is(err, errBroken) {
		t.Errorf("nowhere to write: %v", err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

type general struct{ loss.Loss }

func (general) Name() string                                { return "network(3)" }
func (general) Value([]float64, []float32, float64) float64 { return 5 }
func (general) Gradient(dst, w []float64, x []float32, y float64) {
	for j := range dst {
		dst[j] = -y * w[0]
	}
}

// TestGeneralLossesPredictNothing tests that a model whose loss is not a function of margins cannot
// predict, but has an objective and a gradient.
func TestGeneralLossesPredictNothing(t *testing.T) {
	m := makeModel(t, classes, "logistic", "none", 2, 0, 0, 0)
	m.loss = general{loss.Logistic()}
	path := writeFile(t, "a,b,c,split,label", "0,0,0,x,no")
	if err := m.Predict(t.Context(), path, io.Discard, PredictOptions{}); err == nil ||
		!strings.Contains(err.Error(), `loss = "network(3)": must be a function of margins`) {
		t.Errorf("predict: %v", err)
	}
	measured, err := m.Evaluate(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if measured.Accuracy != nil || *measured.Objective != 5 || *measured.GradientNorm != 4 {
		t.Errorf("evaluate: %v", measured)
	}
	if err := new(Model).Predict(t.Context(), path, io.Discard, PredictOptions{}); err == nil {
		t.Error("the zero Model predicts")
	}
}

func TestMarginShape(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	makeModel(t, classes, "logistic", "none", 2, 0, 0, 0).margin(make([]float32, 3))
}

// TestPredictMargins tests that the margin columns follow the other columns and do not change them.
func TestPredictMargins(t *testing.T) {
	rows := []string{"a,b,c", "0.5,0.25,1", `0"5,0,0`, "-1,0,1"}
	for loss, want := range map[string]string{
		"tanh":       "score,class,margin\n0.75,yes,0.75\n,,\n-1.25,no,-1.25\n",
		"huber(0.5)": "prediction,margin\n202.5,0.75\n,\n-97.5,-1.25\n",
	} {
		target := classes
		if loss != "tanh" {
			target = delay
		}
		m := makeModel(t, target, loss, "none", 2, 4, 0, -0.5)
		var out strings.Builder
		if err := m.Predict(t.Context(), writeFile(t, rows...), &out, PredictOptions{Margins: true}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s: got %q, want %q", loss, out.String(), want)
		}
	}
}
