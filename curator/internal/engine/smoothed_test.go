package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestSmoothedByTheRowsOwnNorm tests that a sum for the smoothed loss uses each record's smoothed
// slope for the norm of the record's own row, and not the loss's slope. The sum is precise to half a
// grid step for each record, over whole blocks and over selected rows.
func TestSmoothedByTheRowsOwnNorm(t *testing.T) {
	const n, d, scale = 150, 3, 0x1p30
	table, err := row.NewTable(d, 40)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(8, 15))
	var rows [][]float32
	var members []int32
	for i := range n {
		x := make([]float32, d)
		for j := range x {
			x[j] = float32(r.NormFloat64() / float64(1+i%5) / 4)
		}
		rows, members = append(rows, x), append(members, int32(n-1-i))
		table.Append(x, .3, true)
	}
	l, w, by := loss.Absolute(), []float64{.4, .9, -.2}, must(loss.OverBall(d, .5))
	want, raw := make([]float64, d), make([]float64, d)
	for _, x := range rows {
		var z, square float64
		for j, v := range x {
			z += w[j] * float64(v)
			square += float64(v) * float64(v)
		}
		smooth, plain := []float64{0}, []float64{0}
		l.SmoothedSlopes(smooth, []float64{z}, []float64{.3}, []float64{math.Sqrt(square)}, by)
		l.Slopes(plain, []float64{z}, []float64{.3})
		for j, v := range x {
			want[j] += smooth[0] * float64(v) * scale
			raw[j] += plain[0] * float64(v) * scale
		}
	}
	e := must(New(table, l, 2))
	q := must(query.New(1, query.GradientAt(query.NewCohort(0, n), w, 1).Smoothed(query.Smoothing{Radius: .5})))
	for _, who := range [][]int32{nil, members} {
		sum := must(e.Sum(context.Background(), q, scale, who))
		for j, got := range sum.Residual {
			if !(math.Abs(float64(got)-want[j]) <= n) || math.Abs(raw[j]-want[j]) < 1e3*n {
				t.Errorf("coordinate %d: %d: want %.0f, %.0f of the loss as it is", j, got, want[j], raw[j])
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestSmoothingIsRefused tests that a query is refused, before anything is computed, if the loss
// cannot be smoothed in closed form as the query asks.
func TestSmoothingIsRefused(t *testing.T) {
	ask := func(s query.Smoothing) query.Question {
		q, err := query.New(1, query.GradientAt(query.NewCohort(0, 10), []float64{1, 2}, 1).Smoothed(s))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	for _, c := range []struct {
		l    loss.Loss
		s    query.Smoothing
		want string // "" for none
	}{
		{loss.Logistic(), query.Smoothing{Radius: 1}, "loss logistic: must be one that is smoothed in closed form"},
		{loss.Ramp(), query.Smoothing{Radius: 3, By: query.LasryLions}, "smoothing radius = 3: must be smaller"},
		{loss.Ramp(), query.Smoothing{Radius: 1, By: query.LasryLions}, ""},
		{loss.Ramp(), query.Smoothing{Radius: 3}, ""},
		{loss.Logistic(), query.Smoothing{}, ""},
	} {
		if err := Answers(c.l, ask(c.s)); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: %v: want %q", c.l.Name(), c.s, err, c.want)
		}
	}
}
