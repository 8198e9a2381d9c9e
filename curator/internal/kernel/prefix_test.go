package kernel

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
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

var mechanisms = []query.Mechanism{query.Tree, query.Toeplitz}

func openPrefix(t testing.TB, s *Session, p query.Prefix) *Prefix {
	t.Helper()
	sum, err := s.OpenPrefix(p)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func add(t testing.TB, p *Prefix, terms ...query.Term) query.Release {
	t.Helper()
	a, err := p.Add(context.Background(), terms...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func noiseless(c *Config) { c.Noiseless = true }

func seeded(b byte) *coin.Secret { return coin.Simulated([32]byte{b, 0x77}) }

// TestPrefixSumsItsItems: without noise the answers are the sums of the items'
// means, which are asked one by one in a session of the same coins. Cohorts
// have different sizes, and points follow from the answers before.
func TestPrefixSumsItsItems(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	const d = 5
	l := parse(t, "logistic") // whose differences have a centre
	k := l.Constants()
	for _, m := range mechanisms {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			for _, items := range []int{1, 2, 3, 7, 8, 16, 33} {
				records := randomRecords(r, 600, d)
				records[5].ok, records[17].y = false, math.NaN()
				b := budget(t, 50, .1, relation)
				s, direct := open(t, records, l, b, noiseless), open(t, records, l, b, noiseless)
				p := openPrefix(t, s, query.Prefix{Mechanism: m, Items: items, Sensitivity: 60 * k.Lipschitz, Charge: 1})
				w, sum := point(r, d, 2), make([]float64, d)
				prev := w
				for i := range items {
					var c, twin query.Cohort
					var err, twinErr error
					if relation == account.ReplaceOne {
						size := 1 + r.IntN(18)
						c, err = s.Draw(size)
						twin, twinErr = direct.Draw(size)
					} else {
						c, err = s.DrawEach(.05)
						twin, twinErr = direct.DrawEach(.05)
					}
					if err != nil || twinErr != nil || c != twin {
						t.Fatal(err, twinErr, c, twin)
					}
					terms := []query.Term{query.GradientAt(c, w, k.Lipschitz)}
					if i > 0 {
						terms = []query.Term{query.DifferenceByCurvature(c, w, prev, min(0, k.Curvature.Lo), k.Curvature.Hi)}
					}
					if i%3 == 2 {
						terms = append(terms, query.GradientAt(c, prev, k.Lipschitz).Weighted(.25))
					}
					want, err := direct.Ask(context.Background(), question(t, 1, terms...))
					if err != nil {
						t.Fatal(err)
					}
					got := add(t, p, terms...)
					for j := range sum {
						sum[j] += want.Mean[j]
						if math.Abs(got.Mean[j]-sum[j]) > 1e-6 {
							t.Fatalf("%v of %d, %v: after item %d coordinate %d = %v, want %v", m, items, relation, i+1, j, got.Mean[j], sum[j])
						}
					}
					next := make([]float64, d)
					for j := range next {
						next[j] = w[j] - .5*got.Mean[j]
					}
					prev, w = w, next
				}
			}
		}
	}
}

// nodesOf is the binary expansion of t: [start, end) blocks of items, largest
// first.
func nodesOf(t int) map[[2]int]bool {
	nodes := map[[2]int]bool{}
	start := 0
	for size := 1 << 30; size > 0; size /= 2 {
		if t&size != 0 {
			nodes[[2]int{start, start + size}] = true
			start += size
		}
	}
	return nodes
}

// covariance is what the noises of answers s and t have in common, by the
// definition of the mechanism, in units of one node's or row's noise squared.
func covariance(m query.Mechanism, s, t int) float64 {
	if m == query.Tree {
		common := 0.0
		for node := range nodesOf(s) {
			if nodesOf(t)[node] {
				common++
			}
		}
		return common
	}
	sum := 0.0
	for i := 1; i <= min(s, t); i++ {
		sum += central(s-i) * central(t-i)
	}
	return sum
}

// central is binom(2k, k)/4^k.
func central(k int) float64 {
	a, _ := math.Lgamma(float64(2*k + 1))
	b, _ := math.Lgamma(float64(k + 1))
	return math.Exp(a - 2*b - float64(2*k)*math.Ln2)
}

// columns is the largest squared column norm, by the definition of the
// mechanism: for the tree the most nodes that any item is in, over all nodes
// that a prefix uses.
func columns(m query.Mechanism, items int) float64 {
	if m == query.Toeplitz {
		sum := 0.0
		for k := range items {
			sum += central(k) * central(k)
		}
		return sum
	}
	used := map[[2]int]bool{}
	for t := 1; t <= items; t++ {
		for node := range nodesOf(t) {
			used[node] = true
		}
	}
	in := make([]float64, items)
	most := 0.0
	for node := range used {
		for i := node[0]; i < node[1]; i++ {
			in[i]++
			most = max(most, in[i])
		}
	}
	return most
}

// TestPrefixNoiseHasTheStatedLaw estimates the variance of every answer's noise
// and the covariance of every two answers'. With n normals an estimate has a
// standard deviation of at most sqrt(2/n) times the variances' geometric mean;
// 6 of them leave 2e-9, and there are fewer than 400 estimates, so that the test
// fails by chance with probability below 1e-6. A node's noise used twice, left
// out or counted twice changes an estimate by 4 times what is tolerated.
func TestPrefixNoiseHasTheStatedLaw(t *testing.T) {
	const d, items = 500, 16
	reps := 60
	if testing.Short() {
		reps = 20
	}
	r := rand.New(rand.NewPCG(7, 1))
	records := randomRecords(r, items*2, d)
	l := parse(t, "logistic")
	for _, m := range mechanisms {
		spec := query.Prefix{Mechanism: m, Items: items, Sensitivity: .5, Charge: .3}
		var products [items][items]float64
		var stated [items]float64
		for rep := range reps {
			seed := func(c *Config) { c.Coins = seeded(byte(rep)) }
			b := budget(t, 8, .01, account.ReplaceOne)
			noisy, exact := open(t, records, l, b, seed), open(t, records, l, b, func(c *Config) { seed(c); c.Noiseless = true })
			var cohorts []query.Cohort
			for range items {
				c, err := noisy.Draw(2)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := exact.Draw(2); err != nil {
					t.Fatal(err)
				}
				cohorts = append(cohorts, c)
			}
			p, q := openPrefix(t, noisy, spec), openPrefix(t, exact, spec)
			var noise [items][]float64
			for i, c := range cohorts {
				g := query.GradientAt(c, make([]float64, d), .5)
				a, b := add(t, p, g), add(t, q, g)
				stated[i] = a.Sigma
				for j := range a.Mean {
					noise[i] = append(noise[i], a.Mean[j]-b.Mean[j])
				}
			}
			for i := range noise {
				for k := range i + 1 {
					for j := range d {
						products[i][k] += noise[i][j] * noise[k][j]
					}
				}
			}
		}
		n := float64(reps * d)
		// What one node's noise must be at this charge.
		unit := spec.Sensitivity * spec.Sensitivity * columns(m, items) / spec.Charge
		for i := range items {
			// The rounding of the matrix and of contributions takes less than 1e-4.
			if want := math.Sqrt(unit * covariance(m, i+1, i+1)); math.Abs(stated[i]/want-1) > 1e-4 {
				t.Errorf("%v: answer %d states sigma %v, want %v", m, i+1, stated[i], want)
			}
			if predicted := spec.Sigma(i + 1); math.Abs(predicted/stated[i]-1) > 1e-4 {
				t.Errorf("%v: answer %d states sigma %v, predicted were %v", m, i+1, stated[i], predicted)
			}
			for k := range i + 1 {
				got, want := products[i][k]/n, unit*covariance(m, i+1, k+1)
				if math.Abs(got-want) > (6*math.Sqrt(2/n)+1e-3)*stated[i]*stated[k] {
					t.Errorf("%v: answers %d and %d have covariance %v, want %v", m, i+1, k+1, got, want)
				}
			}
		}
	}
}

// TestPrefixVarianceRatio: at equal charge the mean variance of the tree's
// answers is 4.25 times the square root's for 64 items, 5.7 times for 1024.
func TestPrefixVarianceRatio(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for items, want := range map[int]float64{64: 4.25, 1024: 5.7} {
		var mean [2]float64
		for i, m := range mechanisms {
			s := open(t, randomRecords(r, items, 1), parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), noiseless)
			p := openPrefix(t, s, query.Prefix{Mechanism: m, Items: items, Sensitivity: 2, Charge: .1})
			for range items {
				c, err := s.Draw(1)
				if err != nil {
					t.Fatal(err)
				}
				a := add(t, p, query.GradientAt(c, []float64{1}, 1))
				mean[i] += a.Sigma * a.Sigma / float64(items)
			}
		}
		ratio := mean[0] / mean[1]
		t.Logf("%d items: %.3f", items, ratio)
		if math.Abs(ratio/want-1) > .005 {
			t.Errorf("%d items: the tree has %.3f times the variance, want %v", items, ratio, want)
		}
	}
}

// TestPrefixRefusals: what is refused is not charged, and leaves the sum, the
// cohort and the number of items as they were.
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
		spec := query.Prefix{Mechanism: m, Items: 3, Sensitivity: .25, Charge: b.Charge() * .9}
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
		first := add(t, p, at(c[0], 1)) // just at the declared sensitivity
		refuse("cohort reused", "cohort 1: used before", at(c[0], .1))
		refuse("sensitivity", "item of sensitivity 0.25025 ", at(c[1], 1.001))
		refuse("sensitivity", "declared 0.25", at(c[1], 1.001))
		refuse("everyone", "all records", at(s.All(), .1))
		refuse("foreign", "not drawn", at(foreign, .1))
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
		// Another question has taken a cohort's budget: the item is over it.
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
	good := query.Prefix{Mechanism: query.Tree, Items: 3, Sensitivity: 1, Charge: 1}
	for name, change := range map[string]func(*query.Prefix){
		"mechanism":                     func(p *query.Prefix) { p.Mechanism = 0 },
		"items":                         func(p *query.Prefix) { p.Items = 0 },
		"items = 1048577":               func(p *query.Prefix) { p.Mechanism, p.Items = query.Toeplitz, 1<<20+1 },
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

// sometimes is a loss that panics while told to.
type sometimes struct {
	loss.RankOne
	fail *bool
}

func (s sometimes) Slopes(dst, z, y []float64) {
	if *s.fail {
		panic("secret")
	}
	s.RankOne.Slopes(dst, z, y)
}

// TestFailedItemIsLeftOut: an item that fails stays charged, its cohort is used
// up, and the sum goes on as if it had not been.
func TestFailedItemIsLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	const d = 4
	records := randomRecords(r, 40, d)
	l := parse(t, "logistic").(loss.RankOne)
	for _, m := range mechanisms {
		fail := false
		s := open(t, records, sometimes{l, &fail}, budget(t, 8, .01, account.ReplaceOne), noiseless)
		direct := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), noiseless)
		p := openPrefix(t, s, query.Prefix{Mechanism: m, Items: 4, Sensitivity: .2, Charge: .1})
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
			if fail = i == 2; fail {
				if _, err := p.Add(context.Background(), g); err == nil || strings.Contains(err.Error(), "secret") {
					t.Fatalf("%v: error = %v", m, err)
				}
				if n := len(s.Ledger().Events()); n != 3 {
					t.Errorf("%v: %d events after a failed third item", m, n)
				}
				fail = false
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
				if sum[j] += one.Mean[j]; math.Abs(a.Mean[j]-sum[j]) > 1e-7 {
					t.Errorf("%v: after cohort %d coordinate %d = %v, want %v", m, i+1, j, a.Mean[j], sum[j])
				}
			}
		}
	}
}

// TestConcurrentItems: items from many goroutines are counted once each, and no
// more of them than were declared.
func TestConcurrentItems(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	const d, items, calls = 4, 32, 40
	records := randomRecords(r, 2*calls, d)
	for _, m := range mechanisms {
		s := open(t, records, parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), nil)
		p := openPrefix(t, s, query.Prefix{Mechanism: m, Items: items, Sensitivity: 1, Charge: .1})
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
