package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// shape describes the order of parameters in memory. For a loss of margins, the parameters are one vector for each
// margin, with one coordinate for each feature. Each vector is in the order in which the layout stores features and
// takes width floats, so that a margin is a sum over contiguous numbers. For a loss that is not a function of margins
// and computes its gradient itself, layout is nil and the coordinates are in their own order, without padding.
type shape struct {
	margins, features, width int
	layout                   *row.Layout
}

// unshaped returns the shape of parameters that are stored in their own order, without padding.
func unshaped(parameters int) shape { return shape{1, parameters, parameters, nil} }

// shaped returns the shape of the parameters of the given number of margins.
func shaped(margins int, l *row.Layout) shape { return shape{margins, l.Dim(), l.Width(), l} }

func shapeOf(l loss.Loss, parameters int, t row.Source) shape {
	if _, ok := l.(loss.General); ok {
		return unshaped(parameters)
	}
	return shaped(parameters/t.Layout().Dim(), t.Layout())
}

// shapeFor returns the shape of a query's points. This is the shape of the parameters, or one row of
// features for a query without a loss. A query that estimates gradients along random directions
// treats every loss as one that computes its gradient itself.
func (e *Portable) shapeFor(q query.Question) shape {
	switch {
	case q.Facts().Losses == query.NoLoss:
		return shaped(1, e.layout)
	case q.Sampled():
		return unshaped(e.shape.parameters())
	}
	return e.shape
}

// parameters returns the number of parameters. padded returns the number of floats that they take in
// memory, padding included.
func (s shape) parameters() int { return s.margins * s.features }
func (s shape) padded() int     { return s.margins * s.width }

// place returns the index in memory of parameter j. For a loss of margins, the index follows from the
// layout of the rows.
func (s shape) place(j int) int {
	if s.layout == nil {
		return j
	}
	return j/s.features*s.width + s.layout.Place(j%s.features)
}

// pad returns a copy of the parameters v in their order in memory, with padding. For nil it returns
// nil.
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
