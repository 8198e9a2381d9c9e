package account

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func mustBudget(t testing.TB, epsilon, delta float64) Budget {
	t.Helper()
	b, err := NewBudget(epsilon, delta, ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustEvent(t testing.TB, cohort uint64, sensitivity, sigma float64) Event {
	t.Helper()
	e, err := GaussianEvent("gradient", cohort, sensitivity, sigma)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// exact returns the largest total of charges over records as a rational number.
func exact(events []Event) *big.Rat {
	everyone, cohorts := new(big.Rat), map[uint64]*big.Rat{}
	for _, e := range events {
		c := new(big.Rat).SetFloat64(e.Charge)
		if e.Cohort == Everyone {
			everyone.Add(everyone, c)
			continue
		}
		if cohorts[e.Cohort] == nil {
			cohorts[e.Cohort] = new(big.Rat)
		}
		cohorts[e.Cohort].Add(cohorts[e.Cohort], c)
	}
	most := new(big.Rat)
	for _, c := range cohorts {
		if c.Cmp(most) > 0 {
			most = c
		}
	}
	return everyone.Add(everyone, most)
}

// TestFilterIsExact compares the filter with rational arithmetic on random sequences. It never
// admits a total above mu^2, refuses only events that would exceed it (up to rounding), and its
// total is the true total rounded up.
func TestFilterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, err := NewBudget(rapid.Float64Range(.01, 10).Draw(t, "epsilon"), 1e-6, ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		limit := new(big.Rat).SetFloat64(b.Mu())
		limit.Mul(limit, limit)
		l := NewLedger(b)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			cohort := rapid.Uint64Range(0, 4).Draw(t, "cohort")
			ratio := rapid.Float64Range(1e-9, .8).Draw(t, "ratio") * b.Mu()
			e, err := GaussianEvent("q", cohort, ratio, 1)
			if err != nil {
				t.Fatal(err)
			}
			e.Index = 99 // the ledger numbers events itself
			err = l.Reserve(e)
			after := exact(append(l.Events(), e))
			if err == nil {
				after = exact(l.Events())
			}
			over := (*BudgetError)(nil)
			switch {
			case err == nil && after.Cmp(limit) > 0:
				t.Fatalf("admitted a total above the budget")
			case err != nil && !errors.As(err, &over):
				t.Fatal(err)
			case err != nil:
				// The event was refused: with it the total must exceed mu^2, or be within rounding of mu^2.
				near, _ := new(big.Rat).Quo(after, limit).Float64()
				if near < 1-1e-12 {
					t.Fatalf("refused an event that fits: total/budget = %v", near)
				}
				if over.Want != e.Charge || !(over.Have < over.Want*(1+1e-9)) || over.Have < 0 {
					t.Fatalf("refusal says want %v have %v for charge %v", over.Want, over.Have, e.Charge)
				}
			}
			charged := new(big.Rat).SetFloat64(l.Charged())
			truth := exact(l.Events())
			if charged.Cmp(truth) < 0 {
				t.Fatalf("reading %v below the true total", l.Charged())
			}
			if f, _ := truth.Float64(); l.Charged() > f*(1+1e-13) {
				t.Fatalf("reading %v far above the true total %v", l.Charged(), f)
			}
			total, err := Total(l.Events())
			if err != nil || total != l.Charged() {
				t.Fatalf("recomputed total %v (%v), ledger says %v", total, err, l.Charged())
			}
		}
	})
}

func TestEventChargeCoversItsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := math.Exp(rapid.Float64Range(-300, 300).Draw(t, "log sensitivity"))
		sigma := s * math.Exp(rapid.Float64Range(-10, 10).Draw(t, "log multiplier"))
		e, err := GaussianEvent("q", 0, s, sigma)
		if err != nil {
			t.Fatal(err)
		}
		ratio := new(big.Rat).Quo(new(big.Rat).SetFloat64(s), new(big.Rat).SetFloat64(sigma))
		truth := ratio.Mul(ratio, ratio)
		if new(big.Rat).SetFloat64(e.Charge).Cmp(truth) < 0 {
			t.Fatalf("charge %v below (%v/%v)^2", e.Charge, s, sigma)
		}
		if f, _ := truth.Float64(); e.Charge > f*(1+1e-15) {
			t.Fatalf("charge %v far above %v", e.Charge, f)
		}
		low := e
		low.Charge = math.Nextafter(math.Nextafter(math.Nextafter(e.Charge, 0), 0), 0)
		if low.Check() == nil {
			t.Fatalf("a charge three ulp lower passes")
		}
	})
}

