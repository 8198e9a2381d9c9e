package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/rehearsal"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// simulate runs, on generated rows, the plans that the setting "algorithm: auto" compares. If the
// configuration names its algorithm, simulate runs only that algorithm's plan.
func simulate(ctx context.Context, c *train.Config, p train.Planned, progress io.Writer) ([]rehearsal.Checked, error) {
	c, err := c.For(int(p.Records))
	if err != nil {
		return nil, err
	}
	problem, l, err := c.Problem(p.Budget, p.Records)
	if err != nil {
		return nil, err
	}
	check := rehearsal.Check{
		Problem: problem, Loss: l, Features: p.Features, Records: p.Records, Budget: p.Budget, Criterion: p.Criterion,
		Workers: runtime.GOMAXPROCS(0),
	}
	return check.Run(ctx, p.Ranked(), func(done int) {
		fmt.Fprintf(progress, "simulated %d of %d\n", done, len(p.Ranked()))
	})
}

func medians(tried []rehearsal.Checked) []float64 { return vector.Map(tried, rehearsal.Checked.Median) }

// comparison describes the results of plans on generated rows and compares them with the plans' predictions.
// It returns "" if no plan was run.
func comparison(p train.Planned, tried []rehearsal.Checked) string {
	if len(tried) == 0 {
		return ""
	}
	var b strings.Builder
	reached := medians(tried)
	for i, t := range tried {
		predicted := ""
		if t.Predicted > 0 {
			predicted = fmt.Sprintf(", predicted %.3g", t.Predicted)
		}
		fmt.Fprintf(&b, "%-13s%-14s %s %.3g (%.3g to %.3g in %d runs)%s\n", first(i, "simulated"), p.Ranked()[i].Summary.Algorithm,
			p.Criterion.Describe(), reached[i], slices.Min(t.Reached), slices.Max(t.Reached), len(t.Reached), predicted)
	}
	if len(tried) == 1 {
		return b.String()
	}
	fmt.Fprintf(&b, "%-13sthe first is at %.2f times the best, on generated rows\n", "", reached[0]/slices.Min(reached))
	return b.String()
}
