package synthetic

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Bins divides the rows by the values of one column: by its levels, or by intervals with about equal numbers of rows.
type Bins struct {
	Column string
	Names  []string
	Mass   []float64
	of     []int // the bin of each row
}

const (
	mostLevels = 11 // levels with bins of their own, the most frequent ones
	intervals  = 6
)

// Bins returns the bins of each column that has features.
func (p *Population) Bins() (list []Bins) {
	for cell, c := range p.schema.Columns() {
		var b Bins
		switch c.Kind {
		case dataset.Ignore, dataset.Public:
			continue
		case dataset.Category, dataset.Hash:
			b = p.byLevel(cell, c)
		default:
			b = p.byNumber(cell, c)
		}
		b.Column = c.Name
		b.Mass = make([]float64, len(b.Names))
		for i, k := range b.of {
			b.Mass[k] += p.Mass[i]
		}
		list = append(list, b)
	}
	return list
}

func (p *Population) byLevel(cell int, c dataset.Column) (b Bins) {
	width := max(len(c.Categories), c.Buckets) + 1
	less := make([]float64, width) // the masses of the levels, negated
	for i, v := range p.readings[cell] {
		less[int(v)] -= p.Mass[i]
	}
	to := make([]int, width)
	for k, level := range vector.Order(less) {
		if k >= mostLevels && width > mostLevels+1 {
			to[level] = mostLevels
			continue
		}
		to[level] = k
		switch {
		case level < len(c.Categories):
			b.Names = append(b.Names, c.Categories[level])
		case level == width-1:
			b.Names = append(b.Names, "other")
		default:
			b.Names = append(b.Names, "bucket "+strconv.Itoa(level+1))
		}
	}
	if width > mostLevels+1 {
		b.Names = append(b.Names, "the rest")
	}
	b.of = vector.Map(p.readings[cell], func(v float64) int { return to[int(v)] })
	return b
}

func (p *Population) byNumber(cell int, c dataset.Column) (b Bins) {
	x := p.readings[cell]
	order := make([]int, 0, len(x))
	var known float64
	for i, v := range x {
		if v == v {
			order, known = append(order, i), known+p.Mass[i]
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	b.of = make([]int, len(x))
	from, before := 0, 0.
	for r, i := range order {
		b.of[i] = len(b.Names)
		before += p.Mass[i]
		last := r == len(order)-1
		if !last && (x[order[r+1]] == x[i] || before < known*float64(len(b.Names)+1)/intervals) {
			continue
		}
		name := cellOf(c, x[order[from]])
		if end := cellOf(c, x[i]); end != name {
			name += " to " + end
		}
		b.Names, from = append(b.Names, name), r+1
	}
	if len(order) < len(x) {
		for i, v := range x {
			if v != v {
				b.of[i] = len(b.Names)
			}
		}
		b.Names = append(b.Names, "missing")
	}
	return b
}

// cellOf returns the cell of a column whose reading is u, with three digits.
func cellOf(c dataset.Column, u float64) string {
	from, to := c.Transformed()
	v := from + float64((to-from)*((u+1)/2))
	if c.Transform == dataset.Log1p {
		v = repromath.Exp(v) - 1
	}
	if c.Kind == dataset.Date {
		return dataset.ShowDay(math.Floor(v))
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Pair is what a score says of two columns together that no sum of functions of single columns says. A and B are
// indices of bins' columns.
type Pair struct {
	A, B int
	// Share is the pair's share of the score's variance. Effect has the mean of the score's rest in each pair of bins,
	// and Mass the share of the rows there.
	Share        float64
	Effect, Mass [][]float64
}

// Explained is a decomposition of a score's variance over the rows.
type Explained struct {
	// Alone is, for each column, the share of the variance that the best function of the column's bins explains.
	// Shares of columns that depend on each other overlap.
	Alone []float64
	// Sum is the share that the best sum of functions of single columns explains, and Pairs what pairs explain of the
	// rest, the largest first.
	Sum   float64
	Pairs []Pair
}

const (
	rounds      = 20 // of backfitting
	mostColumns = 24 // whose pairs are looked at, those with the largest shares alone
)

// Explain decomposes the variance of a score, a number of each row.
func (p *Population) Explain(score []float64, bins []Bins) (e Explained) {
	mean := vector.Dot(score, p.Mass)
	rest := vector.Map(score, func(v float64) float64 { return v - mean })
	variance := func() (sum float64) {
		for i, v := range rest {
			sum += float64(p.Mass[i] * float64(v*v))
		}
		return sum
	}
	whole := variance()
	if !(whole > 0) {
		return e
	}
	means := func(b Bins) []float64 {
		out := make([]float64, len(b.Names))
		for i, k := range b.of {
			out[k] += float64(p.Mass[i] * rest[i])
		}
		for k, m := range b.Mass {
			if m > 0 {
				out[k] /= m
			}
		}
		return out
	}
	for _, b := range bins {
		share := 0.
		for k, v := range means(b) {
			share += float64(b.Mass[k] * float64(v*v))
		}
		e.Alone = append(e.Alone, share/whole)
	}
	for range rounds {
		for _, b := range bins {
			by := means(b)
			for i, k := range b.of {
				rest[i] -= by[k]
			}
		}
	}
	left := variance()
	e.Sum = 1 - left/whole
	order := vector.Order(vector.Map(e.Alone, func(share float64) float64 { return -share }))
	order = order[:min(len(order), mostColumns)]
	for x, j := range order {
		for _, k := range order[:x] {
			pair := p.pair(rest, bins, min(j, k), max(j, k), left)
			pair.Share /= whole
			e.Pairs = append(e.Pairs, pair)
		}
	}
	slices.SortStableFunc(e.Pairs, func(a, b Pair) int { return cmp.Compare(b.Share, a.Share) })
	return e
}

// pair returns the means of the rest in pairs of bins. From the variance of these means it subtracts the part that means
// of so few rows have by chance, for the variance left of the rest.
func (p *Population) pair(rest []float64, bins []Bins, a, b int, left float64) Pair {
	rows, columns := len(bins[a].Names), len(bins[b].Names)
	grid := func() [][]float64 {
		return vector.Make(rows, func(int) []float64 { return make([]float64, columns) })
	}
	out, squares := Pair{A: a, B: b, Effect: grid(), Mass: grid()}, grid()
	for i, v := range rest {
		j, k, m := bins[a].of[i], bins[b].of[i], p.Mass[i]
		out.Effect[j][k] += float64(m * v)
		out.Mass[j][k] += m
		squares[j][k] += float64(m * m)
	}
	for j, row := range out.Effect {
		for k := range row {
			if m := out.Mass[j][k]; m > 0 {
				row[k] /= m
				out.Share += float64(m*float64(row[k]*row[k])) - float64(left*squares[j][k])/m
			}
		}
	}
	out.Share = max(out.Share, 0)
	return out
}
