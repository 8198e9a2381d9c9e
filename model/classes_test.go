package model

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

var colours = dataset.Target{Column: "label", Kind: dataset.Category, Classes: []string{"red", "green", "blue"}}

// TestManyClasses compares predictions and measures of a model of three classes with probabilities,
// counts and measures that the test computes from the model's weights. Two records have equal
// probabilities for two classes; the first of these classes is predicted.
func TestManyClasses(t *testing.T) {
	weights := []float64{2, 0, -1, 0, 0, 2, 1, 0, -1.5, .5, 0, 1}
	m := makeModel(t, colours, "softmax(3)", "l2(0.5)", weights...)
	lines := []string{"a,b,c,split,label"}
	var cells [][3]float64
	var truth []int
	for i := range 24 {
		c := [3]float64{float64(i%5)/2 - 1, float64(i%7)/4 - .75, float64(i%3) - 1}
		if i%12 == 0 {
			c = [3]float64{.5, .5, 0} // the first two margins are equal
		}
		cells, truth = append(cells, c), append(truth, (i*i+i/4)%3)
		lines = append(lines, fmt.Sprintf("%v,%v,%v,train,%s", c[0], c[1], c[2], colours.Classes[truth[i]]))
	}
	lines = append(lines, "0,0,0,train,violet", "0,0")
	path := writeFile(t, lines...)

	var out bytes.Buffer
	if err := m.Predict(t.Context(), path, &out, PredictOptions{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != len(lines) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got := fmt.Sprint(rows[0]); got != "[probability=red probability=green probability=blue class]" {
		t.Errorf("header %s", got)
	}
	var confusion [3][3]int64
	var logs float64
	gradient := make([]float64, len(weights))
	for i, c := range cells {
		x := []float64{c[0] / 2, c[1] / 2, c[2] / 2, .5}
		var p [3]float64
		var sum float64
		best := 0
		z := make([]float64, 3)
		for k := range 3 {
			for j := range x {
				z[k] += weights[k*4+j] * x[j]
			}
			p[k] = math.Exp(z[k])
			sum += p[k]
			if z[k] > z[best] {
				best = k
			}
		}
		for k := range 3 {
			p[k] /= sum
			if got, err := strconv.ParseFloat(rows[i+1][k], 64); err != nil || !(math.Abs(got-p[k]) <= 1e-14) {
				t.Errorf("row %d: probability %d is %s, want %v", i, k, rows[i+1][k], p[k])
			}
			slope := p[k]
			if k == truth[i] {
				slope--
			}
			for j := range x {
				gradient[k*4+j] += slope * x[j] / 24
			}
		}
		if rows[i+1][3] != colours.Classes[best] {
			t.Errorf("row %d: class %s, want %s", i, rows[i+1][3], colours.Classes[best])
		}
		confusion[truth[i]][best]++
		logs -= math.Log(p[truth[i]]) / 24
	}
	// A row with an unlisted class has a prediction; a row with too few cells has none.
	if rows[25][3] == "" || rows[26][0] != "" || rows[26][3] != "" {
		t.Errorf("rows %q", rows[25:])
	}

	got, err := m.Evaluate(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	correct, f1 := 0., 0.
	for k := range 3 {
		hit := float64(confusion[k][k])
		correct += hit
		predicted := float64(confusion[0][k] + confusion[1][k] + confusion[2][k])
		there := float64(confusion[k][0] + confusion[k][1] + confusion[k][2])
		precision, recall := hit/predicted, hit/there
		f1 += 2 / (1/precision + 1/recall) / 3
		for j := range 3 {
			if got.Confusion.Rows[k][j] != confusion[k][j] {
				t.Errorf("confusion %v, want %v", got.Confusion.Rows, confusion)
			}
		}
	}
	square, norm := 0., 0.
	for j, w := range weights {
		square += w * w
		norm = math.Hypot(norm, gradient[j]+.5*w)
	}
	for name, v := range map[string][2]float64{
		"accuracy": {*got.Accuracy, correct / 24}, "log loss": {*got.LogLoss, logs}, "macro F1": {*got.MacroF1, f1},
		"objective": {*got.Objective, logs + .25*square}, "gradient norm": {*got.GradientNorm, norm},
	} {
		if !(math.Abs(v[0]-v[1]) <= 1e-12) {
			t.Errorf("%s %v, want %v", name, v[0], v[1])
		}
	}
	if got.N != 24 || got.Skipped != 2 || got.AUC != nil || confusion[0][0] == 0 || confusion[0] == confusion[1] {
		t.Errorf("%+v, %v", got, confusion)
	}

	file := filepath.Join(t.TempDir(), "model.json")
	if _, err := m.Write(file); err != nil {
		t.Fatal(err)
	}
	back, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	text := readText(t, file)
	if !bytes.Contains([]byte(text), []byte(`"version": 2`)) || back.margins([]float32{1, 0, 0, 0})[0] != 2 {
		t.Errorf("%s", text)
	}
}
