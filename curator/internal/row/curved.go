package row

import (
	"errors"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// Curved is a source of rows with hats, the values of curves' basis functions. It is built over a
// source of the same rows without hats. The hats of a row are computed when the row is read, from
// the row's numbers and public knots. They are kept in memory if the method Keep is called.
type Curved struct {
	Source // of the rows without hats
	layout *Layout
	rule   *hanger
	kept   []Edges // the hats of each block, if they are kept
}

// Axis describes a column of numbers from which hats, the values of a curve's basis functions, are
// computed.
type Axis struct {
	// Number is the feature with the value u c, where u in [-1, 1] is the column's scaled value and
	// c is the row's constant. Missing is the feature that is not zero if the value is missing.
	Number, Missing int
	Knots           spline.Knots
}

// Hanging describes the hats of one curve or surface of a layout: the features of a row from which they are
// computed. Hats are the values of the basis functions of the curve or surface. A curve is computed from
// one axis. A surface of two columns is computed from two axes, the first of which is the outer one. A
// curve for each category is computed from an axis and a one-hot group.
type Hanging struct {
	Axes []Axis
	// Group is the index, among the layout's groups, of the one-hot group for whose categories there are
	// curves, one for each category. The curves follow each other in the order of the categories. Group is
	// -1 if there is only one curve.
	Group int
}

// NewCurved returns the rows of a source with hats, the values of curves' basis functions. The argument hanging
// describes the layout's hats in their order. The argument one is the constant feature, which is 1 before a row is
// scaled. If hats would make a row's squared norm exceed MaxSquare, which no row map does, the row's hats are zeros.
// Closing the returned source closes the given one.
func NewCurved(of Source, l *Layout, one int, hanging []Hanging) (*Curved, error) {
	if len(hanging) != len(l.hats) || len(l.hats) == 0 {
		return nil, errors.New("row: hats: each must say from what it is computed")
	}
	bare, err := l.Bare()
	if err != nil {
		return nil, err
	}
	if b := of.Layout(); b.dim != bare.dim || b.dense != bare.dense || len(b.groups) != len(bare.groups) || b.edges != 0 {
		return nil, errors.New("row: hats: must be over rows of the same layout without them")
	}
	rule := &hanger{layout: l}
	number := func(feature int) (int, bool) {
		if feature < 0 || feature >= l.dim || l.Place(feature) >= l.dense {
			return 0, false
		}
		return l.Place(feature), true
	}
	var ok bool
	if rule.one, ok = number(one); !ok {
		return nil, errors.New("row: hats: the constant must be a number")
	}
	for i, h := range hanging {
		s := strung{group: h.Group, from: l.hung[i]}
		width := 1
		for _, a := range h.Axes {
			n, isNumber := number(a.Number)
			m, isMissing := number(a.Missing)
			if !isNumber || !isMissing || a.Knots.Len() < 2 {
				return nil, errors.New("row: hats: must be of numbers with their indicators, on knots")
			}
			s.axes = append(s.axes, axis{n, m, a.Knots})
			width *= a.Knots.Len()
		}
		if h.Group >= len(l.groups) || len(h.Axes) != l.hats[i].Edges || h.Group >= 0 && len(h.Axes) != 1 {
			return nil, errors.New("row: hats: must be of one number, of two, or of a number and a group")
		}
		if h.Group >= 0 {
			width *= l.groups[h.Group].Width
		}
		if width != l.hats[i].Width {
			return nil, errors.New("row: hats: must have a feature for each knot")
		}
		rule.strung = append(rule.strung, s)
	}
	return &Curved{Source: of, layout: l, rule: rule}, nil
}

// Keep computes the hats of all rows once and keeps them in memory, 12 bytes for each edge of a row. It must be called
// before the source is read, by one goroutine.
func (c *Curved) Keep() error {
	var kept []Edges
	r := c.Reader()
	for i := range c.Blocks() {
		b, err := r.Block(i)
		if err != nil {
			return err
		}
		kept = append(kept, Edges{slices.Clone(b.Edges.At), slices.Clone(b.Edges.By)})
	}
	c.kept = kept
	return nil
}

// hanger computes the hats (the values of curves' basis functions) of rows.
type hanger struct {
	layout *Layout
	one    int // index of the constant among the numbers
	strung []strung
}

// strung describes the hats of one curve or surface, which are the values of its basis functions: the axes
// and the group from which these hats are computed. group is -1 if there is none. from is the index of the
// first hat among the features of groups and hats.
type strung struct {
	axes  []axis
	group int
	from  int
}

// axis is an Axis with its features given as indices among a row's numbers.
type axis struct {
	number, missing int
	knots           spline.Knots
}

// hang computes the edges (pairs of neighbouring nonzero values of basis functions, the hats) of a
// block's rows, from the row with index first on.
func (h *hanger) hang(b *Block, first int) {
	l := h.layout
	edges, stride := l.edges, l.Stride()
	n := len(b.Targets)
	b.Edges.At = longer(b.Edges.At[:first*edges], (n-first)*edges)
	b.Edges.By = longer(b.Edges.By[:2*first*edges], 2*(n-first)*edges)
	for i := first; i < n; i++ {
		h.row(b.Edges.At[i*edges:(i+1)*edges], b.Edges.By[2*i*edges:2*(i+1)*edges], b.Rows[i*stride:(i+1)*stride], b, i)
	}
}

// row computes the edges (pairs of neighbouring nonzero values of basis functions, the hats) of one
// row.
func (h *hanger) row(at []uint32, by []float32, x []float32, b *Block, i int) {
	level := x[h.one]
	clear(by)
	e := 0
	for k := range h.strung {
		s := &h.strung[k]
		if len(s.axes) == 1 {
			h.curve(at[e:e+1], by[2*e:2*e+2], s, x, level, b, i)
		} else {
			h.pair(at[e:e+2], by[2*e:2*e+4], s, x, level)
		}
		e += len(s.axes)
	}
	if b.Targets[i] != b.Targets[i] {
		clear(by)
		return
	}
	sum := square(x) + square(by)
	if groups := len(h.layout.groups); groups > 0 {
		v := float64(b.Levels[i])
		sum += float64(float64(groups) * float64(v*v))
	}
	if !(sum <= MaxSquare) {
		clear(by)
	}
}

// cell returns the index i of the interval (cell) between neighbouring knots of an axis that contains a row's value on
// this axis, and the value's relative position f in this interval, from 0 to 1. known is false if the value is missing.
func (a *axis) cell(x []float32, level float32) (i int, f float64, known bool) {
	if x[a.missing] != 0 || !(level > 0) {
		return 0, 0, false
	}
	i, f = a.knots.Cell(float64(x[a.number]) / float64(level))
	return i, f, true
}

func (h *hanger) curve(at []uint32, by []float32, s *strung, x []float32, level float32, b *Block, i int) {
	cell, f, known := s.axes[0].cell(x, level)
	at[0] = uint32(s.from + cell)
	if s.group >= 0 {
		code := b.Codes.at(i*len(h.layout.groups)+s.group) - h.layout.starts[s.group]
		at[0] += uint32(code * s.axes[0].knots.Len())
	}
	if known {
		by[0], by[1] = spline.Curve(level, f)
	}
}

func (h *hanger) pair(at []uint32, by []float32, s *strung, x []float32, level float32) {
	outer, f, known := s.axes[0].cell(x, level)
	inner, g, both := s.axes[1].cell(x, level)
	width := s.axes[1].knots.Len()
	at[0] = uint32(s.from + outer*width + inner)
	at[1] = at[0] + uint32(width)
	if known && both {
		v := spline.Pair(level, f, g)
		copy(by, v[:])
	}
}

// Layout returns the layout of the rows.
func (c *Curved) Layout() *Layout { return c.layout }

// Reader returns a reader with its own buffers.
func (c *Curved) Reader() Reader {
	var edges Edges
	return newChanged(c.Source, func(i int, b Block) Block {
		if c.kept != nil {
			b.Edges = c.kept[i]
			return b
		}
		b.Edges = edges
		c.rule.hang(&b, 0)
		edges = b.Edges
		return b
	}, inPlace(c.rule.hang))
}
