package describe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

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
