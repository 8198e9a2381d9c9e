package report

import (
	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// structure is the set of equations and inequalities that a schema implies for the second moment G of its
// rows, whatever the rows contain. A row has one level of each category, and the intercept has the same value
// in all rows. So
//
//	G_jk = 0 for two levels of one category, and for a number and its indicator
//	G_jj = G_j0 for a level, 0 being the intercept, and G_00 = c^2, c being its value
//	sum of G_jx over the levels of a category = G_0x for every x
//	|G_jx| <= G_jj for a level and every x, and G_jk >= 0 for two levels
//
// If a level's entries are not larger than the noise, no row is taken to have the level.
//
// All entries of a released second moment have noise. Along a direction in which all rows are known to be
// equal, the noise must not be taken for variation of the rows.
type structure struct {
	groups  []dataset.Group
	levels  []bool   // of each feature: it is 0 or c
	numbers [][2]int // a number and its indicator
	shared  float64  // c
}

// structureOf returns the structure of rows that are not shortened. ok is false if the schema states a norm
// by which rows are divided: no such equations are then known.
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

// seldom is a limit in units of sigma. A level below it is taken to be in no row. The limit is 2.6 standard
// deviations of the noise in the mean of the level's three entries.
const seldom = 1.5

// shrink moves the entries of a level and another feature towards their values under independence. It moves
// them further if noise hides more of them. The other feature's mean among the level's rows is assumed to
// differ from the mean of all rows by about one standard deviation of the feature.
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

// structureRounds is the number of times that the rules are applied in turn. The rules are projections on
// convex sets, and alternating projections converge to a matrix for which all rules hold.
const structureRounds = 100

// impose changes a matrix into one that may be a second moment of such rows. sigma is the standard deviation
// of the noise in a diagonal entry.
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
			// The nearest pair of equal values that are not below 0. G_j0 is two entries of the matrix.
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
