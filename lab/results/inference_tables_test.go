//go:build results

package results_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
)

var inferenceData = flag.String("inference.data", "../../examples/adult",
	"the folder of adult.csv.gz, diamonds.csv.gz, cps1988.csv.gz and pnwflights.csv.gz for TestIntervalTables")

// TestIntervalTables prints the coefficients of real public tables with private intervals, beside the
// estimates and sandwich intervals of the same formula without privacy.
func TestIntervalTables(t *testing.T) {
	for _, c := range []struct{ name, config, loss string }{
		{"Adult", "../../examples/adult/adult.yaml", "logistic"},
		{"Adult, numbers and sex", "tables/adult-numbers.yaml", "logistic"},
		{"diamonds", "tables/diamonds.yaml", "squared(0.5)"},
		{"CPS 1988", "tables/cps1988.yaml", "squared(0.5)"},
		{"flights", "tables/flights.yaml", "logistic"},
	} {
		if !regexp.MustCompile(*inferenceNamed).MatchString(c.name) {
			continue
		}
		text, err := os.ReadFile(c.config)
		if err != nil {
			t.Fatal(err)
		}
		folder, err := filepath.Abs(*inferenceData)
		if err != nil {
			t.Fatal(err)
		}
		if c.loss != "logistic" { // all rows: the split is metric.sh's
			text = regexp.MustCompile(`(?m)^ *(split: \{public: .*|where: split=train)\n`).ReplaceAll(text, nil)
		}
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		of := config(t, path)
		of.Data = train.Files{filepath.Join(folder, filepath.Base(of.DataPath()))}
		if _, err := os.Stat(of.Data[0]); err != nil {
			t.Logf("%s: %v", c.name, err)
			continue
		}
		of.Model.Loss, of.Inference = train.LossName(c.loss), &train.Inference{}
		data := read(t, of.DataPath(), of.Schema, of.Schema.Filter().String())
		for _, epsilon := range []float64{1, 4} {
			of.Privacy.Epsilon = &epsilon
			fitted, err := of.Fit(context.Background(), train.Options{Software: "results"})
			if err != nil {
				t.Fatal(err)
			}
			list, err := fitted.Model.Coefficients()
			if err != nil {
				t.Fatal(err)
			}
			f, err := inference.Parse(fitted.Model.Inference())
			if err != nil {
				t.Fatal(err)
			}
			w, variance := data.sandwich(f, parse(t, c.loss))
			fmt.Printf("\n### %s, %s, epsilon %g, n = %d\n\nRequested formula: `%s`\n\nFormula of the fit: `%s` (%d changes; intervals: %s; %d of %d coefficients have an interval)\n\n| term | non-private | 95%% interval | private | 95%% interval | privacy |\n|---|---|---|---|---|---|\n",
				c.name, c.loss, epsilon, data.n(), list.Asked, list.Formula, len(list.Changes), list.Method, list.Reported,
				list.Counted)
			hits, made := 0, 0
			terms := fitted.Model.Schema().Terms(false)
			for i, v := range list.List {
				if v.State != inference.Reported || v.Intercept {
					continue
				}
				var e, square float64
				weights := make([]float64, len(w))
				for _, p := range terms[i].Parts {
					weights[p.Feature] += p.Factor
					e += p.Factor * w[p.Feature]
				}
				square = variance(weights)
				half := inference.Quantile(.95) * math.Sqrt(square)
				made++
				if v.Low <= e && e <= v.High {
					hits++
				}
				fmt.Printf("| %s | %.4g | %.4g to %.4g | %.4g | %.4g to %.4g | %.0f%% |\n", v.Term, e, e-half, e+half, v.Estimate,
					v.Low, v.High, 100*v.Privacy)
			}
			fmt.Printf("\nOf %d private intervals, %d contain the estimate without privacy of the same formula.\n", made, hits)
		}
	}
}

// sandwich fits the formula of a private fit without row weights and without noise. It returns the
// model's weights and a function that computes the sandwich variance of a contrast, a linear
// combination of them.
func (r *rows) sandwich(f *inference.Fit, of loss.RankOne) (w []float64, variance func(c []float64) float64) {
	k := len(f.Columns)
	place := make([]int, r.dim)
	for j := range place {
		place[j] = -1
	}
	for i, c := range f.Columns {
		place[c.Feature] = i
	}
	short := func(i int) (at []int, x []float64) {
		for s := r.start[i]; s < r.start[i+1]; s++ {
			if p := place[r.at[s]]; p >= 0 {
				at, x = append(at, p), append(x, r.x[s])
			}
		}
		return at, x
	}
	b := make([]float64, k)
	// Each step divides by the largest curvature, with which no step overshoots even if the loss is
	// clipped. The sandwich uses the loss's own curvature.
	const most = 200
	var h, s *mat.SymDense
	bound := of.Constants().Curvature.Hi
	for range most {
		g := mat.NewVecDense(k, nil)
		h, s = mat.NewSymDense(k, nil), mat.NewSymDense(k, nil)
		whole := mat.NewSymDense(k, nil)
		for i := range r.y {
			at, x := short(i)
			margin := 0.
			for n, p := range at {
				margin += x[n] * b[p]
			}
			slope, curvature := []float64{0}, []float64{0}
			of.Slopes(slope, []float64{margin}, r.y[i:i+1])
			of.Curvatures(curvature, []float64{margin}, r.y[i:i+1])
			for n, p := range at {
				g.SetVec(p, g.AtVec(p)+slope[0]*x[n])
				for m, q := range at {
					if p <= q {
						h.SetSym(p, q, h.At(p, q)+curvature[0]*x[n]*x[m])
						whole.SetSym(p, q, whole.At(p, q)+bound*x[n]*x[m])
						s.SetSym(p, q, s.At(p, q)+slope[0]*slope[0]*x[n]*x[m])
					}
				}
			}
		}
		step := mat.NewVecDense(k, nil)
		if step.SolveVec(whole, g) != nil {
			break
		}
		for j := range b {
			b[j] -= step.AtVec(j)
		}
		if mat.Norm(step, 2) < 1e-6 {
			break
		}
	}
	var inverse, left, whole mat.Dense
	_ = inverse.Inverse(h)
	left.Mul(&inverse, s)
	whole.Mul(&left, &inverse)
	w = make([]float64, r.dim)
	for j, p := range place {
		if p >= 0 {
			w[j] = b[p]
		}
	}
	return w, func(c []float64) float64 {
		v := make([]float64, k)
		for j, x := range c {
			if place[j] >= 0 {
				v[place[j]] += x
			}
		}
		return mat.Inner(mat.NewVecDense(k, v), &whole, mat.NewVecDense(k, slices.Clone(v)))
	}
}
