package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// delayed is a store that renews each lease after a time, and keeps them.
type delayed struct {
	Store
	takes  time.Duration
	leases []Lease
}

func (s *delayed) Renew(_ context.Context, _ string, _, after Lease) (bool, error) {
	time.Sleep(s.takes)
	s.leases = append(s.leases, after)
	return true, nil
}

// TestMarksAreRaisedAhead tests when a release raises the mark of its run, to which charge, and whether it waits for the
// store, which takes 3 s. A block is .16: the charge of 32 replies of .25 s at a rate of .02 a second.
func TestMarksAreRaisedAhead(t *testing.T) {
	for name, c := range map[string]struct {
		mark, charge float64
		begun        bool
		change       func(*marks)
		raised       float64 // the mark that the store is asked for; 0: none
		waits        bool
	}{
		"the first release":              {0, .25, false, nil, .41, true},
		"a mark that was not confirmed":  {.5, .25, false, nil, .5, true},
		"far below the mark":             {.5, .25, true, nil, 0, false},
		"half of the block is left":      {.5, .42, true, nil, 0, false},
		"less than half is left":         {.5, .43, true, nil, .59, false},
		"at the mark":                    {.5, .5, true, nil, .66, false},
		"above the mark":                 {.5, .51, true, nil, .67, true},
		"at the mark while it is raised": {.5, .5, true, func(m *marks) { m.pending = make(chan struct{}) }, 0, false},
		"near the limit":                 {.9, .89, true, nil, 1, false},
		"at the limit":                   {1, .99, true, nil, 0, false},
		"beyond the limit":               {1, 1.01, true, nil, 0, false},
		"a slow run":                     {.5, .49, true, func(m *marks) { m.rate = 0 }, 0, false},
		"a slow run above the mark":      {.5, .51, true, func(m *marks) { m.rate = 0 }, .51, true},
		"an earlier, larger charge":      {.5, .3, true, func(m *marks) { m.charge = .6 }, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &delayed{takes: 3 * time.Second}
			m := &marks{store: s, limit: 1, patience: time.Minute, ctx: t.Context(), quit: make(chan struct{}), since: time.Now(),
				lease: Lease{Charge: c.mark, Events: 2}, begun: c.begun, rate: .02, latency: 250 * time.Millisecond, sum: 1}
			if c.change != nil {
				c.change(m)
			}
			start := time.Now()
			if err := m.cover(t.Context(), 7, c.charge); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if waited := time.Since(start); (waited > 0) != c.waits || c.waits && waited != s.takes || waited != m.wait {
				t.Errorf("%s: waited %v, of which %v are counted", name, waited, m.wait)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			switch {
			case (len(s.leases) > 0) != (c.raised > 0):
				t.Errorf("%s: marks %v", name, s.leases)
			case c.raised > 0 && (math.Abs(s.leases[0].Charge-c.raised) > 1e-12 || s.leases[0].Events != 7):
				t.Errorf("%s: a mark of %v and %d events: must be %v and 7", name, s.leases[0].Charge, s.leases[0].Events, c.raised)
			case len(s.leases) == 1 && m.latency != (s.takes+250*time.Millisecond)/2:
				t.Errorf("%s: a reply takes %v: must be the mean of 3 s and .25 s", name, m.latency)
			}
		})
	}
}

// TestRateOfChargesByHand tests the rate at which a run charges: since the last measurement, in the time that releases did
// not wait for the store. It stays where nothing was charged, no time went by or no mark was confirmed.
func TestRateOfChargesByHand(t *testing.T) {
	for name, c := range map[string]struct {
		begun  bool
		took   time.Duration
		charge float64
		want   float64
	}{
		"charged":       {true, 10 * time.Second, .5, .3 / 6}, // of 10 s, 4 s were waits
		"not confirmed": {false, 10 * time.Second, .5, .07},
		"not charged":   {true, 10 * time.Second, .2, .07},
		"only waits":    {true, 4 * time.Second, .5, .07},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &marks{begun: c.begun, since: time.Now(), sum: .2, charge: c.charge, rate: .07, wait: 5 * time.Second, waited: time.Second}
			time.Sleep(c.took)
			m.measure()
			if !(math.Abs(m.rate-c.want) <= 1e-12) || m.sum != c.charge || m.waited != m.wait || !m.since.Equal(time.Now()) {
				t.Errorf("%s: rate %v: must be %v: %+v", name, m.rate, c.want, m)
			}
		})
	}
}

