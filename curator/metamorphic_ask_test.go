package curator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
	"pgregory.net/rapid"
)

// frame maps the parameters of one world (a random table with its schema) to the parameters of a world
// derived from it. The parameters consist of runs with one coordinate for each feature. In each run,
// feature j moves to place[j], run b moves to run[b], and all are multiplied by sign. The zero frame
// changes nothing.
type frame struct {
	place, run []int
	sign       float64
}

// put maps a vector of parameters or features. Numbers after the last whole run of features stay in
// place.
func (f frame) put(v []float64, runs int) []float64 {
	out := slices.Clone(v)
	for i := range out {
		out[f.index(i, runs)] = v[i]
	}
	if f.sign < 0 {
		for i := range out {
			out[i] = -out[i]
		}
	}
	return out
}

// index returns the index to which the frame moves parameter i.
func (f frame) index(i, runs int) int {
	d := len(f.place)
	if d == 0 || i >= runs*d {
		return i
	}
	b := i / d
	if f.run != nil {
		b = f.run[b]
	}
	return b*d + f.place[i%d]
}

// pair returns the index of the product of features j <= k among all such products of d features.
func pair(j, k, d int) int {
	if j > k {
		j, k = k, j
	}
	return j*d - j*(j-1)/2 + k - j
}

// sums returns the exact sum of the derived world that corresponds to the given sum.
func (f frame) sums(sum []int64, facts query.Facts, runs, d int) []int64 {
	out := slices.Clone(sum)
	if facts.Losses == query.NoLoss { // features alone: neither margins nor targets count
		f, runs = frame{place: f.place}, 1
	}
	switch {
	case len(f.place) == 0 || facts.Number:
	case facts.Pairs:
		n := int(math.Sqrt(float64(2 * len(sum)))) // features, or parameters of all margins: n(n+1)/2 pairs
		for j := range n {
			for k := j; k < n; k++ {
				out[pair(f.index(j, max(runs, 1)), f.index(k, max(runs, 1)), n)] = sum[pair(j, k, n)]
			}
		}
	default:
		for i, v := range sum {
			if facts.Blocks && i == d {
				break
			}
			out[f.index(i, runs)] = v
		}
		if facts.Blocks && len(sum) > d { // the pairs of half the features
			var moved []int
			for j := 0; j < d; j += 2 {
				moved = append(moved, f.place[j])
			}
			in, k := slices.Sorted(slices.Values(moved)), len(moved)
			at := func(a, b int) int { return d + pair(a, b-1, k-1) }
			for a, j := range moved {
				for b := a + 1; b < k; b++ {
					x, y := slices.Index(in, j), slices.Index(in, moved[b])
					out[at(min(x, y), max(x, y))] = sum[at(a, b)]
				}
			}
		}
	}
	if f.sign < 0 && !facts.Number && !facts.Pairs {
		for i := range out {
			out[i] = -out[i]
		}
	}
	return out
}

