package dataset

import (
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// CurveAuto, as the value of Column.Curve, leaves the number of knots to [Schema.Resolve]. Until
// Resolve has run, the column is encoded as a number without a curve. CurveNone keeps a column without a curve also
// where a fit adds curves to the others (key model.family). Without such a fit it means the same as 0.
const (
	CurveAuto = -1
	CurveNone = -2
)

// pairKnots is the number of knots that a number or date has in an interaction.
const pairKnots = 5

// The constants of the rule by which [Schema.Resolve] chooses numbers of knots. N = n mu is the size of a fit: the
// number n of records times the mu of its budget under replace-one. A curve gets knotsOfSize N^(1/3) knots, rounded,
// twice as many from N = leastFine on, and at most mostAuto. With transform log1p the number is doubled, below leastFine
// multiplied by the range of the logarithm over wideLog, from 1 to 2 (lab/results/families.md). A column without leastAuto
// knots gets no curve.
// The exponent balances the variance of the privacy noise, which increases with the number of knots, and the bias of a
// piecewise linear function, which decreases with it. Interactions with numbers are used if N is at least leastPairs.
// leastFine and leastPairs were measured (lab/results/accuracy.md).
const (
	knotsOfSize = .42
	leastAuto   = 3
	mostAuto    = 64
	leastFine   = 20_000
	leastPairs  = 1500
	wideLog     = 5.75
)

// Hats is the range of features of one curve, or of one interaction with at least one number or
// date. A hat is a piecewise linear function that is 1 at one knot and 0 at all other knots. The
// features are computed from the row's numbers and the public knots.
type Hats struct {
	First, Width int
	// Axes are the number of a curve, or the one or two numbers of an interaction. The features of two
	// numbers are ordered by the knots of the first axis, then by the knots of the second axis.
	Axes []Axis
	// Group is the index, among [Schema.Groups], of the category of an interaction of a category
	// and a number. The features are ordered by the category's levels, then by the number's knots.
	// Group is -1 for a curve and for an interaction of two numbers.
	Group int
	curve bool
}

// Curve reports whether the hats (values of basis functions) are a column's curve (true) or an
// interaction (false).
func (h Hats) Curve() bool { return h.curve }

// Reference returns the feature of the knot against which the terms of a curve are differences (see
// [Schema.Terms]).
func (h Hats) Reference() int { return h.First + referenceKnot(h.Axes[0].knots()) }

// referenceKnot returns the index of the middle knot, of two middle ones the lower. The terms of a curve
// are differences from it, since rows are often few near the ends.
func referenceKnot(k spline.Knots) int { return (k.Len() - 1) / 2 }

// Axis is one number or date from which Hats are computed.
type Axis struct {
	Column          string
	Number, Missing int // indices of the features of the number and of its indicator
	// Knots is the number of knots. At are the knots, increasing numbers from -1 to 1 to which cells are mapped, or
	// nil if they are equally spaced.
	Knots int
	At    []float64
}

func (a Axis) knots() spline.Knots { return spline.Of(a.Knots, a.At) }

// Hats returns the ranges of features that hold hats (values of basis functions), in the order of their
// features. All curves and all interactions with numbers have such a range.
func (s *Schema) Hats() []Hats {
	list := slices.Clone(s.hats)
	for i := range list {
		list[i].Axes = slices.Clone(list[i].Axes)
		for k := range list[i].Axes {
			list[i].Axes[k].At = slices.Clone(list[i].Axes[k].At)
		}
	}
	return list
}

// Resolved lists the choices that [Schema.Resolve] made, for printing in plans and for storing in
// models.
type Resolved struct {
	// Curves are the columns whose number of knots Resolve chose. Linear are the columns with curve:
	// auto that got no curve because the size of the fit, n records times mu, is too small.
	Curves, Linear []string
	// Without are the interactions with numbers that Resolve left out because the fit is too small.
	Without []Interaction
	// Needed is the least size N = n mu (records times the mu of the budget) at which every column in Linear would have
	// a curve and every interaction in Without would be used. It is 0 if Linear and Without are empty.
	Needed float64
}

// Unresolved reports whether a column has curve: auto, so that [Schema.Resolve] must choose its
// knots.
func (s *Schema) Unresolved() bool {
	return slices.ContainsFunc(s.columns, func(c Column) bool { return c.Curve == CurveAuto })
}

// Adapts reports whether [Schema.Resolve] could change the schema: it has a column with curve: auto
// or an interaction with a number.
func (s *Schema) Adapts() bool {
	return slices.ContainsFunc(s.interactions, s.hasNumber) || s.Unresolved()
}

func (s *Schema) hasNumber(pair Interaction) bool {
	return slices.ContainsFunc(pair[:], func(name string) bool {
		c, listed := s.column(name)
		return listed && c.isNumber()
	})
}

// Resolve returns the schema that a fit of the given size uses. size is the public number N = n mu:
// records times the mu of the budget. Resolve replaces each curve: auto by a number of knots that depends
// on the size, and with transform log1p on the bounds. If the size is too small for the smallest curve, the column gets no
// curve. Interactions with numbers are removed if the size is below
// 1500. Resolve uses only public numbers.
func (s *Schema) Resolve(size float64) (*Schema, Resolved, error) {
	var r Resolved
	if err := s.usable(); err != nil {
		return nil, r, err
	}
	if !s.Adapts() || s.found != nil { // effects belong to the features that they were found with
		return s, r, nil
	}
	def := s.definition()
	knots := knotsFor(size)
	for i := range def.Columns {
		c := &def.Columns[i]
		switch {
		case c.Curve != CurveAuto:
		case knots == 0:
			c.Curve = 0
			r.Linear = append(r.Linear, c.Name)
			r.Needed = max(r.Needed, math.Ceil(math.Pow((leastAuto-.5)/knotsOfSize, 3)))
		default:
			c.Curve = knots
			if c.Transform == Log1p {
				factor := 2.
				if size < leastFine {
					factor = min(max(newInterval(*c).width/wideLog, 1), 2)
				}
				c.Curve = int(math.Round(factor * float64(knots)))
			}
			r.Curves = append(r.Curves, c.Name)
		}
	}
	def.Interactions = nil
	for _, pair := range s.interactions {
		if s.hasNumber(pair) && !(size >= leastPairs) {
			r.Without = append(r.Without, pair)
			r.Needed = max(r.Needed, leastPairs)
			continue
		}
		def.Interactions = append(def.Interactions, pair)
	}
	resolved, err := New(def)
	return resolved, r, err
}

// knotsFor returns the number of knots of a column with curve: auto, for a fit of the given size (records times the mu
// of the budget). It returns 0, for no curve, if the size is too small for leastAuto knots.
func knotsFor(size float64) int {
	k := knotsOfSize * math.Cbrt(size)
	if size >= leastFine {
		k *= 2
	}
	if k = math.Round(k); !(k >= leastAuto) {
		return 0
	}
	return int(min(k, mostAuto))
}

func (s *Schema) definition() Definition {
	return Definition{
		Columns: cloneColumns(s.columns), Target: s.target.clone(), Interactions: s.Interactions(),
		Where: s.filter.String(), Missing: s.missing, Norm: s.norm, Unit: s.unit,
	}
}

func (c Column) isNumber() bool { return c.Kind == Number || c.Kind == Date }

// knots returns the knots of the column's curve, mapped to [-1, 1] as cells are. It returns the zero Knots
// if the column has no curve.
func (c Column) knots() spline.Knots {
	switch {
	case c.Curve <= 0:
		return spline.Knots{}
	case c.Knots == nil:
		return spline.Equal(c.Curve)
	}
	k, _ := spline.At(c.places()) // validateCurve has tested the knots
	return k
}

// places returns the knots that the schema lists for the column, mapped to [-1, 1].
func (c Column) places() []float64 {
	n := newInterval(c)
	return vector.Map(c.Knots, n.unit)
}

// pairKnots returns the pairKnots knots that the column has in interactions, in [-1, 1]. Without listed knots they are
// equally spaced. If the schema lists knots for the column, the pairKnots knots are equally spaced in the index of the
// listed knots. A knot at a fractional index is interpolated linearly between two listed knots.
func (c Column) pairKnots() spline.Knots {
	if c.Curve <= 0 || c.Knots == nil {
		return spline.Equal(pairKnots)
	}
	own := c.places()
	list := make([]float64, pairKnots)
	for i := range list {
		way := float64(i*(len(own)-1)) / (pairKnots - 1)
		at := min(int(way), len(own)-2)
		list[i] = own[at] + float64((way-float64(at))*(own[at+1]-own[at]))
	}
	// The first and the last knot must be exactly -1 and 1. The sums for them may be rounded to other
	// numbers.
	list[0], list[pairKnots-1] = -1, 1 // what the sum rounds to may be beside them
	k, err := spline.At(list)
	if err != nil { // two knots are too near to each other for a float64
		return spline.Equal(pairKnots)
	}
	return k
}

func (c Column) validateCurve() error {
	switch {
	case c.Knots != nil && len(c.Knots) != c.Curve:
		return &fieldError{columnField(c.Name) + ".curve", showCurve(c.Curve), "must be the number of its knots"}
	case c.Curve == 0 || (c.Curve == CurveAuto || c.Curve == CurveNone) && c.isNumber():
		return nil
	case !c.isNumber():
		return &fieldError{columnField(c.Name) + ".curve", showCurve(c.Curve), "only a number or a date has a curve"}
	case c.Curve < spline.Least || c.Curve > spline.Most:
		return &fieldError{columnField(c.Name) + ".curve", showCurve(c.Curve),
			"must be auto, none, knots or a number of knots from " + strconv.Itoa(spline.Least) + " to " + strconv.Itoa(spline.Most)}
	}
	return c.validateKnots()
}

func (c Column) validateKnots() error {
	if c.Knots == nil {
		return nil
	}
	for i, x := range c.Knots {
		if !vector.Finite(x) || i > 0 && !(c.Knots[i-1] < x) {
			return &fieldError{columnField(c.Name) + ".curve", showFloat(x), "knots must be finite and increase"}
		}
		if c.Kind == Date && x != math.Trunc(x) {
			return &fieldError{columnField(c.Name) + ".curve", showFloat(x),
				"the knots of a date must be whole days since 1970-01-01, as they are written"}
		}
	}
	if c.Knots[0] != c.Low || c.Knots[len(c.Knots)-1] != c.High {
		return &fieldError{columnField(c.Name) + ".curve", showBounds(c.Knots[0], c.Knots[len(c.Knots)-1]),
			"the first and the last knot must be the column's bounds"}
	}
	if _, err := spline.At(c.places()); err != nil {
		return &fieldError{columnField(c.Name) + ".curve", "", "two knots are too near to each other for a float64"}
	}
	return nil
}

func showCurve(knots int) string {
	switch knots {
	case CurveAuto:
		return auto
	case CurveNone:
		return noCurve
	}
	return strconv.Itoa(knots)
}

const (
	auto    = "auto"
	noCurve = "none"
)

// knotCells returns the knots k, which are in [-1, 1], in the column's own units: numbers, or days since
// 1970-01-01.
func (c Column) knotCells(k spline.Knots) []float64 {
	return vector.Make(k.Len(), func(i int) float64 { return c.cellAt(k.Position(i)) })
}

// cellAt returns the cell (the number in the column's own units) that the row map encodes as u in
// [-1, 1].
func (c Column) cellAt(u float64) float64 {
	n := newInterval(c)
	t := n.from + n.width*((u+1)/2)
	if n.log {
		t = math.Expm1(t)
	}
	return min(max(t, c.Low), c.High)
}

// knotNames returns a name for each knot, such as age@17 and age@23.1. Numbers in names have the fewest
// significant digits, at least 4, with which all names differ.
func (c Column) knotNames(k spline.Knots) []string {
	cells := c.knotCells(k)
	names := make([]string, len(cells))
	for digits := 4; ; digits++ {
		seen := make(map[string]bool, len(cells))
		for i, x := range cells {
			text := strconv.FormatFloat(x, 'g', digits, 64)
			switch {
			case digits > 17:
				text = strconv.Itoa(i + 1)
			case c.Kind == Date && digits == 4:
				text = ShowDay(math.Floor(x))
			case math.Abs(x) < 1e15 && x == math.Trunc(x):
				text = strconv.FormatFloat(x, 'f', -1, 64)
			}
			names[i] = c.Name + "@" + text
			seen[text] = true
		}
		if len(seen) == len(cells) {
			return names
		}
	}
}

// normalise turns on the indicator, a feature that is 1 if the number is missing, of every number or date from which
// hats are computed. A row in which the number is missing has no nonzero hat, so only the indicator can represent it.
func (s *Schema) normalise() {
	numbers := make(map[string]bool)
	for _, pair := range s.interactions {
		numbers[pair[0]], numbers[pair[1]] = true, true
	}
	for i := range s.columns {
		if c := &s.columns[i]; c.isNumber() && (c.Curve > 0 || numbers[c.Name]) {
			c.Indicator = true
		}
	}
}

// axis returns the [Axis] of a number or a date with the knots k. at is the index of the column's first
// feature. The next feature is the indicator.
func (c Column) axis(at int, k spline.Knots) Axis {
	return Axis{c.Name, at, at + 1, k.Len(), k.Listed()}
}

// at returns the index of the first feature of the column with the given name.
func (s *Schema) at(name string) int { return s.first[s.places[name]] }

// hang computes the hats of a row ([Hats]) and writes them to x, to which all other features must have been
// written. codes holds, for each group of [Schema.Groups], the index within the group of the row's nonzero
// feature. Hats of a missing number stay zero.
func (m *Map) hang(x []float32, codes []int) {
	level := x[m.base()-1]
	for i := range m.hats {
		h := &m.hats[i]
		if x[h.Axes[0].Missing] != 0 {
			continue
		}
		a := &h.Axes[0]
		cell, f := a.knots().Cell(float64(x[a.Number]) / float64(level))
		at := h.First + cell
		if len(h.Axes) == 1 {
			if h.Group >= 0 {
				at += codes[h.Group] * a.Knots
			}
			x[at], x[at+1] = spline.Curve(level, f)
			continue
		}
		b := &h.Axes[1]
		if x[b.Missing] != 0 {
			continue
		}
		inner, g := b.knots().Cell(float64(x[b.Number]) / float64(level))
		width := b.Knots
		at = h.First + cell*width + inner
		v := spline.Pair(level, f, g)
		x[at], x[at+1], x[at+width], x[at+width+1] = v[0], v[1], v[2], v[3]
	}
}
