package session

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	accountant "github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// scriptEnd is the value with which a script panics when its bits are used up.
type scriptEnd struct{}

// script supplies the bits of one word and no more.
type script struct {
	word uint64
	used bool
}

func (s *script) Uint64() uint64 {
	if s.used {
		panic(scriptEnd{})
	}
	s.used = true
	return s.word
}

// enumerate runs draw on every sequence of up to depth bits. It returns the exact probability of
// each outcome that these bits decide, and the probability of all sequences that decide no outcome.
func enumerate[T comparable](depth int, draw func(*fair) T) (mass map[T]float64, undecided float64) {
	mass = map[T]float64{}
	run := func(word uint64, bits int) (outcome T, ok bool) {
		f := &fair{source: &script{used: true}, word: word, left: bits}
		if bits == 0 {
			f.left = 0
		}
		defer func() {
			if r := recover(); r != nil {
				if _, end := r.(scriptEnd); !end {
					panic(r)
				}
			}
		}()
		outcome = draw(f)
		return outcome, f.left == 0
	}
	var walk func(word uint64, bits int)
	walk = func(word uint64, bits int) {
		if outcome, ok := run(word, bits); ok {
			mass[outcome] += math.Ldexp(1, -bits)
			return
		}
		if bits == depth {
			undecided += math.Ldexp(1, -bits)
			return
		}
		walk(word, bits+1)
		walk(word|1<<bits, bits+1)
	}
	walk(0, 0)
	return mass, undecided
}

// within fails the test unless decided <= p <= decided + undecided and undecided <= limit.
func within(t *testing.T, name string, decided, undecided, p, limit float64) {
	t.Helper()
	if undecided > limit {
		t.Errorf("%s: %v undecided, want at most %v", name, undecided, limit)
	}
	if p < decided-1e-14 || p > decided+undecided+1e-14 {
		t.Errorf("%s: probability in [%v, %v], want %v", name, decided, decided+undecided, p)
	}
}

// TestSelectionCoinsExactly computes the probabilities of the draws that the type fair makes from
// random bits, by enumerating all sequences of random bits.
func TestSelectionCoinsExactly(t *testing.T) {
	for n := uint64(1); n <= 9; n++ {
		mass, undecided := enumerate(18, func(f *fair) uint64 { return f.below(n) })
		for i := range n {
			within(t, "below", mass[i], undecided, 1/float64(n), .04)
		}
	}
	for n := int64(0); n <= 8; n++ {
		mass, undecided := enumerate(6, func(f *fair) bool { return f.ratio(big.NewInt(n), 3) })
		within(t, "ratio", mass[true], undecided, float64(n)/8, 0)
		mass, undecided = enumerate(18, func(f *fair) bool { return f.run(big.NewInt(n), 3) })
		within(t, "run", mass[true], undecided, math.Exp(-float64(n)/8), .02)
	}
	for _, n := range []int64{0, 1, 9, 12, 16, 21, 40} {
		mass, undecided := enumerate(18, func(f *fair) bool { return f.exp(big.NewInt(n), 3) })
		within(t, "exp", mass[true], undecided, math.Exp(-float64(n)/8), .03)
	}
}

// TestSelectionDrawExactly enumerates whole draws. Each index must have its probability under the
// exponential mechanism.
func TestSelectionDrawExactly(t *testing.T) {
	depth := 20
	if testing.Short() {
		depth = 16
	}
	for _, c := range []struct {
		scores  []int64
		epsilon float64
		bits    int
	}{
		{[]int64{5, 5}, 1, 2}, {[]int64{0, 3}, 1, 2}, {[]int64{3, 0}, .5, 1}, {[]int64{-7, -6, -3}, .75, 2},
		{[]int64{2, 0, 9, 1}, .25, 1},
	} {
		mass, undecided := enumerate(depth, func(f *fair) int { return newRates(c.scores, c.epsilon, c.bits).draw(f) })
		total := 0.0
		for _, s := range c.scores {
			total += math.Exp(-c.epsilon * math.Ldexp(float64(s), -c.bits))
		}
		for i, s := range c.scores {
			p := math.Exp(-c.epsilon*math.Ldexp(float64(s), -c.bits)) / total
			within(t, "draw", mass[i], undecided, p, .25)
		}
		t.Logf("%v: %.2g undecided", c.scores, undecided)
	}
}

