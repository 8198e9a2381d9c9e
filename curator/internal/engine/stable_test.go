package engine

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// walked is a table and a pass over it.
type walked struct {
	table   *row.Table
	members []int32
	pass    query.Pass
}

// row returns row i and its target.
func (w walked) row(t testing.TB, i int32) ([]float32, float64) {
	t.Helper()
	var b row.Block
	if err := w.table.Rows(&b, []int32{i}); err != nil {
		t.Fatal(err)
	}
	return b.Rows, b.Targets[0]
}

func randomWalk(t testing.TB, r *rand.Rand, l loss.RankOne, n, d int, p query.Pass) walked {
	t.Helper()
	table, err := row.NewTable(d, 3)
	if err != nil {
		t.Fatal(err)
	}
	w := walked{table: table, pass: p}
	for i := range n {
		x := make([]float32, d)
		v, sum := make([]float64, d), 0.
		for j := range v {
			v[j] = r.NormFloat64()
			sum += v[j] * v[j]
		}
		for j := range v {
			x[j] = float32(v[j] / math.Sqrt(sum))
		}
		y := float64(2*r.IntN(2) - 1)
		if i%7 == 3 {
			y = []float64{math.NaN(), 1e300, 0, -.25}[r.IntN(4)]
		}
		table.Append(x, y, i%11 != 5)
	}
	for _, i := range r.Perm(n) {
		w.members = append(w.members, int32(i))
	}
	return w
}

// passes returns passes that together use every field of query.Pass.
func passes(r *rand.Rand, d int, smoothness float64) map[string]query.Pass {
	vector := func(size float64) []float64 {
		v := make([]float64, d)
		for j := range v {
			v[j] = size * r.NormFloat64() / math.Sqrt(float64(d))
		}
		return v
	}
	return map[string]query.Pass{
		"plain":       {Start: vector(2), Step: .3 / (smoothness + 1), Clip: .8},
		"clipped":     {Start: vector(2), Step: .3 / (smoothness + 1), Clip: .05},
		"longest":     {Start: vector(2), Step: 2 / smoothness, Clip: 1},
		"regularized": {Start: vector(2), Step: 1 / (smoothness + .4), Clip: 1, Lambda: .4, Linear: vector(3)},
		"overshoot":   {Start: vector(2), Step: 2 / (smoothness + .4), Clip: 1, Lambda: .4, Linear: vector(1)},
		"ball":        {Start: vector(2), Step: .5 / (smoothness + .2), Clip: 1, Lambda: .2, Radius: .4, Centre: vector(2)},
	}
}

// bigStep returns the result of one step of projected SGD from w without rounding errors.
func bigStep(name string, target loss.Target, p query.Pass, w []*big.Float, x []float32, y float64) []*big.Float {
	s := exact(0)
	if target == loss.Real && math.Abs(y) <= 1 || math.Abs(y) == 1 {
		z := exact(0)
		for j := range w {
			z = op().Add(z, op().Mul(w[j], exact(float64(x[j]))))
		}
		s = bigSlope(name, z, y)
		if s.Cmp(exact(p.Clip)) > 0 {
			s = exact(p.Clip)
		} else if s.Cmp(exact(-p.Clip)) < 0 {
			s = exact(-p.Clip)
		}
	}
	shift := Shift(p)
	centre := make([]float64, len(w))
	copy(centre, p.Centre)
	out := make([]*big.Float, len(w))
	square := exact(0)
	for j := range w {
		out[j] = op().Add(op().Mul(exact(Keep(p)), w[j]), exact(shift[j]))
		out[j].Sub(out[j], op().Mul(exact(p.Gain()), op().Mul(s, exact(float64(x[j])))))
		off := op().Sub(out[j], exact(centre[j]))
		square.Add(square, op().Mul(off, off))
	}
	if norm := op().Sqrt(square); p.Radius > 0 && norm.Cmp(exact(p.Radius)) > 0 {
		f := op().Quo(exact(p.Radius), norm)
		for j := range out {
			out[j] = op().Add(exact(centre[j]), op().Mul(f, op().Sub(out[j], exact(centre[j]))))
		}
	}
	return out
}

func bigDistance(a []*big.Float, b []float64) float64 {
	sum := exact(0)
	for j := range a {
		d := op().Sub(a[j], exact(b[j]))
		sum.Add(sum, op().Mul(d, d))
	}
	f, _ := op().Sqrt(sum).Float64()
	return f
}