// metric returns the metric of a random symmetric matrix, with rows and columns in the frame's order
// of features.
func (f frame) metric(t rapid.TB, d int, seed uint64) query.Metric {
	r := rand.New(rand.NewPCG(seed, 77))
	p, moved := make([]float64, d*d), make([]float64, d*d)
	for j := range d {
		for k := range j + 1 {
			v := float64(r.IntN(17)-8) / 8
			p[j*d+k], p[k*d+j] = v, v
		}
		p[j*d+j] += 2 // at least 1, since a metric of zeros is refused
	}
	place := frame{place: f.place}
	for j := range d {
		for k := range d {
			moved[place.index(j, 1)*d+place.index(k, 1)] = p[j*d+k]
		}
	}
	m, err := query.NewMetric(d, moved)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// half returns a block of every other feature, and blocks the metric with that block of metric, and its diagonal.
func (f frame) half(d int) []bool {
	whole := make([]bool, d)
	for j := range d {
		whole[frame{place: f.place}.index(j, 1)] = j%2 == 0
	}
	return whole
}

func (f frame) blocks(t rapid.TB, d int, seed uint64) query.Metric {
	from, entries, row := f.metric(t, d, seed), make([]float64, d), make([]int64, d)
	var whole []int
	for j, in := range f.half(d) {
		if entries[j] = float64(from.Entry(j)) * from.Step(); in {
			whole = append(whole, j)
		}
	}
	var block []float64
	for _, j := range whole {
		from.Row(row, j)
		for _, k := range whole {
			block = append(block, float64(row[k])*from.Step())
		}
	}
	m, err := query.NewBlocks(entries, whole, block)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// asked is a query without its cohort.
type asked struct {
	name  string
	terms []query.Term
	loose bool // clips have no effect on it, whether rows are multiplied before or after
}

// questions returns queries of every kind for a loss of d features: clipped and not, around a
// centre and not, and mixed. With at most mostMetric features, queries in a metric and of pairs of
// features are included.
func (w *world) questions(t rapid.TB, l loss.Loss, d int, f frame) (list []asked) {
	const mostMetric = 40
	size := loss.Parameters(loss.RowLoss(l), d)
	r, runs := rand.New(rand.NewPCG(w.seed, 5)), blocks(l, d)
	vector := func() []float64 {
		v := make([]float64, size)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		return f.put(v, runs)
	}
	x, prev, along := vector(), vector(), vector()
	length := 0.
	for _, v := range along {
		length += v * v
	}
	unit := slices.Clone(along)
	for j := range unit {
		unit[j] /= math.Sqrt(length)
	}
	steep, gap, lo, hi := bounds(l)
	var on query.Cohort
	of := func(terms ...query.Term) []query.Term { return terms }
	there, change := query.GradientAt(on, x, 3*steep), query.DifferenceWithin(on, x, prev, 6*steep)
	bent := query.DifferenceByCurvature(on, x, prev, lo, hi)
	ball, envelope := query.Smoothing{Radius: .7}, query.Smoothing{Radius: .3, By: query.LasryLions}
	first := query.Smoothing{Radius: .3, By: query.Gradients, Directions: 3, Seed: 5}
	zero := query.Smoothing{Radius: .2, By: query.Values, Directions: 2, Seed: 6}
	list = []asked{
		{"gradient", of(there), true},
		{"gradient, clipped", of(query.GradientAt(on, x, steep/7)), false},
		{"difference", of(bent), false},
		{"difference around 0", of(change), true},
		{"difference, clipped", of(query.DifferenceWithin(on, x, prev, steep/9)), false},
		{"mix", of(there.Weighted(.3), change.Weighted(.7)), true},
		{"mix of three", of(bent, query.GradientAt(on, prev, steep/2).Weighted(2), change), false},
		{"value", of(query.ValueAt(on, x, gap, gap)), true},
		{"difference of values", of(query.ValueChangeAt(on, x, prev, gap)), true},
		{"difference of values, off centre", of(query.ValueChangeWithin(on, x, prev, gap/2, gap)), true},
		{"two values", of(query.ValueAt(on, x, 1, 1), query.ValueAt(on, prev, 0, .5).Weighted(3)), true},
		{"norm, shifted", of(query.NormAt(on, x, 3*steep, prev)), true},
		{"product", of(query.ProductAt(on, x, along, lo, hi)), false},
		{"change of products", of(query.ProductChangeAt(on, prev, x, along, lo, hi, .5)), false},
		{"curvature along", of(query.CurvatureAlongAt(on, x, unit, lo, hi)), true},
		{"smoothed", of(there.Smoothed(ball)), false},
		{"by an envelope", of(query.GradientAt(on, x, steep/3).Smoothed(envelope)), false},
		{"by gradients around", of(query.GradientAt(on, x, steep).Smoothed(first)), false},
		{"by values around", of(query.DifferenceWithin(on, x, prev, steep).Smoothed(zero)), false},
	}
	if d > mostMetric {
		return list
	}
	m := f.metric(t, d, w.seed)
	among := make([]float64, d)
	for j := range among {
		among[j] = r.NormFloat64() / 4
	}
	among = frame{place: f.place}.put(among, 1)
	return append(list,
		asked{"second moment", of(query.SecondMomentOf(on, d)), false},
		asked{"mean row", of(query.RowMeanOf(on, d)), false},
		asked{"squared features", of(query.SquaredFeaturesOf(on, d)), false},
		asked{"squares and pairs", of(query.BlockMomentOf(on, f.half(d))), false},
		asked{"in a metric of blocks", of(query.GradientInMetric(on, x, steep/2, 2*steep, f.blocks(t, d, w.seed))), false},
		asked{"squared distance", of(query.SquaredDistanceFrom(on, among, 2)), false},
		asked{"centred moment", of(query.CentredMomentOf(on, among, .4)), false},
		asked{"curvature", of(query.CurvatureAt(on, x, hi)), false},
		asked{"weighted gradient", of(query.WeightedGradientAt(on, x, steep, .7, m)), false},
		asked{"weighted curvature", of(query.WeightedCurvatureAt(on, x, hi, .7, m)), false},
		asked{"scores", of(query.ScoreMomentAt(on, x, steep, .7, m)), false},
		asked{"weighted moment", of(query.WeightedMomentOf(on, .7, m)), false},
		asked{"in a metric", of(query.GradientInMetric(on, x, steep, 2*steep, m)), false},
		asked{"in a metric, smoothed", of(query.GradientInMetric(on, prev, steep/2, 2*steep, m).Smoothed(ball)), false},
		asked{"squared slope", of(query.SquaredSlopeAt(on, x, steep*steep, m)), false},
	)
}

// answer is the result of a query in a session; err is not nil if the session refused it.
type answer struct {
	asked
	cohort string
	err    error
	session.Exchange
}

// opener opens a session that reports every release, with the exact sum, to w.
type opener func(w session.Watcher) (*curator.Session, error)

// open opens sessions over a configuration.
func (w *world) open(c curator.Config) opener {
	return func(watch session.Watcher) (*curator.Session, error) {
		return curator.OpenWatched(context.Background(), c, w.seed, watch)
	}
}

// answers makes all queries in a session, on all records and on a drawn cohort.
func (w *world) answers(t rapid.TB, l loss.Loss, f frame, open opener) (list []answer) {
	t.Helper()
	var last session.Exchange
	s, err := open(func(x session.Exchange) (any, error) {
		last = x
		return x.Released, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, w)
	}
	defer s.Close()
	cohorts := map[string]query.Cohort{"all": s.All(), "drawn": w.draw(t, s)}
	for _, a := range w.questions(t, l, rowFeatures(l, s.Dim()), f) {
		for _, name := range []string{"all", "drawn"} {
			on := cohorts[name]
			if on == (query.Cohort{}) {
				continue
			}
			var terms []query.Term
			for _, term := range a.terms {
				terms = append(terms, term.Over(on))
			}
			q, err := query.New(1e-3, terms...)
			if err == nil {
				_, err = s.Ask(context.Background(), q)
			}
			one := answer{asked: a, cohort: name, err: err}
			if err == nil {
				one.Exchange = last
			}
			list = append(list, one)
		}
	}
	if !slices.ContainsFunc(list, func(a answer) bool { return a.err == nil && a.cohort == "all" }) {
		t.Fatalf("nothing is answered: %v\n%v", list[0].err, w)
	}
	return list
}

// rowFeatures returns the number of features of a row, if records have the given number.
func rowFeatures(l loss.Loss, features int) int {
	if d := loss.RowFeatures(l, features); d > 0 {
		return d
	}
	return features
}

// draw draws half of the records, if there are at least two.
func (w *world) draw(t rapid.TB, s *curator.Session) query.Cohort {
	t.Helper()
	var c query.Cohort
	var err error
	if w.relation == account.AddOrRemove {
		c, err = s.DrawEach(.5)
	} else if n := int(s.All().Size()); n > 1 {
		c, err = s.Draw(n / 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
