package model

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// PredictOptions selects rows and output columns. The zero value predicts every row.
type PredictOptions struct {
	// Where is a row filter, column=value; "" keeps every row. The schema's own filter, which chose
	// the rows to train on, is not applied.
	Where string
	// Margins adds the margins after the other columns.
	Margins bool
	// Intervals adds the columns lower and upper, the confidence interval of each prediction. The model must
	// have intervals.
	Intervals bool
	// Horizons are the times, in the units of the target, by which the risk of an event is predicted. None means the
	// end of the time that is modelled. They must be within it, and the target must be the time to an event.
	Horizons []float64
}

// Predict reads the table at path and writes predictions as CSV: a header row, then one row for
// each row of the table, in its order. The table needs the schema's feature columns and the
// filter's column. Other columns, the target included, may be absent; if present they are not read.
// The columns written are
//
//	probability, class   logistic loss: the probability of the second class
//	probability=A, probability=B, ..., class   softmax loss: the probability of each class
//	score, class         other losses of two classes: the margin <w, x>
//	risk, score          the time to an event: the probability of an event by the end of the time that is
//	                     modelled, or risk=T for each of opts.Horizons, and the logarithm of a record's
//	                     hazard ratio against the mean hazard, the margin
//	prediction           regression: in the target's units, clamped to its public bounds
//	                     if the model is Clamped; for a poisson loss the rate
//	lower, upper         with opts.Intervals: the confidence interval of the probability, the mean or the
//	                     rate of rows with these features, sampling error and privacy noise together.
//	                     It belongs to the formula of the fit, and is empty where none is stated
//	lower=B, upper=B, ... the same of ordered classes, of the probability of the class or a higher one
//	margin               with opts.Margins, last: <w, x>; margin=A, margin=B, ... for softmax
//
// With one margin the class is the second of the schema's classes if the margin is positive, and
// otherwise the first. With several margins it is the first class with the greatest margin.
//
// For a row that cannot be encoded, or that the filter does not keep, Predict writes empty cells. Row n of
// the output is therefore always for row n of the table. (A malformed row of the table counts as one row;
// package internal/table defines rows.) If the output has a single column, Predict writes such a cell as "",
// because an empty line is not a row.
func (m *Model) Predict(ctx context.Context, path string, out io.Writer, opts PredictOptions) error {
	return m.PredictFrom(ctx, Source{Path: path}, out, opts)
}

// PredictFrom does what [Model.Predict] does, for the rows of any [Source].
func (m *Model) PredictFrom(ctx context.Context, from Source, out io.Writer, opts PredictOptions) error {
	l, err := m.predicting()
	if err != nil {
		return err
	}
	o, err := m.Output()
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<16)
	columns, predict, err := m.predictor(o, l, opts)
	if err != nil {
		return fmt.Errorf("model: predict: %w", err)
	}
	w.WriteString(csvLine(columns))
	empty := strings.Repeat(",", len(columns)-1) + "\n"
	if len(columns) == 1 {
		empty = "\"\"\n"
	}
	err = m.scan(ctx, from, opts.Where, "", false, func(r record) error {
		if !r.kept || !r.ok {
			_, err := w.WriteString(empty)
			return err
		}
		_, err := w.Write(append(predict(w.AvailableBuffer(), r), '\n'))
		return err
	})
	if err = cmp.Or(err, w.Flush()); err != nil {
		return fmt.Errorf("model: predict: %w", err)
	}
	return nil
}

// csvLine returns a row of CSV with its line end.
func csvLine(cells []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(cells) // a Builder returns no errors
	w.Flush()
	return b.String()
}

