package report

import (
	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// structure is what a schema says of the second moment of its rows, whatever they hold:
// a row has a single level of each category, and the intercept is the same in all. So
//
//	G_jk = 0 for two levels of one category, and for a number and its indicator
//	G_jj = G_j0 for a level, 0 being the intercept, and G_00 = c^2, c being its value
//	sum of G_jx over the levels of a category = G_0x for every x
//	|G_jx| <= G_jj for a level and every x, and G_jk >= 0 for two levels
//
// and of a level of which no more is seen than noise, no row has it.
//
// A released second moment has noise in all of it. Along what is known to be the same in
// all rows it must not pass for something that rows vary by.
type structure struct {
	groups  []dataset.Group
	levels  []bool   // of each feature: it is 0 or c
	numbers [][2]int // a number and its indicator
	shared  float64  // c
}

// structureOf is that of rows that are not cut: of a schema that says by what norm rows
// are divided, nothing is known.
func structureOf(s *dataset.Schema) (x structure, ok bool) {
	if s.Norm() > 0 {
		return x, false
	}
	x = structure{groups: s.Groups(), levels: make([]bool, s.Dim()), shared: 1 / s.Scale()}
	for _, g := range x.groups {
		for j := range g.Width {
			x.levels[g.First+j] = true
		}
	}
	at := 0
	for _, c := range s.Columns() {
		switch c.Kind {
		case dataset.Number, dataset.Date:
			if c.Indicator {
				x.levels[at+1] = true
				x.numbers = append(x.numbers, [2]int{at, at + 1})
				at++
			}
			at++
		case dataset.Category:
			at += len(c.Categories) + 1
		case dataset.Hash:
			at += c.Buckets + 1
		}
	}
	return x, true
}

// seldom is below how many sigma a level is taken to be in no row: 2.6 deviations of the
// noise in the mean of its three entries.
const seldom = 1.5

// shrink draws the entries of a level and another feature to what they are if the two are
// independent, the more the less of them can be told from noise: the feature's mean among
// the level's rows is taken to be about a deviation of it away from that of all.
func (x structure) shrink(g *mat.SymDense, sigma float64) {
	last := g.SymmetricDim() - 1
	square := x.shared * x.shared
	for j, level := range x.levels {
		if !level {
			continue
		}
		v := max((g.At(j, j)+2*g.At(j, last))/3, 0)
		for k := range last {
			if k == j || x.levels[k] && k < j {
				continue
			}
			apart := v / square * v * max(g.At(k, k), 0)
			alike := v * g.At(last, k) / square
			g.SetSym(j, k, alike+(g.At(j, k)-alike)*apart/(apart+sigma*sigma/2))
		}
	}
}

// structureRounds is how often the rules are applied in turn: they are projections on convex sets,
// whose turns converge to a matrix that all hold of.
const structureRounds = 100

// impose moves a matrix to one that may be a second moment of such rows; sigma is the
// deviation of the noise in an entry of its diagonal.
func (x structure) impose(g *mat.SymDense, sigma float64) {
	d := g.SymmetricDim()
	last := d - 1
	absent := make([]bool, d)
	for j, level := range x.levels {
		absent[j] = level && (g.At(j, j)+2*g.At(j, last))/3 < seldom*sigma
	}
	x.shrink(g, sigma)
	for range structureRounds {
		for _, group := range x.groups {
			for j := group.First; j < group.First+group.Width; j++ {
				for k := j + 1; k < group.First+group.Width; k++ {
					g.SetSym(j, k, 0)
				}
			}
		}
		for _, pair := range x.numbers {
			g.SetSym(pair[0], pair[1], 0)
		}
		for j, level := range x.levels {
			if !level {
				continue
			}
			// The nearest pair that is alike and not below 0; G_j0 is an entry twice.
			v := max((g.At(j, j)+2*g.At(j, last))/3, 0)
			if absent[j] {
				v = 0
			}
			for k := range d {
				least := -v
				if x.levels[k] {
					least = 0
				}
				g.SetSym(j, k, min(max(g.At(j, k), least), v))
			}
			g.SetSym(j, last, v)
			g.SetSym(j, j, v)
		}
		g.SetSym(last, last, x.shared*x.shared)
		for _, group := range x.groups {
			for k := range d {
				if k >= group.First && k < group.First+group.Width {
					continue // a level's own sum is G_jj, which is G_j0
				}
				sum, entries := -g.At(last, k), float64(group.Width)
				for j := group.First; j < group.First+group.Width; j++ {
					sum += g.At(j, k)
				}
				if k != last {
					entries++
					g.SetSym(last, k, g.At(last, k)+sum/entries)
				}
				for j := group.First; j < group.First+group.Width; j++ {
					g.SetSym(j, k, g.At(j, k)-sum/entries)
				}
			}
		}
	}
}