// TestStateOfADataset works out the numbers of a dataset from its chain: the epsilon of what was spent is at most the cap's
// unless the cap is exceeded, and what is open is of runs that have not ended.
func TestStateOfADataset(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	epsilon := func(square, delta float64) float64 {
		mu, low, high := math.Sqrt(square), 0., 50.
		for range 100 {
			e := (low + high) / 2
			if phi(mu/2-e/mu)-math.Exp(e)*phi(-mu/2-e/mu) > delta {
				low = e
			} else {
				high = e
			}
		}
		return high
	}
	run := func(id string, charge float64, settled bool) RunState {
		return RunState{Run: id, Charged: Cost{Charge: charge}, Settled: settled}
	}
	for name, c := range map[string]struct {
		runs                       []RunState
		epsilon, spent, open, left float64
		over, want                 float64
	}{
		"nothing":        {nil, 3, 0, 0, 1, 0, 0},
		"all settled":    {[]RunState{run("a", .25, true)}, 3, .25, 0, .75, 0, epsilon(.25, 1e-5)},
		"one open":       {[]RunState{run("a", .25, true), run("b", .125, false)}, 3, .375, .125, .625, 0, epsilon(.375, 1e-5)},
		"a smaller cap":  {[]RunState{run("a", .25, true)}, .5, .25, 0, .75, 0, .5},
		"beyond the cap": {[]RunState{run("a", 1.25, true)}, 3, 1.25, 0, 0, .25, epsilon(1.25, 1e-5)},
	} {
		limit := Cap{Guarantee: account.Guarantee{Epsilon: c.epsilon, Delta: 1e-5, Mu: 1, Relation: account.ReplaceOne}}
		k := &chain{name: "people", cap: limit, began: "then", salt: "salt", head: "h3", number: 3, heads: []string{"h1", "h2", "h3"}, sampled: 4,
			closed: true, spent: exact(c.spent), runs: c.runs,
			leases: map[string]Lease{"a": {Charge: 1}, "b": {Charge: .0625, Events: 9}}}
		d, err := k.dataset()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Spent != c.spent || d.Open != c.open || d.Left != c.left || d.Over != c.over || d.Charge != 1 || !(math.Abs(d.Epsilon-c.want) <= 1e-6*c.want) {
			t.Errorf("%s: %+v: must have epsilon %v", name, d, c.want)
		}
		if d.Name != "people" || d.Began != "then" || d.Head != "h3" || d.Rows != 3 || d.Sampled != 4 || !d.Closed || fmt.Sprint(d.heads) != "[h1 h2 h3]" {
			t.Errorf("%s: %+v", name, d)
		}
		for i, r := range d.Runs {
			if (r.Lease != nil) == r.Settled || r.Lease != nil && r.Lease.Events != 9 || c.runs[i].Lease != nil {
				t.Errorf("%s: run %s has the lease %+v", name, r.Run, r.Lease)
			}
		}
	}
}

// TestAFailedMarkEndsARun tests that a run whose mark was refused releases nothing more, covered or not.
func TestAFailedMarkEndsARun(t *testing.T) {
	lost := errors.New("another state of the store")
	m := &marks{limit: 1, lease: Lease{Charge: 1}, begun: true, failed: lost}
	if err := m.cover(t.Context(), 1, .5); err != lost {
		t.Errorf("%v: must be %v", err, lost)
	}
}

// keyed is a store whose key, marks or chains can fail, and that renews no lease.
type keyed struct {
	Store
	key, mark, view error
	tail            Tail
}

