package wire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/query"
)

// session returns a session with seeded random bits over an engine.
func opened(t *testing.T, e engine.Engine, r account.Relation) *session.Session {
	t.Helper()
	b, err := account.NewBudget(3, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	c := session.Config{Engine: e, Budget: b, Workers: 2, Coins: coin.Simulated([32]byte{5})}
	if r == account.AddOrRemove {
		c.Declared = 60
	}
	s, err := session.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// told makes queries of every kind in a session. It returns all released answers and the ledger, to
// the bit. between is called before each query.
func told(t *testing.T, s *session.Session, r account.Relation, between func()) string {
	t.Helper()
	var out strings.Builder
	ctx := context.Background()
	keep := func(v any, err error) {
		t.Helper()
		fmt.Fprintf(&out, "%x %v\n", v, err)
		between()
	}
	w, prev := []float64{.5, -1, 2}, []float64{.4, 0, 1}
	ask := func(terms ...query.Term) {
		t.Helper()
		q, err := query.New(.01, terms...)
		if err != nil {
			t.Fatal(err)
		}
		keep(s.Ask(ctx, q))
	}
	all := s.All()
	ask(query.GradientAt(all, w, 1))
	ask(query.NormAt(all, w, 1, prev))
	ask(query.GradientAt(all, w, .3), query.DifferenceByCurvature(all, w, prev, 0, .25))
	some, err := s.DrawEach(.4)
	if r == account.ReplaceOne {
		keep(s.All(), nil)
	}
	keep(some, err)
	ask(query.ValueAt(some, w, .7, .7))
	p, err := s.OpenPrefix(query.Prefix{Factorization: query.Tree, Items: 3, Sensitivity: 1, Charge: .01})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		each, err := s.DrawEach(.3)
		if err != nil {
			t.Fatal(err)
		}
		keep(p.Add(ctx, query.GradientAt(each, w, 1)))
	}
	sel, err := query.NewSelection(.5, query.ValueAt(all, w, .7, .7), query.ValueAt(all, prev, .7, .7))
	if err != nil {
		t.Fatal(err)
	}
	keep(s.Select(ctx, sel))
	for _, e := range s.Ledger().Events() {
		fmt.Fprintf(&out, "%+v\n", e)
	}
	return out.String()
}

// TestSessionsOverShards tests that a session over shards draws the same random bits, releases the
// same answers and charges the same as a session over all rows in this process, to the bit, also
// while workers are lost and replaced. Noise is drawn once for each charge.
func TestSessionsOverShards(t *testing.T) {
	for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		c := newCluster(t)
		want := told(t, opened(t, c.local, r), r, func() {})
		if strings.Contains(want, "curator: ") {
			t.Fatalf("%v: a question is refused: %s", r, want)
		}
		for _, losing := range []bool{false, true} {
			var hands []*hand
			for i := range c.jobs {
				hands = append(hands, c.feed(i, c.jobs[i], nil))
			}
			s := opened(t, c.gather(nil), r)
			at := 0
			got := told(t, s, r, func() {
				if losing {
					i := at % len(hands)
					at++
					hands[i].conn.Close()
					hands[i] = c.feed(i, c.jobs[i], nil)
				}
			})
			if got != want {
				t.Errorf("%v, losing workers: %v:\n%s\nmust be\n%s", r, losing, got, want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestNoPassOverShards tests that a pass of SGD is refused before it is charged. The steps of a pass
// depend on the order of all rows.
func TestNoPassOverShards(t *testing.T) {
	c := newCluster(t)
	for i := range c.jobs {
		c.feed(i, c.jobs[i], nil)
	}
	s := opened(t, c.gather(nil), account.ReplaceOne)
	defer s.Close()
	some, err := s.Draw(10)
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.NewStable(.01, some, query.Pass{Start: []float64{0, 0, 0}, Step: .1, Clip: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stable(context.Background(), q); err == nil ||
		!strings.Contains(err.Error(), "stable sgd: the rows are in several shards") {
		t.Error(err)
	}
	if n := s.Ledger().Len(); n != 0 {
		t.Errorf("%d events", n)
	}
}
