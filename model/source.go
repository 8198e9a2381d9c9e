package model

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// Source is where the rows of a table come from: one of a file, a stream of text, or rows
// that the caller holds.
type Source struct {
	Path   string
	Reader io.Reader
	// Header names the columns of Cells, which yields the cells of one row after the
	// other. A slice may be used again once yield has returned. A row of another length
	// than the header's is malformed. An error ends the rows.
	Header []string
	Cells  iter.Seq2[[]string, error]
}

// rows are those of an open source.
type rows interface {
	Header() []string
	For(*dataset.Map) error
	Next() (cells []string, ok bool, err error)
	Close() error
}

func (s Source) open(as dataset.CSV) (rows, error) {
	switch {
	case s.Cells != nil && s.Reader == nil && s.Path == "":
		next, stop := iter.Pull2(s.Cells)
		return &heldRows{s.Header, next, stop}, nil
	case s.Reader != nil && s.Cells == nil && s.Path == "":
		return table.OpenStream(s.Reader, as)
	case s.Reader != nil || s.Cells != nil:
		return nil, errors.New("model: source: must be one of a path, a reader and cells")
	}
	return table.Open([]string{s.Path}, as)
}

// heldRows are rows that the caller holds.
type heldRows struct {
	header []string
	next   func() ([]string, error, bool)
	stop   func()
}

func (r *heldRows) Header() []string       { return r.header }
func (r *heldRows) For(*dataset.Map) error { return nil }
func (r *heldRows) Close() error           { r.stop(); return nil }
func (r *heldRows) Next() ([]string, bool, error) {
	cells, err, more := r.next()
	if !more || err != nil {
		return nil, false, err
	}
	if len(cells) != len(r.header) {
		return nil, true, nil
	}
	return cells, true, nil
}

// Prediction is what a model predicts of one row.
type Prediction struct {
	// OK is false for a row that could not be encoded; all else is zero then.
	OK bool
	// Class is the predicted class, where the target has classes.
	Class string
	// Probabilities are those of the classes, in the schema's order; nil where the loss
	// gives none.
	Probabilities []float64
	// Value is the predicted number or rate, in the target's units, where the target is
	// one. It is clamped to the target's public bounds if the model is Clamped.
	Value float64
	// Margins are what the loss is a function of: one, or one for each class.
	Margins []float64
}

// Predictions are those for the rows of a source, one for each in its order. An error ends
// them. What they are is said at Predict.
func (m *Model) Predictions(ctx context.Context, from Source) iter.Seq2[Prediction, error] {
	return func(yield func(Prediction, error) bool) {
		l, err := m.predicting()
		var o Output
		if err == nil {
			o, err = m.Output()
		}
		if err != nil {
			yield(Prediction{}, err)
			return
		}
		stopped := errors.New("stopped")
		err = m.scan(ctx, from, "", false, func(r record) error {
			p := Prediction{OK: r.ok}
			if r.ok {
				p = m.prediction(o, l, m.Margins(r.x))
			}
			if !yield(p, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && err != stopped {
			yield(Prediction{}, err)
		}
	}
}

func (m *Model) prediction(o Output, l margins, z []float64) Prediction {
	p := Prediction{OK: true, Margins: z}
	switch o {
	case Value, Rate:
		p.Value = m.inUnits(l, z[0])
		return p
	case Probabilities:
		p.Probabilities = probabilities(l, z)
	case Probability:
		second := probability(l, z[0])
		p.Probabilities = []float64{1 - second, second}
	}
	p.Class = m.schema.Target().Classes[classOf(z)]
	return p
}
