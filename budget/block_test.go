package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestBlocksAreAtMostWhatWasCharged tests the charge that a mark reserves ahead: that of 32 replies of the store at the
// rate of the run, and at most what was charged before. A run that is killed has then marked at most twice its charge.
func TestBlocksAreAtMostWhatWasCharged(t *testing.T) {
	for _, x := range []struct {
		charge, rate float64
		latency      time.Duration
		want         float64
	}{{.5, .01, 250 * time.Millisecond, .08}, {.05, .01, 250 * time.Millisecond, .05}, {.05, 0, time.Second, 0},
		{0, 3, time.Second, 0}} {
		m := &marks{charge: x.charge, rate: x.rate, latency: x.latency}
		if got := m.block(); !(math.Abs(got-x.want) <= 1e-12) || got > x.charge {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

// slow is a store that keeps the leases that it renews, and takes a millisecond for each.
type slow struct {
	Store
	mu     sync.Mutex
	leases []Lease
	fails  bool
}

func (s *slow) Renew(_ context.Context, _ string, before, after Lease) (bool, error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return false, errors.New("out of reach")
	}
	s.leases = append(s.leases, after)
	return true, nil
}

// TestMarksCoverARun tests the marks of a run of many releases: cover returns after the store has a mark of at least the
// charge, no mark is beyond the limit, nor beyond twice the charge, and none falls.
func TestMarksCoverARun(t *testing.T) {
	s := new(slow)
	m := &marks{store: s, limit: 1, patience: time.Second, ctx: t.Context(), quit: make(chan struct{}), since: time.Now()}
	const releases = 400
	for i := range releases + 20 {
		charge := float64(i+1) / releases // at last beyond the limit
		if err := m.cover(t.Context(), i+1, charge); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		last := s.leases[len(s.leases)-1]
		for _, l := range s.leases[max(len(s.leases)-2, 0):] {
			if l.Charge > 1 || l.Charge > 2*charge+1e-12 || l.Events > i+1 {
				t.Fatalf("release %d of charge %v: mark %v of %d events", i+1, charge, l.Charge, l.Events)
			}
		}
		if last.Charge < min(charge, 1)-1e-12 {
			t.Fatalf("release %d of charge %v is covered by %v", i+1, charge, last.Charge)
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := 1; k < len(s.leases); k++ {
		if s.leases[k].Charge < s.leases[k-1].Charge {
			t.Errorf("mark %d falls from %v to %v", k, s.leases[k-1].Charge, s.leases[k].Charge)
		}
	}
	if last := s.leases[len(s.leases)-1]; last.Charge != 1 || last.Events < releases/2 {
		t.Errorf("%d marks for %d releases, the last of %v and %d events", len(s.leases), releases, last.Charge, last.Events)
	}
}

// TestQuitEndsWaiting tests that a release that waits for a store out of reach returns soon after the run ends, and not
// only when the patience is over.
func TestQuitEndsWaiting(t *testing.T) {
	m := &marks{store: &slow{fails: true}, limit: 1, patience: time.Hour, ctx: t.Context(), quit: make(chan struct{}), since: time.Now()}
	ended := make(chan error, 1)
	go func() { ended <- m.cover(t.Context(), 1, .5) }()
	select {
	case err := <-ended:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(m.quit)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "out of reach") {
			t.Errorf("%v: must say why", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("still waits")
	}
}

// TestWaitingEndsWithItsContext tests that a release stops waiting for a store when its context ends.
func TestWaitingEndsWithItsContext(t *testing.T) {
	pending := make(chan struct{})
	m := &marks{limit: 1, ctx: t.Context(), quit: make(chan struct{}), since: time.Now(), pending: pending}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	timer := time.AfterFunc(300*time.Millisecond, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failed, m.pending = errors.New("the store answered"), nil
		close(pending)
	})
	defer timer.Stop()
	if err := m.cover(ctx, 1, .5); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: must be that the context ended", err)
	}
}

// refusing is a store that does not renew leases, and keeps the times at which it was asked.
type refusing struct {
	Store
	asked []time.Time
}

func (s *refusing) Renew(context.Context, string, Lease, Lease) (bool, error) {
	s.asked = append(s.asked, time.Now())
	return false, errors.New("out of reach")
}

// TestPausesDouble tests the times at which a store that fails is asked again: after 10 ms, then after pauses that double
// up to 5 s, until the patience is over.
func TestPausesDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(refusing)
		m := &marks{store: s, limit: 1, patience: 30 * time.Second, ctx: t.Context(), quit: make(chan struct{}), since: time.Now()}
		if err := m.cover(t.Context(), 1, .5); err == nil || !strings.Contains(err.Error(), "out of reach") {
			t.Errorf("%v: must say why", err)
		}
		want := []time.Duration{10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000, 5000, 5000, 5000} // ms
		if len(s.asked) != len(want)+1 {
			t.Fatalf("asked %d times", len(s.asked))
		}
		for i, ms := range want {
			if pause := s.asked[i+1].Sub(s.asked[i]); pause != ms*time.Millisecond {
				t.Errorf("pause %d: %v: must be %v", i, pause, ms*time.Millisecond)
			}
		}
	})
}

