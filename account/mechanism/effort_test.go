package mechanism

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// mostSchedule bounds the work of calibrating a schedule of one kind of steps: about four seconds.
const mostSchedule = 1 << 29

// TestCalibratedSchedulesOfAnyPlan calibrates schedules of one step and of many steps, with
// sampling probabilities from very small to 1, at small and large budgets. Each calibration must
// return a schedule or an error with bounded work. A second proof, as a verifier makes it, must
// accept the schedule. Short mode uses a part of the grid.
func TestCalibratedSchedulesOfAnyPlan(t *testing.T) {
	t.Parallel()
	found, i, every := 0, 0, 5
	switch {
	case *long:
		every = 1
	case testing.Short():
		every = 17
	}
	for _, epsilon := range []float64{1e-6, 1, 1000} {
		for _, delta := range []float64{1e-12, .1} {
			for _, relation := range []Relation{ReplaceOne, AddOrRemove} {
				for _, step := range []SampledSteps{{1, .1, 1}, {1, .1, 100}, {1, 1e-3, 1000}} {
					// Every 5th or 17th case is used. 5 and 17 are coprime to the lengths of the
					// lists, so every entry of every list occurs.
					if i++; i%every != 1%every {
						continue
					}
					name := fmt.Sprintf("epsilon %v, delta %v, %v, %v", epsilon, delta, relation, step)
					e := newEffort(t.Context(), 1<<40)
					p, _, err := SampledPlan{Steps: []SampledSteps{step}, Relation: relation}.calibrate(e, epsilon, delta)
					if work := 1<<40 - e.left; work > mostSchedule {
						t.Errorf("%s: 2^%.1f units of work", name, math.Log2(work))
					}
					if err != nil {
						t.Logf("%s: %v", name, err)
						continue
					}
					found++
					if _, err := p.Prove(t.Context(), epsilon, delta); err != nil {
						t.Errorf("%s: admitted once, then refused: %v", name, err)
					}
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("%d schedules found: the test shows nothing", found)
	}
}

// TestWorkGrowsWithTheKinds tests that the work allowed depends only on the number of different
// mechanisms, and has a limit.
func TestWorkGrowsWithTheKinds(t *testing.T) {
	if one, many := among(effortMost, 1), among(effortMost, math.MaxInt); !(one < effortMost*1.1 && many == effortLimit) {
		t.Errorf("%v for one mechanism, %v for any number", one, many)
	}
	steps := []SampledSteps{{1, .1, 1}, {2, .1, 5}, {1, .1, 1 << 20}, {1, .2, 7}}
	if got, want := (SampledPlan{Steps: steps}).effort(), among(effortSchedule, 3); got != want {
		t.Errorf("%v for three kinds of steps: must be %v", got, want)
	}
}

// TestEffortIsLentOnce tests the method lend. Only the work that the function has used is
// subtracted, and no more work is lent than is left.
func TestEffortIsLentOnce(t *testing.T) {
	e := newEffort(t.Context(), 100)
	for k, c := range []struct{ lend, use, left float64 }{{60, 10, 90}, {60, 60, 30}, {60, 29, 1}, {1, 0, 1}} {
		if err := e.lend(c.lend, func(e *effort) error { return e.spend(c.use) }); err != nil || e.left != c.left {
			t.Errorf("loan %d: %v left, %v: must be %v", k, e.left, err, c.left)
		}
	}
	if err := e.lend(60, func(e *effort) error { return e.spend(2) }); !errors.Is(err, errEffort) {
		t.Errorf("more was lent than was left: %v", err)
	}
}

// TestManyKindsAreBracketed tests that, for many different events, the work is divided so that both
// directions are bracketed, though less narrowly than for few events.
func TestManyKindsAreBracketed(t *testing.T) {
	t.Parallel()
	const kinds = 30
	var events []Composed
	for k := range kinds {
		events = append(events, Composed{sampled(t, 1+float64(k)/kinds, .001+.004*float64(k)/kinds, AddOrRemove),
			100000 / kinds})
	}
	c := compose(t, 1e-3, events...)
	var narrow Bracket
	for _, most := range []float64{1 << 27, 1 << 26} {
		b, err := c.epsilon(newEffort(t.Context(), most), 1e-6)
		if err != nil || b.width() > .2 || narrow.Upper > 0 && !(b.Lower <= narrow.Upper && b.Upper >= narrow.Lower) {
			t.Errorf("%v units of work: %v, %v after %v", most, b, err, narrow)
		}
		narrow = b
	}
}

// TestDirectionsShareTheWork tests that the second direction may use at least as much work as was
// allowed to the first direction, whether or not the first direction used all of it.
func TestDirectionsShareTheWork(t *testing.T) {
	c := compose(t, 1e-3, Composed{sampled(t, 1, .1, AddOrRemove), 10})
	var lent []float64
	_, err := c.each(newEffort(t.Context(), 1000), func(e *effort, _ direction, _ Bracket) (Bracket, error) {
		lent = append(lent, e.left)
		return Bracket{}, e.spend(e.left)
	})
	if err != nil || len(lent) != 2 || lent[0] != 500 || lent[1] != 500 {
		t.Errorf("lent %v of 1000: %v", lent, err)
	}
}

// TestCountsOfEqualEventsStayInRange tests that equal events are counted together, up to the limit
// on the count of one event.
func TestCountsOfEqualEventsStayInRange(t *testing.T) {
	laplace, err := newLaplace(5)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]Mechanism{"sampled": sampled(t, 100, .1, ReplaceOne), "laplace": laplace} {
		for _, counts := range [][]int{
			{countLimit}, {countLimit - 1, 1}, {1 << 29, 1 << 29}, {countLimit, 0},
			{countLimit, 1}, {1, countLimit}, {1 << 29, 1 << 29, 1}, {countLimit, countLimit, countLimit}, {countLimit + 1},
			{-1}, {math.MaxInt}, {5, -4},
		} {
			var events []Composed
			sum, valid := new(big.Int), true
			for _, n := range counts {
				events = append(events, Composed{m, n})
				sum.Add(sum, big.NewInt(int64(n)))
				valid = valid && n >= 0
			}
			valid = valid && sum.Cmp(big.NewInt(countLimit)) <= 0
			c, err := Compose(t.Context(), events, 1e-3)
			if valid && (err != nil || len(c.parts) != 1 || int64(c.parts[0].Count) != sum.Int64()) {
				t.Errorf("%s, counts %v: %v, %v", name, counts, c, err)
			}
			if !valid && (err == nil || !strings.Contains(err.Error(), "count")) {
				t.Errorf("%s, counts %v: taken (%v)", name, counts, err)
			}
		}
	}
}

// TestScheduleOfWholeTablesIsGaussian tests schedules in which every record is in every sample, so
// that their epsilon is known exactly. The proven epsilon must include all steps, their counts, and
// the part of Gaussian releases.
func TestScheduleOfWholeTablesIsGaussian(t *testing.T) {
	for _, relation := range []Relation{ReplaceOne, AddOrRemove} {
		factor := map[Relation]float64{ReplaceOne: 2, AddOrRemove: 1}[relation]
		for _, mu := range []float64{0, 1e-3, .3, 1.7} {
			for _, steps := range [][]SampledSteps{{{7, 1, 5}}, {{7, 1, 1}, {9, 1, 3}, {7, 1, 4}}, {{1e3, 1, 1 << 16}}} {
				got, err := SampledPlan{Steps: steps, Mu: mu, Relation: relation}.Prove(t.Context(), 20, 1e-6)
				if err != nil {
					t.Fatal(err)
				}
				square := new(big.Float).SetPrec(300).Mul(wide(mu), wide(mu))
				for _, x := range steps {
					ratio := new(big.Float).Quo(wide(factor), wide(x.NoiseMultiplier))
					ratio.Mul(ratio, ratio)
					square.Add(square, ratio.Mul(ratio, wide(float64(x.Count))))
				}
				total, _ := square.Sqrt(square).Float64()
				least := mustGaussian(t, GaussianEpsilon, round.Down(total), 1e-6)
				if !(got >= least && got <= least*(1+1e-12)) {
					t.Errorf("%v, mu %v, %v: epsilon %v, exactly %v", relation, mu, steps, got, least)
				}
			}
		}
	}
}

func wide(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
