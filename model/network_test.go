package model

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"testing"
)

// TestNetworkPredicts tests probabilities and measures of a network of two units against its
// formula, before and after writing and reading it.
func TestNetworkPredicts(t *testing.T) {
	// W has two rows of four features. V has a weight for each unit and one for the constant.
	weights := []float64{1, -2, 0, .5, 3, 0, 1, -1, 2, -1, .5}
	m := makeModel(t, classes, "network(2,tanh,logistic)", "none", weights...)
	file, err := m.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"a,b,c,split,label"}
	var want []float64
	right, logs := 0, 0.
	for i := range 20 {
		a, b, c := float64(i%5)/2-1, float64(i%7)/4-.75, float64(i%3)-1
		x := []float64{a / 2, b / 2, c / 2, .5}
		z := weights[10]
		for j := range 2 {
			u := 0.
			for k, v := range x {
				u += weights[4*j+k] * v
			}
			z += weights[8+j] * math.Tanh(u)
		}
		p := 1 / (1 + math.Exp(-z/math.Sqrt(3)))
		want = append(want, p)
		label := classes.Classes[i%2]
		if (p > .5) == (i%2 == 1) {
			right++
		}
		logs -= math.Log([]float64{1 - p, p}[i%2]) / 20
		lines = append(lines, fmt.Sprintf("%v,%v,%v,train,%s", a, b, c, label))
	}
	path := writeFile(t, lines...)
	for name, m := range map[string]*Model{"made": m, "read": read} {
		var out bytes.Buffer
		if err := m.Predict(t.Context(), path, &out, PredictOptions{}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != len(lines) || fmt.Sprint(rows[0]) != "[probability class]" {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		for i, p := range want {
			got, err := strconv.ParseFloat(rows[i+1][0], 64)
			if err != nil || !(math.Abs(got-p) <= 1e-12) || rows[i+1][1] != classes.Classes[map[bool]int{true: 1}[p > .5]] {
				t.Errorf("%s: row %d is %v, want %v", name, i, rows[i+1], p)
			}
		}
		measured, err := m.Evaluate(t.Context(), path, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if *measured.Accuracy != float64(right)/20 || !(math.Abs(*measured.LogLoss-logs) <= 1e-12) ||
			!(math.Abs(*measured.Objective-logs) <= 1e-12) {
			t.Errorf("%s: accuracy %v, log loss %v: want %v and %v", name, *measured.Accuracy, *measured.LogLoss,
				float64(right)/20, logs)
		}
	}
}
