package audit

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestNoiseHasOneSource runs every registered algorithm in a recorded session. The standard deviation that the session
// charged in its ledger, that of the noise that it drew, and that of the answer that it released must be one number in
// three units. The noise of every step in the run's trace, from which reports print the noise, must be that of a
// release. For a step along a public direction of length sqrt(d), that is the release's noise over the distance between
// its two points, times sqrt(d). The test fails if a run, a session or a trace computes a standard deviation by itself.
func TestNoiseHasOneSource(t *testing.T) {
	b, err := account.NewBudget(20, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range train.Algorithms() {
		tried := false
		for _, l := range []string{"logistic", "hinge", "pinball(0.3)", "tanh"} {
			g := flat(l, b, flatRecords, 6)
			plans := g.plans(t, name, nil)
			if len(plans) == 0 || tried {
				continue
			}
			tried = true
			plan := plans[0].plan
			own, err := loss.Parse(g.loss)
			if err != nil {
				t.Fatal(err)
			}
			s, err := recordtest.Record(simulate.Config{Rows: g.table.Rows, Targets: g.table.Targets, Loss: own, Budget: g.budget,
				Seed: 7, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if schedule := plan.Needs().Schedule; schedule != nil {
				if err := s.Follow(schedule); err != nil {
					t.Fatal(err)
				}
			}
			r, err := plan.Run(context.Background(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			var sigmas []float64
			events := s.Ledger().Events()
			for i, x := range s.Exchanges() {
				released, ok := x.Released.(query.Release)
				if !ok {
					continue
				}
				sigmas = append(sigmas, released.Sigma)
				if q, ok := x.Asked.(query.Question); ok && q.Terms()[0].Kind() == query.ValueChange {
					// A slope along a direction is the change of the loss over the distance, and a step goes along the direction.
					sigmas = append(sigmas, released.Sigma*math.Sqrt(float64(len(q.Terms()[0].Point())))/q.Terms()[0].Distance())
				}
				if e := events[i]; e.Sigma != x.Event.Sigma || e.Question != x.Event.Question {
					t.Errorf("%s: event %d: sigma %v in the ledger, %v charged", name, i, e.Sigma, x.Event.Sigma)
				}
				if drawn := math.Ldexp(1, x.Bits) / x.Scale; !(math.Abs(drawn/x.Event.Sigma-1) < 1e-9) {
					t.Errorf("%s: event %d: %v drawn, %v charged", name, i, drawn, x.Event.Sigma)
				}
				size := float64(len(x.Members))
				switch {
				case x.Prefix != (query.Prefix{}):
					size = 1 // the answers of a prefix sum are charged in the unit of the mean
				case x.Event.Sampling > 0:
					size = flatRecords * x.Event.Sampling // the expected size
				case x.Members == nil:
					size = flatRecords
				}
				if !(math.Abs(released.Sigma*size/x.Event.Sigma-1) < 1e-9) {
					t.Errorf("%s: %s: event %d: %v stated, %v charged for the sum over %v", name, x.Event.Question, i,
						released.Sigma, x.Event.Sigma, size)
				}
			}
			if len(sigmas) == 0 || len(r.Trace.Noise) == 0 {
				t.Errorf("%s, %s: %d releases, %d steps", name, l, len(sigmas), len(r.Trace.Noise))
			}
			for i, noise := range r.Trace.Noise {
				nearest := math.Inf(1)
				for _, sigma := range sigmas {
					nearest = min(nearest, math.Abs(noise/sigma-1))
				}
				shaken := name == "perturbed-gd" && noise > slices.Min(sigmas) // public numbers add to a step's noise
				if noise > 0 && nearest > 1e-9 && !shaken {
					t.Errorf("%s: step %d has noise %v: no release has it", name, i, noise)
				}
			}
		}
		if !tried {
			t.Errorf("%s: never tried", name)
		}
	}
}
