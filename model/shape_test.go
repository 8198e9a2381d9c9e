package model

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestCholeskyMultipliesBack tests that a factor times its transpose is the matrix, for matrices of small and of large
// entries, also for those of which a part is 0, and that the factor is lower triangular.
func TestCholeskyMultipliesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, size := range []float64{1e-6, .1, 1, 1e5} {
		for rank := 1; rank <= 4; rank++ {
			const d = 4
			b := make([][]float64, d)
			for i := range b {
				for k := range rank {
					v := 0. // the first rank rows are a triangle, so that no pivot is 0 by rounding alone
					if k <= i {
						v = size * (.5 + r.Float64())
					}
					b[i] = append(b[i], v)
				}
			}
			a := make([][]float64, d)
			for i := range d {
				for j := range d {
					sum := 0.
					for k := range rank {
						sum += b[i][k] * b[j][k]
					}
					a[i] = append(a[i], sum)
				}
			}
			root := cholesky(a)
			for i := range d {
				for j := range d {
					sum := 0.
					for k := range d {
						sum += root[i][k] * root[j][k]
					}
					if !(math.Abs(sum-a[i][j]) <= 1e-7*size*size) || j > i && root[i][j] != 0 {
						t.Errorf("size %v, rank %d: entry %d, %d is %v: must be %v", size, rank, i, j, sum, a[i][j])
					}
				}
			}
		}
	}
}

// TestTargetsOfRates tests the expected target of counts and of positive numbers, on the scale from -1 to 1 between the
// least and the largest value, for rates below the least one, between both and beyond the largest.
func TestTargetsOfRates(t *testing.T) {
	for _, x := range []struct {
		name        string
		least, most float64
	}{{"poisson(5)", 0, 5}, {"gamma(5,0.0625)", .0625, 1}} {
		l, err := loss.Parse(x.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range []float64{.01, .2, .6, 1, 3} {
			z := 0.
			for range 200 { // the margin at which the rate is this share, by Newton's steps on its logarithm
				z -= math.Log(l.(linked).Rate(z) / share)
			}
			got := targets(l, nil, []float64{z}, nil)
			least := x.least
			want := 2*(min(max(share, least), 1)-least)/(1-least) - 1
			if len(got) != 1 || got[0].weight != 1 || !(math.Abs(got[0].y-want) <= 1e-9) {
				t.Errorf("%s at the rate %v: %+v: must be %v", x.name, share, got, want)
			}
		}
	}
}

// TestMeaningNamesTheClip tests what the meaning of intervals says of the clip: nothing for a loss without one, and for each
// kind of target its own sentence alone.
func TestMeaningNamesTheClip(t *testing.T) {
	sentences := map[string]string{
		"residuals":   " Residuals beyond the clip of huber(0.25) count as the clip, in the target's range of [-1, 1]: ",
		"counts":      " Residuals beyond the clip of poisson(5), in units of the largest count, count as the clip: ",
		"ratios":      " Slopes beyond the clip of gamma(5,0.0625) count as the clip: ",
		"time events": " A person who was expected to have more events than the clip of ",
	}
	models := map[string]*Model{"": bent(t, "logistic"), "residuals": bent(t, "huber(0.25)"), "counts": bent(t, "poisson(5)"),
		"time events": timed(t), "ratios": ratios(t)}
	for own, m := range models {
		m.inference = &inference.Fit{Level: .9}
		text := m.meaning()
		if !strings.HasPrefix(text, "Over tables and coins 90% of such intervals hold the population's coefficient of the formula, ") {
			t.Error(text)
		}
		for name, sentence := range sentences {
			if strings.Contains(text, sentence) != (name == own) {
				t.Errorf("%s: %q is there, or %q is not: %s", own, sentence, sentences[own], text)
			}
		}
	}
}

// ratios returns a model of positive numbers, from a sixteenth of the largest one.
func ratios(t *testing.T) *Model {
	t.Helper()
	l, err := loss.Parse("gamma(5,0.0625)")
	if err != nil {
		t.Fatal(err)
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 1}},
		Target: dataset.Target{Column: "t", Kind: dataset.Number, Low: 1, High: 16}})
	if err != nil {
		t.Fatal(err)
	}
	p := params(t, delay, "huber(0.25)", "none", 0, 0)
	p.Schema, p.Loss = s, l
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDevianceOfPositiveNumbers compares the deviance of a model of positive numbers with the mean of that of each row,
// 2 (y/m - 1 - log(y/m)) for the number y and its prediction m.
func TestDevianceOfPositiveNumbers(t *testing.T) {
	m := ratios(t)
	path := writeFile(t, "a,t", "0,2", "1,5", "0.5,16", "0.25,1")
	var out strings.Builder
	if err := m.Predict(t.Context(), path, &out, PredictOptions{}); err != nil {
		t.Fatal(err)
	}
	want := 0.
	for i, line := range strings.Fields(out.String())[1:] {
		mean, err := strconv.ParseFloat(strings.Split(line, ",")[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		y := []float64{2, 5, 16, 1}[i]
		want += (y/mean - 1 - math.Log(y/mean)) / 2
	}
	got, err := m.Evaluate(t.Context(), path, "", "")
	if err != nil || got.Deviance == nil || !(math.Abs(*got.Deviance-want) <= 1e-9) {
		t.Errorf("%+v, %v: the deviance must be %v", got.Deviance, err, want)
	}
}
