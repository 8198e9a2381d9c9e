package describe

import (
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Shares are the shares of the budget of the three stages.
var Shares = [...]float64{.25, .45, .3}

// Oracle answers queries about the records of a table. A session of package curator does.
type Oracle interface {
	All() query.Cohort
	Ask(ctx context.Context, q query.Question) (query.Release, error)
}

// Request is a description that is to be made.
type Request struct {
	// Schema is what [Schema] returns, and Loss the loss of the table's records, whose value has no effect.
	Schema *dataset.Schema
	Loss   loss.Loss
	// By names the category by whose values the others are described; empty for none.
	By string
	// Charge is the charge of the description, in units of mu^2.
	Charge float64
	// Records is the public number of records. Counted is true if it is the number of rows, so that shares of rows
	// need no released number of rows.
	Records float64
	Counted bool
	// Level is the confidence level of the intervals.
	Level float64
}

// stage is a released mean row, in numbers of rows for each record: features of the map before its division.
type stage struct {
	schema *dataset.Schema
	mean   []float64
	sigma  float64
	hats   map[string]dataset.Hats // of each number
	pairs  map[string]dataset.Hats // of each number, by groups
	at     map[string]int          // of each column, the first feature
	cross  map[string]int          // of each category by groups, the first feature
}

// ask releases the mean row under a schema that refines that of the table.
func (r Request) ask(ctx context.Context, table Oracle, schema *dataset.Schema, charge float64,
	refine func(*dataset.Schema) error) (*stage, error) {
	if err := refine(schema); err != nil {
		return nil, err
	}
	q, err := query.New(charge, query.RowMeanOf(table.All(), loss.RecordFeatures(r.Loss, schema.Dim())))
	if err != nil {
		return nil, err
	}
	released, err := table.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	s := &stage{schema: schema, mean: slices.Clone(RowOf(released.Mean, schema.Dim(), r.Loss)), sigma: released.Sigma}
	factor := schema.Scale()
	if units, several := r.Loss.(loss.Units); several {
		s.sigma *= math.Sqrt(float64(units.Rows()))
		factor *= targetpair.Rows{Features: len(s.mean), Most: units.Rows()}.Scale()
	}
	for i := range s.mean {
		s.mean[i] *= factor
	}
	s.sigma *= factor
	s.place(r.By)
	return s, nil
}

// RowOf returns the sum of the rows of a record, which the record has one after the other. A record that is one row is
// returned unchanged.
func RowOf(record []float64, features int, l loss.Loss) []float64 {
	units, several := l.(loss.Units)
	if !several {
		return record
	}
	sum := make([]float64, features)
	for i := range units.Rows() {
		for j := range sum {
			sum[j] += record[i*features+j]
		}
	}
	return sum
}

// place finds the features of each column.
func (s *stage) place(by string) {
	s.hats, s.pairs = map[string]dataset.Hats{}, map[string]dataset.Hats{}
	s.at, s.cross = map[string]int{}, map[string]int{}
	for _, h := range s.schema.Hats() {
		if h.Curve() {
			s.hats[h.Axes[0].Column] = h
		} else {
			s.pairs[h.Axes[0].Column] = h
		}
	}
	next, width := 0, map[string]int{}
	for _, c := range s.schema.Columns() {
		s.at[c.Name] = next
		switch {
		case c.Kind == dataset.Category:
			width[c.Name] = len(c.Categories) + 1
		case isNumber(c):
			width[c.Name] = 2 + c.Curve
		}
		next += width[c.Name]
	}
	for _, pair := range s.schema.Interactions() {
		if h, number := s.pairs[pair[1]]; number {
			next += h.Width
			continue
		}
		s.cross[pair[1]] = next
		next += width[by] * width[pair[1]]
	}
}

// hatted returns the sums of the hats of a number over the rows, and the variance of each. If by is true they are
// those of each group, one after the other.
func (s *stage) hatted(column string, by bool) (masses []float64, variance float64) {
	h := s.hats[column]
	if by {
		h = s.pairs[column]
	}
	masses = slices.Clone(s.mean[h.First : h.First+h.Width])
	for i := range masses {
		masses[i] /= spline.Scale
	}
	return masses, s.sigma * s.sigma / (spline.Scale * spline.Scale)
}

// estimate is an estimate with the variance of its noise.
type estimate struct{ value, variance float64 }

// pooled returns the mean of a range of features over the stages, weighted by their precisions.
func pooled(stages []*stage, first func(*stage) int, width int) (means []float64, variance float64) {
	means = make([]float64, width)
	var precision float64
	for _, s := range stages {
		w := 1 / (s.sigma * s.sigma)
		precision += w
		at := first(s)
		for i := range means {
			means[i] += w * s.mean[at+i]
		}
	}
	for i := range means {
		means[i] /= precision
	}
	return means, 1 / precision
}

// adding moves the estimates of numbers whose sum is known, up to the noise of that sum, so that they have it. It
// returns the variance of each.
func adding(parts []float64, variance float64, sum estimate) float64 {
	n, rest := float64(len(parts)), sum.value
	for _, v := range parts {
		rest -= v
	}
	for i := range parts {
		parts[i] += rest / n
	}
	return variance*(1-1/n) + sum.variance/(n*n)
}

// over returns the ratio of two estimates with independent noise.
func (a estimate) over(b estimate) estimate {
	ratio := a.value / b.value
	return estimate{ratio, (a.variance + ratio*ratio*b.variance) / (b.value * b.value)}
}
