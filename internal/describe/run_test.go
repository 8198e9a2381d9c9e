package describe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// public is an oracle that answers without noise about rows that a test knows, and states a noise.
type public struct {
	t       *testing.T
	header  []string
	rows    [][]string
	sigma   float64
	schemas []*dataset.Schema
	charges []float64
}

func (o *public) All() query.Cohort { return query.NewCohort(0, float64(len(o.rows))) }

func (o *public) Ask(_ context.Context, q query.Question) (query.Release, error) {
	m, err := o.schemas[len(o.schemas)-1].BindUnlabelled(o.header)
	if err != nil {
		o.t.Fatal(err)
	}
	mean, x := make([]float64, m.Dim()), make([]float32, m.Dim())
	for _, cells := range o.rows {
		if _, ok := m.Encode(x, cells); !ok {
			o.t.Fatalf("%v: is not read", cells)
		}
		for j, v := range x {
			mean[j] += float64(v) / float64(len(o.rows))
		}
	}
	o.charges = append(o.charges, q.Charge())
	return query.Release{Mean: mean, Sigma: o.sigma}, nil
}

func (o *public) refine(s *dataset.Schema) error {
	o.schemas = append(o.schemas, s)
	return nil
}

// TestDescriptionByHand compares a whole description with the numbers of a table: counts, shares, means and the facts of two
// groups, and each interval with the noise of its releases, added up here in another way.
func TestDescriptionByHand(t *testing.T) {
	const records, sigma, level = 4000., 1e-4, .9
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 100}, {Name: "g", Kind: dataset.Category, Categories: []string{"a", "b", "c"}},
			{Name: "h", Kind: dataset.Category, Categories: []string{"u", "v"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: -20, High: 60, Weight: "w"},
	})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := Schema(s, "g")
	if err != nil {
		t.Fatal(err)
	}
	o := &public{t: t, header: []string{"x", "g", "h", "y", "w"}, sigma: sigma}
	for i := range 400 {
		x := fmt.Sprint(20 + .1*float64(i))
		if i%8 == 0 {
			x = ""
		}
		g, h := []string{"a", "b", "b", "b"}[i%4], []string{"u", "u", "v", "v", "v"}[i%5]
		o.rows = append(o.rows, []string{x, g, h, fmt.Sprint(float64(i%7) * 5), ".25"})
	}
	d, err := Request{Schema: schema, Loss: loss.Logistic(), By: "g", Charge: .8, Records: records, Level: level}.Run(t.Context(), o, o.refine)
	if err != nil {
		t.Fatal(err)
	}
	for i, share := range []float64{.25, .45, .3} {
		if !(math.Abs(o.charges[i]-.8*share) <= 1e-12) {
			t.Errorf("stage %d is charged %v: must be %v", i, o.charges[i], .8*share)
		}
	}
	const z = 1.6448536269514722
	precision := 0.
	var deviations []float64
	for _, s := range o.schemas {
		deviations = append(deviations, sigma*s.Scale())
		precision += 1 / math.Pow(sigma*s.Scale(), 2)
	}
	variance := 1 / precision
	same := func(what string, got Value, want, deviation float64) {
		t.Helper()
		if !(math.Abs(got.Estimate-want) <= 1e-5*(1+math.Abs(want))) || !(math.Abs(got.High-got.Estimate-z*deviation) <= 1e-4*z*deviation) &&
			got.High < 1 || got.High > 1 && !(math.Abs(got.High-got.Low-2*z*deviation) <= 1e-4*z*deviation) {
			t.Errorf("%s: %+v: must be %v with the deviation %v", what, got, want, deviation)
		}
	}
	same("rows", d.Rows, records, records*math.Sqrt(variance))
	added := func(n float64, of float64) float64 { return variance*(1-1/n) + of/(n*n) } // of n parts of a sum
	ratio := func(v, share, of, size float64) float64 { return math.Sqrt(v+share*share*of) / size }
	columns := map[string]Column{}
	for _, c := range d.Columns {
		columns[c.Name] = c
	}
	if len(columns) != 5 {
		t.Fatalf("%d columns", len(columns))
	}
	part := added(4, variance)
	for i, want := range []float64{.25, .75, 0, 0} {
		k := columns["g"].Levels[i]
		if want == 0 {
			if k.Columns != nil {
				t.Errorf("%s: a group without rows is described", k.Name)
			}
			continue
		}
		same(k.Name, k.Share, want, ratio(part, want, variance, 1))
		same(k.Name+" counted", k.Count, want*records, records*math.Sqrt(part))
		group := map[string]Column{}
		for _, c := range k.Columns {
			group[c.Name] = c
		}
		u := group["h"].Levels[0]
		own := added(3, part)
		same("u in "+k.Name, u.Share, .4, ratio(own, .4, part, want))
		same("u in "+k.Name+" counted", u.Count, .4*want*records, records*math.Sqrt(own))
		mean := 0.
		n := 0.
		for _, cells := range o.rows {
			var y float64
			if fmt.Sscan(cells[3], &y); cells[1] == k.Name {
				mean, n = mean+y, n+1
			}
		}
		if y := group["y"].Mean; y == nil || !(math.Abs(y.Estimate-mean/n) <= 1e-3) {
			t.Errorf("mean of y in %s: %+v: must be %v", k.Name, y, mean/n)
		}
		if len(group) != 4 {
			t.Errorf("%s: %d columns", k.Name, len(group))
		}
	}
	if list := columns["h"].Levels; len(list) != 3 || list[0].Name != "u" || list[1].Name != "v" || list[2].Name != "other" {
		t.Errorf("levels of h: %+v", list)
	}
	x := columns["x"]
	same("missing", *x.Missing, .125, ratio(variance, .125, variance, 1))
	mean, square, n := 0., 0., 0.
	for _, cells := range o.rows {
		var v float64
		if k, _ := fmt.Sscan(cells[0], &v); k == 1 {
			mean, square, n = mean+v, square+v*v, n+1
		}
	}
	mean /= n
	last := o.schemas[2].Columns()[0].Knots
	off := 0.
	for _, k := range last {
		off += math.Pow(min(max(k, x.Within[0]), x.Within[1])-mean, 2)
	}
	same("mean of x", *x.Mean, mean, math.Sqrt(off)*deviations[2]/spline.Scale/.875)
	if s := math.Sqrt(square/n - mean*mean); !(math.Abs(x.Spread.Estimate/s-1) <= .01) || x.Spread.Low > s || x.Spread.High < s {
		t.Errorf("deviation of x: %+v: must be %v", x.Spread, s)
	}
	for i, q := range []float64{.05, .25, .5, .75, .95} {
		if v := x.Quantiles[i]; v.Share != q || v.Low > 20+40*q || v.High < 20+40*q || !(math.Abs(v.Estimate-20-40*q) <= 1) {
			t.Errorf("quantile %v of x: %+v: must be %v", q, v, 20+40*q)
		}
	}
	if b := x.Bounds; len(b) != 2 || b[0] < 14 || b[0] > 18 || b[1] < 62 || b[1] > 66 {
		t.Errorf("bounds of x: %v", b)
	}
	if w := columns["w"]; w.Mean == nil || !(math.Abs(w.Mean.Estimate-.25) <= 1e-3) || len(o.schemas[0].Columns()[4].Knots) != 33 {
		t.Errorf("%+v", w)
	}
	if w := o.schemas[0].Columns()[4]; w.Low != 0 || w.High != 1 {
		t.Errorf("bounds of the weight: %v to %v", w.Low, w.High)
	}
}