// TestSelectionLaw compares 3e5 draws, for scores of realistic size, with the probabilities
// computed to 300 bits. Correct code exceeds the limit of the chi-square statistic on 4 degrees of
// freedom with probability below 1e-6, since P(X >= d + 2 sqrt(d t) + 2 t) <= exp(-t) for d degrees
// of freedom (Laurent and Massart 2000).
func TestSelectionLaw(t *testing.T) {
	const n, bits = 300000, 33
	epsilon := 1.3
	scores := []int64{1 << 40, 1<<40 + 1<<32, 1<<40 + 3<<33 + 12345, 1<<40 + 7<<30, 1<<40 - 1<<31}
	r := newRates(scores, epsilon, bits)
	p := make([]*big.Float, len(scores))
	total := bigFloat(0)
	for i, s := range scores {
		x := bigFloat(epsilon)
		x.Mul(x, new(big.Float).SetPrec(300).SetMantExp(new(big.Float).SetInt64(s-scores[4]), -bits))
		sum, term := bigFloat(1), bigFloat(1)
		for k := 1.0; k < 200; k++ {
			term.Quo(term.Mul(term, x), bigFloat(k))
			sum.Add(sum, term)
		}
		p[i] = bigFloat(0).Quo(bigFloat(1), sum)
		total.Add(total, p[i])
	}
	counts := make([]float64, len(scores))
	f := &fair{source: coin.Simulated([32]byte{41})}
	for range n {
		counts[r.draw(f)]++
	}
	statistic := 0.0
	for i := range counts {
		want, _ := p[i].Quo(p[i], total).Float64()
		statistic += (counts[i] - n*want) * (counts[i] - n*want) / (n * want)
	}
	l := math.Log(1e6)
	if limit := 4 + 2*math.Sqrt(4*l) + 2*l; statistic > limit {
		t.Errorf("chi-square %.1f, limit %.1f", statistic, limit)
	}
}

// TestSelectionPaysTwice tests that a candidate whose score is worse by the whole sensitivity has
// exp(-epsilon/2) of the weight. The tolerance is 5 standard deviations, exceeded by chance with
// probability 6e-7.
func TestSelectionPaysTwice(t *testing.T) {
	const n = 40000
	r := rand.New(rand.NewPCG(15, 1))
	s := open(t, randomRecords(r, 2, 1), parse(t, "logistic"), budget(t, 1, 1e-6, account.ReplaceOne), nil)
	worse := 0.0
	for range n {
		if (&noises{session: s}).draw([]int64{1 << 32, 0}, 2, 32) == 0 {
			worse++
		}
	}
	if p := 1 / (1 + math.E); !(math.Abs(worse/n-p) <= 5*math.Sqrt(p*(1-p)/n)) {
		t.Errorf("drawn with frequency %v, want %v", worse/n, p)
	}
}

// TestSelectionScores tests that replacing or adding a record moves each candidate's score by at most
// 2^bits grid steps, as the weights of the exponential mechanism assume, and some score by nearly as
// much.
func TestSelectionScores(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	logistic := parse(t, "logistic").(loss.RankOne)
	for name, l := range inOrder(map[string]loss.Loss{"steep": steep{logistic}, "wild": wild{logistic}}) {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			for _, d := range []int{1, 9} {
				records := randomRecords(r, 6, d)
				w, prev := point(r, d, 3), point(r, d, 3)
				all := query.NewCohort(account.Everyone, 6)
				for kind, term := range inOrder(map[string]query.Term{"value": query.ValueAt(all, w, .7, .5),
					"norm": query.NormAt(all, w, .5, prev)}) {
					sel, err := query.NewSelection(1, term, term)
					if err != nil {
						t.Fatal(err)
					}
					q := sel.Questions()[0]
					g, err := newGrid(q, relation, 6)
					if err != nil {
						t.Fatal(err)
					}
					base := append([]record(nil), records...)
					worst := 0.0
					for _, before := range replacements(r, d, w, prev) {
						if relation == account.ReplaceOne {
							base[3] = before
						}
						score := residual(t, base, l, q, g)
						for i, x := range replacements(r, d, w, prev) {
							if i%3 != 0 {
								continue
							}
							after := append([]record(nil), base...)
							if relation == account.AddOrRemove {
								after = append(after, x)
							} else {
								after[3] = x
							}
							worst = max(worst, distance(score, residual(t, after, l, q, g)))
						}
						if relation == account.AddOrRemove || testing.Short() {
							break
						}
					}
					if limit := math.Ldexp(1, g.bits); worst > limit || kind == "value" && worst < .9*limit {
						t.Errorf("%s, %v, d=%d, %s: a score moves by %v of its sensitivity", name, relation, d, kind, worst/limit)
					}
				}
			}
		}
	}
}

