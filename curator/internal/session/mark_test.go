package session

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestWhatProtectsNobodyIsMarked tests that every event of a session that protects no records is
// marked as simulated, for each reason why it protects none, and that no event of another session
// is.
func TestWhatProtectsNobodyIsMarked(t *testing.T) {
	secret := func(t *testing.T) *coin.Secret {
		coins, err := coin.NewSecret()
		if err != nil {
			t.Fatal(err)
		}
		return coins
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   bool
	}{
		"secret coins":            {func(c *Config) { c.Coins = secret(t) }, false},
		"rows counted once":       {func(c *Config) { c.Coins, c.Repeat = secret(t), 1 }, false},
		"seeded coins":            {func(c *Config) { c.Coins = seeded(3) }, true},
		"no noise":                {func(c *Config) { c.Coins, c.Noiseless = secret(t), true }, true},
		"rows counted repeatedly": {func(c *Config) { c.Coins, c.Repeat = secret(t), 2 }, true},
	} {
		r := rand.New(rand.NewPCG(31, 3))
		s := open(t, randomRecords(r, 40, 3), parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), c.change)
		doors := doors(t, s)
		for door, ask := range inOrder(doors) {
			cohort, err := s.Draw(5)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ask(cohort); err != nil {
				t.Fatalf("%s, %s: %v", name, door, err)
			}
		}
		events := s.Ledger().Events()
		if len(events) < len(doors) {
			t.Errorf("%s: %d events of %d questions", name, len(events), len(doors))
		}
		for _, e := range events {
			if e.Simulated != c.want {
				t.Errorf("%s: %s: simulated = %v, must be %v", name, e.Question, e.Simulated, c.want)
			}
		}
	}
}

// TestForgedSamples tests that a query about a Poisson sample is answered only if it has the handle
// that the session returned for the sample. Another identifier, or another size, which is the divisor
// of the answer, is refused and not charged, and the sample can still be used.
func TestForgedSamples(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		r := rand.New(rand.NewPCG(17, 5))
		b := budget(t, 8, .01, relation)
		s := open(t, randomRecords(r, 40, 3), parse(t, "logistic"), b, nil)
		if err := s.Follow(schedule(t, b, account.SampledSteps{NoiseMultiplier: 4, Sampling: .5, Count: 3})); err != nil {
			t.Fatal(err)
		}
		w := make([]float64, 3)
		ask := func(c query.Cohort) error {
			_, err := s.Ask(context.Background(), question(t, 1, query.GradientAt(c, w, 1)))
			return err
		}
		var before []query.Cohort
		for range 3 {
			c, err := s.Sample()
			if err != nil {
				t.Fatal(err)
			}
			for _, forged := range append(before,
				query.NewCohort(c.ID(), c.Size()/2), query.NewCohort(c.ID(), 2*c.Size()),
				query.NewCohort(c.ID(), math.Nextafter(c.Size(), 0)),
				query.NewCohort(c.ID(), s.All().Size()), query.NewCohort(c.ID(), math.Inf(1)),
				query.NewCohort(c.ID()+1, c.Size()), query.NewCohort(c.ID()&^sampleBit, c.Size()),
				query.NewCohort(sampleBit, c.Size()),
			) {
				events := s.Ledger().Len()
				if err := ask(forged); err == nil {
					t.Errorf("%v: sample %x of size %v was answered for %x of %v", relation, forged.ID(), forged.Size(), c.ID(),
						c.Size())
				}
				if s.Ledger().Len() != events {
					t.Errorf("%v: what was refused is an event", relation)
				}
			}
			if err := ask(c); err != nil {
				t.Errorf("%v: the sample itself: %v", relation, err)
			}
			before = append(before, c)
		}
		if _, err := s.Sample(); !errors.As(err, new(*account.BudgetError)) {
			t.Errorf("%v: after the last sample: %v", relation, err)
		}
	}
}
