package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// shape is how parameters lie in memory: margins rows of features coordinates, each
// row padded to a stride, so that a margin is a dot product of two runs of one
// length. Those of a loss that writes its own gradient are one row without padding.
type shape struct{ margins, features, stride int }

func shapeOf(l loss.Loss, parameters int, t row.Source) shape {
	if _, ok := l.(loss.General); ok {
		return shape{1, parameters, parameters}
	}
	return shape{parameters / t.Dim(), t.Dim(), t.Stride()}
}

// shapeFor is the shape of a question's points: that of the parameters, or one row of
// features. Where directions are drawn any loss is taken as one that writes its gradient.
func (e *Portable) shapeFor(q query.Question) shape {
	switch {
	case q.Facts().Losses == query.NoLoss:
		return shape{1, e.table.Dim(), e.table.Stride()}
	case q.Sampled():
		return shape{1, e.shape.parameters(), e.shape.parameters()}
	}
	return e.shape
}

// parameters is their number, padded what they take.
func (s shape) parameters() int { return s.margins * s.features }
func (s shape) padded() int     { return s.margins * s.stride }

// place is where parameter j lies.
func (s shape) place(j int) int { return j/s.features*s.stride + j%s.features }

// pad returns a copy of parameters as they lie in memory; nil of nil.
func (s shape) pad(v []float64) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, s.padded())
	for k := range s.margins {
		copy(out[k*s.stride:], v[k*s.features:(k+1)*s.features])
	}
	return out
}