func (s keyed) View(context.Context, string, int) (Tail, error)           { return s.tail, s.view }
func (s keyed) Renew(context.Context, string, Lease, Lease) (bool, error) { return false, nil }
func (s keyed) Key(context.Context) (string, error)                       { return "key", s.key }
func (s keyed) Mark(_ context.Context, _, mark string) ([]string, error) {
	return []string{"of " + mark}, s.mark
}

// TestMarksThatFail tests that a table counts as marked only if its key, its fingerprint and its mark are: the list of other
// datasets of an unmarked table is not empty, but unknown.
func TestMarksThatFail(t *testing.T) {
	broken := errors.New("broken")
	print := func(key string) (string, error) { return "print by " + key, nil }
	for name, c := range map[string]struct {
		store  keyed
		print  func(string) (string, error)
		fails  bool
		others string
	}{
		"marked":         {keyed{}, print, false, "[of print by key]"},
		"no key":         {keyed{key: broken}, print, true, "[]"},
		"no fingerprint": {keyed{}, func(string) (string, error) { return "", broken }, true, "[]"},
		"no mark":        {keyed{mark: broken}, print, true, "[]"},
	} {
		others, err := NewBook(c.store).Mark(t.Context(), "people", c.print)
		if (err != nil) != c.fails || c.fails && !errors.Is(err, broken) || fmt.Sprint(others) != c.others {
			t.Errorf("%s: %v, %v", name, others, err)
		}
	}
}

// TestALostLeaseIsAnError tests that a run whose lease the store does not renew releases nothing more, also where the store
// cannot say why: it has no such dataset, or is out of reach.
func TestALostLeaseIsAnError(t *testing.T) {
	for want, store := range map[error]keyed{ErrNoDataset: {}, ErrStore: {view: errors.New("out of reach")}} {
		b := NewBook(store)
		if err := b.lost(t.Context(), "people", "r"); !errors.Is(err, want) {
			t.Errorf("%v: must be %v", err, want)
		}
		m := b.keep(t.Context(), "people", Lease{Run: "r"}, 1)
		if err := m.cover(t.Context(), 1, .5); !errors.Is(err, want) {
			t.Errorf("a release: %v: must be %v", err, want)
		}
		m.stop()
	}
}

// paper is the certificate of a run.
type paper struct {
	of       account.Reservation
	reserved bool
	ledger   error
}

func (p paper) Budget() (account.Reservation, bool)          { return p.of, p.reserved }
func (p paper) Ledger(context.Context) (account.View, error) { return account.View{}, p.ledger }

// TestCertificatesThatADatasetLacks changes one thing about a certificate at a time: a dataset holds none that names no
// reservation, another dataset, row or hash, or whose ledger does not verify or states no limit.
func TestCertificatesThatADatasetLacks(t *testing.T) {
	d := &Dataset{Name: "people", heads: []string{"h1", "h2", "h3"}, Runs: []RunState{{Run: "r", Row: 2, Head: "h2"}}}
	good := account.Reservation{Dataset: "people", Row: 2, Head: "h2", Run: "r"}
	if err := d.Has(good); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	const earlier = "an earlier state of the store was put back"
	for _, c := range []struct {
		change func(*paper)
		want   string
	}{
		{func(p *paper) { p.reserved = false }, "names no reservation"},
		{func(p *paper) { p.of.Dataset = "others" }, `dataset = "people": the run is of dataset "others"`},
		{func(p *paper) { p.of.Row = 0 }, earlier},
		{func(p *paper) { p.of.Row = 4 }, earlier},
		{func(p *paper) { p.of.Row = 3 }, earlier},
		{func(p *paper) { p.of.Head = "h1" }, earlier},
		{func(p *paper) { p.ledger = broken }, "budget: broken"},
		{func(*paper) {}, ""}, // the zero ledger has no limit
	} {
		p := paper{of: good, reserved: true}
		c.change(&p)
		if err := d.Holds(t.Context(), p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v: must be %q", p, err, c.want)
		}
	}
}

