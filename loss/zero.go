package loss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// AtZero returns the least and the greatest loss, over all possible targets, of a record whose
// margins are all 0. This is the loss of a model that gives every record the score 0. The two
// bounds are equal where the loss at 0 is the same for every target: log 2 for the logistic loss,
// log K for the softmax of K classes. For Real targets, AtZero evaluates 201 equally spaced targets from
// -1 to 1. The bounds are public. ok is false for a loss that is not a function of margins, and for a loss
// of counts with exposures.
func AtZero(l Loss) (least, most float64, ok bool) {
	if n, is := networkOf(l); is {
		return AtZero(n.Network.Output)
	}
	if w, is := l.(weighted); is && w.Weights().Row { // a record of weight 0 has loss 0
		_, most, ok = AtZero(w.Unweighted())
		return 0, most * largest(w.Weights()), ok
	}
	if LeastExposure(l) > 0 { // at score 0 the expected count depends on the exposure
		return 0, 0, false
	}
	k := Count(l)
	targets := []float64{-1, 1}
	switch l.Target() {
	case Real:
		const steps = 200
		targets = vector.Make(steps+1, func(i int) float64 { return 2*float64(i)/steps - 1 })
	case Classes:
		targets = vector.Make(k, func(i int) float64 { return float64(i) })
	}
	of, ok := l.(interface{ Values(dst, z, y []float64) }) // a RankOne or a Margins
	if !ok {
		return 0, 0, false
	}
	values := make([]float64, len(targets))
	of.Values(values, make([]float64, k*len(targets)), targets)
	least, most = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return least, most, true
}