// TestSelectionLooksAtItsCohort tests that without noise the index is the index of the lowest mean over the
// cohort's own records. This index sometimes differs from the index of the lowest mean over all records.
func TestSelectionLooksAtItsCohort(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 9))
	s := open(t, randomRecords(r, 300, 3), parse(t, "logistic"), budget(t, 50, 1e-3, account.ReplaceOne), noiseless)
	points := [][]float64{point(r, 3, 6), point(r, 3, 6), point(r, 3, 6)}
	lowest := func(c query.Cohort) (best int) {
		least := math.Inf(1)
		for i, w := range points {
			answer, err := s.Ask(context.Background(), question(t, 1e-6, query.ValueAt(c, w, 1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if answer.Mean[0] < least {
				best, least = i, answer.Mean[0]
			}
		}
		return best
	}
	others := 0
	for range 20 {
		c, err := s.Draw(7)
		if err != nil {
			t.Fatal(err)
		}
		var terms []query.Term
		for _, w := range points {
			terms = append(terms, query.ValueAt(c, w, 1, 1))
		}
		sel, err := query.NewSelection(.01, terms...)
		if err != nil {
			t.Fatal(err)
		}
		want := lowest(c)
		if got, err := s.Select(context.Background(), sel); err != nil || got != want {
			t.Errorf("chosen %d, %v: the lowest over its cohort is %d", got, err, want)
		}
		if want != lowest(s.All()) {
			others++
		}
	}
	if others == 0 {
		t.Error("every cohort is like all records")
	}
}

// TestSelect makes a whole selection by each kind of score, and checks its event and the refusals.
func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	const d = 3
	records := randomRecords(r, 4000, d)
	for i := range records {
		records[i].y = 1
		if records[i].x[0] < 0 {
			records[i].y = -1
		}
	}
	b := budget(t, 4, 1e-6, account.ReplaceOne)
	s, silent := open(t, records, parse(t, "logistic"), b, nil), open(t, records, parse(t, "logistic"), b, noiseless)
	good, zero, bad := []float64{6, 0, 0}, make([]float64, d), []float64{-6, 0, 0}
	held, err := s.Draw(2000)
	if err != nil {
		t.Fatal(err)
	}
	choose := func(s *Session, epsilon float64, terms ...query.Term) (int, error) {
		t.Helper()
		sel, err := query.NewSelection(epsilon, terms...)
		if err != nil {
			t.Fatal(err)
		}
		return s.Select(context.Background(), sel)
	}
	values := func(c query.Cohort) []query.Term {
		return []query.Term{query.ValueAt(c, bad, 1, 1), query.ValueAt(c, good, 1, 1), query.ValueAt(c, zero, 1, 1)}
	}
	norms := []query.Term{query.NormAt(s.All(), zero, 1, nil), query.NormAt(s.All(), bad, 1, nil),
		query.NormAt(s.All(), good, 1, nil)}
	// Scores differ by hundreds of sensitivities, so the other indices have probabilities below
	// exp(-50).
	for range 3 {
		if i, err := choose(s, .5, values(held)...); err != nil || i != 1 {
			t.Errorf("by value on a cohort: %d, %v", i, err)
		}
	}
	if i, err := choose(s, .5, norms...); err != nil || i != 2 {
		t.Errorf("by norm: %d, %v", i, err)
	}
	if i, err := choose(silent, .5, values(silent.All())...); err != nil || i != 1 {
		t.Errorf("without noise: %d, %v", i, err)
	}
	events := s.Ledger().Events()
	mu, err := accountant.SelectionMu(.5)
	if err != nil {
		t.Fatal(err)
	}
	if e := events[0]; len(events) != 4 || e.Kind != account.Selection || e.Epsilon != .5 || e.Cohort != held.ID() ||
		!(math.Abs(e.Charge/(mu*mu)-1) <= 1e-14) || !e.Simulated {
		t.Errorf("events: %+v", events)
	}
	var over *account.BudgetError
	charged := s.Ledger().Charged()
	if _, err := choose(s, 8, norms...); !errors.As(err, &over) || s.Ledger().Charged() != charged {
		t.Errorf("over budget: %v", err)
	}
	if _, err := s.Select(context.Background(), query.Selection{}); err == nil {
		t.Error("the zero selection was answered")
	}
	if _, err := choose(s, .1, values(query.NewCohort(7, 10))...); err == nil ||
		!strings.Contains(err.Error(), "not drawn") {
		t.Errorf("foreign cohort: %v", err)
	}
	s.Close()
	for _, c := range []query.Cohort{held, s.All()} {
		if _, err := choose(s, .1, values(c)...); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	for name, terms := range map[string][]query.Term{
		"2 candidates": norms[:1],
		"must all be":  {norms[0], query.ValueAt(s.All(), zero, 1, 1)},
		"gradient":     {query.GradientAt(s.All(), zero, 1), query.GradientAt(s.All(), bad, 1)},
		"cohort":       {norms[0], query.NormAt(held, zero, 1, nil)},
		"clip":         {norms[0], query.NormAt(s.All(), zero, 2, nil)},
		"weight":       {norms[0], norms[1].Weighted(.5)},
		"coordinates":  {norms[0], query.NormAt(s.All(), zero[:2], 1, nil)},
	} {
		if _, err := query.NewSelection(1, terms...); err == nil ||
			!strings.Contains(err.Error(), strings.Replace(name, "2 candidates", "1 candidates", 1)) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
	for _, epsilon := range []float64{0, math.NaN(), 17} {
		if _, err := query.NewSelection(epsilon, norms...); err == nil || !strings.Contains(err.Error(), "epsilon") {
			t.Errorf("epsilon %v: %v", epsilon, err)
		}
	}
}
