// Package synthetic makes a synthetic table from the released second moment of the features of a schema's rows, in
// which each column's distribution and the columns' relations in pairs are about those of the table. Whatever is
// computed from it follows from released and public numbers, and costs no budget.
//
// The rows are those of a Gaussian copula with the released distribution of each column and the released correlations.
// Then they get masses, by maximum entropy: of all masses for which the second moment of the features is near the
// released one, those nearest to equal masses. All numbers have the same bits on every machine.
package synthetic

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/effects"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Rows is the usual number of synthetic rows.
const Rows = 20_000

// Population is a synthetic table. Its rows have masses that add up to 1.
type Population struct {
	schema   *dataset.Schema
	rows     *dataset.Map
	readings [][]float64 // for each cell of a row, the readings of all rows (dataset.ColumnMap)
	Mass     []float64
	// Error is the distance of the second moment of the rows from the released one, in the Frobenius norm.
	Error float64
}

// column is what the second moment says of a column: its distribution, and the normal score of each of its features,
// with which correlations are computed.
type column struct {
	cell    int // index of its cell
	first   int // its first feature
	mass    []float64
	order   []int     // of a category: its levels in the order of their weights
	at      []float64 // of a curve: its knots
	missing float64   // share of missing cells
	mean    float64   // of a number without a curve
	spread  float64
	// scores has the features from which scores are computed, and each one's score.
	scores []part
}

type part struct {
	feature int
	score   float64
}

// New returns a synthetic table of n rows for the schema s, which has no features of effects. moment is the released
// second moment of the features of rows, row by row, whose negative eigenvalues come from noise. weights are weights of the features, by which the levels of
// categories are put in an order. New draws from the public seed.
func New(s *dataset.Schema, moment, weights []float64, seed uint64, n int) (*Population, error) {
	d := s.Dim()
	if len(moment) != d*d || len(weights) != d || n < 2 {
		return nil, fmt.Errorf("synthetic: %d rows of a moment of %d entries for %d features: must fit", n, len(moment), d)
	}
	for _, v := range moment {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("synthetic: moment: must be finite")
		}
	}
	p := &Population{schema: s}
	names := vector.Map(s.Columns(), func(c dataset.Column) string { return c.Name })
	var err error
	if p.rows, err = s.BindUnlabelled(names); err != nil {
		return nil, err
	}
	p.readings = vector.Make(len(names), func(int) []float64 { return make([]float64, n) })
	moment = raised(moment, d, 0)
	columns := columnsOf(s, moment, weights)
	p.draw(columns, moment, rand.NewPCG(seed, use))
	p.weigh(moment)
	return p, nil
}

const use = 0x5ee75 // other uses of a public seed have other numbers

// columnsOf reads the columns off the second moment.
func columnsOf(s *dataset.Schema, moment, weights []float64) (list []column) {
	d := s.Dim()
	level := 1 / s.Scale() // the last feature of every row
	means := moment[(d-1)*d:]
	curves := map[int]dataset.Hats{} // by the index of the number's feature
	for _, h := range s.Hats() {
		if h.Curve() {
			curves[h.Axes[0].Number] = h
		}
	}
	columns := s.Columns()
	for _, r := range s.Ranges() {
		if len(r.Columns) > 1 {
			continue
		}
		cell := slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == r.Columns[0] })
		c, first, end := columns[cell], r.First, r.First+r.Width
		if c.Kind == dataset.Category || c.Kind == dataset.Hash {
			list = append(list, levels(cell, first, means[first:end], weights[first:end]))
			continue
		}
		v := column{cell: cell, first: first}
		if c.Indicator {
			v.missing = min(max(means[first+1]/level/level, 0), 1)
		}
		if h, curved := curves[first]; curved {
			v.curve(h, means)
		} else {
			square := moment[first*d+first] / level / level
			v.mean = means[first] / level / level
			v.spread = math.Sqrt(max(square-float64(v.mean*v.mean), 1e-6))
			v.scores = []part{{first, 1 / level}}
		}
		list = append(list, v)
	}
	return list
}

// shares returns the positive parts of masses, divided by their sum.
func shares(masses []float64) []float64 {
	out := make([]float64, len(masses))
	var sum float64
	for i, m := range masses {
		out[i] = max(m, 0)
		sum += out[i]
	}
	for i := range out {
		if sum > 0 {
			out[i] /= sum
		} else {
			out[i] = 1 / float64(len(out))
		}
	}
	return out
}

func levels(cell, first int, means, weights []float64) column {
	v := column{cell: cell, first: first, mass: shares(means), order: vector.Order(weights)}
	before := 0.
	for _, i := range v.order {
		v.scores = append(v.scores, part{first + i, quantile(min(max(before+v.mass[i]/2, 1e-3), 1-1e-3))})
		before += v.mass[i]
	}
	return v
}

func (v *column) curve(h dataset.Hats, means []float64) {
	knots := spline.Of(h.Axes[0].Knots, h.Axes[0].At)
	v.mass = shares(means[h.First : h.First+h.Width])
	before := 0.
	for i, m := range v.mass {
		v.at = append(v.at, knots.Position(i))
		v.scores = append(v.scores, part{h.First + i, quantile(min(max(before+m/2, 2e-3), 1-2e-3)) / spline.Scale})
		before += m
	}
}