// TestCostsThatCannotBeComputed tests that a run of samples whose privacy cannot be computed in time, or that a cap does not
// permit, has no cost: a cost of 0 would be reserved at once.
func TestCostsThatCannotBeComputed(t *testing.T) {
	run := Limit{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Mu: .2, Relation: account.AddOrRemove, Unit: "person"},
		Schedule: []account.SampledSteps{{NoiseMultiplier: 20, Sampling: .1, Count: 10}}}
	cap := Cap{Guarantee: account.Guarantee{Epsilon: 3, Delta: 1e-5, Mu: 1, Relation: account.AddOrRemove, Unit: "person"}, SampledRuns: 4}
	if cost, err := run.cost(t.Context(), cap); err != nil || !(cost.Charge > 0) || cost.Delta != cap.sampledDelta() {
		t.Fatalf("%+v, %v", cost, err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(*Limit, *Cap)
	}{
		"no time":              {ended, func(*Limit, *Cap) {}},
		"no sampled runs":      {t.Context(), func(_ *Limit, c *Cap) { c.SampledRuns = 0 }},
		"another unit":         {t.Context(), func(_ *Limit, c *Cap) { c.Unit = "" }},
		"another relation":     {t.Context(), func(l *Limit, _ *Cap) { l.Relation = account.ReplaceOne }},
		"no budget":            {t.Context(), func(l *Limit, _ *Cap) { l.Epsilon = 0 }},
		"a step without noise": {t.Context(), func(l *Limit, _ *Cap) { l.Schedule = []account.SampledSteps{{Sampling: .1, Count: 1}} }},
	} {
		l, k := run, cap
		c.change(&l, &k)
		if cost, err := l.cost(c.ctx, k); err == nil || cost != (Cost{}) {
			t.Errorf("%s: %+v, %v", name, cost, err)
		}
	}
}

// TestChainsThatDoNotFollow tests that nothing is said of a dataset whose rows are none, or fewer than its store states: neither
// its state nor its certificate, which would lack what was lost.
func TestChainsThatDoNotFollow(t *testing.T) {
	for name, tail := range map[string]Tail{"a row that is none": {Rows: []Row{{Text: "{}", Hash: "h"}}, Length: 1, Head: "h"},
		"no rows of one": {Length: 1, Head: "h"}} {
		b := NewBook(keyed{tail: tail})
		if d, err := b.Dataset(t.Context(), "people"); !errors.Is(err, ErrChain) || d != nil {
			t.Errorf("%s: state %+v, %v", name, d, err)
		}
		if text, err := b.Certificate(t.Context(), "people"); !errors.Is(err, ErrChain) || text != nil {
			t.Errorf("%s: certificate %s, %v", name, text, err)
		}
	}
}

