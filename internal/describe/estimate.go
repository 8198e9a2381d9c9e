package describe

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
)

// quantiles are the shares of a column's numbers below its quantiles.
var quantiles = []float64{.05, .25, .5, .75, .95}

// description computes the description from the releases.
func (d *describing) description() *Description {
	out := &Description{Level: d.Level, By: d.By}
	total := estimate{1, 0}
	if !d.Counted {
		last := func(s *stage) int { return len(s.mean) - 1 }
		mean, variance := pooled(d.stages, last, 1)
		total = estimate{mean[0], variance}
	}
	out.Rows = d.value(estimate{total.value * d.Records, total.variance * d.Records * d.Records}, 0, math.Inf(1))
	for _, c := range d.Schema.Columns() {
		switch {
		case c.Kind == dataset.Category:
			out.Columns = append(out.Columns, d.category(c, total))
		case isNumber(c):
			out.Columns = append(out.Columns, d.number(c, total))
		}
	}
	return out
}

// value returns an estimate with its interval around it, both within [low, high].
func (d *describing) value(e estimate, low, high float64) Value {
	half := d.z * math.Sqrt(e.variance)
	in := func(x float64) float64 { return min(max(x, low), high) }
	return Value{in(e.value), in(in(e.value) - half), in(in(e.value) + half)}
}

// category describes a category, and by the values of the category By also the other columns.
func (d *describing) category(c dataset.Column, total estimate) Column {
	masses, variance := pooled(d.stages, func(s *stage) int { return s.at[c.Name] }, len(c.Categories)+1)
	variance = adding(masses, variance, total)
	out := Column{Name: c.Name, Kind: c.Kind.String(), Levels: d.levels(c, masses, variance, total)}
	if c.Name != d.By {
		return out
	}
	for i := range out.Levels {
		group := estimate{masses[i], variance}
		if group.value < 5*math.Sqrt(variance) {
			continue
		}
		out.Levels[i].Columns = d.group(i, len(masses), group)
	}
	return out
}

// levels returns the values of a category with their shares of a number of rows.
func (d *describing) levels(c dataset.Column, masses []float64, variance float64, of estimate) (list []Level) {
	for i, name := range append(slices.Clone(c.Categories), "other") {
		mass := estimate{masses[i], variance}
		count := estimate{mass.value * d.Records, mass.variance * d.Records * d.Records}
		list = append(list, Level{Name: name, Share: d.value(mass.over(of), 0, 1), Count: d.value(count, 0, math.Inf(1))})
	}
	return list
}

// group describes the other columns in the rows of group g of several. size is the group's number of rows for each
// record.
func (d *describing) group(g, groups int, size estimate) (list []Column) {
	for _, c := range d.Schema.Columns() {
		switch out := (Column{Name: c.Name, Kind: c.Kind.String()}); {
		case c.Name == d.By:
		case c.Kind == dataset.Category:
			n := len(c.Categories) + 1
			masses, variance := pooled(d.stages, func(s *stage) int { return s.cross[c.Name] + g*n }, n)
			variance = adding(masses, variance, size)
			out.Levels = d.levels(c, masses, variance, size)
			list = append(list, out)
		case isNumber(c):
			s, in := d.stages[len(d.stages)-1], d.found[c.Name]
			all, variance := s.hatted(c.Name, true)
			k := len(all) / groups
			if in.seen && !zeros(c, in) && k == len(s.column(c.Name).Knots) {
				out.Within = []float64{in.low, in.high}
				out.Mean = d.mean(s.column(c.Name).Knots, in, all[g*k:(g+1)*k], variance).widened(rounding(c))
			}
			list = append(list, out)
		}
	}
	return list
}

// zeros reports whether only zeros were found in a column: smaller numbers than leastSeen are not told apart from 0
// where the bounds are left to a description.
func zeros(c dataset.Column, in span) bool {
	return Auto(c) && in.low >= -leastSeen && in.high <= leastSeen
}

// rounding is the largest distance between a number and what the row map stores of it, where its bounds are left to a
// description. It is 0 for other columns, which are stored far better than noise lets numbers be told apart.
func rounding(c dataset.Column) float64 {
	if c.Kind == dataset.Number && Auto(c) {
		return autobounds.Step / 2
	}
	return 0
}

// widened returns the value with the interval that also counts a rounding of each number by at most the given distance.
func (v *Value) widened(rounding float64) *Value {
	if v != nil {
		v.Low, v.High = v.Low-rounding, v.High+rounding
	}
	return v
}

// column returns a column of the stage's schema.
func (s *stage) column(name string) dataset.Column {
	columns := s.schema.Columns()
	return columns[slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == name })]
}

