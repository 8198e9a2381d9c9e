package train

import (
	"context"
	"fmt"
	"testing"
)

// counted is a context that counts the calls of its method Err, to measure the work of making a
// plan. The accountant calls Err once for every 2^16 units of work, or after a longer indivisible
// piece of work.
type counted struct {
	context.Context
	// looks is the number of calls so far.
	looks *int
}

func (c counted) Err() error {
	*c.looks++
	return c.Context.Err()
}

// mostLooks is the largest number of calls of Err that making one plan may take. 2^9 calls
// correspond to two or three seconds of work.
const mostLooks = 1 << 12

// TestEveryPlanIsBounded tests that every algorithm returns a plan, or an error that says why there
// is none, with bounded work, at budgets and numbers of records from one extreme to the other.
// Every 13th point of the grid is tried, in short mode every 79th.
func TestEveryPlanIsBounded(t *testing.T) {
	t.Parallel()
	epsilons, deltas := []float64{1e-6, 1e-3, 1, 50, 1000}, []float64{1e-12, .1}
	numbers, relations := []int{1, 2, 100, 1e6}, []string{"replace-one", "add-or-remove"}
	c, err := ReadConfig(write(t, t.TempDir()+"/people.yaml", peopleYAML))
	if err != nil {
		t.Fatal(err)
	}
	every := 13
	if testing.Short() {
		every = 79
	}
	planned, most, at := 0, 0, ""
	for a, algorithm := range Algorithms() {
		for i := range len(epsilons) * len(deltas) * len(numbers) * len(relations) {
			k := i
			pick := func(n int) int { m := k % n; k /= n; return m }
			relation, n := relations[pick(2)], numbers[pick(4)]
			delta, epsilon := deltas[pick(2)], epsilons[pick(5)]
			// The points differ between algorithms, and every value of the grid is used by some algorithm.
			if (i+a*7)%every != 0 {
				continue
			}
			c.Train.Algorithm = algorithm
			c.Privacy.Epsilon, c.Privacy.Delta, c.Privacy.Relation, c.Privacy.Records = &epsilon, &delta, relation, n
			name := fmt.Sprintf("%s at epsilon %v, delta %v, %d records, %s", algorithm, epsilon, delta, n, relation)
			looks := 0
			p, err := c.Plan(counted{t.Context(), &looks})
			if looks > most {
				most, at = looks, name
			}
			switch {
			case err == nil && (p.Plan == nil || p.Summary.Steps < 1):
				t.Errorf("%s: neither a plan nor a reason", name)
			case err == nil:
				planned++
			case err.Error() == "":
				t.Errorf("%s: refused without a reason", name)
			}
		}
	}
	t.Logf("%d planned; the accountant looked %d times at most, for %s", planned, most, at)
	if most > mostLooks {
		t.Errorf("%s: the accountant looked %d times at its context: must be at most %d", at, most, mostLooks)
	}
	if planned < 20 {
		t.Errorf("%d plans: the test shows nothing", planned)
	}
}