// TestATailStatesItsEnd changes one field of a sound end of a chain at a time: its length, its last hash, and the hash of
// the row before it.
func TestATailStatesItsEnd(t *testing.T) {
	limit := newCap(t, account.ReplaceOne, 0)
	first, err := entry{Number: 1, Kind: kindCreated, Dataset: "people", Time: "2026", Salt: "s", Cap: &limit}.write("")
	if err != nil {
		t.Fatal(err)
	}
	second, err := entry{Number: 2, Kind: kindClosed, Dataset: "people", Time: "2026"}.write(first.Hash)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Tail)
		sound  bool
	}{
		"nothing":         {func(*Tail) {}, true},
		"a longer chain":  {func(t *Tail) { t.Length = 3 }, false},
		"a shorter chain": {func(t *Tail) { t.Length = 1 }, false},
		"another end":     {func(t *Tail) { t.Head = first.Hash }, false},
		"another before":  {func(t *Tail) { t.Before = second.Hash }, false},
		"no row":          {func(t *Tail) { t.Rows = nil }, false},
	} {
		c1 := newChain("people")
		if err := c1.follow(Tail{Rows: []Row{first}, Length: 1, Head: first.Hash}); err != nil {
			t.Fatal(err)
		}
		tail := Tail{Rows: []Row{second}, Length: 2, Head: second.Hash, Before: first.Hash}
		c.change(&tail)
		if err := c1.follow(tail); (err == nil) != c.sound || err != nil && !errors.Is(err, ErrChain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCapsAtTheirLastBits tests which mu a cap may state, around that of its epsilon and delta: one whose delta is at most
// the part of delta that is not set aside for sampled runs.
func TestCapsAtTheirLastBits(t *testing.T) {
	for _, runs := range []int{0, 5} {
		c := newCap(t, account.ReplaceOne, runs)
		whole, seen := c.Mu, map[bool]int{}
		for k := -60; k <= 60; k++ {
			c.Mu = whole * (1 + float64(k)*0x1p-46)
			delta, err := mechanism.GaussianDelta(c.Mu, c.Epsilon)
			if err != nil {
				t.Fatal(err)
			}
			may := c.Mu <= whole*(1+0x1p-40) && delta <= c.gaussianDelta()
			if err := c.check(); (err == nil) != may {
				t.Errorf("%d runs that may sample, mu %v: %v", runs, c.Mu, err)
			}
			seen[may]++
		}
		if seen[true] == 0 || seen[false] == 0 {
			t.Errorf("%d runs that may sample: %v", runs, seen)
		}
	}
}

// TestCostsAreKeptOfTheirLimit tests that a book does not take the cost that it keeps of a run for that of another run, which
// differs in a single fact.
func TestCostsAreKeptOfTheirLimit(t *testing.T) {
	run := Limit{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Mu: .2, Relation: account.AddOrRemove},
		Schedule: []account.SampledSteps{{NoiseMultiplier: 20, Sampling: .1, Count: 10}}}
	cap := Cap{Guarantee: account.Guarantee{Epsilon: 3, Delta: 1e-5, Mu: 1, Relation: account.AddOrRemove}, SampledRuns: 4}
	b := &Book{costs: map[string]Cost{}}
	first, err := b.cost(t.Context(), cap, run)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Limit, *Cap){
		"mu": func(l *Limit, _ *Cap) { l.Mu = .3 },
		"schedule": func(l *Limit, _ *Cap) {
			l.Schedule = []account.SampledSteps{{NoiseMultiplier: 20, Sampling: .1, Count: 40}}
		},
		"count of a step":    func(l *Limit, _ *Cap) { l.Schedule[0].Count = 11 },
		"noise of a step":    func(l *Limit, _ *Cap) { l.Schedule[0].NoiseMultiplier = 21 },
		"sampling of a step": func(l *Limit, _ *Cap) { l.Schedule[0].Sampling = .11 },
		"relation":           func(l *Limit, _ *Cap) { l.Relation = account.ReplaceOne },
		"relation of cap":    func(_ *Limit, c *Cap) { c.Relation = account.ReplaceOne },
		"unit":               func(l *Limit, _ *Cap) { l.Unit = "person" },
		"unit of cap":        func(_ *Limit, c *Cap) { c.Unit = "person" },
		"relation of both":   func(l *Limit, c *Cap) { l.Relation, c.Relation = account.ReplaceOne, account.ReplaceOne },
		"sampled runs":       func(_ *Limit, c *Cap) { c.SampledRuns = 8 },
		"delta of cap":       func(_ *Limit, c *Cap) { c.Delta = 1e-4 },
	} {
		l, c := run, cap
		l.Schedule = slices.Clone(l.Schedule)
		change(&l, &c)
		want, refused := l.cost(t.Context(), c)
		if refused == nil && want == first {
			t.Errorf("%s: the same cost %+v", name, want)
		}
		if got, err := b.cost(t.Context(), c, l); got != want || (err == nil) != (refused == nil) {
			t.Errorf("%s: %+v, %v: must be %+v, %v", name, got, err, want, refused)
		}
	}
}