// TestRowsKeepTheirLetters tests that the text of a row has the characters of a dataset's name as they are: a row's hash
// depends on them.
func TestRowsKeepTheirLetters(t *testing.T) {
	const name = "a<b>&c é"
	text, err := encode(entry{Dataset: name})
	if err != nil || !strings.Contains(text, `"`+name+`"`) || strings.ContainsAny(text, "\\\n") {
		t.Errorf("%s, %v: must have %q", text, err, name)
	}
}

// TestRefusedCostsToTheLetter tests the errors for a limit, a relation, a unit and a cost that a cap does not permit, each
// with its own numbers: a run under add-or-remove costs four times mu^2 under a cap for replace-one.
func TestRefusedCostsToTheLetter(t *testing.T) {
	run := func(epsilon, delta, mu float64, r account.Relation, unit string) Limit {
		return Limit{Guarantee: account.Guarantee{Epsilon: epsilon, Delta: delta, Mu: mu, Relation: r, Unit: unit}}
	}
	cap := Cap{Guarantee: account.Guarantee{Epsilon: 3, Delta: 1e-5, Mu: 1, Relation: account.ReplaceOne, Unit: "person"}}
	good := run(1.5, 1e-6, .5, account.AddOrRemove, "person")
	for want, x := range map[string]struct {
		limit Limit
		cap   Cap
		cost  Cost
	}{
		"budget: charge = 0.75: must be at least 4 times mu^2 = 1":                                         {good, cap, Cost{Charge: .75}},
		"budget: charge = -0.75: must be finite and > 0":                                                   {good, cap, Cost{Charge: -.75}},
		"budget: charge = +Inf: must be finite and > 0":                                                    {good, cap, Cost{Charge: math.Inf(1)}},
		"budget: charge = 0: must be finite and > 0":                                                       {good, cap, Cost{}},
		"budget: delta = 1e-07: must be absent from the cost of a run that does not sample":                {good, cap, Cost{Charge: 1.25, Delta: 1e-7}},
		"budget: law: epsilon = -1.5: must be finite and > 0":                                              {run(-1.5, 1e-6, .5, account.AddOrRemove, "person"), cap, Cost{Charge: 1}},
		"budget: law: delta = 1.25: must be > 0 and < 1":                                                   {run(1.5, 1.25, .5, account.AddOrRemove, "person"), cap, Cost{Charge: 1}},
		"budget: law: mu = -0.5: must be finite and > 0":                                                   {run(1.5, 1e-6, -.5, account.AddOrRemove, "person"), cap, Cost{Charge: 1}},
		`budget: unit = "": must be the dataset's "person": a record is all rows of one person there, and`: {run(1.5, 1e-6, .5, account.AddOrRemove, ""), cap, Cost{Charge: 1}},
		"budget: relation = replace-one: must be the dataset's add-or-remove: ": {run(1.5, 1e-6, .5, account.ReplaceOne, "person"),
			Cap{Guarantee: account.Guarantee{Relation: account.AddOrRemove, Unit: "person"}}, Cost{Charge: 1}},
	} {
		err := x.limit.checkCost(t.Context(), x.cap, x.cost, true)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: must be %q", err, want)
		}
	}
	if err := good.checkCost(t.Context(), cap, Cost{Charge: 1}, true); err != nil {
		t.Error(err)
	}
}

// TestWhatIsLeftToTheLetter tests the epsilon that an error names as left: of mu^2 = .81, or of a quarter of that for a run
// under add-or-remove, by the formula of Gaussian differential privacy, less half a percent.
func TestWhatIsLeftToTheLetter(t *testing.T) {
	c := &chain{cap: Cap{Guarantee: account.Guarantee{Mu: 1, Relation: account.ReplaceOne}}, spent: exact(.19)}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for relation, mu := range map[account.Relation]float64{account.ReplaceOne: .9, account.AddOrRemove: .45} {
		low, high := 0., 20.
		for range 100 {
			e := (low + high) / 2
			if phi(mu/2-e/mu)-math.Exp(e)*phi(-mu/2-e/mu) > 1e-6 {
				low = e
			} else {
				high = e
			}
		}
		want := fmt.Sprintf("epsilon %.3g at delta 1e-06 is left", low*.995)
		if got := c.leftText(Limit{Guarantee: account.Guarantee{Relation: relation, Delta: 1e-6}}); got != want {
			t.Errorf("%v: %s: must be %s", relation, got, want)
		}
	}
	c.spent = exact(1)
	if got := c.leftText(Limit{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Delta: 1e-6}}); got != "nothing is left" {
		t.Error(got)
	}
}

// hanging is a store that replies when its context has ended.
type hanging struct{ Store }

