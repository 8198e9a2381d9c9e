package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestPrefixRefusals tests that a refused item is not charged, and that the sum, the cohort and the
// number of items do not change.
func TestPrefixRefusals(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	const d = 3
	records := randomRecords(r, 60, d)
	l := parse(t, "logistic")
	b := budget(t, 1, 1e-6, account.ReplaceOne)
	for _, m := range mechanisms {
		s, other := open(t, records, l, b, noiseless), open(t, records, l, b, noiseless)
		var c [6]query.Cohort
		for i := range c {
			var err error
			if c[i], err = s.Draw(8); err != nil {
				t.Fatal(err)
			}
		}
		foreign, err := other.Draw(9)
		if err != nil {
			t.Fatal(err)
		}
		spec := query.Prefix{Factorization: m, Items: 3, Sensitivity: .25, Charge: b.Charge() * .9}
		p := openPrefix(t, s, spec)
		w := []float64{.3, -.2, .1}
		at := func(c query.Cohort, clip float64) query.Term { return query.GradientAt(c, w, clip) }
		refuse := func(name string, want string, terms ...query.Term) {
			t.Helper()
			events, left := len(s.Ledger().Events()), s.Ledger().Charged()
			_, err := p.Add(context.Background(), terms...)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %s: error = %v, want one with %q", m, name, err, want)
			}
			if len(s.Ledger().Events()) != events || s.Ledger().Charged() != left {
				t.Errorf("%v: %s: charged", m, name)
			}
		}
		first := add(t, p, at(c[0], 1)) // exactly the declared sensitivity
		refuse("cohort reused", "cohort 1: used before", at(c[0], .1))
		refuse("sensitivity", "item of sensitivity 0.25025 ", at(c[1], 1.001))
		refuse("sensitivity", "declared 0.25", at(c[1], 1.001))
		refuse("everyone", "all records", at(s.All(), .1))
		refuse("foreign", "not drawn", at(foreign, .1))
		refuse("sample", "not drawn", at(query.NewCohort(sampleBit|1, 8), .1))
		refuse("value", "vectors", query.ValueAt(c[1], w, 0, .1))
		refuse("norm", "vectors", query.NormAt(c[1], w, .1, nil))
		refuse("dimension", "must have 3", query.GradientAt(c[1], w[:2], .1))
		refuse("no terms", "terms")
		refuse("two cohorts", "share", at(c[1], .1), at(c[2], .1))
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := p.Add(cancelled, at(c[1], 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: cancelled: %v", m, err)
		}
		// Another query has used most of a cohort's budget, so that the item would exceed it.
		if _, err := s.Ask(context.Background(), question(t, b.Charge()*.2, at(c[5], 1))); err != nil {
			t.Fatal(err)
		}
		var over *account.BudgetError
		for range 2 {
			if _, err := p.Add(context.Background(), at(c[5], 1)); !errors.As(err, &over) {
				t.Errorf("%v: over budget: %v", m, err)
			}
		}
		second := add(t, p, at(c[1], 1))
		third := add(t, p, at(c[2], 1))
		refuse("too many items", "all of its 3 items", at(c[3], 1))
		for i, a := range []query.Release{first, second, third} {
			if e := s.Ledger().Events(); a.Charge > spec.Charge || a.Charge < spec.Charge*(1-1e-6) || e[0].Charge != a.Charge {
				t.Errorf("%v: item %d charged %v of %v", m, i, a.Charge, spec.Charge)
			}
		}
		s.Close()
		if _, err := p.Add(context.Background(), at(c[4], 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("%v: closed session: %v", m, err)
		}
	}
	s := open(t, records, l, b, nil)
	good := query.Prefix{Factorization: query.Tree, Items: 3, Sensitivity: 1, Charge: 1}
	for name, change := range map[string]func(*query.Prefix){
		"mechanism":                     func(p *query.Prefix) { p.Factorization = 0 },
		"items":                         func(p *query.Prefix) { p.Items = 0 },
		"items = 1048577":               func(p *query.Prefix) { p.Factorization, p.Items = query.Toeplitz, 1<<20+1 },
		"sensitivity = 0":               func(p *query.Prefix) { p.Sensitivity = 0 },
		"sensitivity = NaN":             func(p *query.Prefix) { p.Sensitivity = math.NaN() },
		"sensitivity = +Inf":            func(p *query.Prefix) { p.Sensitivity = math.Inf(1) },
		"charge = -1":                   func(p *query.Prefix) { p.Charge = -1 },
		"charge = NaN":                  func(p *query.Prefix) { p.Charge = math.NaN() },
		"charge = 1e-30: no exact grid": func(p *query.Prefix) { p.Charge = 1e-30 },
	} {
		spec := good
		change(&spec)
		if _, err := s.OpenPrefix(spec); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error = %v, want one with %q", err, name)
		}
	}
	if _, err := s.OpenPrefix(good); err != nil {
		t.Error(err)
	}
}