// TestWalkAgainstBigFloats computes passes with 300 bits and compares them with the float64 passes.
// The error of every step, of the sum and of the average must be at most the error that the
// sensitivity includes, and norms must be within their bounds. The bounds must not be much too
// large either.
func TestWalkAgainstBigFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	n := 150
	if testing.Short() {
		n = 70
	}
	nearStep, nearSum, nearLast, nearPoint := 0., 0., 0., 0.
	for _, name := range []string{"logistic", "huber(0.3)", "smoothed-hinge(0.5)", "squared(20)"} {
		l := rankOne(t, name)
		for _, d := range []int{1, 9} {
			kinds := passes(r, d, l.Constants().Curvature.Hi)
			for _, kind := range slices.Sorted(maps.Keys(kinds)) {
				p := kinds[kind]
				c := randomWalk(t, r, l, n, d, p)
				b := Bound(p, l.Constants(), n)
				w := newWalk(l, p, c.table, c.members)
				point := bigs(p.Start)
				average, added := bigs(make([]float64, d)), bigs(make([]float64, d))
				for i, m := range c.members {
					x, y := c.row(t, m)
					for j := range average {
						average[j].Add(average[j], point[j])
						added[j].Add(added[j], exact(w.at[j]))
					}
					if i == n-1 {
						break
					}
					before := bigs(w.at[:d])
					w.step(x, w.slopeAt(x, y))
					off := bigDistance(bigStep(name, l.Target(), p, before, x, y), w.at[:d])
					if off > b.Step {
						t.Fatalf("%s %s d=%d: step %d is off by %v: bound %v", name, kind, d, i, off, b.Step)
					}
					nearStep = max(nearStep, off/b.Step)
					point = bigStep(name, l.Target(), p, point, x, y)
					if size := bigDistance(bigs(make([]float64, d)), w.at[:d]); size > b.Point {
						t.Fatalf("%s %s d=%d: iterate of norm %v: bound %v", name, kind, d, size, b.Point)
					} else {
						nearPoint = max(nearPoint, size/b.Point)
					}
				}
				whole := newWalk(l, p, c.table, c.members)
				if whole.over(context.Background()); len(whole.left) > 0 {
					t.Fatal("not over")
				}
				if off := bigDistance(added, whole.sum[:d]); off > b.Sum {
					t.Errorf("%s %s d=%d: the sum of iterates is off by %v: bound %v", name, kind, d, off, b.Sum)
				} else {
					nearSum = max(nearSum, off/b.Sum)
				}
				for j := range average {
					average[j].Quo(average[j], exact(float64(n)))
					average[j].Sub(average[j], exact(p.Start[j]))
				}
				e, err := New(c.table, l, 1)
				if err != nil {
					t.Fatal(err)
				}
				// The grid is as fine as possible. Its own rounding is then sqrt(d)/2 steps.
				scale := math.Ldexp(1, 49-int(math.Ceil(math.Log2(b.Point+b.Start))))
				got, err := e.Average(context.Background(), p, scale, c.members)
				if err != nil {
					t.Fatal(err)
				}
				mean := make([]float64, d)
				for j := range got {
					mean[j] = float64(got[j]) / scale
				}
				rounding := math.Sqrt(float64(d)) / 2 / scale
				if off := bigDistance(average, mean) - rounding; off > b.Wrong() {
					t.Errorf("%s %s d=%d: average is off by %v: bound %v", name, kind, d, off, b.Wrong())
				}
				for j := range added {
					added[j] = op().Sub(op().Quo(exact(whole.sum[j]), exact(float64(n))), exact(p.Start[j]))
				}
				if off := bigDistance(added, mean) - rounding; off > b.Last {
					t.Errorf("%s %s d=%d: the average is off by %v of the sum: bound %v", name, kind, d, off, b.Last)
				} else {
					nearLast = max(nearLast, off/b.Last)
				}
			}
		}
	}
	t.Logf("of the bounds: a step's errors %.3f, those of adding up %.3f, those after %.3f, a norm %.3f", nearStep,
		nearSum, nearLast, nearPoint)
	if nearStep < .05 || nearSum < .005 || nearPoint < .5 {
		t.Error("the bounds are not approached: the test shows nothing")
	}
}

// TestGeometricIsRoundedUp compares the results of the function geometric with exact sums of
// powers.
func TestGeometricIsRoundedUp(t *testing.T) {
	for _, r := range []float64{0, 1e-3, .3, .999, 1 - 0x1p-30, 1 - 0x1p-53, 1, 1 + 0x1p-52} {
		sum, power := exact(0), exact(1)
		for m := range 600 {
			got := exact(geometric(r, m))
			if got.Cmp(sum) < 0 || got.Cmp(op().Mul(sum, exact(1+1e-12))) > 0 {
				t.Fatalf("r = %v, m = %d: %v, want %v or a little more", r, m, got, sum)
			}
			sum.Add(sum, power)
			power = op().Mul(power, exact(r))
		}
	}
}

