package session

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	accountant "github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// doors returns the ways to ask a session about a cohort, by name. Each function returns the charge
// that it must make.
func doors(t testing.TB, s *Session) map[string]func(c query.Cohort) (charge float64, err error) {
	return doorsUnder(context.Background(), t, s)
}

func doorsUnder(ctx context.Context, t testing.TB, s *Session) map[string]func(c query.Cohort) (charge float64,
	err error) {
	w := make([]float64, s.Dim())
	const charge, epsilon = .01, .1
	mu, err := accountant.SelectionMu(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(query.Cohort) (float64, error){
		"ask": func(c query.Cohort) (float64, error) {
			q, err := query.New(charge, query.GradientAt(c, w, 1))
			if err == nil {
				_, err = s.Ask(ctx, q)
			}
			return charge, err
		},
		"select": func(c query.Cohort) (float64, error) {
			sel, err := query.NewSelection(epsilon, query.NormAt(c, w, 1, nil), query.NormAt(c, w, 1, nil))
			if err == nil {
				_, err = s.Select(ctx, sel)
			}
			return mu * mu, err
		},
		"item": func(c query.Cohort) (float64, error) {
			p, err := s.OpenPrefix(query.Prefix{Factorization: query.Tree, Items: 4, Sensitivity: 2, Charge: charge})
			if err != nil {
				return 0, err
			}
			_, err = p.Add(ctx, query.GradientAt(c, w, 1))
			return charge, err
		},
		"stable": func(c query.Cohort) (float64, error) {
			q, err := query.NewStable(charge, c, query.Pass{Start: w, Step: .1, Clip: 1})
			if err == nil {
				_, err = s.Stable(ctx, q)
			}
			return charge, err
		},
	}
}

// TestChargedToWhomItIsAbout tests that an answer about a cohort lowers the charge left for this
// cohort and for the cohort of all records, and for no other cohort. An answer about all records
// lowers the charge left for every cohort.
func TestChargedToWhomItIsAbout(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	s := open(t, randomRecords(r, 40, 3), parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), nil)
	const bystander, nobody = 1, 99 // cohort identifiers
	if _, err := s.Draw(10); err != nil {
		t.Fatal(err)
	}
	for name, ask := range doors(t, s) {
		for _, everyone := range []bool{true, false} {
			c := s.All()
			if !everyone {
				var err error
				if c, err = s.Draw(5); err != nil {
					t.Fatal(err)
				}
			} else if name == "item" || name == "stable" {
				continue // refused; see TestPrefixRefusals and TestPassRefusals
			}
			l := s.Ledger()
			own, all, other, none := l.Left(c.ID()), l.Left(account.Everyone), l.Left(bystander), l.Left(nobody)
			charge, err := ask(c)
			if err != nil {
				t.Fatal(err)
			}
			events := l.Events()
			if e := events[len(events)-1]; e.Cohort != c.ID() {
				t.Errorf("%s: charged to cohort %d, was about %d", name, e.Cohort, c.ID())
			}
			lowered := func(who string, before, after float64, by float64) {
				if !(math.Abs(before-after-by) <= 1e-6*charge) {
					t.Errorf("%s, everyone %v: what is left for %s sinks by %v, want %v", name, everyone, who, before-after, by)
				}
			}
			elsewhere := 0.
			if everyone {
				elsewhere = charge
			}
			lowered("the cohort", own, l.Left(c.ID()), charge)
			lowered("another", other, l.Left(bystander), elsewhere)
			lowered("a cohort to come", none, l.Left(nobody), elsewhere)
			if most := l.Charged(); all-l.Left(account.Everyone) < 0 ||
				!(math.Abs(l.Budget().Charge()-most-l.Left(account.Everyone)) <= 1e-9) {
				t.Errorf("%s: %v charged, %v left for everyone", name, most, l.Left(account.Everyone))
			}
		}
	}
}

// TestFailureStaysCharged tests, for each way of asking, that a query whose loss panics is charged
// in full and answered as for faulty records. A query that a cancelled context ends is charged in
// full and not answered.
func TestFailureStaysCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 2))
	logistic := parse(t, "logistic").(loss.RankOne)
	for _, door := range []string{"ask", "select", "item"} {
		ctx, cancel := context.WithCancel(context.Background())
		for _, l := range []loss.Loss{panics{logistic}, stops{logistic, cancel}} {
			s := open(t, randomRecords(r, 40, 3), l, budget(t, 8, .01, account.ReplaceOne), nil)
			c, err := s.Draw(10)
			if err != nil {
				t.Fatal(err)
			}
			charge, err := doorsUnder(ctx, t, s)[door](c)
			if _, stopped := l.(stops); stopped != errors.Is(err, context.Canceled) || !stopped && err != nil {
				t.Errorf("%s, %T: error %v", door, l, err)
			}
			if got := s.Ledger().Charged(); !(math.Abs(got/charge-1) <= 1e-6) {
				t.Errorf("%s, %T: charged %v, want %v", door, l, got, charge)
			}
		}
	}
}

// TestForgedHandles tests that a handle is refused, and nothing is charged, unless its identifier and its
// size are the identifier and the size of a handle that the session returned. The size is the divisor of
// sums, so that a forged size would change the answer's noise.
func TestForgedHandles(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 3))
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		s := open(t, randomRecords(r, 40, 3), parse(t, "logistic"), budget(t, 8, .01, relation), nil)
		draw := func() (query.Cohort, error) { return s.Draw(10) }
		if relation == account.AddOrRemove {
			draw = func() (query.Cohort, error) { return s.DrawEach(.25) }
		}
		c, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		for name, ask := range doors(t, s) {
			for _, forged := range []query.Cohort{
				query.NewCohort(c.ID(), c.Size()/2), query.NewCohort(c.ID(), 2*c.Size()),
				query.NewCohort(c.ID(), math.Nextafter(c.Size(), 0)),
				query.NewCohort(c.ID()+1, c.Size()), query.NewCohort(account.Everyone, 39), query.NewCohort(account.Everyone, 41),
				// These are sizes above the number of records, and identifiers that no session
				// returns.
				query.NewCohort(c.ID(), 1e300), query.NewCohort(c.ID(), math.Inf(1)),
				query.NewCohort(account.Everyone, math.MaxInt32),
				query.NewCohort(sampleBit, c.Size()), query.NewCohort(sampleBit|c.ID(), c.Size()), query.NewCohort(sampleBit|2, 40),
				query.NewCohort(1<<32|c.ID(), c.Size()), query.NewCohort(1<<31, c.Size()),
				query.NewCohort(math.MaxUint64, c.Size()),
			} {
				if _, err := ask(forged); err == nil {
					t.Errorf("%v, %s: cohort %d of size %v was answered", relation, name, forged.ID(), forged.Size())
				}
			}
		}
		if got := s.Ledger().Charged(); got != 0 || s.Ledger().Len() != 0 {
			t.Errorf("%v: %v charged for what was refused", relation, got)
		}
		for _, size := range []int{31, 40, 41, 1 << 31, math.MaxInt, 0, -1, math.MinInt} {
			if _, err := s.Draw(size); err == nil {
				t.Errorf("%v: drew %d of the 30 records left", relation, size)
			}
		}
	}
}
