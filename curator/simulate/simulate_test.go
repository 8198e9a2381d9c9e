package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

var _ optimize.Oracle = (*simulate.Session)(nil)

func budget(t testing.TB, r account.Relation) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, name string) loss.Loss {
	t.Helper()
	l, err := testloss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func open(t testing.TB, c simulate.Config) *simulate.Session {
	t.Helper()
	s, err := simulate.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// table returns n rows of d features with norms between .5 and 1 and targets in {-1, 1}.
func table(n, d int) (rows [][]float32, targets []float64) {
	r := rand.New(rand.NewPCG(3, 4))
	for range n {
		x := make([]float64, d)
		var squares float64
		for j := range x {
			x[j] = r.NormFloat64()
			squares += x[j] * x[j]
		}
		row := make([]float32, d)
		for j := range x {
			row[j] = float32(x[j] / math.Sqrt(squares) * (1 - r.Float64()/2))
		}
		rows, targets = append(rows, row), append(targets, float64(2*r.IntN(2)-1))
	}
	return rows, targets
}

// kinds returns queries of every kind on d features, by name, as functions of the cohort. Clip radii
// follow from the loss's declared constants.
func kinds(t testing.TB, d int, l loss.Loss) map[string]func(on query.Cohort) []query.Term {
	c := l.Constants()
	r := rand.New(rand.NewPCG(5, 6))
	w, prev, shift := make([]float64, d), make([]float64, d), make([]float64, d)
	for j := range w {
		w[j], prev[j], shift[j] = r.NormFloat64(), r.NormFloat64(), .1*r.NormFloat64()
	}
	lo, hi, l0 := min(c.Curvature.Lo, 0), max(c.Curvature.Hi, 0), c.Lipschitz
	all := map[string]func(on query.Cohort) []query.Term{
		"gradient":          func(on query.Cohort) []query.Term { return []query.Term{query.GradientAt(on, w, l0)} },
		"gradient, clipped": func(on query.Cohort) []query.Term { return []query.Term{query.GradientAt(on, w, l0/7)} },
		"difference": func(on query.Cohort) []query.Term {
			return []query.Term{query.DifferenceByCurvature(on, w, prev, lo, hi)}
		},
		"difference, short interval": func(on query.Cohort) []query.Term {
			return []query.Term{query.DifferenceByCurvature(on, w, prev, lo/5, hi/5)}
		},
		"difference around zero": func(on query.Cohort) []query.Term {
			return []query.Term{query.DifferenceWithin(on, w, prev, 2*l0)}
		},
		"difference around zero, clipped": func(on query.Cohort) []query.Term {
			return []query.Term{query.DifferenceWithin(on, w, prev, l0/9)}
		},
		"mix": func(on query.Cohort) []query.Term {
			return []query.Term{query.GradientAt(on, w, l0).Weighted(.3),
				query.DifferenceByCurvature(on, w, prev, lo, hi).Weighted(.7)}
		},
		"mix of three": func(on query.Cohort) []query.Term {
			return []query.Term{query.DifferenceByCurvature(on, w, prev, lo, hi), query.GradientAt(on, prev, l0/2).Weighted(2),
				query.DifferenceWithin(on, prev, w, l0)}
		},
		"value": func(on query.Cohort) []query.Term {
			return []query.Term{query.ValueAt(on, w, c.InitialGap, c.InitialGap)}
		},
		"value, clipped": func(on query.Cohort) []query.Term { return []query.Term{query.ValueAt(on, w, 100, 99.9)} },
		"two values": func(on query.Cohort) []query.Term {
			return []query.Term{query.ValueAt(on, w, 1, 1), query.ValueAt(on, prev, 0, .5).Weighted(3)}
		},
		"norm":             func(on query.Cohort) []query.Term { return []query.Term{query.NormAt(on, w, l0, nil)} },
		"norm, shifted":    func(on query.Cohort) []query.Term { return []query.Term{query.NormAt(on, w, l0/3, shift)} },
		"second moment":    func(on query.Cohort) []query.Term { return []query.Term{query.SecondMomentOf(on, d)} },
		"mean row":         func(on query.Cohort) []query.Term { return []query.Term{query.RowMeanOf(on, d)} },
		"squared features": func(on query.Cohort) []query.Term { return []query.Term{query.SquaredFeaturesOf(on, d)} },
		"squares and pairs": func(on query.Cohort) []query.Term {
			whole := make([]bool, d)
			whole[0], whole[d-1] = true, true
			return []query.Term{query.BlockMomentOf(on, whole)}
		},
		"squared distance": func(on query.Cohort) []query.Term {
			return []query.Term{query.SquaredDistanceFrom(on, prev[:d], .3)}
		},
		"centred moment": func(on query.Cohort) []query.Term { return []query.Term{query.CentredMomentOf(on, prev[:d], .3)} },
	}
	if _, ok := l.(loss.RankOne); !ok {
		return all
	}
	m := metric(t, d)
	for name, term := range map[string]query.Term{
		"curvature":            query.CurvatureAt(query.Cohort{}, w, hi),
		"curvature, clipped":   query.CurvatureAt(query.Cohort{}, prev, hi/20).Weighted(2),
		"in a metric":          query.GradientInMetric(query.Cohort{}, w, 3*l0, 2*l0, m),
		"in a metric, clipped": query.GradientInMetric(query.Cohort{}, prev, l0/5, l0/2, m).Weighted(2),
		"weighted gradient":    query.WeightedGradientAt(query.Cohort{}, w, l0, .5, m),
		"weighted curvature":   query.WeightedCurvatureAt(query.Cohort{}, w, hi, .5, m),
		"scores":               query.ScoreMomentAt(query.Cohort{}, w, l0, .5, m),
		"weighted moment":      query.WeightedMomentOf(query.Cohort{}, .5, m),
		"squared slope":        query.SquaredSlopeAt(query.Cohort{}, w, l0*l0, m),
	} {
		all[name] = func(on query.Cohort) []query.Term { return []query.Term{term.Over(on)} }
	}
	return all
}

// metric returns a symmetric matrix whose entries are exact in every float format.
func metric(t testing.TB, d int) query.Metric {
	t.Helper()
	p := make([]float64, d*d)
	for i := range p {
		p[i] = float64((i/d+i%d)%5-1) / 4
	}
	m, err := query.NewMetric(d, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func question(t testing.TB, charge float64, terms []query.Term) query.Question {
	t.Helper()
	q, err := query.New(charge, terms...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func ask(t testing.TB, o optimize.Oracle, charge float64, terms []query.Term) query.Release {
	t.Helper()
	r, err := o.Ask(context.Background(), question(t, charge, terms))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAgreesWithPlainArithmetic: without noise the answer to every kind of query agrees, up to the
// grid, with optimizetest's computation in floats from the query's definition. It covers both
// relations, both kinds of losses, and faulty records. It fails if a clip, a centre, a weight or
// the treatment of faulty records differs.
func TestAgreesWithPlainArithmetic(t *testing.T) {
	const n, d = 300, 11
	rows, targets := table(n, d)
	sane := slices.Clone(targets)
	targets[5], targets[77] = math.NaN(), math.Inf(1)
	sane[5], sane[77] = math.NaN(), math.NaN()
	rows[200] = slices.Repeat([]float32{.5}, d) // longer than 1
	sane[200] = math.NaN()
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, name := range []string{"logistic", "tanh", "huber(0.2)", "squared(1)", "welsch(0.5)", "slow-tail"} {
			c := simulate.Config{Rows: rows, Targets: targets, Loss: parse(t, name), Budget: budget(t, relation),
				Noiseless: true}
			o := optimizetest.Config{Rows: rows, Targets: sane, Loss: c.Loss, Budget: c.Budget, Noiseless: true}
			if relation == account.AddOrRemove {
				c.Declared, o.Declared = 290, 290
			}
			session, plain := open(t, c), optimizetest.New(o)
			for kind, terms := range kinds(t, d, c.Loss) {
				const charge = 1e-4
				got, want := ask(t, session, charge, terms(session.All())), ask(t, plain, charge, terms(plain.All()))
				clip := question(t, charge, terms(session.All())).Clip()
				for j := range want.Mean {
					if !(math.Abs(got.Mean[j]-want.Mean[j]) <= 1e-6*clip) {
						t.Errorf("%v, %s, %s: coordinate %d: %v: want %v", relation, name, kind, j, got.Mean[j], want.Mean[j])
						break
					}
				}
				if !(math.Abs(got.Sigma/want.Sigma-1) <= 1e-5) || got.Charge > charge || got.Charge < charge*(1-1e-9) {
					t.Errorf("%v, %s, %s: sigma %v, charge %v: want %v, %v", relation, name, kind, got.Sigma, got.Charge, want.Sigma,
						charge)
				}
			}
		}
	}
}

// transcript makes all queries once, on all records and on drawn cohorts.
func transcript(t *testing.T, c simulate.Config) string {
	t.Helper()
	s := open(t, c)
	var out strings.Builder
	list := kinds(t, len(c.Rows[0]), c.Loss)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range list {
			if !yield(name) {
				return
			}
		}
	}) {
		cohort := s.All()
		if c.Repeat <= 1 {
			var err error
			if cohort, err = s.Draw(16); err != nil {
				t.Fatal(err)
			}
		}
		for _, on := range []query.Cohort{s.All(), cohort} {
			r := ask(t, s, 1e-4, list[name](on))
			fmt.Fprintf(&out, "%s %x %x %x\n", name, r.Mean, r.Sigma, r.Charge)
		}
	}
	return out.String()
}

// TestReproduces: the seed determines every bit, whatever the number of goroutines and the size of
// blocks.
func TestReproduces(t *testing.T) {
	rows, targets := table(500, 13)
	for _, name := range []string{"logistic", "slow-tail"} {
		c := simulate.Config{Rows: rows, Targets: targets, Loss: parse(t, name), Budget: budget(t, account.ReplaceOne),
			Seed: 9, Workers: 1}
		want := transcript(t, c)
		for _, workers := range []int{0, 1, 2, 7} {
			for _, block := range []int{0, 1, 64, 1000} {
				c.Workers, c.BlockRows = workers, block
				if transcript(t, c) != want {
					t.Errorf("%s: %d goroutines, blocks of %d: other bits", name, workers, block)
				}
			}
		}
		c.Seed = 10
		if transcript(t, c) == want {
			t.Errorf("%s: two seeds gave the same noise", name)
		}
	}
}

// TestRepeatEqualsStoring: rows with Repeat give the same answers, noise and charges as rows stored
// several times, also for drawn cohorts.
func TestRepeatEqualsStoring(t *testing.T) {
	const times = 5
	rows, targets := table(60, 9)
	for _, noiseless := range []bool{true, false} {
		for _, name := range []string{"tanh", "slow-tail"} {
			c := simulate.Config{Rows: rows, Targets: targets, Repeat: times, Loss: parse(t, name),
				Budget: budget(t, account.ReplaceOne), Noiseless: noiseless}
			stored := c
			stored.Repeat, stored.Rows, stored.Targets = 0, slices.Repeat(rows, times), slices.Repeat(targets, times)
			a, b := open(t, c), open(t, stored)
			if a.All() != b.All() {
				t.Fatalf("%v and %v records", a.All().Size(), b.All().Size())
			}
			for kind, terms := range kinds(t, 9, c.Loss) {
				x, y := ask(t, a, 1e-4, terms(a.All())), ask(t, b, 1e-4, terms(b.All()))
				if !slices.Equal(x.Mean, y.Mean) || x.Sigma != y.Sigma || x.Charge != y.Charge {
					t.Errorf("%s, %s: %+v repeated, %+v stored", name, kind, x, y)
				}
			}
			for range 2 {
				x, err := a.Draw(70)
				if err != nil {
					t.Fatal(err)
				}
				y, err := b.Draw(70)
				if err != nil {
					t.Fatal(err)
				}
				// Copies are interchangeable, but their order in the table differs. Cohorts
				// therefore have the same distribution but not the same members.
				term := kinds(t, 9, c.Loss)["gradient"]
				if x != y || len(ask(t, a, 1e-4, term(x)).Mean) != len(ask(t, b, 1e-4, term(y)).Mean) {
					t.Errorf("%s: cohorts %v, %v", name, x, y)
				}
			}
			if _, err := a.Draw(60*times - 139); err == nil {
				t.Error("more copies were drawn than there are")
			}
		}
	}
}

// TestEventsAreMarked: every event of a simulation is marked as simulated.
func TestEventsAreMarked(t *testing.T) {
	rows, targets := table(20, 3)
	for _, c := range []simulate.Config{{Seed: 1}, {Noiseless: true}, {Repeat: 3}} {
		c.Rows, c.Targets, c.Loss, c.Budget = rows, targets, parse(t, "logistic"), budget(t, account.ReplaceOne)
		s := open(t, c)
		ask(t, s, 1e-3, []query.Term{query.GradientAt(s.All(), make([]float64, 3), 1)})
		events := s.Ledger().Events()
		if len(events) != 1 || !events[0].Simulated {
			t.Errorf("%+v: events %+v", c, events)
		}
		want := account.Records{Count: 20 * int64(max(c.Repeat, 1)), Simulated: true}
		if r, opened := s.Ledger().Records(); !opened || r != want {
			t.Errorf("%+v: the ledger is of %+v: must be of %+v", c, r, want)
		}
	}
}

// TestOptimizersRunTheSame: optimizers give the same results on a simulated session without noise and
// on plain arithmetic over the same rows.
func TestOptimizersRunTheSame(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		if _, ok := p.Loss.(optimizetest.Quadratic); ok {
			continue // its rows may be longer than 1
		}
		b := budget(t, account.ReplaceOne)
		session := open(t, simulate.Config{Rows: p.Rows, Targets: p.Targets, Repeat: 100, Loss: p.Loss, Budget: b,
			Noiseless: true})
		config := p.Config(b, 100, 0)
		config.Noiseless = true
		oracle := optimizetest.New(config)
		plan, err := firstorder.STORM{Steps: 60}.Plan(context.Background(), oracle.Problem(p.Public))
		if err != nil {
			t.Fatal(err)
		}
		x, err := plan.Run(context.Background(), session, nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := plan.Run(context.Background(), oracle, nil)
		if err != nil {
			t.Fatal(err)
		}
		for j := range x.W {
			if !(math.Abs(x.W[j]-y.W[j]) <= 1e-4) {
				t.Errorf("%s: %v and %v", p.Name, x.W, y.W)
				break
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	rows, targets := table(20, 3)
	good := simulate.Config{Rows: rows, Targets: targets, Loss: parse(t, "logistic"),
		Budget: budget(t, account.ReplaceOne)}
	for want, change := range map[string]func(c *simulate.Config){
		"19 targets: must be as many as rows, 20": func(c *simulate.Config) { c.Targets = targets[:19] },
		"dimension = 0":         func(c *simulate.Config) { c.Rows, c.Targets = nil, nil },
		"block rows = -1":       func(c *simulate.Config) { c.BlockRows = -1 },
		"workers = -1":          func(c *simulate.Config) { c.Workers = -1 },
		"declared records = 20": func(c *simulate.Config) { c.Declared = 20 },
		"relation":              func(c *simulate.Config) { c.Budget = account.Budget{} },
	} {
		c := good
		change(&c)
		if _, err := simulate.Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
	s := open(t, good)
	var over *account.BudgetError
	if _, err := s.Ask(context.Background(),
		question(t, 1, []query.Term{query.GradientAt(s.All(), make([]float64, 3), 1)})); !errors.As(err, &over) {
		t.Errorf("over budget: %v", err)
	}
	if len(s.Ledger().Events()) != 0 {
		t.Error("a refused question was charged")
	}
}

func Example() {
	b, err := account.NewBudget(1, 1e-5, account.ReplaceOne)
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := simulate.Open(simulate.Config{
		Rows: [][]float32{{1, 0}, {0, .5}}, Targets: []float64{1, -1}, Repeat: 1000,
		Loss: loss.Logistic(), Budget: b, Noiseless: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := query.New(b.Charge(), query.GradientAt(session.All(), []float64{0, 0}, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := session.Ask(context.Background(), q)
	fmt.Printf("%.4f %v, simulated: %t\n", answer.Mean, err, session.Ledger().Events()[0].Simulated)
	// Output:
	// [-0.2500 0.1250] <nil>, simulated: true
}
