package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// The constants of knots by ranks ([Schema.Ranked]). A bin counts for at most mostBin times its share of a uniform
// distribution, so that a number with which many rows agree draws few knots. If a bound of a column has more than mostEnd
// of the mass, the hat beside it at most mostBeside of that, and noise is at most mostNoise of the mass, the share of F is
// restShare in place of rankShare (lab/results/families.md).
const (
	rankBins             = 64
	mostBin              = 4. / rankBins
	mostEnd, mostBeside  = .3, .1
	mostNoise            = .004
	rankShare, restShare = .5, .9
)

// Fine returns the schema in which the curves of the given columns have 65 equally spaced knots. The mean row of
// a table under it, [query.RowMean], has a histogram of each of these columns, in 64 bins between the knots: a row's
// two hats divide its number between the two knots beside it. The schema refines s ([Schema.Refines]). The
// columns must have curves without listed knots.
//
// [query.RowMean]: https://pkg.go.dev/github.com/stillpoint-dp/stillpoint/query#RowMean
func (s *Schema) Fine(columns []string) (*Schema, error) {
	def := s.definition()
	for i := range def.Columns {
		if c := &def.Columns[i]; slices.Contains(columns, c.Name) {
			c.Curve, c.Knots = rankBins+1, nil
		}
	}
	return New(def)
}

// Ranked returns the schema in which the curves of the given columns have as many knots as in s, at places that
// follow from the distribution of the column: for the position u of a number between the column's bounds, from 0 to
// 1 on the scale of its transform, and the distribution function F of u, knots are equally spaced in (u + F(u))/2.
// Half of the knots thus follow the numbers of rows, and half the range, where rows are few.
//
// If the hat of a bound has more than .3 of the mass, such as that of 0 where most rows have none of a thing, and the hat
// beside it at most .1 of that, the rows at this bound are left out of F, and knots are equally spaced in .1 u + .9 F(u).
// Any other mass m then counts as m^3/(m^2 + v) for the mean square v of the means below zero, which are noise. This holds
// if sqrt(v) is at most .004 of the mass.
//
// mean is the mean row under Fine(columns), or an estimate of it with noise: masses below zero count as zero, a bin
// has at most 4/64 of the mass, and F is the cumulative mass over its total, with a missing number in no bin. A
// column without positive mass, or whose knots would be too near to each other, keeps its equally spaced knots. The
// schema refines s. A date's knots are whole days.
func (s *Schema) Ranked(columns []string, mean []float64) (*Schema, error) {
	fine, err := s.Fine(columns)
	if err != nil {
		return nil, err
	}
	def, noise := s.definition(), below(fine, columns, mean)
	for _, h := range fine.hats {
		name := h.Axes[0].Column
		if !h.curve || !slices.Contains(columns, name) {
			continue
		}
		c := &def.Columns[s.places[name]]
		equal := *c
		c.Knots = c.rankKnots(mean[h.First:h.First+h.Width], noise)
		if c.Knots != nil && c.validateKnots() != nil {
			*c = equal
		}
	}
	return New(def)
}

// below returns the mean square of the means below zero of the columns' hats, which no mean row without noise has.
func below(fine *Schema, columns []string, mean []float64) float64 {
	var count, squares float64
	for _, h := range fine.hats {
		if h.curve && slices.Contains(columns, h.Axes[0].Column) {
			for _, m := range mean[h.First : h.First+h.Width] {
				if m < 0 {
					count, squares = count+1, squares+float64(m*m)
				}
			}
		}
	}
	return squares / max(count, 1)
}

// rankKnots returns the knots of the column's curve by ranks, in the column's units, or nil if there is no positive
// mass. masses are the means of the 65 hats of the column, times any positive number, and noise is that of below.
func (c Column) rankKnots(masses []float64, noise float64) []float64 {
	bins := make([]float64, rankBins)
	masses, whole, share := rest(masses, noise)
	var total float64
	for i, m := range masses {
		total += m
		// A hat within the range has half of its rows on either side of its knot, if rows are spread evenly.
		left, right := max(i-1, 0), min(i, rankBins-1)
		bins[left] += m / 2
		bins[right] += m / 2
	}
	if !(total > 0) {
		return nil
	}
	var capped float64
	for i := range bins {
		bins[i] = min(bins[i]/whole, mostBin)
		capped += bins[i]
	}
	width := func(i int) float64 {
		return float64((1-share)/rankBins) + float64(share*bins[i]/capped)
	}
	knots := make([]float64, c.Curve)
	knots[0], knots[c.Curve-1] = c.Low, c.High
	// at is (1-share) u + share F(u) at the left end of bin i.
	i, at := 0, 0.
	for k := 1; k < c.Curve-1; k++ {
		want := float64(k) / float64(c.Curve-1)
		for i < rankBins-1 && at+width(i) < want {
			at += width(i)
			i++
		}
		u := (float64(i) + min((want-at)/width(i), 1)) / rankBins
		knots[k] = c.cellAt(2*u - 1)
		if c.Kind == Date {
			knots[k] = math.Round(knots[k])
		}
	}
	return knots
}

// rest returns the masses from which knots follow, the sum of all masses above zero, and the share of F.
func rest(masses []float64, noise float64) (list []float64, whole, share float64) {
	list = vector.Map(masses, func(m float64) float64 { return max(m, 0) })
	whole = vector.Total(list)
	alone := func(end, beside int) bool {
		return list[end] > mostEnd*whole && list[beside] <= mostBeside*list[end]
	}
	low, high := alone(0, 1), alone(rankBins, rankBins-1)
	if !(low || high) || !(math.Sqrt(noise) <= mostNoise*whole) {
		return list, whole, rankShare
	}
	if low {
		list[0] = 0
	}
	if high {
		list[rankBins] = 0
	}
	for i, m := range list {
		if m > 0 {
			list[i] = m / (1 + noise/float64(m*m))
		}
	}
	return list, whole, restShare
}

// Refines returns an error unless the schema can take the place of another one over rows that were stored by
// the other one. What rows store must be the same under both schemas: the numbers of a row and its groups. They may
// differ only in features that are computed when rows are read, and in the divisor of rows that follows from them: a
// column that has a curve in both schemas may have another number of knots, at other places ([Schema.Hats]), a column
// with a curve and an indicator in the other schema may have the indicator alone, either schema may have features of
// [Effects], and the baseline hazards of a time to an event may differ.
func (s *Schema) Refines(of *Schema) error {
	other, err := of.stored(of)
	if err != nil {
		return err
	}
	mine, err := s.stored(of)
	if err != nil {
		return err
	}
	if !bytes.Equal(mine, other) {
		return errors.New("dataset: schema: a refined schema must differ in curves and baseline hazards alone")
	}
	return nil
}

// stored returns a text that s and of share if and only if rows of s can be computed from stored rows of another schema,
// of. It is the schema as JSON, in which each curve, and each number that has a curve in of, has the same number of
// equally spaced knots.
func (s *Schema) stored(of *Schema) ([]byte, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if s.Unresolved() {
		return nil, errors.New("dataset: schema: curve: auto must be resolved to a number of knots first (Schema.Resolve)")
	}
	def := s.definition()
	def.Target.Hazards, def.Target.HazardErrors = nil, nil
	for i := range def.Columns {
		c := &def.Columns[i]
		if c.Curve > 0 || s.norm == 0 && c.Indicator && i < len(of.columns) && of.columns[i].Curve > 0 {
			c.Curve, c.Knots = leastAuto, nil
		}
	}
	bare, err := New(def)
	if err != nil {
		return nil, err
	}
	return json.Marshal(bare)
}