// TestOtherIsNoLevelTwice: a class named other counts with the cells of no listed value.
func TestOtherIsNoLevelTwice(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"a", "other", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	described, err := Schema(s, "y")
	if err != nil || !slices.Equal(described.Columns()[1].Categories, []string{"a", "b"}) {
		t.Errorf("%v", err)
	}
}

// TestUnitsOfSeveralRows: the released mean of a unit's rows, one after the other, is that of the sum of its rows, and the noise
// of the sum is that of as many features.
func TestUnitsOfSeveralRows(t *testing.T) {
	schema := schemaOf(t)
	l, err := loss.NewUnits(loss.Logistic(), 3, false)
	if err != nil {
		t.Fatal(err)
	}
	answer := make([]float64, loss.RecordFeatures(l, schema.Dim()))
	for j := range answer {
		answer[j] = float64(j + 1)
	}
	d := schema.Dim()
	o := fixed{query.Release{Mean: answer, Sigma: .5}}
	s, err := Request{Schema: schema, Loss: l}.ask(t.Context(), o, schema, .1, func(*dataset.Schema) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	factor := schema.Scale() * targetpair.Rows{Features: d, Most: 3}.Scale()
	if !close(s.sigma, .5*math.Sqrt(3)*factor, 1e-12) || len(s.mean) != d {
		t.Errorf("noise %v of %d features: must be %v of %d", s.sigma, len(s.mean), .5*math.Sqrt(3)*factor, d)
	}
	for j, v := range s.mean {
		if want := factor * (answer[j] + answer[d+j] + answer[2*d+j]); !close(v, want, 1e-12) {
			t.Errorf("feature %d: %v: must be %v", j, v, want)
		}
	}
}

type fixed struct{ answer query.Release }

func (o fixed) All() query.Cohort { return query.NewCohort(0, 10) }

func (o fixed) Ask(context.Context, query.Question) (query.Release, error) { return o.answer, nil }

// TestNumbersWithoutBounds: numbers up to a thousandth are told apart from 0 only where bounds are public. There rounding is half
// of a step of the row map, the range is that around 0, and knots are 1, 2 and 5 times powers of ten.
func TestNumbersWithoutBounds(t *testing.T) {
	auto, known := dataset.Column{Name: "x", Kind: dataset.Number, High: autobounds.Number}, dataset.Column{Name: "x", Kind: dataset.Number, High: 9}
	for _, c := range []struct {
		low, high float64
		want      bool
	}{{-.001, .001, true}, {-.0011, .001, false}, {-.001, .0011, false}, {0, 0, true}} {
		if got := zeros(auto, span{low: c.low, high: c.high}); got != c.want || zeros(known, span{low: c.low, high: c.high}) {
			t.Errorf("%+v: only zeros %v", c, got)
		}
	}
	if rounding(auto) != 1./8192 || rounding(known) != 0 || rounding(dataset.Column{Kind: dataset.Date, Low: autobounds.First, High: autobounds.Last}) != 0 {
		t.Errorf("numbers are rounded by %v and %v", rounding(auto), rounding(known))
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{auto, {Name: "z", Kind: dataset.Number, Low: -4, High: 28}},
		Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1}})
	if err != nil {
		t.Fatal(err)
	}
	described, err := Schema(s, "")
	if err != nil {
		t.Fatal(err)
	}
	x, z := described.Columns()[0], described.Columns()[1]
	if x.Low != -autobounds.Number || x.High != autobounds.Number {
		t.Errorf("bounds %v to %v", x.Low, x.High)
	}
	want := []float64{-autobounds.Number, 0, autobounds.Number}
	for e := -3; e <= 11; e++ {
		for _, digit := range []float64{1, 2, 5} {
			want = append(want, digit*math.Pow10(e), -digit*math.Pow10(e))
		}
	}
	slices.Sort(want)
	if !slices.Equal(x.Knots, want) {
		t.Errorf("knots %v: must be %v", x.Knots, want)
	}
	for i, k := range z.Knots {
		if len(z.Knots) != 33 || !close(k, float64(i)-4, 1e-12) {
			t.Errorf("%d knots, number %d is %v", len(z.Knots), i, k)
		}
	}
}

