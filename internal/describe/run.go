package describe

import (
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Run makes the releases and the description. refine makes the table answer later questions about rows of another
// schema that refines the request's.
func (r Request) Run(ctx context.Context, table Oracle, refine func(*dataset.Schema) error) (*Description, error) {
	d := &describing{Request: r, z: inference.Quantile(r.Level)}
	schema := r.Schema
	if !slices.ContainsFunc(schema.Columns(), isNumber) { // nothing to place
		s, err := r.ask(ctx, table, schema, r.Charge, refine)
		if err != nil {
			return nil, err
		}
		d.stages = []*stage{s}
		return d.description(), nil
	}
	d.found = map[string]span{}
	for i, share := range Shares {
		s, err := r.ask(ctx, table, schema, share*r.Charge, refine)
		if err != nil {
			return nil, err
		}
		d.stages = append(d.stages, s)
		knots := map[string][]float64{}
		for _, c := range schema.Columns() {
			switch {
			case !isNumber(c):
			case i == 0:
				d.found[c.Name] = s.span(c)
				knots[c.Name] = s.fine(c, d.found[c.Name], d.foreseen())
			case i == 1:
				d.found[c.Name] = d.narrowed(c, d.found[c.Name])
				knots[c.Name] = few(c, d.found[c.Name])
			}
		}
		if schema, err = with(schema, knots); err != nil {
			return nil, err
		}
	}
	return d.description(), nil
}

// describing is a description that is being made.
type describing struct {
	Request
	stages []*stage
	z      float64
	found  map[string]span // of each number, where its numbers are
}

// foreseen returns the standard deviation of the noise of a hat in the second stage.
func (d *describing) foreseen() float64 {
	columns := d.Schema.Columns()
	_, v := d.stages[0].hatted(columns[slices.IndexFunc(columns, isNumber)].Name, false)
	return math.Sqrt(v * Shares[0] / Shares[1])
}

// span is the range in which the first stage found the numbers of a column. seen is false if it found none above the
// noise; the range is then that of the bounds. positive is true if it found none below 0. beyond is the share of the
// rows whose numbers it found elsewhere.
type span struct {
	low, high      float64
	seen, positive bool
	beyond         estimate
}

// sure is the number of standard deviations above which a mass is taken for rows: a column has some hundred windows
// of knots, of which a fault of 1 in 300,000 makes one in a thousand columns.
const sure = 4.5

// span returns the range in which the stage found the numbers of a column: the knots with masses that are surely above
// the noise, alone or together with their neighbours, and a knot more on either side. Where this is more than half of
// public bounds, the range is that of the bounds.
func (s *stage) span(c dataset.Column) span {
	masses, variance := s.hatted(c.Name, false)
	n := len(masses)
	marked := make([]bool, n)
	for w := 1; w <= n; w *= 2 {
		for i := 0; i+w <= n; i++ {
			sum := vector.Total(masses[i : i+w])
			if sum > sure*math.Sqrt(variance*float64(w)) && !slices.Contains(marked[i:i+w], true) {
				for j := range w {
					marked[i+j] = true
				}
			}
		}
	}
	first := slices.Index(marked, true)
	if first < 0 {
		return span{low: c.Low, high: c.High}
	}
	last := n - 1
	for !marked[last] {
		last--
	}
	found := span{low: c.Knots[max(first-1, 0)], high: c.Knots[min(last+1, n-1)], seen: true}
	for i, m := range masses {
		if i < first-1 || i > last+1 {
			found.beyond = estimate{found.beyond.value + m, found.beyond.variance + variance}
		}
	}
	found.positive = c.Knots[first] >= 0
	if !Auto(c) && found.high-found.low > (c.High-c.Low)/2 {
		return span{low: c.Low, high: c.High, seen: true}
	}
	return found
}

// leastFine and mostFine bound the number of knots of the second stage. even is the share of them that are equally
// spaced.
const (
	leastFine, mostFine = 8, 220
	even                = .3
)

// fine returns the knots of the second stage for a column whose numbers are in the given range. Some of them follow the
// range and some the rows. Their number balances the noise of a cumulative mass, which grows with it, and the width of
// a cell. sigma is the noise of a mass in the second stage.
func (s *stage) fine(c dataset.Column, in span, sigma float64) []float64 {
	if !in.seen {
		return c.Knots
	}
	k := min(max(int(math.Pow(3/sigma, 2./3)), leastFine), mostFine)
	masses, _ := s.hatted(c.Name, false)
	var at, mass []float64 // cells between knots of the first stage, within the range
	var total float64
	for i := range len(masses) - 1 {
		if c.Knots[i] < in.low || c.Knots[i+1] > in.high {
			continue
		}
		m := max(masses[i], 0)/2 + max(masses[i+1], 0)/2
		at, mass, total = append(at, c.Knots[i]), append(mass, m), total+m
	}
	at = append(at, in.high)
	var capped float64
	for i := range mass {
		mass[i] = min(mass[i], 4*total/float64(k))
		capped += mass[i]
	}
	knots := []float64{in.low, in.high}
	width := in.high - in.low
	cell, way := 0, 0. // way is the share of knots below the cell
	for i := 1; i < k; i++ {
		want := float64(i) / float64(k)
		for {
			own := even*(at[cell+1]-at[cell])/width + (1-even)*mass[cell]/capped
			if way+own >= want || cell == len(mass)-1 {
				knots = append(knots, at[cell]+min((want-way)/own, 1)*(at[cell+1]-at[cell]))
				break
			}
			way += own
			cell++
		}
	}
	return spaced(c, knots)
}

// narrowed returns the range to whose ends numbers are clamped for means. Where the bounds are left to the description
// it is that of nearly all numbers in the histogram of the second stage.
func (d *describing) narrowed(c dataset.Column, in span) span {
	if !in.seen || in.low <= c.Low && in.high >= c.High {
		return in
	}
	masses, variance := d.stages[1].hatted(c.Name, false)
	total := vector.Total(masses)
	knots := d.stages[1].column(c.Name).Knots
	f := cumulated(knots, masses, variance, estimate{total, 0})
	p := f.outer()
	low, high := f.quantile(p, d.z, in).Low, f.quantile(1-p, d.z, in).High
	wide := (high - low) / 10
	narrow := in
	for i := range knots { // from knot to knot, so that the histogram has the ends
		if x := knots[i]; x <= low-wide {
			narrow.low = max(narrow.low, x)
		}
		if x := knots[len(knots)-1-i]; x >= high+wide {
			narrow.high = min(narrow.high, x)
		}
	}
	return narrow
}

// few returns the five knots of the third stage: the range's ends, and numbers between them.
func few(c dataset.Column, in span) []float64 {
	inner := 1
	if in.low <= c.Low {
		inner++
	}
	if in.high >= c.High {
		inner++
	}
	knots := []float64{in.low, in.high}
	for i := 1; i <= inner; i++ {
		knots = append(knots, in.low+float64(i)/float64(inner+1)*(in.high-in.low))
	}
	return spaced(c, knots)
}
