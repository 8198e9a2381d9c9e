package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// shape describes the order of parameters in memory. With a layout they are margins rows of
// features coordinates. Each row has the order of the layout and takes width floats, so that a
// margin is a sum over contiguous runs. Without a layout the coordinates are in their own order,
// without padding: this is the shape for a loss that writes its own gradient.
type shape struct {
	margins, features, width int
	layout                   *row.Layout
}

// unshaped returns the shape of parameters in their own order.
func unshaped(parameters int) shape { return shape{1, parameters, parameters, nil} }

// shaped returns the shape of the parameters of the given number of margins.
func shaped(margins int, l *row.Layout) shape { return shape{margins, l.Dim(), l.Width(), l} }

func shapeOf(l loss.Loss, parameters int, t row.Source) shape {
	if _, ok := l.(loss.General); ok {
		return unshaped(parameters)
	}
	return shaped(parameters/t.Layout().Dim(), t.Layout())
}

// shapeFor returns the shape of a query's points: the shape of the parameters, or one row of
// features for a query without a loss. A query that draws directions uses any loss as one that
// writes its gradient.
func (e *Portable) shapeFor(q query.Question) shape {
	switch {
	case q.Facts().Losses == query.NoLoss:
		return shaped(1, e.layout)
	case q.Sampled():
		return unshaped(e.shape.parameters())
	}
	return e.shape
}

// parameters returns the number of parameters. padded returns the number of floats they take in
// memory.
func (s shape) parameters() int { return s.margins * s.features }
func (s shape) padded() int     { return s.margins * s.width }

// place returns the index of parameter j in memory.
func (s shape) place(j int) int {
	if s.layout == nil {
		return j
	}
	return j/s.features*s.width + s.layout.Place(j%s.features)
}

// pad returns a copy of parameters in their order in memory. It is nil for nil.
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