// sometimes is a loss that calls a function, unless it is nil.
type sometimes struct {
	loss.RankOne
	call *func()
}

func (s sometimes) Slopes(dst, z, y []float64) {
	if *s.call != nil {
		(*s.call)()
	}
	s.RankOne.Slopes(dst, z, y)
}

// TestFailedItemIsLeftOut tests that an item that fails stays charged and uses up its cohort, and
// that the sum continues without the item.
func TestFailedItemIsLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	const d = 4
	records := randomRecords(r, 40, d)
	l := parse(t, "logistic").(loss.RankOne)
	for _, m := range mechanisms {
		var call func()
		s := open(t, records, sometimes{l, &call}, budget(t, 8, .01, account.ReplaceOne), noiseless)
		direct := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), noiseless)
		p := openPrefix(t, s, query.Prefix{Factorization: m, Items: 4, Sensitivity: .2, Charge: .1})
		sum := make([]float64, d)
		for i := range 5 {
			c, err := s.Draw(8)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := direct.Draw(8); err != nil {
				t.Fatal(err)
			}
			g := query.GradientAt(c, make([]float64, d), .8)
			if i == 2 {
				ctx, cancel := context.WithCancel(context.Background())
				call = cancel
				if _, err := p.Add(ctx, g); !errors.Is(err, context.Canceled) {
					t.Fatalf("%v: error = %v", m, err)
				}
				if n := len(s.Ledger().Events()); n != 3 {
					t.Errorf("%v: %d events after a failed third item", m, n)
				}
				call = nil
				if _, err := p.Add(context.Background(), g); err == nil || !strings.Contains(err.Error(), "used before") {
					t.Errorf("%v: the cohort of a failed item was taken again: %v", m, err)
				}
				continue
			}
			a := add(t, p, g)
			one, err := direct.Ask(context.Background(), question(t, .1, g))
			if err != nil {
				t.Fatal(err)
			}
			for j := range sum {
				if sum[j] += one.Mean[j]; !(math.Abs(a.Mean[j]-sum[j]) <= 1e-7) {
					t.Errorf("%v: after cohort %d coordinate %d = %v, want %v", m, i+1, j, a.Mean[j], sum[j])
				}
			}
		}
	}
}

// TestConcurrentItems tests that each item from concurrent goroutines is counted once, and that at
// most the declared number of items is accepted.
func TestConcurrentItems(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	const d, items, calls = 4, 32, 40
	records := randomRecords(r, 2*calls, d)
	for _, m := range mechanisms {
		s := open(t, records, parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), nil)
		p := openPrefix(t, s, query.Prefix{Factorization: m, Items: items, Sensitivity: 1, Charge: .1})
		var cohorts []query.Cohort
		for range calls {
			c, err := s.Draw(2)
			if err != nil {
				t.Fatal(err)
			}
			cohorts = append(cohorts, c)
		}
		var mu sync.Mutex
		answers := map[string]bool{}
		var wg sync.WaitGroup
		for _, c := range cohorts {
			for range 2 {
				wg.Go(func() {
					a, err := p.Add(context.Background(), query.GradientAt(c, make([]float64, d), 1))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						answers[fmt.Sprint(a.Mean)] = true
					} else if !strings.Contains(err.Error(), "used before") && !strings.Contains(err.Error(), "all of its") {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if len(answers) != items || len(s.Ledger().Events()) != items {
			t.Errorf("%v: %d answers and %d events, want %d", m, len(answers), len(s.Ledger().Events()), items)
		}
	}
}
