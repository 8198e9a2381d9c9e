package curator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestStableOfARealTable makes a pass over a table's records. Its answers have noise, and its event
// states the assumption that it relies on.
func TestStableOfARealTable(t *testing.T) {
	s := open(t, write(t, "people.csv", people+strings.Repeat("50,clerk,yes\n", 20)+"broken\n"))
	c, err := s.Draw(20)
	if err != nil {
		t.Fatal(err)
	}
	p := query.Pass{Start: make([]float64, s.Dim()), Step: 2 / (.25 + .1), Clip: 1, Lambda: .1, Radius: 3}
	q, err := query.NewStable(s.Ledger().Budget().Charge()/4, c, p)
	if err != nil {
		t.Fatal(err)
	}
	var means []string
	for range 2 {
		a, err := s.Stable(context.Background(), q)
		if err != nil || len(a.Mean) != s.Dim() || !(a.Sigma > 0) || !(a.Charge <= q.Charge()) {
			t.Fatal(a, err)
		}
		means = append(means, fmt.Sprint(a.Mean))
	}
	if means[0] == means[1] {
		t.Error("two answers have the same noise")
	}
	for _, e := range s.Ledger().Events() {
		if e.Kind != account.Gaussian || e.Basis != account.Stability || e.Loss != "logistic" || e.Cohort != c.ID() ||
			e.Simulated {
			t.Errorf("event: %+v", e)
		}
	}
	p.Step *= 1.001
	q, err = query.NewStable(q.Charge(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stable(context.Background(), q); err == nil || !strings.Contains(err.Error(), "step = ") {
		t.Errorf("a long step: %v", err)
	}
	if n := len(s.Ledger().Events()); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}
