package curator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestPrefixSumOfARealTable adds two items of a table's records, selects between two points, and
// prints the prefix sum in every way.
func TestPrefixSumOfARealTable(t *testing.T) {
	s := open(t, write(t, "people.csv", people))
	charge := s.Ledger().Budget().Charge() / 2
	p, err := s.OpenPrefix(query.Prefix{Factorization: query.Toeplitz, Items: 2, Sensitivity: 2, Charge: charge})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := s.Draw(1)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Add(context.Background(), query.GradientAt(c, make([]float64, 5), 1))
		if err != nil || len(a.Mean) != 5 || !(a.Sigma > 0) || a.Charge > charge {
			t.Fatal(a, err)
		}
	}
	sel, err := query.NewSelection(.01, query.NormAt(s.All(), make([]float64, 5), 1, nil),
		query.NormAt(s.All(), []float64{1, 0, 0, 0, 0}, 1, nil))
	if err != nil {
		t.Fatal(err)
	}
	if i, err := s.Select(context.Background(), sel); err != nil || i < 0 || i > 1 {
		t.Fatal(i, err)
	}
	if n := len(s.Ledger().Events()); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
	type outer struct{ P query.PrefixSum }
	for _, v := range []any{p, outer{p}, &outer{p}, []any{p}, map[string]any{"p": p}} {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v)
		texts := []string{string(j), b.String()}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%t"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
		for _, text := range texts {
			for _, secret := range []string{"session.", "past", "noisy", "[]int64", "[]float", "map[1:", "engine"} {
				if strings.Contains(text, secret) {
					t.Errorf("%q shows %q", text, secret)
				}
			}
		}
	}
}
