package curator_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

const fourSchema = `
columns:
  a: {number: [-1, 1]}
  b: {number: [-1, 1]}
  c: {number: [-1, 1]}
  d: {number: [-1, 1]}
target: {column: y, number: [-1, 1]}
`

// TestARowMappedToZeroMovesNoMore: a public map sends a row, with its intercept, to exactly zero. At
// weights of 1.5e308 above a network's first layer the slopes of this row are near the largest float.
// If this row replaces another one, no answer may move by more than two clip norms plus 40 standard
// deviations of the noise. A correct session fails with probability below 1e-300.
func TestARowMappedToZeroMovesNoMore(t *testing.T) {
	s := schema(t, fourSchema)
	m, err := s.Bind([]string{"a", "b", "c", "d", "y"})
	if err != nil {
		t.Fatal(err)
	}
	reduce, err := dataset.ParseProjection("jl(2,7)", m.Dim())
	if err != nil {
		t.Fatal(err)
	}
	zero := []string{"1", "-1", "-1", "0", "1"}
	full, short := make([]float32, m.Dim()), make([]float32, 2)
	if _, ok := m.Encode(full, zero); !ok {
		t.Fatal("the row is not encoded")
	}
	if reduce.Map(short, make([]float64, 2), full); short[0] != 0 || short[1] != 0 {
		t.Fatalf("the row is mapped to %v: want zero", short)
	}
	l, err := loss.Parse("network(3,tanh,huber(0.3))")
	if err != nil {
		t.Fatal(err)
	}
	w := l.(loss.Composed).Start(2)
	for j := 6; j < len(w); j++ {
		w[j] = 1.5e308
	}
	ask := func(last string, term func(query.Cohort) query.Term) query.Release {
		t.Helper()
		b, err := account.NewBudget(50, 1e-3, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		text := "a,b,c,d,y\n" + strings.Repeat(".5,.25,-.5,.125,.5\n", 9) + last + "\n"
		session, err := curator.Open(context.Background(), curator.Config{
			Path: write(t, "rows.csv", text), Schema: s, Reduce: reduce, Loss: l, Budget: b,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		q, err := query.New(b.Charge()/2, term(session.All()))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := session.Ask(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	prev := append([]float64(nil), w...)
	prev[0]++
	for name, term := range map[string]func(query.Cohort) query.Term{
		"gradient":   func(c query.Cohort) query.Term { return query.GradientAt(c, w, 1) },
		"difference": func(c query.Cohort) query.Term { return query.DifferenceWithin(c, w, prev, 1) },
		"norm":       func(c query.Cohort) query.Term { return query.NormAt(c, w, 1, nil) },
	} {
		a, b := ask(strings.Join(zero, ","), term), ask(".5,.25,-.5,.125,-.5", term)
		var moved float64
		for j := range a.Mean {
			moved = math.Hypot(moved, a.Mean[j]-b.Mean[j])
		}
		if most := .2 + 40*math.Sqrt(float64(len(a.Mean)))*math.Hypot(a.Sigma, b.Sigma); !(moved <= most) {
			t.Errorf("%s: moves by %v: want %v at most", name, moved, most)
		}
	}
}
