//go:build results

package experiment_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

var (
	batchFamilies = flag.String("families", "tanh,logistic+nonconvex,huber-mean,slow-tail", "the families of TestBatches")
	batchDim      = flag.Int("dim", 100, "the dimension of TestBatches' families")
	batchRecords  = flag.String("records", "100000,1000000", "the numbers of records of TestBatches")
	batchSteps    = flag.String("batch-steps", "0", "the steps of TestBatches' spiderboost; 0 is the rule's")
	batchSlacks   = flag.String("slacks", "0.1,1", "the values of batch_slack of TestBatches")
	batchEpsilon  = flag.Float64("eps", 1, "the epsilon of TestBatches")
	batchTheorem  = flag.Bool("theorem", false, "TestBatches has the theorem's steps and batches, in place of slacks")
	batchOutputs  = flag.String("outputs", "tail-average", "the output rules of TestBatches' spiderboost")
)

func floats(t *testing.T, list string) (out []float64) {
	t.Helper()
	for text := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// TestBatches compares SpiderBoost on the batches of its rules with DP-SGD at the same budget and the same
// number of passes. DP-SGD has the plan that auto makes under this limit on passes. TestBatches prints
// Markdown, with gradient norms divided by the noise level r.
func TestBatches(t *testing.T) {
	const distinct = 400
	fmt.Print("| family | d | n | epsilon | slack | steps | b1/n, b2/n | passes | spiderboost | dp-sgd | ratio | seeds | output | seconds a plan |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	ahead, all := 0, 0
	for _, name := range strings.Split(*batchFamilies, ",") {
		for _, d := range []int{*batchDim} {
			f, err := experiment.NewFamily(name, d, distinct, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range floats(t, *batchRecords) {
				b, err := account.NewBudget(*batchEpsilon, 1e-7, account.ReplaceOne)
				if err != nil {
					t.Fatal(err)
				}
				p, err := f.Problem(n, b)
				if err != nil {
					t.Fatal(err)
				}
				check := rehearsal.Check{Problem: p, Loss: f.Loss, Features: d, Records: n, Budget: b, Seeds: *plannerSeeds,
					Workers: runtime.GOMAXPROCS(0)}
				reach := func(a optimize.Algorithm) (optimize.Summary, float64, time.Duration) {
					start := time.Now()
					plan, err := a.Plan(context.Background(), p)
					if err != nil {
						t.Fatal(err)
					}
					took := time.Since(start)
					got, err := check.RunOn(context.Background(), f.Rows(), []choose.Candidate{{Plan: plan}}, nil)
					if err != nil {
						t.Fatal(err)
					}
					return plan.Summary(), got[0].Median(), took
				}
				for _, boost := range boosts(t) {
					s, boosted, took := reach(boost)
					steps := firstorder.SGD{}.StepRule(p)
					sampling := min(s.Passes/float64(steps), 1)
					_, sampled, _ := reach(firstorder.SGD{Sampling: sampling, Steps: min(steps, int(s.Passes/sampling))})
					if all++; boosted < sampled {
						ahead++
					}
					var anchors, differences float64
					batches := s.Charges[strings.LastIndex(s.Charges, ";")+1:]
					if _, err := fmt.Sscanf(batches, " Poisson batches of %g (anchors) and %g", &anchors, &differences); err != nil {
						t.Fatalf("%q: %v", batches, err)
					}
					fmt.Printf("| %s | %d | %.0f | %v | %s | %d | %.3g, %.3g | %.3g | %.2f | %.2f | %.2f | %d | %v | %.1f |\n", name, d, n,
						*batchEpsilon, slack(boost), s.Steps, anchors, differences, s.Passes, boosted/p.Floor(), sampled/p.Floor(),
						boosted/sampled, *plannerSeeds, boost.Output, took.Seconds())
				}
			}
		}
	}
	fmt.Printf("\nspiderboost is ahead of dp-sgd at equal passes in %d of %d.\n", ahead, all)
}

// slack returns what the column of slacks says.
func slack(boost firstorder.SpiderBoost) string {
	if boost.Theorem {
		return "theorem"
	}
	return fmt.Sprint(boost.BatchSlack)
}

// boosts are the SpiderBoosts that TestBatches tries.
func boosts(t *testing.T) (list []firstorder.SpiderBoost) {
	for output := range strings.SplitSeq(*batchOutputs, ",") {
		number, err := optimize.Named("output", output, func(i uint8) fmt.Stringer { return optimize.Output(i) })
		rule := optimize.Output(number)
		if err != nil {
			t.Fatal(err)
		}
		if *batchTheorem {
			list = append(list, firstorder.SpiderBoost{Theorem: true, Output: rule})
			continue
		}
		for _, steps := range floats(t, *batchSteps) {
			for _, slack := range floats(t, *batchSlacks) {
				list = append(list, firstorder.SpiderBoost{Batches: firstorder.AutoBatches, BatchSlack: slack, Steps: int(steps),
					Output: rule})
			}
		}
	}
	return list
}
