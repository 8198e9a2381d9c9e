package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// shape is how parameters lie in memory: margins rows of features coordinates, each
// row in the order of the layout and of width floats, so that a margin is made of runs
// of one order. Without a layout coordinates are in their own order, without padding:
// those of a loss that writes its own gradient.
type shape struct {
	margins, features, width int
	layout                   *row.Layout
}

// unshaped are parameters in their own order.
func unshaped(parameters int) shape { return shape{1, parameters, parameters, nil} }

// shaped are those of so many margins of rows.
func shaped(margins int, l *row.Layout) shape { return shape{margins, l.Dim(), l.Width(), l} }

func shapeOf(l loss.Loss, parameters int, t row.Source) shape {
	if _, ok := l.(loss.General); ok {
		return unshaped(parameters)
	}
	return shaped(parameters/t.Layout().Dim(), t.Layout())
}

// shapeFor is the shape of a question's points: that of the parameters, or one row of
// features. Where directions are drawn any loss is taken as one that writes its gradient.
func (e *Portable) shapeFor(q query.Question) shape {
	switch {
	case q.Facts().Losses == query.NoLoss:
		return shaped(1, e.layout)
	case q.Sampled():
		return unshaped(e.shape.parameters())
	}
	return e.shape
}

// parameters is their number, padded what they take.
func (s shape) parameters() int { return s.margins * s.features }
func (s shape) padded() int     { return s.margins * s.width }

// place is where parameter j lies.
func (s shape) place(j int) int {
	if s.layout == nil {
		return j
	}
	return j/s.features*s.width + s.layout.Place(j%s.features)
}

// pad returns a copy of parameters as they lie in memory; nil of nil.
func (s shape) pad(v []float64) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, s.padded())
	for j, x := range v {
		out[s.place(j)] = x
	}
	return out
}
