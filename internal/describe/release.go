package describe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
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
	mean, sigma, err := MeanRow(ctx, table, schema, r.Loss, charge, refine)
	if err != nil {
		return nil, err
	}
	s := &stage{schema: schema, mean: slices.Clone(mean), sigma: sigma}
	factor := schema.Scale()
	if units, several := r.Loss.(loss.Units); several {
		s.sigma *= math.Sqrt(float64(units.Rows()))
		factor *= targetpair.Rows{Features: len(s.mean), Most: units.Rows()}.Scale()
	}
	for i := range s.mean {
		s.mean[i] *= factor
	}
	s.sigma *= factor
	s.place()
	return s, nil
}

// MeanRow calls refine with a schema of the table's rows and releases their mean row under it: the mean over records of
// the sum of a record's rows. l is the loss of the records. sigma is the standard deviation of the noise of an entry of a
// record's row.
func MeanRow(ctx context.Context, table Oracle, schema *dataset.Schema, l loss.Loss, charge float64,
	refine func(*dataset.Schema) error) (mean []float64, sigma float64, err error) {
	if err := refine(schema); err != nil {
		return nil, 0, err
	}
	q, err := query.New(charge, query.RowMeanOf(table.All(), loss.RecordFeatures(l, schema.Dim())))
	if err != nil {
		return nil, 0, err
	}
	released, err := table.Ask(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	return RowOf(released.Mean, schema.Dim(), l), released.Sigma, nil
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

// place finds the features of each column, and of its interaction with the column by whose values it is described.
func (s *stage) place() {
	s.hats, s.pairs = map[string]dataset.Hats{}, map[string]dataset.Hats{}
	s.at, s.cross = map[string]int{}, map[string]int{}
	for _, h := range s.schema.Hats() {
		if h.Curve() {
			s.hats[h.Axes[0].Column] = h
		} else {
			s.pairs[h.Axes[0].Column] = h
		}
	}
	for _, r := range s.schema.Ranges() {
		if len(r.Columns) > 1 {
			s.cross[r.Columns[1]] = r.First
		} else {
			s.at[r.Columns[0]] = r.First
		}
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
		vector.Add(means, w, s.mean[at:at+len(means)])
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

// declaredKnots is the number of knots of the first stage for a number with public bounds.
const declaredKnots = 33

// leastSeen is the least positive knot of the first stage for a number without public bounds: a number of smaller
// size is taken for 0.
const leastSeen = .001

// Schema returns the schema of the rows that describe a table: the columns of s with its target among them, without a
// target. Numbers and dates have curves with the knots of the first stage. by names the category by whose values the
// others are described, or is empty. Columns whose values have no public list (hash) are left out.
func Schema(s *dataset.Schema, by string) (*dataset.Schema, error) {
	def := dataset.Definition{
		Target: dataset.Target{Kind: dataset.Ignore}, Where: s.Filter().String(), Missing: s.Missing(), Unit: s.Unit(),
	}
	columns, grouped := s.Columns(), false
	for _, c := range append(columns, ofTarget(s.Target())...) {
		d := dataset.Column{Name: c.Name, Kind: c.Kind}
		switch c.Kind {
		case dataset.Number, dataset.Date:
			if Auto(c) && c.Kind == dataset.Number { // only around 0 are small numbers told apart
				c.Low = -c.High
			}
			d.Low, d.High, d.Layout, d.Indicator = c.Low, c.High, c.Layout, true
			d.Knots = firstKnots(c)
			d.Curve = len(d.Knots)
		case dataset.Category:
			d.Categories = slices.DeleteFunc(c.Categories, func(v string) bool { return v == "other" })
			grouped = grouped || c.Name == by
		case dataset.Public:
			d.Values = c.Values
		default:
			d.Kind = dataset.Ignore
		}
		def.Columns = append(def.Columns, d)
	}
	if by != "" && !grouped {
		return nil, fmt.Errorf("by = %s: must be a category of the schema, or a target with classes", strconv.Quote(by))
	}
	for _, c := range def.Columns {
		if by != "" && c.Name != by && (c.Kind == dataset.Category || isNumber(c)) {
			def.Interactions = append(def.Interactions, dataset.Interaction{by, c.Name})
		}
	}
	return dataset.New(def)
}

// ofTarget returns the target, and the columns of its exposure, weight, event and entry, as columns.
func ofTarget(t dataset.Target) []dataset.Column {
	list := []dataset.Column{{Name: t.Column, Kind: t.Kind, Low: t.Low, High: t.High, Categories: t.Classes}}
	if e := t.Exposure; e.Column != "" {
		list = append(list, dataset.Column{Name: e.Column, Kind: dataset.Number, Low: e.Low, High: e.High})
	}
	if event, value, given := strings.Cut(t.Event, "="); event != "" { // of the time to an event
		levels := []string{"0", "1"}
		if given {
			levels = []string{strings.TrimSpace(value)}
		}
		list = append(list, dataset.Column{Name: strings.TrimSpace(event), Kind: dataset.Category, Categories: levels})
	}
	if t.Entry != "" {
		list = append(list, dataset.Column{Name: t.Entry, Kind: dataset.Number, High: t.High})
	}
	if t.Weight != "" {
		list = append(list, dataset.Column{Name: t.Weight, Kind: dataset.Number, High: 1})
	}
	return list
}

func isNumber(c dataset.Column) bool { return c.Kind == dataset.Number || c.Kind == dataset.Date }

// Auto reports whether the column's bounds are left to a description.
func Auto(c dataset.Column) bool {
	return isNumber(c) && autobounds.Are(c.Low, c.High, c.Kind == dataset.Date)
}

// firstKnots returns the knots of the first stage, in the column's units: of a number without public bounds 1, 2 and
// 5 times powers of ten, otherwise equally spaced between the bounds, on the scale of the column's transform.
func firstKnots(c dataset.Column) (knots []float64) {
	if c.Kind == dataset.Number && Auto(c) {
		for e := -3; e <= 11; e++ {
			for _, digit := range []float64{1, 2, 5} {
				x := digit * math.Pow10(e)
				knots = append(knots, -x, x)
			}
		}
		return spaced(c, append(knots, 0))
	}
	n := declaredKnots
	if c.Kind == dataset.Date && Auto(c) {
		n = 4*declaredKnots + 19 // about two years
	}
	for i := 1; i < n-1; i++ {
		u := float64(i) / float64(n-1)
		x := c.Low + u*(c.High-c.Low)
		if c.Transform == dataset.Log1p {
			from, to := math.Log1p(c.Low), math.Log1p(c.High)
			x = math.Expm1(from + u*(to-from))
		}
		knots = append(knots, x)
	}
	return spaced(c, knots)
}

// spaced returns the bounds of the column and those of the given numbers between them as knots: sorted, whole days for
// a date, and none too near to another one for the row map.
func spaced(c dataset.Column, numbers []float64) []float64 {
	least := (c.High - c.Low) * 0x1p-51
	if c.Kind == dataset.Date {
		least = .5
	}
	knots := []float64{c.Low}
	for _, x := range slices.Sorted(slices.Values(numbers)) {
		switch {
		case c.Kind == dataset.Date:
			x = math.Round(x)
		case math.Abs(x) < least/8:
			x = 0
		}
		if x-knots[len(knots)-1] > least && c.High-x > least {
			knots = append(knots, x)
		}
	}
	if knots = append(knots, c.High); len(knots) == 2 { // a curve has three knots at least
		if mid := c.Low + (c.High-c.Low)/2; c.Kind != dataset.Date {
			return []float64{c.Low, mid, c.High}
		}
	}
	return knots
}

// with returns the schema whose curves of the named columns have the given knots.
func with(s *dataset.Schema, knots map[string][]float64) (*dataset.Schema, error) {
	def := dataset.Definition{Columns: s.Columns(), Target: s.Target(), Interactions: s.Interactions(),
		Where: s.Filter().String(), Missing: s.Missing(), Unit: s.Unit()}
	for i := range def.Columns {
		if k := knots[def.Columns[i].Name]; len(k) >= spline.Least {
			def.Columns[i].Knots, def.Columns[i].Curve = k, len(k)
		}
	}
	return dataset.New(def)
}