func TestParallelComposition(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	l := NewLedger(b)
	full := b.Mu() * .999
	for cohort := uint64(1); cohort <= 5; cohort++ {
		if err := l.Reserve(mustEvent(t, cohort, full, 1)); err != nil {
			t.Fatalf("cohort %d: %v", cohort, err)
		}
	}
	if l.Reserve(mustEvent(t, 3, full, 1)) == nil {
		t.Error("a cohort was charged twice its budget")
	}
	if l.Reserve(mustEvent(t, Everyone, full, 1)) == nil {
		t.Error("everyone was charged on top of exhausted cohorts")
	}
	if l.left(9) < b.Charge()*(1-1e-9) {
		t.Errorf("a fresh cohort has %v left, want the whole budget", l.left(9))
	}
}

func TestRefusedEvents(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	for name, e := range map[string]Event{
		"zero":        {},
		"kind":        {Kind: "laplace", Sensitivity: 1, Sigma: 10, Charge: 1},
		"low charge":  {Kind: Gaussian, Sensitivity: 1, Sigma: 10, Charge: .009},
		"nan charge":  {Kind: Gaussian, Sensitivity: 1, Sigma: 10, Charge: math.NaN()},
		"inf charge":  {Kind: Gaussian, Sensitivity: 1, Sigma: 10, Charge: math.Inf(1)},
		"sigma":       {Kind: Gaussian, Sensitivity: 1, Sigma: 0, Charge: 1},
		"sensitivity": {Kind: Gaussian, Sensitivity: math.NaN(), Sigma: 1, Charge: 1},
		"negative":    {Kind: Gaussian, Sensitivity: -1, Sigma: 1, Charge: 1},
	} {
		l := NewLedger(b)
		if l.Reserve(e) == nil || len(l.Events()) != 0 {
			t.Errorf("%s: admitted", name)
		}
	}
	if NewLedger(Budget{}).Reserve(mustEvent(t, 0, 1e-9, 1)) == nil {
		t.Error("the zero budget admits an event")
	}
}

func TestLedgerIsAppendOnly(t *testing.T) {
	l := NewLedger(mustBudget(t, 5, 1e-6))
	if err := l.Reserve(mustEvent(t, 0, .1, 1)); err != nil {
		t.Fatal(err)
	}
	l.Events()[0].Charge = 0
	if l.Events()[0].Charge == 0 {
		t.Error("an event could be changed through the copy")
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _ = l.Reserve(mustEvent(t, 0, .1, 1)) })
	}
	wg.Wait()
	for i, e := range l.Events() {
		if e.Index != i {
			t.Errorf("event %d has index %d", i, e.Index)
		}
	}
	if n := len(l.Events()); n != 21 {
		t.Errorf("%d events, want 21", n)
	}
}

func TestBudgetRules(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		relation       Relation
		want           string
	}{
		{math.NaN(), 1e-6, ReplaceOne, "epsilon"},
		{0, 1e-6, ReplaceOne, "epsilon"},
		{-1, 1e-6, ReplaceOne, "epsilon"},
		{math.Inf(1), 1e-6, ReplaceOne, "epsilon"},
		{1, 0, ReplaceOne, "delta"},
		{1, 1, ReplaceOne, "delta"},
		{1, math.NaN(), ReplaceOne, "delta"},
		{1, 1e-6, 0, "relation"},
		{1, 1e-6, 7, "relation"},
	} {
		if _, err := NewBudget(c.epsilon, c.delta, c.relation); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewBudget(%v, %v, %v): error = %v, want one about %s", c.epsilon, c.delta, c.relation, err, c.want)
		}
	}
	b := mustBudget(t, 1, 1e-6)
	square := new(big.Rat).SetFloat64(b.Mu())
	if square.Mul(square, square).Cmp(new(big.Rat).SetFloat64(b.Charge())) < 0 {
		t.Errorf("Charge() = %v exceeds mu^2", b.Charge())
	}
}

func TestRelationText(t *testing.T) {
	for _, r := range []Relation{ReplaceOne, AddOrRemove} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Relation
		if err := json.Unmarshal(text, &back); err != nil || back != r {
			t.Errorf("%v became %v (%v)", r, back, err)
		}
	}
	if _, err := json.Marshal(Relation(0)); err == nil {
		t.Error("the zero relation was written")
	}
	if _, err := ParseRelation("neighbours"); err == nil {
		t.Error("an unknown relation was read")
	}
}

// TestEndedLedgerChargesNothing: a ledger that has ended admits no event of any kind.
func TestEndedLedgerChargesNothing(t *testing.T) {
	l := NewLedger(mustBudget(t, 5, 1e-6))
	if err := l.Reserve(mustEvent(t, 0, .1, 1)); err != nil {
		t.Fatal(err)
	}
	l.End()
	for _, cohort := range []uint64{Everyone, 1} {
		if err := l.Reserve(mustEvent(t, cohort, .1, 1)); err == nil || err.Error() != "account: the ledger has ended: nothing more is charged" {
			t.Errorf("cohort %d: %v", cohort, err)
		}
	}
	if n := len(l.Events()); n != 1 {
		t.Errorf("%d events", n)
	}
}