// number describes a number or a date.
func (d *describing) number(c dataset.Column, total estimate) Column {
	out := Column{Name: c.Name, Kind: c.Kind.String()}
	absent, variance := pooled(d.stages, func(s *stage) int { return s.at[c.Name] + 1 }, 1)
	missing := estimate{absent[0], variance}
	out.Missing = new(d.value(missing.over(total), 0, 1))
	in := d.found[c.Name]
	if !in.seen {
		return out
	}
	out.Within = []float64{in.low, in.high}
	if in.beyond.variance > 0 {
		out.Beyond = new(d.value(in.beyond.over(total), 0, 1))
	}
	last := d.stages[len(d.stages)-1]
	masses, variance := last.hatted(c.Name, false)
	only := zeros(c, in)
	if !only {
		out.Mean = d.mean(last.column(c.Name).Knots, in, masses, variance).widened(rounding(c))
	}
	fine := d.stages[1]
	masses, variance = fine.hatted(c.Name, false)
	knots := fine.column(c.Name).Knots
	if !only {
		out.Spread = d.spread(knots, in, masses, variance, rounding(c))
	}
	known := estimate{total.value - max(missing.value, 0), total.variance + missing.variance}
	if known.value < 5*math.Sqrt(known.variance) {
		return out
	}
	f := cumulated(knots, masses, variance, known)
	for _, q := range quantiles {
		v := f.quantile(q, d.z, in)
		out.Quantiles = append(out.Quantiles, Quantile{q, *v.widened(rounding(c))})
	}
	p := f.outer()
	low, high := f.quantile(p, d.z, in), f.quantile(1-p, d.z, in)
	if only {
		return out
	}
	out.Bounds = bounds(c, max(low.Low, in.low), min(high.High, in.high), in)
	return out
}

// mean returns the mean of numbers clamped to a range, from the masses of hats whose knots include its ends: it is
// the ratio of two sums of masses. It is nil if the rows are too few for the noise.
func (d *describing) mean(knots []float64, in span, masses []float64, variance float64) *Value {
	middle := in.low + (in.high-in.low)/2
	var sum, size float64
	for i, m := range masses {
		sum += (min(max(knots[i], in.low), in.high) - middle) * m
		size += m
	}
	if size < 5*math.Sqrt(variance*float64(len(masses))) {
		return nil
	}
	mean := middle + sum/size
	var square float64
	for i := range masses {
		off := min(max(knots[i], in.low), in.high) - mean
		square += off * off
	}
	return new(d.value(estimate{mean, variance * square / (size * size)}, in.low, in.high))
}

// spread returns the standard deviation of numbers clamped to a range, from the masses of a histogram's hats. The sum
// of the masses times the squares of their knots is that of the squares of the numbers and, for each number, of the
// product of its distances from the two knots beside it. The product is at most a quarter of the squared cell, which
// widens the interval, and a sixth on average, which the estimate assumes. The interval also counts a rounding of each
// number by at most the given distance, and does not go below 0.
func (d *describing) spread(knots []float64, in span, masses []float64, variance, rounding float64) *Value {
	at := make([]float64, len(knots))
	var sum, size float64
	for i, m := range masses {
		at[i] = min(max(knots[i], in.low), in.high)
		sum, size = sum+at[i]*m, size+m
	}
	if size < 5*math.Sqrt(variance*float64(len(masses))) {
		return nil
	}
	mean := sum / size
	var square, cells, widest, noise float64
	for i, m := range masses {
		off := at[i] - mean
		square += off * off * m / size
		noise += off * off * off * off
		var h, most, sides float64 // the mean square of the cells beside the knot, and the largest
		for _, k := range []int{max(i-1, 0), min(i+1, len(at)-1)} {
			if c := (at[k] - at[i]) * (at[k] - at[i]); k != i {
				h, most, sides = h+c, max(most, c), sides+1
			}
		}
		cells += h / sides * max(m, 0) / size
		widest += most * max(m, 0) / size
	}
	half := d.z * math.Sqrt(variance*noise) / size
	root := func(x float64) float64 { return math.Sqrt(max(x, 0)) }
	return &Value{root(square - cells/6), max(root(square-widest/4-half)-rounding, 0), root(square+half) + rounding}
}

// bounds returns bounds for a fit: a tenth wider than low and high on either side, rounded outwards to two digits of
// their distance and within the public bounds. Where no number below zero was found, the lower bound is not below it.
func bounds(c dataset.Column, low, high float64, in span) []float64 {
	wide := (high - low) / 10
	if !(wide > 0) {
		return nil
	}
	step := math.Pow10(int(math.Floor(math.Log10(high-low))) - 1)
	if c.Kind == dataset.Date {
		step = 1
	}
	from, to := math.Floor((low-wide)/step)*step, math.Ceil((high+wide)/step)*step
	if in.positive && from < 0 && c.Kind != dataset.Date {
		from = 0
	}
	return []float64{tidy(max(from, c.Low)), tidy(min(to, c.High))}
}