// TestQuantileAtOneKnot: a quantile is a knot if it has more than four times the masses beside it, and where the cells below
// have less than all numbers it is on the line to the end of the range.
func TestQuantileAtOneKnot(t *testing.T) {
	knots := []float64{0, 1, 2, 3, 4}
	for mass, want := range map[float64]float64{.79: 1.9, .81: 2} {
		f := distribution{knots: knots, masses: []float64{0, .1, mass, .1, 0}}
		if got := f.atom(1.9); got != want {
			t.Errorf("a mass of %v: %v", mass, got)
		}
	}
	f := distribution{knots: knots, at: []float64{.1, .2, .3, .6}, of: estimate{1, 0}}
	if got, want := f.point(.8, span{low: 0, high: 4}), 3.5+.5*(.8-.6)/(1-.6); !close(got, want, 1e-12) {
		t.Errorf("%v: must be %v", got, want)
	}
	f.at[3] = 1.02
	if got := f.point(1.05, span{low: 0, high: 4}); got != 4 {
		t.Errorf("%v: must be the end of the range", got)
	}
}

// TestRoundingIsInEveryInterval: where bounds are left to a description, the row map stores numbers with a rounding, which the
// interval of each number counts on both sides: of means, of means in groups and of quantiles, whose ends are knots without it.
// Numbers with public bounds have intervals of the noise alone.
func TestRoundingIsInEveryInterval(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "auto", Kind: dataset.Number, High: autobounds.Number}, {Name: "known", Kind: dataset.Number, High: 10},
			{Name: "g", Kind: dataset.Category, Categories: []string{"a", "b"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"u", "v"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := Schema(s, "g")
	if err != nil {
		t.Fatal(err)
	}
	const noise = 1e-9
	o := &public{t: t, header: []string{"auto", "known", "g", "y"}, sigma: noise}
	for i := range 400 {
		x := fmt.Sprint(2 + .0625*float64(i%64))
		o.rows = append(o.rows, []string{x, x, []string{"a", "b", "b", "b"}[i%4], []string{"u", "v"}[i%2]})
	}
	d, err := Request{Schema: schema, Loss: loss.Logistic(), By: "g", Charge: .8, Records: 400, Counted: true, Level: .95}.Run(t.Context(), o, o.refine)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	check := func(what, name string, v *Value) {
		t.Helper()
		if v == nil {
			t.Errorf("%s of %s is not stated", what, name)
			return
		}
		found++
		want := 0.
		if name == "auto" {
			want = autobounds.Step / 2
		}
		for _, side := range []float64{v.Estimate - v.Low, v.High - v.Estimate} {
			if !(side >= want) || what != "quantile" && what != "deviation" && side > want+1e-3*autobounds.Step {
				t.Errorf("%s of %s: %+v: its interval has %v on a side, and the rounding is %v", what, name, *v, side, want)
			}
		}
	}
	for _, c := range d.Columns {
		switch c.Name {
		case "auto", "known":
			check("mean", c.Name, c.Mean)
			check("deviation", c.Name, c.Spread)
			column := o.schemas[1].Columns()[slices.IndexFunc(o.schemas[1].Columns(), func(of dataset.Column) bool { return of.Name == c.Name })]
			for i, q := range c.Quantiles { // from knot to knot
				check("quantile", c.Name, &c.Quantiles[i].Value)
				for _, end := range []float64{q.Low + rounding(column), q.High - rounding(column)} {
					if !slices.ContainsFunc(column.Knots, func(k float64) bool { return close(k, end, 1e-9) }) {
						t.Errorf("quantile %v of %s: %+v: %v must be a knot", q.Share, c.Name, q.Value, end)
					}
				}
			}
		case "g":
			for _, k := range c.Levels[:2] {
				for _, in := range k.Columns {
					if in.Name != "y" {
						check("mean in "+k.Name, in.Name, in.Mean)
					}
				}
			}
		}
	}
	if found != 2*(1+1+len(quantiles)+2) {
		t.Errorf("%d intervals", found)
	}
}
