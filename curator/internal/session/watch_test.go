package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/query"
)

// watched asks a session one query of every kind and returns the answers.
func watched(t *testing.T, s *Session) []any {
	t.Helper()
	ctx, w := context.Background(), []float64{.3, -.2, 1}
	drawn, err := s.Draw(4)
	if err != nil {
		t.Fatal(err)
	}
	var list []any
	for _, term := range []query.Term{query.GradientAt(s.All(), w, 1), query.NormAt(drawn, w, 1, nil),
		query.ValueAt(s.All(), w, .5, .5)} {
		r, err := s.Ask(ctx, question(t, 1e-4, term))
		list = append(list, r, err)
	}
	sum, err := s.OpenPrefix(query.Prefix{Factorization: query.Toeplitz, Items: 3, Sensitivity: .5, Charge: 1e-4})
	if err != nil {
		t.Fatal(err)
	}
	r, err := sum.Add(ctx, query.GradientAt(drawn, w, 1))
	list = append(list, r, err)
	sel, err := query.NewSelection(.01, query.ValueAt(s.All(), w, .5, .5), query.ValueAt(s.All(), w[:3], .5, .5))
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Select(ctx, sel)
	return append(list, i, err, s.Ledger().Events())
}

// TestWatchingChangesNothing tests that a watcher that returns releases unchanged leaves every
// answer as it is without a watcher. Changes that the watcher makes to the integers it receives
// have no effect.
func TestWatchingChangesNothing(t *testing.T) {
	records := randomRecords(rand.New(rand.NewPCG(1, 2)), 20, 3)
	l, b := parse(t, "tanh"), budget(t, 1, 1e-6, account.ReplaceOne)
	seen := 0
	plain := watched(t, open(t, records, l, b, nil))
	shown := watched(t, open(t, records, l, b, func(c *Config) {
		c.Watcher = func(x Exchange) (any, error) {
			seen++
			for _, v := range [][]int64{x.Exact, x.Scores, x.Noisy} {
				for j := range v {
					v[j] += 1 << 40
				}
			}
			clear(x.Members)
			return x.Released, nil
		}
	}))
	if !reflect.DeepEqual(plain, shown) {
		t.Errorf("watched: %v\nunwatched: %v", shown, plain)
	}
	if seen != 5 {
		t.Errorf("%d exchanges were shown, want 5", seen)
	}
}

// TestWatcherReplaces tests that the session releases the value that the watcher returns, if it has
// the type of the answer. The charge stays in either case.
func TestWatcherReplaces(t *testing.T) {
	records := randomRecords(rand.New(rand.NewPCG(1, 2)), 20, 3)
	l, b := parse(t, "tanh"), budget(t, 1, 1e-6, account.ReplaceOne)
	refusal := errors.New("no")
	for _, test := range []struct {
		instead any
		err     error
		want    error
	}{{query.Release{Mean: []float64{7}}, nil, nil}, {3, nil, errUnlike}, {nil, nil, errUnlike},
		{query.Release{}, refusal, refusal}} {
		s := open(t, records, l, b, func(c *Config) {
			c.Watcher = func(Exchange) (any, error) { return test.instead, test.err }
		})
		r, err := s.Ask(context.Background(), question(t, 1e-4, query.ValueAt(s.All(), []float64{1, 2, 3}, .5, .5)))
		if !errors.Is(err, test.want) || err == nil && r.Mean[0] != 7 {
			t.Errorf("%v, %v: released %v, %v", test.instead, test.err, r, err)
		}
		if len(s.Ledger().Events()) != 1 {
			t.Error("the charge must stay")
		}
	}
}

// TestSecretCoinsAreNotWatched tests that a session with secret random bits refuses a watcher.
func TestSecretCoinsAreNotWatched(t *testing.T) {
	coins, err := coin.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	records := randomRecords(rand.New(rand.NewPCG(1, 2)), 20, 3)
	c := Config{
		Engine: engineOver(t, tableOf(t, records, 0), parse(t, "tanh")), Budget: budget(t, 1, 1e-6, account.ReplaceOne),
		Workers: 1,
		Coins:   coins, Watcher: func(x Exchange) (any, error) { return x.Released, nil },
	}
	if _, err := New(c); err == nil {
		t.Error("a session with secret coins took a watcher")
	}
	c.Watcher = nil
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.watch(question(t, 1, query.GradientAt(s.All(), []float64{1, 2, 3}, 1)), query.Prefix{}, nil, account.Event{},
		grid{}) != nil {
		t.Error("an exchange is written down though nobody watches")
	}
}
