package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// The tests of this file recompute the numbers on a page in other ways than the page.

// share returns the probability that a standard normal is below x.
func share(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// power returns the largest probability of detecting a row by a test that compares a released value
// with a threshold, at the given probability of a false alarm. other and world return the
// probability that the released value is above the threshold, without and with the row.
func power(alarm float64, other, world func(threshold float64) float64) float64 {
	at := root(-60, 60, func(x float64) float64 { return alarm - other(x) })
	return world(at)
}

// TestAttackIsTheBestThereIs tests the curve of an attack that the page draws. For Gaussian
// releases it must be the power of the best test between two normal distributions. For one release
// on a Poisson sample, the curve must not be below the power of the best test for the row's
// presence or for its absence, and must be at most .02 above the larger of the two.
func TestAttackIsTheBestThereIs(t *testing.T) {
	f := people(t, "p", 4)
	a, err := read(t, f).attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mu := f.budget.Mu()
	for i, alarm := range a.alarms {
		want := alarm
		if alarm > 0 && alarm < 1 {
			want = power(alarm, func(x float64) float64 { return 1 - share(x) },
				func(x float64) float64 { return 1 - share(x-mu) })
		}
		if !near(a.detected[i], want, 1e-6) && !(math.Abs(a.detected[i]-want) <= 1e-9) {
			t.Errorf("at %v the curve is %v: must be %v", alarm, a.detected[i], want)
		}
	}

	const z, q = 1.5, .25
	one := scheduled(t, account.SampledSteps{NoiseMultiplier: z, Sampling: q, Count: 1})
	if a, err = read(t, one).attack(t.Context()); err != nil {
		t.Fatal(err)
	}
	without := func(x float64) float64 { return 1 - share(x/z) }
	with := func(x float64) float64 { return (1-q)*without(x) + q*(1-share((x-1)/z)) }
	for i, alarm := range a.alarms {
		if alarm == 0 || alarm == 1 {
			continue
		}
		added := power(alarm, without, with)
		removed := power(alarm, func(x float64) float64 { return 1 - with(-x) },
			func(x float64) float64 { return 1 - without(-x) })
		if least := max(added, removed); a.detected[i] < least-1e-9 || a.detected[i] > least+.02 {
			t.Errorf("at %v the curve of a sample is %v: an attack has %v", alarm, a.detected[i], least)
		}
	}
}

// scheduled returns the folder of a run whose releases follow a schedule of these steps.
func scheduled(t *testing.T, steps ...account.SampledSteps) folder {
	t.Helper()
	f := people(t, "p", 4)
	f.budget, f.events = budget(t, account.AddOrRemove), nil
	wide, err := account.NewBudget(20, 1e-5, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	f.budget = wide
	if f.schedule, err = account.NewSchedule(t.Context(), wide, 0, steps...); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		for range s.Count {
			e, err := account.SampledEvent("gradient", s.Sampling, 2, 2*s.NoiseMultiplier)
			if err != nil {
				t.Fatal(err)
			}
			e.Index, e.Relation = len(f.events), f.budget.Relation()
			f.events = append(f.events, e)
		}
	}
	return f
}

// TestAttackOfASampleIsAnUpperBound tests that a right guess on a schedule of samples counts the upper end of the distance of the
// distributions, and that between two points of the curve the one of more false alarms counts.
func TestAttackOfASampleIsAnUpperBound(t *testing.T) {
	f := read(t, scheduled(t, account.SampledSteps{NoiseMultiplier: 1.5, Sampling: .25, Count: 3}))
	a, err := f.attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parts, err := ledgerfile.Entry{Guarantee: f.Certificate.Claim(), Schedule: f.schedule}.Composed()
	if err != nil {
		t.Fatal(err)
	}
	composition, err := mechanism.Compose(t.Context(), parts, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	zero, err := composition.Delta(t.Context(), 0)
	if err != nil || zero.Upper == zero.Lower || a.right != (1+zero.Upper)/2 {
		t.Errorf("%v: %v: must follow from %v alone", err, a.right, zero)
	}
	for i, x := range a.alarms[1:] {
		before := a.alarms[i]
		if a.at(x) != a.detected[i+1] || a.at(before+(x-before)/3) != a.detected[i+1] || a.detected[i+1] == a.detected[i] && a.detected[i] < 1 {
			t.Errorf("at %v and below it %v and %v: must be %v", x, a.at(x), a.at(before+(x-before)/3), a.detected[i+1])
		}
	}
}

// TestScheduleInNumbers tests the page of a run on Poisson samples. The table of the schedule must
// have a row for each block of equal steps, with the block's count, noise multiplier and sampling
// probability. The plot must show the noise multiplier of each release.
func TestScheduleInNumbers(t *testing.T) {
	blocks := []account.SampledSteps{
		{NoiseMultiplier: 3.25, Sampling: .125, Count: 2}, {NoiseMultiplier: 4.5, Sampling: .25, Count: 3},
		{NoiseMultiplier: 6.75, Sampling: .0625, Count: 4}, {NoiseMultiplier: 2.125, Sampling: .03125, Count: 1},
	}
	f := read(t, scheduled(t, blocks...))
	rows := f.scheduleTable().Rows
	if len(rows) != len(blocks) {
		t.Fatalf("%d blocks are shown: must be %d", len(rows), len(blocks))
	}
	var multipliers []float64
	for i, b := range blocks {
		shows(t, "releases", rows[i].Cells[0], float64(b.Count), 9)
		shows(t, "noise multiplier", rows[i].Cells[1], b.NoiseMultiplier, 5)
		shows(t, "share sampled", rows[i].Cells[2], b.Sampling, 9)
		multipliers = append(multipliers, slices.Repeat([]float64{b.NoiseMultiplier}, b.Count)...)
	}
	if got := f.multiplierPlot().Series[0].Y; !slices.Equal(got, multipliers) {
		t.Errorf("noise multipliers are drawn as %v: must be %v", got, multipliers)
	}
}

// TestReservationsInNumbers tests that the page lists every reservation of the table in the
// folder's ledger, with its time, algorithm, relation, epsilon, delta and outcome, and marks the
// reservation of this fit.
func TestReservationsInNumbers(t *testing.T) {
	f := people(t, "p", 4)
	earlier, err := account.NewBudget(.12345678, 1e-7, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.SplitAfter(entries(f.budget, "/d/t.csv", "/d/t.csv", "/d/t.csv"), "\n")
	f.ledger = entries(earlier, "/d/t.csv") + own[2] + own[3] + own[4] // the third reservation is not settled
	r := read(t, f)
	table := partOf(t, Section{Parts: r.ledger(t.Context())}, func(t Table) bool { return len(t.Rows) > 0 })
	want := [][]string{
		{"2031-02-01 03:04:05", "gd", "replace-one", "0.12345678", "10⁻⁷"},
		{"2031-02-02 03:04:05", "gd", "replace-one", fmt.Sprint(f.budget.Epsilon()), "10⁻⁶"},
		{"2031-02-03 03:04:05", "gd", "replace-one", fmt.Sprint(f.budget.Epsilon()), "10⁻⁶"},
	}
	for i, row := range table.Rows {
		for j, cell := range want[i] {
			if row.Cells[j] != cell {
				t.Errorf("reservation %d: %q: must be %q", i, row.Cells[j], cell)
			}
		}
		if outcome, last := row.Cells[5], i == len(want)-1; strings.Contains(outcome, "this one") != last ||
			strings.Contains(outcome, "not ended") != last {
			t.Errorf("reservation %d: %q", i, outcome)
		}
	}
	if len(table.Rows) != len(want) {
		t.Errorf("%d reservations: must be %d", len(table.Rows), len(want))
	}
}

// TestArrivalIsSaid tests that the page repeats the conclusion about convergence that the
// certificate states (the member arrived), and draws no conclusion of its own.
func TestArrivalIsSaid(t *testing.T) {
	for _, c := range []struct {
		gradient float64
		arrived  string
	}{{.1, "more steps would only add noise"}, {2, "not arrived"}, {.3, ""}} {
		f := people(t, "p", 4)
		plan := strings.TrimSuffix(string(f.algorithm.Plan), "}") +
			fmt.Sprintf(`,"late":{"steps":3,"gradient_norm":%v,"noise":0.25},"arrived":%q}`, c.gradient, c.arrived)
		f.algorithm.Plan = json.RawMessage(plan)
		r := read(t, f)
		fact := factOf(t, r.signal(r.noise()), "Gradient at the end")
		shows(t, "gradient at the end", fact.Value, c.gradient, 3)
		want := "noise alone has 0.25"
		if c.arrived != "" {
			want += "; " + c.arrived
		}
		if !strings.Contains(fact.Note, "last 3 steps") || !strings.HasSuffix(fact.Note, want) {
			t.Errorf("a gradient of %v beside noise of 0.25: %q", c.gradient, fact.Note)
		}
	}
}
