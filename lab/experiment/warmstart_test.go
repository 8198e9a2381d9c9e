//go:build results

package experiment_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/query"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestWarmStart measures the starting point of Lowy, Ullman and Wright (2024), on which Kornowski, Liu and
// Talwar (2024) build their bound for general losses. The exponential mechanism, with the mean loss as its
// score, selects a point of a grid with 2k+1 values in each coordinate, within the ball of radius R.
// Descent continues from there with the rest of the budget. For the ramp loss in two and three dimensions
// the test prints medians of 3 runs, with and without this start: the gradient norm of the smoothed loss
// divided by the noise level r, and the loss. It also prints the fraction of the budget and the number of
// passes that the selection of the start takes. Epsilon 1, delta n^-1.5, replace-one.
func TestWarmStart(t *testing.T) {
	const radius, R, k, epsilon, seeds = .1, 8., 8, .3, 3
	ctx := context.Background()
	price, err := mechanism.SelectionMu(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\n| d | n | candidates | share of the budget | grid, seconds | start: loss | plain: gradient/r; loss | warm: gradient/r; loss |\n|---|---|---|---|---|---|---|---|\n")
	for _, d := range []int{2, 3} {
		f, err := experiment.NewFamily(fmt.Sprintf("ramp(%v)", radius), d, 1000, 1)
		if err != nil {
			t.Fatal(err)
		}
		grid := ball(d, k, R)
		for _, n := range []int{1000, 10_000, 100_000} {
			s := newTable(t, f, n, false)
			columns := make([][]float64, 5)
			var took time.Duration
			for seed := range uint64(seeds) {
				session, err := simulate.Open(simulate.Config{Rows: f.Sample.Rows, Targets: f.Sample.Targets, Repeat: n / 1000,
					Loss: f.Loss, Budget: s.budget, Seed: seed + 1, Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				warm := s.problem(t)
				var candidates []query.Term
				for _, w := range grid {
					candidates = append(candidates, query.ValueAt(session.All(), w, 1, 1))
				}
				selection, err := query.NewSelection(epsilon, candidates...)
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				best, err := session.Select(ctx, selection)
				if err != nil {
					t.Fatal(err)
				}
				took += time.Since(begun) / seeds
				warm.Start, warm.Mu = grid[best], math.Sqrt(warm.Mu*warm.Mu-price*price)*(1-1e-9)
				columns[0] = append(columns[0], mean(t, f, grid[best]))
				smoothed := train.Train{Algorithm: "smoothed", Settings: train.Settings{"radius": radius, "space": "plain"}}
				for i := range 2 {
					problem, oracle := s.problem(t), s.open(t, false, seed+1)
					if i == 1 {
						problem, oracle = warm, session
					}
					plan, _, err := smoothed.Plan(ctx, problem)
					if err != nil {
						t.Fatal(err)
					}
					result, err := plan.Run(ctx, oracle, nil)
					if err != nil {
						t.Fatal(err)
					}
					columns[1+2*i] = append(columns[1+2*i], gradient(t, f, result.W)/s.problem(t).Floor())
					columns[2+2*i] = append(columns[2+2*i], mean(t, f, result.W))
				}
			}
			var m [5]float64
			for i, c := range columns {
				m[i] = experiment.Median(c)
			}
			mu := s.budget.Mu()
			fmt.Printf("| %d | %d | %d | %.2f | %.2g | %.4f | %.3g; %.4f | %.3g; %.4f |\n", d, n, len(grid), price*price/(mu*mu),
				took.Seconds(), m[0], m[1], m[2], m[3], m[4])
		}
	}
}

// ball returns those points of a grid, with 2k+1 values in each coordinate, that lie within distance
// R of the origin.
func ball(d, k int, R float64) (grid [][]float64) {
	w := make([]float64, d)
	var fill func(j int, square float64)
	fill = func(j int, square float64) {
		if j == d {
			grid = append(grid, append([]float64(nil), w...))
			return
		}
		for i := -k; i <= k; i++ {
			w[j] = R * float64(i) / float64(k)
			if s := square + w[j]*w[j]; s <= R*R {
				fill(j+1, s)
			}
		}
	}
	fill(0, 0)
	return grid
}

func mean(t *testing.T, f *experiment.Family, w []float64) float64 {
	t.Helper()
	v, err := stationarity.Objective(f.Loss, f.Regularizer, f.Sample, w)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
