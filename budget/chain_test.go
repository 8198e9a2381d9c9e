package budget

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

func newCap(t *testing.T, r account.Relation, sampled int) Cap {
	t.Helper()
	c, err := NewCap(3, 1e-6, r, sampled)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func gaussian(mu float64, r account.Relation) Limit {
	return Limit{Guarantee: account.Guarantee{Relation: r, Epsilon: 1, Delta: 1e-6, Mu: mu}}
}

var sampledSteps = []account.SampledSteps{{NoiseMultiplier: 4, Sampling: .1, Count: 2}}

// TestCosts tests the costs of runs under a cap: each limit on a run's releases must have
// the cost that was computed by hand.
func TestCosts(t *testing.T) {
	ctx := context.Background()
	replace, add, sampling := newCap(t, account.ReplaceOne, 0), newCap(t, account.AddOrRemove, 0),
		newCap(t, account.ReplaceOne, 8)
	sampled := gaussian(.25, account.AddOrRemove)
	sampled.Schedule = sampledSteps
	part := 1e-7 / 8
	mu, err := mechanism.ApproximateMu(ctx, sampledSteps, account.ReplaceOne, sampling.sampledDelta())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limit  Limit
		cap    Cap
		charge float64
		delta  float64
	}{
		"the same relation":        {gaussian(.25, account.ReplaceOne), replace, .0625, 0},
		"the same relation, added": {gaussian(.25, account.AddOrRemove), add, .0625, 0},
		// Replacing a record is a removal and an addition, so the run costs (2 mu)^2.
		"exchanged":             {gaussian(.25, account.AddOrRemove), replace, .25, 0},
		"sampled":               {sampled, sampling, .25 + mu*mu, part},
		"the other way round":   {gaussian(.25, account.ReplaceOne), add, 0, 0},
		"sampled, not foreseen": {sampled, replace, 0, 0},
		"nothing":               {gaussian(0, account.ReplaceOne), replace, 0, 0},
		"infinite":              {gaussian(math.Inf(1), account.ReplaceOne), replace, 0, 0},
	} {
		cost, err := c.limit.cost(ctx, c.cap)
		if c.charge == 0 {
			if err == nil {
				t.Errorf("%s: costs %+v: must be refused", name, cost)
			}
			continue
		}
		if err != nil || !(math.Abs(cost.Charge/c.charge-1) <= 1e-12) || !(math.Abs(cost.Delta-c.delta) <= 1e-12*c.delta) {
			t.Errorf("%s: costs %+v, %v: must be %v and %v", name, cost, err, c.charge, c.delta)
		}
		if err := c.limit.checkCost(ctx, c.cap, cost, true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		less := cost
		less.Charge *= 1 - 1e-4
		if c.limit.checkCost(ctx, c.cap, less, true) == nil {
			t.Errorf("%s: a smaller cost passes", name)
		}
	}
}

// TestCapHolds tests caps with runs that release on Poisson samples. If a cap is used up, all runs
// together must be (epsilon, delta)-DP. The mu^2 of the cap must cost at most the part of delta
// that is not set aside, and the parts that are set aside must add up to at most the rest.
func TestCapHolds(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1000} {
		c := newCap(t, account.ReplaceOne, n)
		delta, err := mechanism.GaussianDelta(c.Mu, c.Epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if total := delta + float64(n)*c.sampledDelta(); total > c.Delta || total < c.Delta*(1-1e-9) {
			t.Errorf("%d sampled runs: delta = %v in all: must be %v", n, total, c.Delta)
		}
		c.Mu *= 1 + 1e-9
		if c.check() == nil {
			t.Errorf("%d sampled runs: a cap of a larger mu passes", n)
		}
	}
	// A run with the cap's own budget fits.
	b, err := account.NewBudget(3, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	c := grown(t, newCap(t, account.ReplaceOne, 0))
	if _, err := LimitOf(account.NewLedger(b).View()); err == nil {
		t.Error("a ledger of no records has a limit")
	}
	ledger, err := account.OpenLedger(b, account.Records{Count: 10})
	if err != nil {
		t.Fatal(err)
	}
	limit, err := LimitOf(ledger.View())
	if err == nil {
		err = c.reserve("a", limit)
	}
	if err != nil {
		t.Error(err)
	}
	if c.left() > 1e-15 {
		t.Errorf("%v is left", c.left())
	}
}

// grown returns the chain of a dataset with the cap c. The chain has its first row only.
func grown(t *testing.T, c Cap) *chain {
	t.Helper()
	chain := newChain("people")
	if err := chain.add(entry{Kind: kindCreated, Salt: "s", Cap: &c}); err != nil {
		t.Fatal(err)
	}
	return chain
}

// add encodes an entry as the next row and appends it to the chain, if the chain's rules allow it.
func (c *chain) add(e entry) error {
	e.Number, e.Dataset, e.Time = c.number+1, c.name, "2026"
	row, err := e.write(c.head)
	if err != nil {
		return err
	}
	return c.take(row)
}

func (c *chain) reserve(run string, l Limit) error {
	cost, err := l.cost(context.Background(), c.cap)
	if err != nil {
		return err
	}
	return c.add(entry{Kind: kindReserved, Run: run, Limit: &l, Cost: &cost})
}

// TestSampledRunsAreCounted tests that a chain does not admit more runs that release on Poisson
// samples than its cap declares, however much of mu^2 is left. A run that releases on Poisson
// samples must free nothing when it settles.
func TestSampledRunsAreCounted(t *testing.T) {
	c := grown(t, newCap(t, account.ReplaceOne, 2))
	l := Limit{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6}, Schedule: sampledSteps}
	for _, run := range []string{"a", "b"} {
		if err := c.reserve(run, l); err != nil {
			t.Fatal(err)
		}
	}
	spent, zero := upward(c.spent), 0.0
	if err := c.add(entry{Kind: kindSettled, Run: "a", Charged: &zero}); err != nil {
		t.Fatal(err)
	}
	if upward(c.spent) != spent {
		t.Error("a part of a run that samples is returned")
	}
	if err := c.reserve("c", l); err == nil || !strings.Contains(err.Error(), "may sample") {
		t.Errorf("a third: %v", err)
	}
}

// TestRowsAreJudged tests that a chain refuses rows that this package would not write, even if
// their hashes are right.
func TestRowsAreJudged(t *testing.T) {
	limit := newCap(t, account.ReplaceOne, 0)
	l := gaussian(limit.Mu/2, account.ReplaceOne)
	cost, err := l.cost(context.Background(), limit)
	if err != nil {
		t.Fatal(err)
	}
	charged, less := cost.Charge, cost
	less.Charge /= 2
	whole := gaussian(limit.Mu, account.ReplaceOne)
	all, err := whole.cost(context.Background(), limit)
	if err != nil {
		t.Fatal(err)
	}
	base := func() *chain {
		c := grown(t, limit)
		if err := c.reserve("a", l); err != nil {
			t.Fatal(err)
		}
		return c
	}
	over, negative := charged*1.01, -charged
	settled := base()
	if err := settled.add(entry{Kind: kindSettled, Run: "a", Charged: &charged}); err != nil {
		t.Fatal(err)
	}
	if err := settled.add(entry{Kind: kindReserved, Run: "a", Limit: &l, Cost: &cost}); !errors.Is(err, ErrChain) {
		t.Errorf("a run that was settled, again: %v", err)
	}
	for name, e := range map[string]entry{
		"a second first":          {Kind: kindCreated, Salt: "s", Cap: &limit},
		"a run twice":             {Kind: kindReserved, Run: "a", Limit: &l, Cost: &cost},
		"a run without an id":     {Kind: kindReserved, Limit: &l, Cost: &cost},
		"at half its cost":        {Kind: kindReserved, Run: "b", Limit: &l, Cost: &less},
		"over the cap":            {Kind: kindReserved, Run: "b", Limit: &whole, Cost: &all},
		"of another's end":        {Kind: kindSettled, Run: "b", Charged: &charged},
		"more than was reserved":  {Kind: kindSettled, Run: "a", Charged: &over},
		"less than nothing":       {Kind: kindSettled, Run: "a", Charged: &negative},
		"no kind":                 {Kind: "refunded", Run: "a"},
		"an id that is no name":   {Kind: kindReserved, Run: "a\nb", Limit: &l, Cost: &cost},
		"a cap in a later row":    {Kind: kindClosed, Cap: &limit},
		"a limit in a settlement": {Kind: kindSettled, Run: "a", Charged: &charged, Limit: &l, Cost: &cost},
		"a label that is no name": {Kind: kindReserved, Run: "b", Label: "a\x1b[2J", Limit: &l, Cost: &cost},
	} {
		if err := base().add(e); !errors.Is(err, ErrChain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A text with the same meaning in another encoding has another hash and is refused.
	c := base()
	e := entry{Number: 3, Kind: kindClosed, Dataset: "people", Time: "2026"}
	text, err := encode(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{text + " ", strings.Replace(text, `"number":3`, `"number":3,"number":3`, 1),
		strings.Replace(text, `{`, `{"note":"x",`, 1),
		strings.Replace(text, `"number":3,"kind":"closed"`, `"kind":"closed","number":3`, 1)} {
		if err := c.take(Row{Text: other, Hash: chained(c.head, other)}); !errors.Is(err, ErrChain) {
			t.Errorf("%s: %v", other, err)
		}
	}
	if err := c.take(Row{Text: text, Hash: chained(genesis, text)}); !errors.Is(err, ErrChain) {
		t.Errorf("a row hashed after another: %v", err)
	}
	if err := c.take(Row{Text: text, Hash: chained(c.head, text)}); err != nil {
		t.Error(err)
	}
}

// fixed is a store with one given chain. It stores nothing.
type fixed struct {
	Store
	tail Tail
}

func (f fixed) View(context.Context, string, int) (Tail, error) { return f.tail, nil }

// TestCertificateIsRechecked tests that Verify refuses a certificate in which one number or word of
// a row was changed, even if all hashes were computed again: the cost of a run then disagrees with
// the limit on its releases or with the cap.
func TestCertificateIsRechecked(t *testing.T) {
	ctx := context.Background()
	c := newChain("people")
	var rows []Row
	add := func(e entry) {
		e.Number, e.Dataset, e.Time = c.number+1, c.name, "2026"
		row, err := e.write(c.head)
		if err == nil {
			err = c.take(row)
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	limit := newCap(t, account.ReplaceOne, 4)
	add(entry{Kind: kindCreated, Salt: "s", Cap: &limit})
	sampled := Limit{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
		Schedule: sampledSteps}
	cost, err := sampled.cost(ctx, limit)
	if err != nil {
		t.Fatal(err)
	}
	add(entry{Kind: kindReserved, Run: "a", Limit: &sampled, Cost: &cost})
	plain := gaussian(.2, account.ReplaceOne)
	other, err := plain.cost(ctx, limit)
	if err != nil {
		t.Fatal(err)
	}
	add(entry{Kind: kindReserved, Run: "b", Limit: &plain, Cost: &other})
	text, err := NewBook(fixed{tail: Tail{Rows: rows, Length: len(rows), Head: c.head}}).Certificate(ctx, "people")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Verify(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Runs) != 2 || d.Head != c.head || !(math.Abs(d.Spent/(cost.Charge+other.Charge)-1) <= 1e-15) {
		t.Errorf("verified %+v", d)
	}
	for name, change := range map[string][2]string{
		"the cap's epsilon":  {`"epsilon":3,`, `"epsilon":2,`},
		"the cap's delta":    {`"delta":0.000001,"relation"`, `"delta":0.0000001,"relation"`},
		"a run's mu":         {`"mu":0.2}`, `"mu":0.3}`},
		"a schedule's count": {`"count":2`, `"count":20`},
		"a schedule's noise": {`"noise_multiplier":4`, `"noise_multiplier":3`},
		"a relation": {`"relation":"replace-one","epsilon":1,"delta":0.000001,"mu":0.2`,
			`"relation":"add-or-remove","epsilon":1,"delta":0.000001,"mu":0.2`},
		"how many may sample": {`"sampled_runs":4`, `"sampled_runs":0`},
	} {
		if strings.Count(string(text), change[0]) == 0 {
			t.Fatalf("%s: %s is not in the certificate", name, change[0])
		}
		altered := []byte(strings.Replace(string(text), change[0], change[1], 1))
		if _, err := Verify(ctx, altered); !errors.Is(err, ErrChain) {
			t.Errorf("%s is changed: %v", name, err)
		}
		if _, err := Verify(ctx, rehashed(t, altered)); !errors.Is(err, ErrChain) {
			t.Errorf("%s is changed and the rows are hashed again: %v", name, err)
		}
	}
	if _, err := Verify(ctx, []byte("age,ill\n")); !errors.Is(err, ErrChain) {
		t.Error("a table is a certificate")
	}
}

// TestEveryForgedRunIsRefused tests that Verify refuses a certificate in which one run that
// releases on Poisson samples has a cost too small for its schedule, wherever the run is, and even
// if another run with the same schedule has the right cost.
func TestEveryForgedRunIsRefused(t *testing.T) {
	ctx := context.Background()
	limit := newCap(t, account.ReplaceOne, 4)
	limitOf := func(noise float64) Limit {
		steps := []account.SampledSteps{{NoiseMultiplier: noise, Sampling: .1, Count: 2}}
		return Limit{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6}, Schedule: steps}
	}
	same, other := limitOf(4), limitOf(5)
	costs := map[float64]Cost{}
	for _, l := range []Limit{same, other} {
		cost, err := l.cost(ctx, limit)
		if err != nil {
			t.Fatal(err)
		}
		costs[l.Schedule[0].NoiseMultiplier] = cost
	}
	limits := []Limit{same, same, other}
	for forged := 1; forged <= len(limits); forged++ {
		text, c := []Row(nil), newChain("people")
		add := func(e entry) {
			t.Helper()
			e.Number, e.Dataset, e.Time = c.number+1, c.name, "2026"
			row, err := e.write(c.head)
			if err == nil {
				err = c.take(row) // take does not compose schedules
			}
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, row)
		}
		add(entry{Kind: kindCreated, Salt: "s", Cap: &limit})
		for i, l := range limits {
			cost := costs[l.Schedule[0].NoiseMultiplier]
			if i == forged {
				cost.Charge *= .9
			}
			add(entry{Kind: kindReserved, Run: string(rune('a' + i)), Limit: &l, Cost: &cost})
		}
		file, err := NewBook(fixed{tail: Tail{Rows: text, Length: len(text), Head: c.head}}).Certificate(ctx, "people")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(ctx, file); (forged < len(limits)) != errors.Is(err, ErrChain) ||
			forged == len(limits) && err != nil {
			t.Errorf("run %d is charged too little: %v", forged+1, err)
		}
	}
}

// rehashed sets the head of a certificate to the hash of its last row.
func rehashed(t *testing.T, text []byte) []byte {
	t.Helper()
	var f certificate
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	head := ""
	for _, raw := range f.Rows {
		head = chained(head, string(raw))
	}
	return []byte(strings.Replace(string(text), f.Head, head, 1))
}

func TestAddresses(t *testing.T) {
	for text, ok := range map[string]bool{
		"sqlite:budgets.db": true, "postgres://me@host/db": true, "postgresql://host/db?sslmode=require": true,
		"": false, "sqlite:": false, "budgets.db": false, "mysql://host/db": false,
		"postgres://me:secret@host/db": false, "postgres://host/db?password=secret": false,
	} {
		a, err := ParseAddress(text)
		if (err == nil) != ok || ok && a.String() != text {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}
