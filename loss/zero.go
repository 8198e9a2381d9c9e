package loss

import "math"

// AtZero bounds the loss of a record whose margins are all 0, over the targets there may
// be: what the model of no features and no intercept has, which gives every record the
// same score. Both bounds are alike where no target is better served by it than another,
// as with the logistic loss (log 2) and the softmax of K classes (log K). They are public.
// ok is false of a loss that is no function of margins, or of counts in exposures.
func AtZero(l Loss) (least, most float64, ok bool) {
	if n, is := l.(*network); is {
		return AtZero(n.Network.Output)
	}
	if w, is := l.(Weighted); is && w.Weights().Row { // a record of no weight has no loss
		_, most, ok = AtZero(w.Unweighted())
		return 0, most * largest(w.Weights()), ok
	}
	if LeastExposure(l) > 0 { // a score of 0 is another count for each exposure
		return 0, 0, false
	}
	k := Count(l)
	targets := []float64{-1, 1}
	switch l.Target() {
	case Real:
		const steps = 200
		targets = nil
		for i := range steps + 1 {
			targets = append(targets, 2*float64(i)/steps-1)
		}
	case Classes:
		targets = nil
		for i := range k {
			targets = append(targets, float64(i))
		}
	}
	values, z := make([]float64, len(targets)), make([]float64, k*len(targets))
	switch l := l.(type) {
	case RankOne:
		l.Values(values, z, targets)
	case Margins:
		l.Values(values, z, targets)
	default:
		return 0, 0, false
	}
	least, most = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return least, most, true
}
