package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// noise is what the certificate tells of the noise in a fit. Every number is a
// standard deviation in one coordinate, in the encoded space.
//
// The estimate of step t is e_t = keep e_{t-back} + a release of noise s_t. Steps
// w_{t+1} = w_t - eta (estimate) carry the noise to the weights. Where the loss is
// flat and there is no metric the weights' noise is independent, and of the run's own
// deviation; under a convex loss whose steps do not overshoot, matrices of norm 1 at most
// come between, so that no combination of weights of length 1 has more. Projections and
// convex regularizers shrink as well. Clipping and the finite table are not noise in this
// sense.
type noise struct {
	// estimate is that of the gradient estimate at each step; none for runs of
	// very many steps.
	estimate []float64
	// weight is the bound for each weight of the result, where there is no metric.
	weight float64
	// absolute says that the bound is of each weight alone, however they go together.
	absolute bool
	// loose says why weight is a bound that even a flat loss need not reach;
	// empty if it is none.
	loose string
}

// derive reads the noise of a run off its law.
func derive(l *runrecord.Law) (noise, error) {
	if l == nil {
		return noise{}, errors.New("the certificate does not state how releases became steps")
	}
	if l.Unstated {
		return noise{}, errors.New("the algorithm mixes answers in a way that it does not state")
	}
	if l.WeightNoise == 0 {
		return noise{}, errors.New("the result is the start, which no release moved")
	}
	variance := make([]float64, len(l.Noise))
	for t, s := range l.Noise {
		back, keep := 1, 0.
		if i := min(t, len(l.Back)-1); i >= 0 {
			back = l.Back[i]
		}
		if i := min(t, len(l.Keep)-1); i >= 0 {
			keep = l.Keep[i]
		}
		if back < 1 {
			return noise{}, fmt.Errorf("step %d corrects the estimate of %d steps before", t+1, back)
		}
		variance[t] = s * s
		if back <= t {
			variance[t] += keep * keep * variance[t-back]
		}
	}
	n := noise{weight: l.WeightNoise, absolute: l.Move > 0}
	for _, v := range variance {
		n.estimate = append(n.estimate, math.Sqrt(v))
	}
	switch {
	case l.Move > 0:
		n.loose = "steps are no linear function of estimates: it is how far they can go"
	case l.Chosen > 1:
		n.loose = fmt.Sprintf("the result was chosen among %d points by looking at noisy numbers", l.Chosen)
	case len(l.Rounds) > 1:
		n.loose = "deviations of rounds are added, whatever their correlation"
	}
	if !(n.weight > 1e-100 && n.weight < 1e100) {
		return noise{estimate: n.estimate}, errors.New("it is out of all proportion")
	}
	return n, nil
}
