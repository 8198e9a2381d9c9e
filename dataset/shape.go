package dataset

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Shape is a piecewise linear part of a linear score: the curve of a number or a date, or the contribution
// of an interaction with a number or a date.
type Shape struct {
	// Axes are the column of a curve, or the two columns of an interaction. In an interaction with a
	// category, the category comes first.
	Axes []ShapeAxis
	// Places has an entry for each knot of a curve, or for each pair of knots or levels of an interaction. The entries
	// of an interaction that belong to the same knot or level of the first column are adjacent.
	Places []Place
}

// Place is a knot of a curve, or a pair of knots or levels of an interaction.
type Place struct {
	// Parts is a linear combination of the model's weights. It is the value of the shape at the place, in
	// the units of [Schema.Terms].
	Parts []Part
	// Feature is the index of the feature that belongs to the place: the value of the basis function
	// (hat, or product of two hats) that is 1 at the place. For a curve, the means of the hats over all
	// rows are about in proportion to the numbers of rows near the knots.
	Feature int
}

// ShapeAxis is a column of a Shape. For a category, Levels are the names of its features, and Knots
// is nil.
type ShapeAxis struct {
	Column Column
	Knots  []float64 // in the column's units; of a date, days since 1970-01-01
	Levels []string
	knots  spline.Knots
}

// Evenly returns one share for each knot: the fraction of the column's range that is nearer to this knot than to any
// other knot. The range is from bound to bound, after the column's transform. The shares sum to 1.
func (a ShapeAxis) Evenly() []float64 {
	n := a.knots.Len()
	return vector.Make(n, func(i int) float64 {
		return (a.knots.Position(min(i+1, n-1)) - a.knots.Position(max(i-1, 0))) / 4
	})
}

// Between returns the cell (the number in the column's own units) at a share, from 0 to 1, of the way from one knot to
// the next knot, in the transformed range. The values of a Shape are linear in this share.
func (a ShapeAxis) Between(knot int, share float64) float64 {
	if share <= 0 || knot == len(a.Knots)-1 {
		return a.Knots[knot]
	}
	from, to := a.knots.Position(knot), a.knots.Position(knot+1)
	return min(max(a.Column.cellAt(from+share*(to-from)), a.Knots[knot]), a.Knots[knot+1])
}

// Shapes returns the curves of a linear score, and its interactions with a number or a date, in the
// order of their features. rate has the same meaning as in [Schema.Terms].
func (s *Schema) Shapes(rate bool) (list []Shape) {
	unit := 1 / s.Scale()
	if s.target.Kind == Number && !rate {
		unit *= s.target.half()
	}
	for _, h := range s.hats {
		var shape Shape
		if h.Group >= 0 {
			c := s.grouped(h.Group)
			shape.Axes = append(shape.Axes, ShapeAxis{Column: cloneColumns([]Column{c})[0], Levels: featureNames(c)})
		}
		for _, a := range h.Axes {
			c, _ := s.column(a.Column)
			shape.Axes = append(shape.Axes, ShapeAxis{Column: cloneColumns([]Column{c})[0], Knots: c.knotCells(a.knots()),
				knots: a.knots()})
		}
		scale := unit * math.Pow(spline.Scale, float64(len(h.Axes)))
		for i := range h.Width {
			p := Place{Parts: []Part{{h.First + i, scale}}, Feature: h.First + i}
			if h.curve {
				p.Parts = append(p.Parts, Part{h.Axes[0].Number, unit * h.Axes[0].knots().Position(i)})
			}
			shape.Places = append(shape.Places, p)
		}
		list = append(list, shape)
	}
	return list
}

// Reference returns the index of the knot of a curve against which the terms of the curve are differences
// (see [Schema.Terms]).
func (a ShapeAxis) Reference() int { return referenceKnot(a.knots) }

// grouped returns the column whose one-hot group has the given index in Groups.
func (s *Schema) grouped(group int) Column {
	i := slices.IndexFunc(s.columns, func(c Column) bool {
		return s.group(c.Name) == group && (c.Kind == Category || c.Kind == Hash)
	})
	return s.columns[i]
}