// predictor returns the names of the columns that Predict writes, and a function that appends the cells of
// these columns for an encoded row, as CSV without the line end.
func (m *Model) predictor(o Output, l margins, opts PredictOptions) (columns []string,
	predict func(to []byte, r record) []byte, err error) {
	var classes []string // as cells of CSV behind another cell
	for _, c := range m.schema.Target().Classes {
		classes = append(classes, ","+strings.TrimSuffix(csvLine([]string{c}), "\n"))
	}
	var of func(to []byte, z []float64) []byte
	var times targetpair.Times // of the row
	if err := m.checkHorizons(opts.Horizons); err != nil {
		return nil, nil, err
	}
	switch o {
	case Risk:
		horizons := opts.Horizons
		if len(horizons) == 0 {
			horizons = []float64{m.schema.Target().High}
		}
		of = func(to []byte, z []float64) []byte {
			list := make([]float64, 0, len(horizons)+1)
			for _, h := range horizons {
				list = append(list, risk(times, z[0], h))
			}
			return show(to, append(list, z[0])...)
		}
	case Value, Rate:
		of = func(to []byte, z []float64) []byte { return show(to, m.inUnits(l, z[0])) }
	case Probabilities:
		of = func(to []byte, z []float64) []byte {
			return append(show(to, probabilities(l, z)...), classes[classOf(z)]...)
		}
	case Probability:
		of = func(to []byte, z []float64) []byte {
			return append(show(to, probability(l, z[0])), classes[classOf(z)]...)
		}
	default:
		of = func(to []byte, z []float64) []byte { return append(show(to, z[0]), classes[classOf(z)]...) }
	}
	interval := func([]float32) []*Interval { return nil }
	if opts.Intervals {
		if interval, err = m.intervals(o, l, opts.Horizons...); err != nil {
			return nil, nil, err
		}
	}
	all := m.times()
	return m.columns(o, opts), func(to []byte, r record) []byte {
		z := m.margins(r.x)
		times = all.Of(r.level)
		to = of(to, z)
		if opts.Intervals {
			for _, i := range interval(r.x) {
				if to = append(to, ','); i != nil {
					to = show(to, i.Low, i.High)
				} else {
					to = append(to, ',')
				}
			}
		}
		if opts.Margins {
			to = show(append(to, ','), z...)
		}
		return to
	}, nil
}

// inUnits returns the prediction for the margin z, in the target's units. If the model is Clamped, the
// prediction is clamped to the target's bounds.
func (m *Model) inUnits(l margins, z float64) float64 {
	target := m.schema.Target()
	var x float64
	if l, ok := l.(linked); ok {
		x = l.Rate(z) * target.Rate()
	} else {
		x = m.schema.TargetFromUnit(z)
	}
	if m.clamped {
		return min(max(x, target.Low), target.High)
	}
	return x
}

// classOf returns the index of the predicted class for the margins z. With one margin it is 1 if z[0] > 0,
// else 0. With several it is the index of the greatest margin, the first one in a tie.
func classOf(z []float64) int {
	if len(z) == 1 {
		if z[0] > 0 {
			return 1
		}
		return 0
	}
	best := 0
	for k, v := range z {
		if v > z[best] {
			best = k
		}
	}
	return best
}

// probability returns 1/(1+e^-z), the predicted probability of the second class. It computes it as the slope
// of the logistic loss log(1 + e^(-yz)) in z at y = -1.
func probability(l margins, z float64) float64 {
	p, margins, targets := [1]float64{}, [1]float64{z}, [1]float64{-1}
	l.Slopes(p[:], margins[:], targets[:])
	return p[0]
}

// probabilities returns the softmax probabilities of the classes for margins z. It computes the probability
// of class k as the slope of the loss in margin k for a record of another class.
func probabilities(l margins, z []float64) []float64 {
	p, second := make([]float64, len(z)), make([]float64, len(z))
	l.Slopes(p, z, []float64{0})
	l.Slopes(second, z, []float64{1})
	p[0] = second[0]
	return p
}

// show appends numbers as cells of CSV: the shortest decimals that parse to them.
func show(to []byte, list ...float64) []byte {
	for i, x := range list {
		if i > 0 {
			to = append(to, ',')
		}
		to = strconv.AppendFloat(to, x, 'g', -1, 64)
	}
	return to
}