// tidy returns the number with at most 12 significant digits.
func tidy(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow10(11 - int(math.Floor(math.Log10(math.Abs(x)))))
	if r := math.Round(x*scale) / scale; !math.IsInf(r, 0) && !math.IsNaN(r) {
		return r
	}
	return x
}

// distribution has the cumulative masses of hats. at[j] is the sum of the masses of the hats up to knot j, an average
// of the distribution function over the cell from knot j to knot j+1: at most its value at knot j+1, and at least its
// value at knot j.
type distribution struct {
	knots    []float64
	masses   []float64
	at       []float64
	variance float64
	of       estimate // the sum of all masses
}

// cumulated returns the cumulative masses of hats whose sum is known up to the noise of the estimate of.
func cumulated(knots, masses []float64, variance float64, of estimate) distribution {
	f := distribution{knots: knots, masses: masses, variance: variance, of: of}
	rest := of.value
	for _, m := range masses {
		rest -= m
	}
	var sum float64
	for _, m := range masses[:len(masses)-1] {
		sum += m + rest/float64(len(masses))
		f.at = append(f.at, sum)
	}
	return f
}

// deviation returns the standard deviation of the noise of at[j] - q times the sum of the masses.
func (f distribution) deviation(j int, q float64) float64 {
	n := float64(len(f.knots))
	below := float64(j + 1)
	r := below / n
	return math.Sqrt(f.variance*(below*(1-r)*(1-r)+(n-below)*r*r) + (r-q)*(r-q)*f.of.variance)
}

// quantile returns the number below which the share q of the numbers is, with an interval: the cells at which a test
// of that hypothesis does not reject it, counted from either end. z is the tests' quantile. Where no test rejects, the
// interval ends at the column's bound. The estimate is within the range in.
func (f distribution) quantile(q, z float64, in span) Value {
	v := Value{Low: f.knots[0], High: f.knots[len(f.knots)-1]}
	for j, sum := range f.at {
		if !(q*f.of.value-sum > z*f.deviation(j, q)) {
			break
		}
		v.Low = f.knots[j]
	}
	for j := len(f.at) - 1; j >= 0; j-- {
		if !(f.at[j]-q*f.of.value > z*f.deviation(j, q)) {
			break
		}
		v.High = f.knots[j+1]
	}
	v.Estimate = min(max(f.atom(f.point(q, in)), v.Low), v.High)
	return v
}

// outer returns the share of the numbers beyond either of two quantiles that are as far out as the noise allows: the
// intervals of quantiles further out would have no outer end.
func (f distribution) outer() float64 {
	return min(.005+2*f.deviation(len(f.at)/2, .5)/f.of.value, .25)
}

// atom returns the number x or, if nearly all numbers near x are at one knot, that knot.
func (f distribution) atom(x float64) float64 {
	for k := 1; k < len(f.knots)-1; k++ {
		if f.knots[k-1] < x && x < f.knots[k+1] && f.masses[k] > 4*(max(f.masses[k-1], 0)+max(f.masses[k+1], 0)) {
			return f.knots[k]
		}
	}
	return x
}

// point returns the estimate of a quantile: the averages of the distribution function over cells, made monotone, are
// taken for its values in their middles and joined by lines. A cell outside of the range is a point at its end.
func (f distribution) point(q float64, in span) float64 {
	rising := isotonic(f.at)
	x, share := in.low, 0.
	for j, sum := range rising {
		left, right := max(f.knots[j], in.low), min(f.knots[j+1], in.high)
		middle, next := left+(right-left)/2, sum/f.of.value
		if next >= q {
			if next == share {
				return middle
			}
			return x + (middle-x)*(q-share)/(next-share)
		}
		x, share = middle, max(next, 0)
	}
	if share >= 1 {
		return in.high
	}
	return x + (in.high-x)*(q-share)/(1-share)
}

// isotonic returns the rising numbers that are nearest to the given ones, by pooling neighbours.
func isotonic(v []float64) []float64 {
	type block struct {
		sum float64
		n   int
	}
	var blocks []block
	for _, x := range v {
		blocks = append(blocks, block{x, 1})
		for k := len(blocks); k > 1 && blocks[k-2].sum*float64(blocks[k-1].n) >= blocks[k-1].sum*float64(blocks[k-2].n); k-- {
			blocks[k-2] = block{blocks[k-2].sum + blocks[k-1].sum, blocks[k-2].n + blocks[k-1].n}
			blocks = blocks[:k-1]
		}
	}
	var rising []float64
	for _, b := range blocks {
		for range b.n {
			rising = append(rising, b.sum/float64(b.n))
		}
	}
	return rising
}
