package model

import (
	"context"
	"fmt"
	"io"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
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
	// Format is the format of the output: csv or "", parquet, or arrow for Arrow's IPC file format.
	Format string
}

// Predict reads the table at path and writes predictions as CSV, or in the format of the options: a header row, then
// one row for each row of the table, in its order. The table needs the schema's feature columns and the filter's
// column. Other columns, the target included, may be absent; if present they are not read. The columns written are
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
	columns, predict, err := m.predictor(o, l, opts)
	if err != nil {
		return fmt.Errorf("model: predict: %w", err)
	}
	w, err := m.writer(out, columns, opts.Format)
	if err != nil {
		return fmt.Errorf("model: predict: %w", err)
	}
	empty, row := make([]cell, len(columns)), make([]cell, 0, len(columns))
	for i := range empty {
		empty[i].absent = true
	}
	err = m.scan(ctx, from, opts.Where, "", false, func(r record) error {
		if !r.kept || !r.ok {
			return w.row(empty)
		}
		return w.row(predict(row, r))
	})
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return fmt.Errorf("model: predict: %w", err)
	}
	return nil
}

// predictor returns the names of the columns that Predict writes, and a function that appends the cells of
// these columns for an encoded row.
func (m *Model) predictor(o Output, l margins, opts PredictOptions) (columns []string,
	predict func(to []cell, r record) []cell, err error) {
	var of func(to []cell, z []float64) []cell
	var times targetpair.Times // of the row
	if err := m.checkHorizons(opts.Horizons); err != nil {
		return nil, nil, err
	}
	class := func(z []float64) float64 { return float64(classOf(z)) }
	switch o {
	case Risk:
		horizons := opts.Horizons
		if len(horizons) == 0 {
			horizons = []float64{m.schema.Target().High}
		}
		of = func(to []cell, z []float64) []cell {
			for _, h := range horizons {
				to = numbers(to, risk(times, z[0], h))
			}
			return numbers(to, z[0])
		}
	case Value, Rate:
		of = func(to []cell, z []float64) []cell { return numbers(to, m.inUnits(l, z[0])) }
	case Probabilities:
		of = func(to []cell, z []float64) []cell { return numbers(numbers(to, probabilities(l, z)...), class(z)) }
	case Probability:
		of = func(to []cell, z []float64) []cell { return numbers(to, probability(l, z[0]), class(z)) }
	default:
		of = func(to []cell, z []float64) []cell { return numbers(to, z[0], class(z)) }
	}
	interval := func([]float32) []*Interval { return nil }
	if opts.Intervals {
		if interval, err = m.intervals(o, l, opts.Horizons...); err != nil {
			return nil, nil, err
		}
	}
	all := m.times()
	return m.columns(o, opts), func(to []cell, r record) []cell {
		z := m.margins(r.x)
		times = all.Of(r.level)
		to = of(to, z)
		if opts.Intervals {
			for _, i := range interval(r.x) {
				if i != nil {
					to = numbers(to, i.Low, i.High)
				} else {
					to = append(to, cell{absent: true}, cell{absent: true})
				}
			}
		}
		if opts.Margins {
			to = numbers(to, z...)
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

// Output is the kind of a model's predictions: how they are computed from margins.
type Output uint8

const (
	// Score is the margin itself, for losses of two classes that predict no probability.
	Score Output = iota + 1
	// Probability is 1/(1+e^-z) for the margin z: the probability of the second of two classes.
	Probability
	// Probabilities are e^(z_k) divided by the sum over all classes, for the margins z_k of three classes or
	// more.
	Probabilities
	// Value is the margin converted to the target's units (dataset.Schema.TargetFromUnit).
	Value
	// Rate is e^z times dataset.Target.Rate, for the margin z: the mean of a positive number, the expected count, or the
	// expected count per unit of exposure if the target has an exposure.
	Rate
	// Risk is the probability of an event from time 0 to the end of the time that is modelled, the target's High, if the
	// target is the time to an event. It is 1 - exp(-e^z) for the margin z, and with logit hazards 1 minus the product of
	// 1/(1 + h e^z) over the shares h of the baseline odds (dataset.Target.Hazards).
	Risk
)

// Output returns the kind of the model's predictions, or an error if its loss is not a function of
// margins.
func (m *Model) Output() (Output, error) {
	l, err := m.predicting()
	if err != nil {
		return 0, err
	}
	switch target := m.schema.Target(); {
	case target.Event != "":
		return Risk, nil
	case hasRate(l):
		return Rate, nil
	case target.Kind == dataset.Number:
		return Value, nil
	case len(target.Classes) > 2:
		return Probabilities, nil
	case hasProbability(l):
		return Probability, nil
	}
	return Score, nil
}

// hasRate reports whether the prediction is the exponential of the margin.
func hasRate(l loss.Loss) bool {
	_, ok := l.(linked)
	return ok
}

// hasProbability reports whether the loss is minus the logarithm of a predicted probability. It is true for
// the logistic loss and for losses of more than two classes.
func hasProbability(l loss.Loss) bool {
	return l.Name() == loss.Logistic().Name() || l.Target() == loss.Classes
}

// columns returns the names of the columns that Predict writes for outputs of the kind o, in order.
func (m *Model) columns(o Output, opts PredictOptions) (names []string) {
	var margin []string
	switch o {
	case Value, Rate:
		names, margin = []string{"prediction"}, []string{"margin"}
	case Risk:
		if names = []string{"risk"}; len(opts.Horizons) > 0 {
			names = vector.Map(opts.Horizons, func(h float64) string { return "risk=" + string(show(nil, h)) })
		}
		names, margin = append(names, "score"), []string{"margin"}
	case Probabilities:
		for _, c := range m.schema.Target().Classes {
			names, margin = append(names, "probability="+c), append(margin, "margin="+c)
		}
		names = append(names, "class")
	case Probability:
		names, margin = []string{"probability", "class"}, []string{"margin"}
	default:
		names, margin = []string{"score", "class"}, []string{"margin"}
	}
	switch {
	case opts.Intervals && m.thresholds() != nil:
		for _, c := range m.schema.Target().Classes[1:] {
			names = append(names, "lower="+c, "upper="+c)
		}
	case opts.Intervals:
		names = append(names, "lower", "upper")
	}
	if opts.Margins {
		names = append(names, margin...)
	}
	return names
}