func (hanging) Renew(ctx context.Context, _ string, _, _ Lease) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// TestStopWaitsForTenSeconds tests that the end of a run waits for a renewal that is under way, and for ten seconds at most.
func TestStopWaitsForTenSeconds(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{0: 0, 3 * time.Second: 3 * time.Second, time.Hour: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var store Store = &delayed{takes: takes}
			if takes > time.Minute {
				store = hanging{}
			}
			m := NewBook(store).keep(t.Context(), "people", Lease{Run: "r"}, 1)
			m.mu.Lock()
			m.raise(.5)
			m.mu.Unlock()
			began := time.Now()
			if m.stop(); time.Since(began) != want {
				t.Errorf("a reply after %v: waited for %v: must be %v", takes, time.Since(began), want)
			}
		})
	}
}

// dated is a store that notes when it is asked to renew a lease, and replies after a time. It renews so many times as refuses says, and then refuses.
type dated struct {
	Store
	began   time.Time
	takes   time.Duration
	refuses int
	asked   []string
}

func (s *dated) Renew(_ context.Context, _ string, before, after Lease) (bool, error) {
	s.asked = append(s.asked, fmt.Sprint(time.Since(s.began), " ", before.Charge, " ", after.Charge, " ", after.Events))
	time.Sleep(s.takes)
	return len(s.asked) <= s.refuses, nil
}

func (s *dated) View(context.Context, string, int) (Tail, error) {
	return Tail{}, errors.New("out of reach")
}

// TestAnIdleRunKeepsItsLease tests that the lease of a run without releases is renewed every twenty seconds at its own mark, so
// that nobody settles the run. A renewal waits for the one before it, and none follows a refusal or the end of the run.
func TestAnIdleRunKeepsItsLease(t *testing.T) {
	for name, c := range map[string]struct {
		takes   time.Duration
		refuses int
		want    []string
	}{
		"a quick store":            {time.Second, 9, []string{"20s 0.25 0.25 2", "40s 0.25 0.25 2", "1m0s 0.25 0.25 2", "1m20s 0.25 0.25 2", "1m40s 0.25 0.25 2"}},
		"a slow store":             {27 * time.Second, 9, []string{"20s 0.25 0.25 2", "1m0s 0.25 0.25 2", "1m40s 0.25 0.25 2"}},
		"a store that is replaced": {time.Second, 1, []string{"20s 0.25 0.25 2", "40s 0.25 0.25 2"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &dated{began: time.Now(), takes: c.takes, refuses: c.refuses}
			m := NewBook(s).keep(t.Context(), "people", Lease{Run: "r", Charge: .25, Events: 2}, 1)
			time.Sleep(105 * time.Second)
			m.stop()
			time.Sleep(5 * time.Minute)
			if !slices.Equal(s.asked, c.want) {
				t.Errorf("%s: %q: must be %q", name, s.asked, c.want)
			}
		})
	}
}

// failing is a store that fails so many times as left says, and notes when it is asked.
type failing struct {
	Store
	began time.Time
	left  int
	asked []time.Duration
}

func (s *failing) Renew(context.Context, string, Lease, Lease) (bool, error) {
	s.asked = append(s.asked, time.Since(s.began))
	if s.left--; s.left >= 0 {
		return false, errors.New("out of reach")
	}
	return true, nil
}

// TestAFailingStoreIsAskedAgain tests when a store that fails is asked again: after 10 milliseconds, then after twice as long each
// time, and at last every five seconds. The renewal fails where the patience is over or its context has ended.
func TestAFailingStoreIsAskedAgain(t *testing.T) {
	const ms = time.Millisecond
	all := []time.Duration{0, 10 * ms, 30 * ms, 70 * ms, 150 * ms, 310 * ms, 630 * ms, 1270 * ms, 2550 * ms, 5110 * ms, 10110 * ms, 15110 * ms, 20110 * ms}
	for name, c := range map[string]struct {
		failures int
		patience time.Duration
		ends     bool // its context, after three seconds
		want     []time.Duration
		fails    bool
	}{
		"no failure":        {0, time.Minute, false, all[:1], false},
		"four failures":     {4, time.Minute, false, all[:5], false},
		"twelve failures":   {12, time.Minute, false, all, false},
		"a short patience":  {99, 5 * time.Second, false, all[:10], true}, // the first time that is later
		"its context ended": {99, time.Minute, true, all[:10], true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &failing{began: time.Now(), left: c.failures}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if c.ends {
				time.AfterFunc(3*time.Second, end)
			}
			m := &marks{store: s, limit: 1, patience: c.patience, ctx: ctx, quit: make(chan struct{}), since: time.Now()}
			err := m.renew(Lease{}, Lease{Charge: .5})
			if !slices.Equal(s.asked, c.want) || (err != nil) != c.fails || c.fails && !errors.Is(err, ErrStore) {
				t.Errorf("%s: asked at %v, %v: must be at %v, failing %v", name, s.asked, err, c.want, c.fails)
			}
		})
	}
}
