package model

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestCounts tests a poisson model with weights (2, 0, 0, 0), which predicts 6 e^a claims for a row
// whose first number is a. The expected deviance is McCullagh and Nelder's formula for the count
// clamped to its bounds; the expected rmse is computed from the counts in the cells, without
// clamping. The test fails if the margin or a fraction is predicted instead of the rate.
func TestCounts(t *testing.T) {
	claims := dataset.Target{Column: "claims", Kind: dataset.Number, Low: 0, High: 6}
	for _, name := range []string{"poisson(0.5)", "poisson(3)"} {
		m := makeModel(t, claims, name, "none", 2, 0, 0, 0)
		path := writeFile(t, "a,b,c,claims,split",
			"-1,0,0,0,x",
			"-0.5,0,0,4,x",
			"0.5,0,0,9,x", // counts as 6
			"0,0,0,6,x",
			"0,0,0,NA,x",
		)
		rates := []float64{6 * math.Exp(-1), 6 * math.Exp(-.5), 6 * math.Exp(.5), 6}
		var deviance, squares float64
		for i, k := range []float64{0, 4, 6, 6} {
			deviance += 2 * (rates[i] - k) / 4
			if k > 0 {
				deviance += 2 * k * math.Log(k/rates[i]) / 4
			}
		}
		for i, k := range []float64{0, 4, 9, 6} {
			squares += math.Pow(rates[i]-k, 2) / 4
		}
		got := evaluate(t, m, path, "")
		wantValue(t, "deviance", got.Deviance, deviance)
		wantValue(t, "rmse", got.RMSE, math.Sqrt(squares))
		wantValue(t, "share below", got.ShareBelow, absent)
		if got.Skipped != 1 || !strings.Contains(got.String(), "\ndeviance       ") {
			t.Errorf("%v", got)
		}
		lines := strings.Split(predict(t, m, path, ""), "\n")
		for i, want := range rates {
			if v, err := strconv.ParseFloat(lines[i+1], 64); err != nil || !(math.Abs(v/want-1) <= 1e-12) {
				t.Errorf("%s: row %d: predicted %q: want %v", name, i, lines[i+1], want)
			}
		}
	}
}

// TestDevianceIsOfCounts tests that a model of another loss for numbers has no deviance.
func TestDevianceIsOfCounts(t *testing.T) {
	m := makeModel(t, delay, "squared(1)", "none", 2, 0, 0, 0)
	if got := evaluate(t, m, writeFile(t, "a,b,c,delay,split", "0.5,0,0,175,x"), ""); got.Deviance != nil {
		t.Errorf("deviance %v of a squared loss", *got.Deviance)
	}
}
