package session

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestExactIsWithoutNoise tests that the exact sum that a watcher receives is the same with other
// random bits, and that the noisy sum is not.
func TestExactIsWithoutNoise(t *testing.T) {
	records := randomRecords(rand.New(rand.NewPCG(1, 2)), 20, 3)
	l, b := parse(t, "logistic"), budget(t, 1, 1e-6, account.ReplaceOne)
	shown := func(seed byte) (x Exchange) {
		s := open(t, records, l, b, func(c *Config) {
			c.Coins = coin.Simulated([32]byte{seed})
			c.Watcher = func(e Exchange) (any, error) { x = e; return e.Released, nil }
		})
		w := []float64{.3, -.2, 1}
		if _, err := s.Ask(context.Background(), question(t, 1e-4, query.GradientAt(s.All(), w, 1))); err != nil {
			t.Fatal(err)
		}
		return x
	}
	one, two := shown(1), shown(2)
	if len(one.Exact) != 3 || !slices.Equal(one.Exact, two.Exact) {
		t.Errorf("exact sums %v and %v: must be the same under other coins", one.Exact, two.Exact)
	}
	// Two normals with a standard deviation of at least 2^30 steps are equal with probability below
	// 1e-9.
	if slices.Equal(one.Noisy, two.Noisy) || slices.Equal(one.Exact, one.Noisy) {
		t.Errorf("noisy sums %v and %v beside %v", one.Noisy, two.Noisy, one.Exact)
	}
}

// TestExactOfAPassIsWithoutNoise tests that the exact average that a watcher receives for a pass of
// SGD is the same with other random bits. All records are equal, so that the random order of the pass
// does not matter.
func TestExactOfAPassIsWithoutNoise(t *testing.T) {
	records := make([]record, 20)
	for i := range records {
		records[i] = record{[]float32{.6, .8}, 1, true}
	}
	l, b := parse(t, "logistic"), budget(t, 1, 1e-6, account.ReplaceOne)
	shown := func(seed byte) (x Exchange, r query.Release) {
		s := open(t, records, l, b, func(c *Config) {
			c.Coins = coin.Simulated([32]byte{seed})
			c.Watcher = func(e Exchange) (any, error) { x = e; return e.Released, nil }
		})
		c, err := s.Draw(10)
		if err != nil {
			t.Fatal(err)
		}
		r, err = s.Stable(context.Background(),
			stableQuestion(t, 1e-4, c, query.Pass{Start: []float64{1, 2}, Step: 1, Clip: 1}))
		if err != nil {
			t.Fatal(err)
		}
		return x, r
	}
	one, first := shown(1)
	two, second := shown(2)
	if len(one.Exact) != 2 || !slices.Equal(one.Exact, two.Exact) {
		t.Errorf("exact averages %v and %v: must be the same under other coins", one.Exact, two.Exact)
	}
	if slices.Equal(first.Mean, second.Mean) {
		t.Errorf("released %v twice", first.Mean)
	}
}
