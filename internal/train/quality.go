package train

import (
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Thresholds of the warnings that follow from a released second moment of the rows. A warning is given only if the
// released value is beyond its threshold by more than the number clearly of standard deviations of its noise.
const (
	manyRows  = .9  // a smaller share of rows that the fit learns from gives a warning
	oneLevel  = .99 // a larger share of rows with the same level of a category gives a warning
	oneSide   = .97 // limit of a number's mean, in half widths of its bounds from their middle
	hardlyAny = .06 // lower limit of a number's standard deviation, in half widths of its bounds
	// clearly is the number of standard deviations of the noise by which a released number must be
	// beyond a threshold before a warning is given.
	clearly  = 3
	someRows = .2 // if the fit learns from a smaller share of rows, no column is judged
)

// mostQualityWarnings is the largest number of warnings that qualityWarnings returns, and qualityWarningBytes the largest size of
// such a warning in bytes. The names of columns and levels are cut to 80 characters.
const mostQualityWarnings, qualityWarningBytes = 8, 1024

// rowMoment is a released second moment of the rows, the mean of u u^T over all rows u, in the units of
// the schema. The feature of a numeric column is in [-1, 1], where -1 and 1 are the bounds of the
// column. The feature of a level is 0 or 1. The last feature is the intercept, which is 1 in every
// row that the fit learns from. A malformed row has all features 0.
type rowMoment struct {
	matrix []float64 // mean of u u^T over all rows; entry (j, k) is at j*dim+k
	mean   []float64 // mean of u over all rows; nil if the moment was released about 0
	dim    int
	// sigma is the standard deviation of the noise in a diagonal entry of the released moment. The released
	// moment is about the released mean if mean is not nil, otherwise about 0. meanSigma is the standard
	// deviation of the noise in a coordinate of mean.
	sigma, meanSigma float64
}

// momentOf converts the released second moment m of a run's rows to the units of the schema. ok is false if no moment
// was stored, or if the stored one cannot be decoded or has another number of features than the schema. ok is also
// false if the schema limits the norm of rows, because rows are then rescaled and the moment does not describe columns.
func momentOf(s *dataset.Schema, m *runrecord.Moment) (g rowMoment, ok bool) {
	if m == nil || s.Norm() != 0 || m.Features != s.Dim() {
		return rowMoment{}, false
	}
	matrix, err := m.About0()
	if err != nil {
		return rowMoment{}, false
	}
	unit := s.Scale() * s.Scale()
	g = rowMoment{matrix: matrix, dim: m.Features, sigma: m.Sigma * unit, meanSigma: m.MeanSigma * s.Scale()}
	vector.Scale(g.matrix, unit)
	for _, v := range m.Mean {
		g.mean = append(g.mean, v*s.Scale())
	}
	return g, true
}

// at returns entry (j, k) of the second moment, the mean of u_j u_k over all rows, and the standard
// deviation of its noise.
func (g rowMoment) at(j, k int) (value, sigma float64) {
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

// qualityWarnings returns the warnings that follow from a released second moment: many rows that the fit does
// not learn from, numbers that hardly vary or are nearly all at a bound, and categories with nearly all rows
// at one level. It uses released numbers only and makes no query.
func qualityWarnings(s *dataset.Schema, m *runrecord.Moment) (list []Warning) {
	g, ok := momentOf(s, m)
	if !ok {
		return nil
	}
	share, noise := g.at(g.dim-1, g.dim-1)
	if share+clearly*noise < manyRows {
		list = append(list, warn(WarnRows, "about %.2g%% of the rows count (noise %.2g%%): the others are malformed, or "+
			"their target cannot be read; stillpoint check shows which, on rows that may be looked at", 100*max(share, 0),
			100*noise)...)
	}
	if share-clearly*noise < someRows {
		return list
	}
	names, columns := s.Features(), columnsOf(s)
	for _, r := range s.Ranges() {
		if len(r.Columns) > 1 {
			continue
		}
		switch c := columns[r.Columns[0]]; c.Kind {
		case dataset.Number, dataset.Date:
			list = append(list, g.number(c.Name, r.First, share, noise)...)
		case dataset.Category:
			list = append(list, g.category(names, r, share, noise)...)
		}
	}
	return list[:min(len(list), mostQualityWarnings)]
}

// columnsOf returns the columns of the schema by their names.
func columnsOf(s *dataset.Schema) map[string]dataset.Column {
	columns := map[string]dataset.Column{}
	for _, c := range s.Columns() {
		columns[c.Name] = c
	}
	return columns
}

// number returns a warning if a numeric or date column hardly varies or nearly all its cells are at a bound;
// otherwise it returns nil. j is the index of the column's feature. share is the share of rows that the fit
// learns from, and noise its standard deviation.
func (g rowMoment) number(column string, j int, share, noise float64) []Warning {
	first, firstNoise := g.at(j, g.dim-1)
	square, squareNoise := g.at(j, j)
	mean := first / share
	firstNoise = math.Hypot(firstNoise, mean*noise) / share
	if math.Abs(mean)-clearly*firstNoise > oneSide {
		side := "upper"
		if mean < 0 {
			side = "lower"
		}
		return warn(WarnBounds, "column %.80q: nearly all cells are at the %s of its bounds, or beyond it", column, side)
	}
	variance := square/share - mean*mean
	squareNoise = math.Hypot(squareNoise, noise*square/share) / share
	most := max(variance, 0) + clearly*math.Hypot(squareNoise, 2*mean*firstNoise)
	if most < hardlyAny*hardlyAny {
		return warn(WarnConstant, "column %.80q hardly varies: its standard deviation is at most %.2g%% of the width of "+
			"its bounds, which may be far too wide", column, 50*math.Sqrt(most))
	}
	return nil
}

// category returns a warning if nearly all rows have the same level of the category with the features r; otherwise it
// returns nil. share is the share of rows that the fit learns from, and noise its standard deviation.
func (g rowMoment) category(names []string, r dataset.FeatureRange, share, noise float64) []Warning {
	for j := r.First; j < r.First+r.Width; j++ {
		v, sigma := g.at(j, j)
		if v/share-clearly*math.Hypot(sigma, noise*v/share)/share > oneLevel {
			return warn(WarnConstant, "column %.80q: nearly all rows have the level %.80q; if it is \"other\", the "+
				"categories may be written otherwise than in the table", r.Columns[0], strings.TrimPrefix(names[j], r.Columns[0]+"="))
		}
	}
	return nil
}
