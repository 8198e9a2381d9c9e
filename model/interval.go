package model

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// Interval is the confidence interval of a prediction. It is an interval for the mean of the target, or for
// the probability of the second class, among rows with the same features. It is no interval for the target of
// a single row, which varies around this mean.
type Interval struct{ Low, High float64 }

// intervals returns a function that computes the interval of an encoded row, on the scale of the prediction.
// The function returns one interval, which is nil for a row without a stated one. Of ordered classes it returns an
// interval for each threshold, of the probability of a class above it. It computes the interval of the row's score,
// a linear combination of the weights, and converts both ends to predictions, since the prediction increases
// with the score. intervals returns an error if the model has no intervals.
func (m *Model) intervals(o Output, l margins, horizons ...float64) (func(x []float32) []*Interval, error) {
	if m.inference == nil {
		return nil, errNoIntervals
	}
	contrast := m.contrasts()
	scale := func(z float64) float64 { return m.inUnits(l, z) }
	switch o {
	case Risk:
		by := m.schema.Target().High
		if len(horizons) > 1 {
			return nil, fmt.Errorf("horizon: %d times: must be one time, for which the interval is stated", len(horizons))
		} else if len(horizons) == 1 {
			by = horizons[0]
		}
		if t := m.schema.Target(); t.Changing != "" && by != t.High {
			return nil, fmt.Errorf("horizon = %v: has no interval of predictions before the last cut, since the hazard ratios of %s "+
				"change", by, t.Changing)
		}
		scale = func(z float64) float64 { return risk(m.times(), z, by) }
	case Probability:
		scale = func(z float64) float64 { return probability(l, z) }
	}
	row := make([]float64, len(m.weights))
	cuts := max(len(m.thresholds()), 1)
	if cuts > 1 {
		scale = func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	}
	return func(x []float32) []*Interval {
		list := make([]*Interval, cuts)
		for j, v := range x {
			row[j] = float64(v)
		}
		clear(row[len(x):])
		for k := range list {
			if k > 0 {
				row[len(x)+k-1] = -1 // the score minus the threshold
			}
			if i := contrast(row, 0); i.State == inference.Reported {
				list[k] = &Interval{scale(i.Low), scale(i.High)}
			}
		}
		return list
	}, nil
}
