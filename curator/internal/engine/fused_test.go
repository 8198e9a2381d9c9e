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

// foreign hides that a loss is one of this library, so that a pass adds its gradients step by step.
type foreign struct{ loss.RankOne }

func fusedLosses(t testing.TB) (all []loss.RankOne) {
	for _, name := range []string{"logistic", "squared(1)", "huber(0.3)"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l.(loss.RankOne))
	}
	return all
}

// TestFusedCoefficients tests that every kernel of this machine computes the coefficients of the
// separate steps, for every number of records near the widths of registers, and margins and targets that
// are NaN, infinite, subnormal or huge. With the largest scale some steps are not finite.
func TestFusedCoefficients(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 1))
	for _, l := range fusedLosses(t) {
		for _, k := range kernels() {
			for n := range tileRows + 1 {
				for _, scale := range []float64{0x1p30, math.MaxFloat64} {
					radius := []float64{.2, .9, 4}[n%3]
					q, err := query.New(1, query.GradientAt(query.NewCohort(0, 1), []float64{0}, radius).Weighted(1.7))
					if err != nil {
						t.Fatal(err)
					}
					term := pointedTerm{Term: q.Terms()[0], weight: q.Terms()[0].Weight(), ball: q.Terms()[0].Ball()}
					f := newFused(l, k, []pointedTerm{term}, scale)
					z, y, c := make([]float64, n), make([]float64, n), make([]float64, n+1)
					for i := range z {
						z[i], y[i] = margin(r), float64(2*r.IntN(2)-1)
						if r.IntN(4) == 0 {
							y[i] = margin(r)
						}
					}
					c[n] = 7
					f.coefficients(c[:n], z, y)
					if want := stepwise(l, term, scale, z, y); !slices.Equal(c[:n], want) || c[n] != 7 {
						t.Fatalf("%s, %s, %d records, scale %v: %v: want %v", l.Name(), k.name, n, scale, c, want)
					}
				}
			}
		}
	}
}

// stepwise returns the coefficients by the separate steps of a tile.
func stepwise(l loss.RankOne, t pointedTerm, scale float64, z, y []float64) []float64 {
	n := len(z)
	p := pass{scale: scale, shape: shape{margins: 1}, coef: make([]float64, n), faulty: make([]bool, n)}
	slope := make([]float64, n)
	l.Slopes(slope, z, y)
	for i, v := range y {
		p.faulty[i] = v != v
	}
	p.addWithin(slope, &t)
	p.toSteps(p.faulty, p.coef)
	return p.coef
}

func margin(r *rand.Rand) float64 {
	switch r.IntN(16) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1 - 2*r.IntN(2))
	case 2:
		return math.Copysign(math.MaxFloat64, r.NormFloat64())
	case 3:
		return 800 * r.NormFloat64()
	}
	return awkward(r)
}

// TestFusedSums tests that a gradient of a known loss has the same integers with every kernel of this
// machine as with the separate steps in portable Go: for rows of 1 to 130 numbers, with and without codes,
// numbers of rows that fill no tile, faulty records, points with infinities, and lists of members.
func TestFusedSums(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 2))
	all := fusedLosses(t)
	for d := 1; d <= 130; d++ {
		l := all[d%len(all)]
		var groups []row.Group
		if d%4 == 3 {
			groups = []row.Group{{First: d, Width: 3}, {First: d + 3, Width: 2}, {First: d + 5, Width: 4}}[:1+d%3]
		}
		table := awkwardTable(t, r, d, groups)
		w := make([]float64, table.Layout().Dim())
		for j := range w {
			w[j] = 4 * r.NormFloat64()
		}
		if d%16 == 5 {
			w[r.IntN(d)] = math.MaxFloat64
		}
		q, err := query.New(1, query.GradientAt(query.NewCohort(0, 1), w, .4))
		if err != nil {
			t.Fatal(err)
		}
		members := make([]int32, r.IntN(150))
		for i := range members {
			members[i] = int32(r.IntN(table.Len()))
		}
		for _, m := range [][]int32{nil, members} {
			want := sumBy(t, table, foreign{l}, portable, q, m)
			for _, k := range kernels() {
				if got := sumBy(t, table, l, k, q, m); !slices.Equal(got, want) {
					t.Fatalf("%s, %s, %d numbers, %d members: %v: want %v", l.Name(), k.name, d, len(m), got, want)
				}
			}
		}
	}
}

func sumBy(t testing.TB, table row.Source, l loss.Loss, k kernel, q query.Question, members []int32) []int64 {
	t.Helper()
	e, err := New(table, l, 2)
	if err != nil {
		t.Fatal(err)
	}
	e.kernel = k
	sum, err := e.Sum(context.Background(), q, 0x1p30, members)
	if err != nil {
		t.Fatal(err)
	}
	return sum.Residual
}

// awkwardTable returns a table with faulty records, and with rows of subnormal numbers and of
// numbers near the largest that a row may have.
func awkwardTable(t testing.TB, r *rand.Rand, d int, groups []row.Group) *row.Table {
	t.Helper()
	features := d
	for _, g := range groups {
		features += g.Width
	}
	l, err := row.NewLayout(features, groups)
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTableOf(l, 1+r.IntN(200))
	if err != nil {
		t.Fatal(err)
	}
	x, in := make([]float32, d), make([]uint32, len(groups))
	for range 1 + r.IntN(300) {
		size := []float64{1 / math.Sqrt(float64(4*d)), 1e-42, 1e-20, 0}[r.IntN(4)]
		for j := range x {
			x[j] = float32(size * max(min(r.NormFloat64(), 1.5), -1.5))
		}
		if r.IntN(9) == 0 {
			x[r.IntN(d)] = float32(margin(r)) // makes most such rows faulty
		}
		for k, g := range groups {
			in[k] = uint32(r.IntN(g.Width))
		}
		y := float64(2*r.IntN(2) - 1)
		if r.IntN(9) == 0 {
			y = margin(r)
		}
		table.AppendCoded(x, .25, in, y, r.IntN(20) > 0)
	}
	return table
}

// TestFusedOnly tests that only single gradients without smoothing, of losses of this library, are
// computed together: other losses may panic.
func TestFusedOnly(t *testing.T) {
	l := fusedLosses(t)[0]
	term := func(k query.Term) []pointedTerm { return []pointedTerm{{Term: k}} }
	gradient := query.GradientAt(query.NewCohort(0, 1), []float64{0}, 1)
	for name, c := range map[string]struct {
		l     loss.Loss
		terms []pointedTerm
		want  bool
	}{
		"a gradient":                   {l, term(gradient), true},
		"a gradient of a foreign loss": {foreign{l}, term(gradient), false},
		"a smoothed gradient":          {l, term(gradient.Smoothed(query.Smoothing{Radius: .1})), false},
		"two gradients":                {l, append(term(gradient), term(gradient)...), false},
		"a value":                      {l, term(query.ValueAt(query.NewCohort(0, 1), []float64{0}, 0, 1)), false},
	} {
		if got := newFused(c.l, fastest(), c.terms, 1) != nil; got != c.want {
			t.Errorf("%s: fused: %v: want %v", name, got, c.want)
		}
	}
}