// TestAverageIsOfTheIterates compares a pass over n = 3 records with a computation by hand. The
// average includes the start but not the point after the last record.
func TestAverageIsOfTheIterates(t *testing.T) {
	table, err := row.NewTable(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		table.Append([]float32{1}, 1, true)
	}
	e, err := New(table, rankOne(t, "huber(100)"), 1)
	if err != nil {
		t.Fatal(err)
	}
	// Each step takes w to w - (w-1)/4. The iterates are 5, 4 and 3.25.
	got, err := e.Average(context.Background(), query.Pass{Start: []float64{5}, Step: .25, Clip: 100}, 0x1p40,
		[]int32{0, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	if mean := 5 + float64(got[0])/0x1p40; !(math.Abs(mean-(5+4+3.25)/3) <= 1e-5) {
		t.Errorf("average %v, want 4.08333", mean)
	}
}

// failing is a loss that calls fail on records with target at, or on all records if at is 0.
type failing struct {
	loss.RankOne
	at   float64
	fail func()
}

func (f failing) Slopes(dst, z, y []float64) {
	if f.at == 0 || slices.Contains(y, f.at) {
		f.fail()
	}
	f.RankOne.Slopes(dst, z, y)
}

// TestFailingPassTellsNothing tests that a record on which the loss panics or ends its goroutine is
// faulty, and that nothing else changes, wherever the record is in the pass. A cancelled context
// ends the pass.
func TestFailingPassTellsNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	l := rankOne(t, "huber(0.5)")
	p := query.Pass{Start: make([]float64, 3), Step: 1, Clip: 1, Radius: 2}
	const n = 3*tileRows + 7
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = []float32{float32(r.Float64() - .5), float32(r.Float64() - .5), .5}
	}
	average := func(l loss.Loss, bad []int, target float64) []int64 {
		table, err := row.NewTable(3, 50)
		if err != nil {
			t.Fatal(err)
		}
		members := make([]int32, n)
		for i, x := range rows {
			y := .1
			if slices.Contains(bad, i) {
				y = target
			}
			table.Append(x, y, true)
			members[i] = int32(i)
		}
		e, err := New(table, l, 2)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := e.Average(context.Background(), p, 0x1p40, members)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	every := make([]int, n)
	for i := range every {
		every[i] = i
	}
	for _, bad := range [][]int{{0}, {n - 1}, {n - 2}, {tileRows - 1}, {tileRows}, {3, 4, 5, 100}, every} {
		want := average(l, bad, math.NaN())
		for name, fail := range map[string]func(){"panic": func() { panic("row 17 holds 42") }, "exit": runtime.Goexit} {
			if got := average(failing{l, .75, fail}, bad, .75); !slices.Equal(got, want) {
				t.Errorf("%s on %v: average %v, want %v", name, bad, got, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := randomWalk(t, r, l, 300, 3, p)
	e, err := New(c.table, failing{l, 0, cancel}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Average(ctx, c.pass, 1, c.members); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", got, err)
	}
}

// TestStepsContract tests that a step contracts the distance of two points at least by the stated
// factor, and exactly by this factor if the row lies along the difference of the points.
func TestStepsContract(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	const d = 8
	table, err := row.NewTable(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"logistic", "huber(3)", "smoothed-hinge(0.5)"} {
		l := rankOne(t, name)
		kinds := passes(r, d, l.Constants().Curvature.Hi)
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			p := kinds[kind]
			b := Bound(p, l.Constants(), 2)
			worst := 0.
			for trial := range 3000 {
				// The two points are around the margin at which the loss bends most. The row is
				// along the difference of the points, across it, or arbitrary.
				x := make([]float32, d)
				x[trial%d] = 1
				curvature, size := 0., math.Exp(-10*r.Float64())
				if name == "smoothed-hinge(0.5)" {
					curvature = .75
				}
				one, two := newWalk(l, p, table, nil), newWalk(l, p, table, nil)
				for j := range d {
					off := size * r.NormFloat64()
					switch {
					case trial%3 == 0 && j != trial%d, trial%3 == 1 && j == trial%d:
						off = 0
					}
					one.at[j] = .1 * r.NormFloat64()
					if j == trial%d {
						one.at[j] = curvature
					}
					two.at[j] = one.at[j] + off
				}
				before := bigDistance(bigs(one.at), two.at)
				if before == 0 {
					continue
				}
				one.step(x, one.slopeAt(x, 1))
				two.step(x, two.slopeAt(x, 1))
				worst = max(worst, (bigDistance(bigs(one.at), two.at)-2*b.Step)/before)
			}
			t.Logf("%s %s: %.6f of %.6f", name, kind, worst, b.Contraction)
			if worst > b.Contraction {
				t.Errorf("%s %s: distances grow by %v, bound %v", name, kind, worst, b.Contraction)
			}
			if kind != "ball" && worst < .99*b.Contraction {
				t.Errorf("%s %s: distances shrink to %v at least, bound %v", name, kind, worst, b.Contraction)
			}
		}
	}
}
