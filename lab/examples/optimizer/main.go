// Command optimizer compares its own algorithm, noisy gradient descent with heavy-ball momentum, with the
// library's algorithms. A configuration file cannot select this algorithm, because it is not part of the
// library. The command prints medians, quartiles, and ratios at equal budget with bootstrap intervals.
//
//	go run ./lab/examples/optimizer DIR
//
// stores the finished runs in DIR and continues there after an interruption. All problems are generated; no
// table of people is read.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// HeavyBall is gradient descent with momentum: w_{t+1} = w_t - eta m_t with m_t = Momentum m_{t-1} + g_t,
// where g_t is a noisy mean of clipped gradients. Its settings are the fields with a YAML key.
type HeavyBall struct {
	// Momentum is beta in [0, 1). Zero means plain gradient descent.
	Momentum float64 `yaml:"momentum"`
	// Steps is the number of steps, T. Zero means that the library's rule for gradient descent gives the
	// number.
	Steps int `yaml:"steps"`
}

type plan struct {
	optimize.Settled
	momentum, charge float64
}

// Plan computes everything that does not depend on data, such as the number of steps and the step size.
// Every step has the same privacy charge. Plan returns an error if Momentum is not in [0, 1).
func (h HeavyBall) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if !(h.Momentum >= 0 && h.Momentum < 1) {
		return nil, fmt.Errorf("heavy-ball: momentum = %v: must be in [0, 1)", h.Momentum)
	}
	steps := h.Steps
	if steps == 0 {
		steps = p.GradientSteps(4, 1)
	}
	made := &plan{momentum: h.Momentum, charge: p.Charge() / float64(steps)}
	noise := p.Neighbours() * p.Constants.Lipschitz / p.Records
	var err error
	made.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "heavy-ball", Citation: "Polyak 1964", Charges: "every step alike",
			// All steps together use a gradient with weights that sum to 1/(1-beta).
			Steps: steps, StepSize: (1 - h.Momentum) * p.StepSize(1), Passes: float64(steps),
		},
		// The forecast treats the steps as steps of gradient descent with the same total weight of a
		// gradient.
		UpdateRule: optimize.UpdateRule{Importance: slices.Repeat([]float64{1}, steps),
			Answer: func(int, float64, float64) (float64, optimize.Variance) {
				return 1, optimize.Variance{Noise: noise * noise / made.charge}
			}},
		Output: optimize.TailAverage,
	})
	if err != nil {
		return nil, err
	}
	made.Expect(forecast.Of(p, made.UpdateRule()))
	return made, nil
}

// Run makes the plan's steps. In each step it asks for a noisy gradient, adds the gradient to Momentum
// times the previous estimate, and moves the weights against the new estimate. The method Descend of
// optimize.Run adds the regularizer's gradient, with the same weights as the momentum gives to the noisy
// gradients.
func (h *plan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	run := h.Begin(ctx, o, observe)
	var m *optimize.Estimate
	return run.Steps(func(int) error {
		answer, err := run.Ask(h.charge, query.GradientAt(run.All(), run.W, h.Problem().Constants.Lipschitz))
		if err != nil {
			return err
		}
		m = run.Mix(m, h.momentum, answer, 1)
		run.Descend(m, optimize.Use{Weight: 1})
		return nil
	})
}

//go:embed spec.yaml
var spec []byte

func compare(ctx context.Context, folder string, out io.Writer) error {
	s, err := experiment.ParseSpec(spec)
	if err != nil {
		return err
	}
	summary,
		err := s.Run(ctx, folder, experiment.Options{Algorithms: map[string]optimize.Algorithm{"heavy-ball": HeavyBall{}}})
	if err != nil {
		return err
	}
	return summary.WriteMarkdown(out)
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: optimizer DIR")
	}
	if err := compare(context.Background(), os.Args[1], os.Stdout); err != nil {
		log.Fatal(err)
	}
}
