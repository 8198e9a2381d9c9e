package train

import (
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// Thresholds of the warnings that follow from a released second moment, and how many standard
// deviations of its noise a warning must clear.
const (
	manyRows  = .9  // share of the rows that count
	oneLevel  = .99 // share of rows with one level of a category
	oneSide   = .97 // mean of a number, in half widths of its bounds from their middle
	hardlyAny = .06 // standard deviation of a number, in half widths of its bounds
	clearly   = 3
	someRows  = .2 // share of the rows below which nothing is said of columns
)

// mostSeen is the largest number of these warnings in a fit, each of at most seenBytes: names of
// columns and levels are cut after 80 bytes.
const mostSeen, seenBytes = 8, 1024

// seen is a released second moment in the units of the schema: a number is u in [-1, 1], from the
// lower to the upper of its bounds, and a level is 0 or 1.
type seen struct {
	matrix []float64 // of u, the mean over all rows; rows that do not count are zeros
	mean   []float64 // released mean row in the same units; nil if the moment is not about a mean
	dim    int
	// sigma is the deviation of the noise in an entry of the matrix's diagonal before the mean's
	// part, meanSigma of the noise in a coordinate of the mean.
	sigma, meanSigma float64
}

// seenBy returns the released second moment of a run; ok is false if none can be read, or if the
// schema states a norm, by which long rows are shortened.
func seenBy(s *dataset.Schema, m *runrecord.Moment) (g seen, ok bool) {
	if m == nil || s.Norm() != 0 || m.Features != s.Dim() {
		return seen{}, false
	}
	matrix, err := m.Matrix()
	if err != nil || len(m.Mean) != 0 && len(m.Mean) != m.Features {
		return seen{}, false
	}
	unit := s.Scale() * s.Scale()
	g = seen{matrix: matrix, dim: m.Features, sigma: m.Sigma * unit, meanSigma: m.MeanSigma * s.Scale()}
	for i := range g.matrix {
		g.matrix[i] *= unit
	}
	for _, v := range m.Mean {
		g.mean = append(g.mean, v*s.Scale())
	}
	for j := range g.mean {
		for k := range g.mean {
			g.matrix[j*g.dim+k] += g.mean[j] * g.mean[k]
		}
	}
	return g, true
}

// at returns the mean of u_j u_k over all rows, and the deviation of its noise.
func (g seen) at(j, k int) (value, sigma float64) {
	sigma = g.sigma
	if j != k {
		sigma /= math.Sqrt2
	}
	if g.mean != nil {
		sum := math.Hypot(g.mean[j], g.mean[k])
		if j == k {
			sum = 2 * math.Abs(g.mean[j])
		}
		sigma = math.Hypot(sigma, sum*g.meanSigma)
	}
	return g.matrix[j*g.dim+k], sigma
}

// seenWarnings returns the warnings that follow from a released second moment: rows that do not count,
// columns that hardly vary, bounds at which nearly all cells lie. It makes no query about records.
func seenWarnings(s *dataset.Schema, m *runrecord.Moment) (list []Warning) {
	g, ok := seenBy(s, m)
	if !ok {
		return nil
	}
	share, noise := g.at(g.dim-1, g.dim-1)
	if share+clearly*noise < manyRows {
		list = append(list, Warning{Code: WarnRows, Text: fmt.Sprintf("about %.2g%% of the rows count (noise %.2g%%): the others are malformed, or their target cannot be read; stillpoint check shows which, on rows that may be looked at",
			100*max(share, 0), 100*noise)})
	}
	if share-clearly*noise < someRows {
		return list
	}
	names := s.Features()
	for _, c := range s.Columns() {
		switch c.Kind {
		case dataset.Number, dataset.Date:
			for j, name := range names {
				if name == c.Name {
					list = append(list, g.number(c.Name, j, share, noise)...)
				}
			}
		case dataset.Category:
			list = append(list, g.category(s, names, c.Name, share, noise)...)
		}
	}
	return list[:min(len(list), mostSeen)]
}

// number returns the warnings about a number or a date, which is feature j.
func (g seen) number(column string, j int, share, noise float64) []Warning {
	first, firstNoise := g.at(j, g.dim-1)
	square, squareNoise := g.at(j, j)
	mean := first / share
	firstNoise = math.Hypot(firstNoise, mean*noise) / share
	if math.Abs(mean)-clearly*firstNoise > oneSide {
		side := "upper"
		if mean < 0 {
			side = "lower"
		}
		return []Warning{{Code: WarnBounds, Text: fmt.Sprintf("column %.80q: nearly all cells are at the %s of its bounds, or beyond it", column, side)}}
	}
	variance := square/share - mean*mean
	squareNoise = math.Hypot(squareNoise, noise*square/share) / share
	most := max(variance, 0) + clearly*math.Hypot(squareNoise, 2*mean*firstNoise)
	if most < hardlyAny*hardlyAny {
		return []Warning{{Code: WarnConstant, Text: fmt.Sprintf("column %.80q hardly varies: its standard deviation is at most %.2g%% of the width of its bounds, which may be far too wide", column, 50*math.Sqrt(most))}}
	}
	return nil
}

// category returns the warning about a category of which nearly all rows have one level.
func (g seen) category(s *dataset.Schema, names []string, column string, share, noise float64) []Warning {
	for _, group := range s.Groups() {
		for j := group.First; j < group.First+group.Width; j++ {
			level, is := strings.CutPrefix(names[j], column+"=")
			if !is || !strings.HasPrefix(names[group.First], column+"=") {
				continue
			}
			v, sigma := g.at(j, j)
			if v/share-clearly*math.Hypot(sigma, noise*v/share)/share > oneLevel {
				return []Warning{{Code: WarnConstant, Text: fmt.Sprintf("column %.80q: nearly all rows have the level %.80q; if it is \"other\", the categories may be written otherwise than in the table", column, level)}}
			}
		}
	}
	return nil
}
