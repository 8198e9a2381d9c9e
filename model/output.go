package model

import (
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

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
			names = nil
			for _, h := range opts.Horizons {
				names = append(names, "risk="+string(show(nil, h)))
			}
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
