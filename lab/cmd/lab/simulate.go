package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

type simulateCommand struct {
	configFlags
	JSON bool `help:"Print JSON." name:"json"`
}

// Help returns the text that the help of the command prints below its flags.
func (simulateCommand) Help() string {
	return `Runs the plans that stillpoint plan compares, or that of train.algorithm, on as many
generated rows with as many features, and prints what they reached beside what was
predicted. The table is opened only to count its rows.`
}

// simulated is the result of a simulated plan. Reached has the value of the criterion of each run, and Predicted that of
// the plan; 0 if none is stated.
type simulated struct {
	Algorithm string    `json:"algorithm"`
	Median    float64   `json:"median"`
	Reached   []float64 `json:"reached"`
	Predicted float64   `json:"predicted,omitempty"`
}

func (s *simulateCommand) Run(ctx context.Context, c *console) error {
	config, err := s.read()
	if err != nil {
		return err
	}
	planned, err := config.Plan(ctx)
	if err != nil {
		return err
	}
	list, err := simulate(ctx, config, planned, c.err)
	if err != nil {
		return err
	}
	if s.JSON {
		return printJSON(c.out, list)
	}
	_, err = io.WriteString(c.out, comparison(planned.Criterion.Describe(), list))
	return err
}

// simulate runs the plans that the setting "algorithm: auto" compares, or the plan of the configured algorithm, on
// generated rows.
func simulate(ctx context.Context, c *train.Config, p train.Planned, progress io.Writer) (list []simulated, err error) {
	if c, err = c.For(int(p.Records)); err != nil {
		return nil, err
	}
	problem, l, err := c.Problem(p.Budget, p.Records)
	if err != nil {
		return nil, err
	}
	ranked := p.Candidates
	if ranked == nil {
		ranked = []choose.Candidate{{Plan: p.Plan, Summary: p.Summary, Predicted: p.Summary.Predicted}}
	}
	check := rehearsal.Check{
		Problem: problem, Loss: l, Features: p.Features, Records: p.Records, Budget: p.Budget, Criterion: p.Criterion,
		Workers: runtime.GOMAXPROCS(0),
	}
	tried, err := check.Run(ctx, ranked, func(done int) { fmt.Fprintf(progress, "simulated %d of %d\n", done, len(ranked)) })
	for i, t := range tried {
		list = append(list, simulated{ranked[i].Summary.Algorithm, t.Median(), t.Reached, t.Predicted})
	}
	return list, err
}

// comparison describes the results of plans on generated rows and compares them with the plans' predictions.
func comparison(criterion string, list []simulated) string {
	var b strings.Builder
	for _, s := range list {
		predicted := ""
		if s.Predicted > 0 {
			predicted = fmt.Sprintf(", predicted %.3g", s.Predicted)
		}
		fmt.Fprintf(&b, "%-14s %s %.3g (%.3g to %.3g in %d runs)%s\n", s.Algorithm, criterion, s.Median, slices.Min(s.Reached),
			slices.Max(s.Reached), len(s.Reached), predicted)
	}
	if len(list) > 1 {
		least := slices.MinFunc(list, func(a, b simulated) int { return cmp.Compare(a.Median, b.Median) }).Median
		fmt.Fprintf(&b, "the median of the first is %.2f times the smallest, on generated rows\n", list[0].Median/least)
	}
	return b.String()
}