// correlations returns the correlations of the columns' scores, made positive definite.
func correlations(columns []column, moment []float64) []float64 {
	p := len(columns)
	d := int(math.Sqrt(float64(len(moment))))
	one := moment[d*d-1]
	means, c := make([]float64, p), make([]float64, p*p)
	for a := range columns {
		for _, s := range columns[a].scores {
			means[a] += float64(s.score * moment[s.feature*d+d-1])
		}
	}
	for a := range columns {
		for b := range a + 1 {
			var sum float64
			for _, s := range columns[a].scores {
				row := moment[s.feature*d:]
				along := vector.Sum(columns[b].scores, func(t part) float64 { return float64(t.score * row[t.feature]) })
				sum += float64(s.score * along)
			}
			c[a*p+b] = sum - float64(means[a]*means[b])/one
		}
	}
	for a := range p {
		for b := range a {
			size := math.Sqrt(max(c[a*p+a], 1e-12)) * math.Sqrt(max(c[b*p+b], 1e-12))
			c[a*p+b] = min(max(c[a*p+b]/size, -1), 1)
			c[b*p+a] = c[a*p+b]
		}
	}
	for a := range p {
		c[a*p+a] = 1
	}
	return positive(c, p)
}

// draw sets the readings of all rows. Along each column the rows have the order of a normal vector with the columns'
// correlations, and the column's distribution.
func (p *Population) draw(columns []column, moment []float64, random *rand.PCG) {
	n, k := len(p.readings[0]), len(columns)
	root := cholesky(correlations(columns, moment), k)
	normal := make([]float64, n*k)
	for i := range n {
		z := vector.Make(k, func(int) float64 { return effects.Normal(random) })
		for a := range z {
			normal[a*n+i] = vector.Dot(z[:a+1], root[a*k:])
		}
	}
	for a := range columns {
		along := normal[a*n : (a+1)*n]
		order := vector.Order(along)
		values := columns[a].values(n, along, order, random)
		out := p.readings[columns[a].cell]
		for r, i := range order {
			out[i] = values[r]
			if columns[a].missing > 0 && float64(random.Uint64()>>11)*0x1p-53 < columns[a].missing {
				out[i] = math.NaN()
			}
		}
	}
	if f := p.schema.Filter(); f.Column != "" {
		cell := slices.IndexFunc(p.schema.Columns(), func(c dataset.Column) bool { return c.Name == f.Column })
		p.readings[cell] = slices.Repeat([]float64{1}, n)
	}
}

// values returns n readings of the column in their order along its normal scores, which rows in that order have.
func (v *column) values(n int, along []float64, order []int, random *rand.PCG) []float64 {
	out := make([]float64, n)
	if v.mass == nil {
		for r, i := range order {
			out[r] = min(max(v.mean+float64(v.spread*along[i]), -1), 1)
		}
		return out
	}
	at, before := 0, 0.
	for r := range out {
		// The level or the knot whose share of the distribution has this row.
		for share := (float64(r) + .5) / float64(n); at < len(v.mass)-1; at++ {
			i := at
			if v.order != nil {
				i = v.order[at]
			}
			if before+v.mass[i] > share {
				break
			}
			before += v.mass[i]
		}
		if v.order != nil {
			out[r] = float64(v.order[at])
			continue
		}
		out[r] = v.beside(at, random)
	}
	if v.order == nil {
		slices.Sort(out)
	}
	return out
}

// beside draws a number near a knot, as often as its hat is high there. Beyond the first and the last knot the number
// is the knot.
func (v *column) beside(knot int, random *rand.PCG) float64 {
	way := float64(random.Uint64()>>11)*0x1p-53 - float64(random.Uint64()>>11)*0x1p-53
	from := v.at[knot]
	switch {
	case way < 0 && knot > 0:
		return from + float64(way*(from-v.at[knot-1]))
	case way > 0 && knot < len(v.at)-1:
		return from + float64(way*(v.at[knot+1]-from))
	}
	return from
}

// Features calls f with the features of each row under the schema with, whose columns are those of the population,
// and with its mass. f must not keep the features.
func (p *Population) Features(with *dataset.Schema, f func(i int, x []float32, mass float64)) error {
	names := vector.Map(with.Columns(), func(c dataset.Column) string { return c.Name })
	rows, err := with.BindUnlabelled(names)
	if err != nil {
		return err
	}
	x := make([]float32, with.Dim())
	for i, mass := range p.Mass {
		rows.EncodeReadingsWhole(x, p.readings, i)
		f(i, x, mass)
	}
	return nil
}

// block is the number of rows that are multiplied together. No more rows with all their features are in memory.
const block = 256

// Moment returns the second moment of the features of the rows under the schema with, row by row.
func (p *Population) Moment(with *dataset.Schema) ([]float64, error) {
	d := with.Dim()
	size := (d + simd.Columns - 1) / simd.Columns * simd.Columns
	sums := make([]float64, size*size)
	// left has a row for each feature, and panels the features of rows in columns of simd.Columns.
	left, panels := make([]float64, size*block), make([]float64, size*block)
	at := 0
	multiply := func() {
		var done sync.WaitGroup
		for from := 0; from < size; from += simd.Columns {
			done.Go(func() {
				panel := panels[from*block:]
				for i := 0; i < from+simd.Columns; i += 4 {
					simd.AddProducts(sums[i*size+from:], size, left[i*block:], block, panel, simd.Columns, at)
				}
			})
		}
		done.Wait()
		at = 0
	}
	err := p.Features(with, func(_ int, x []float32, mass float64) {
		root := math.Sqrt(mass)
		for j, v := range x {
			u := float64(root * float64(v))
			left[j*block+at] = u
			panels[j/simd.Columns*simd.Columns*block+at*simd.Columns+j%simd.Columns] = u
		}
		if at++; at == block {
			multiply()
		}
	})
	if err != nil {
		return nil, err
	}
	multiply()
	out := make([]float64, d*d)
	for i := range d {
		for j := i; j < d; j++ {
			out[i*d+j], out[j*d+i] = sums[i*size+j], sums[i*size+j]
		}
	}
	return out, nil
}
