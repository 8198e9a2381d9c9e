package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestStackedClip tests that slopes and the gradient above the first layer are clipped like the
// gradient written out, at every size of float64. A vector that is short enough is unchanged.
func TestStackedClip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 90))
	for range 20000 {
		units, d, above := 1+r.IntN(4), 1+r.IntN(5), r.IntN(6)
		x, slopes, rest := make([]float32, d), make([]float64, units), make([]float64, above)
		for j := range x {
			x[j] = float32(r.NormFloat64()) / 4
		}
		size := math.Ldexp(1, r.IntN(1900)-950)
		for _, list := range [][]float64{slopes, rest} {
			for j := range list {
				list[j] = size * r.NormFloat64()
			}
		}
		radius := size * math.Exp(2*r.NormFloat64())
		var vector []float64
		for _, s := range slopes {
			for _, v := range x {
				vector = append(vector, s*float64(v))
			}
		}
		vector = append(vector, rest...)
		if !clip(vector, radius) || !clipStacked(slopes, rest, square(x), radius) {
			t.Fatalf("%v, %v: not finite", slopes, rest)
		}
		var got []float64
		for _, s := range slopes {
			for _, v := range x {
				got = append(got, s*float64(v))
			}
		}
		for j, v := range append(got, rest...) {
			if !(math.Abs(v-vector[j]) <= 1e-13*radius) {
				t.Fatalf("size %v, radius %v: coordinate %d is %v: want %v", size, radius, j, v, vector[j])
			}
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if clipStacked([]float64{1, bad}, []float64{1}, 1, 1) || clipStacked([]float64{1}, []float64{1, bad}, 1, 1) {
			t.Errorf("%v is taken for a gradient", bad)
		}
	}
}

// leaving is a network that leaves its value, and the last number of its gradient, unwritten for negative targets.
type leaving struct{ Stacked }

func (l leaving) Forward(dst, z, theta, y []float64) {
	before := slices.Clone(dst)
	l.Stacked.Forward(dst, z, theta, y)
	for i, y := range y {
		if y < 0 {
			dst[i] = before[i]
		}
	}
}

func (l leaving) Backward(slopes, rest, z, theta, square, y []float64) {
	last := rest[len(rest)-len(y):]
	before := slices.Clone(last)
	l.Stacked.Backward(slopes, rest, z, theta, square, y)
	for i, y := range y {
		if y < 0 {
			last[i] = before[i]
		}
	}
}

// TestStackedUnwritten tests that a record for which a network leaves a number unwritten is faulty,
// whatever records precede it, and that the sum is the sum of the other records.
func TestStackedUnwritten(t *testing.T) {
	l, err := loss.Parse("network(2,tanh,huber(0.5))")
	if err != nil {
		t.Fatal(err)
	}
	sum := func(l loss.Loss, value bool, targets ...float64) []int64 {
		t.Helper()
		table, err := row.NewTable(2, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, y := range targets {
			table.Append([]float32{.5, -.25}, y, true)
		}
		e, err := New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		w := l.(loss.Composed).Start(2)
		w[len(w)-1] = .3
		term := query.GradientAt(query.NewCohort(0, 9), w, 1)
		if value {
			term = query.ValueAt(query.NewCohort(0, 9), w, 0, 1)
		}
		q, err := query.New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Sum(context.Background(), q, 0x1p20, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Residual
	}
	for _, value := range []bool{false, true} {
		// Two passes over tiles of the same goroutine: what the first leaves behind must not be seen.
		first, more := make([]float64, tileRows), []float64{-.5, .75, -1}
		for i := range first {
			first[i] = .5 + float64(i)/100
		}
		want := sum(l, value, append(first, .75)...)
		if got := sum(leaving{l.(Stacked)}, value, append(first, more...)...); !slices.Equal(got, want) {
			t.Errorf("values: %v: %v: want %v", value, got, want)
		}
		if slices.Equal(want, make([]int64, len(want))) {
			t.Error("nothing is summed")
		}
	}
}
