package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// noise is the noise of a fit that follows from its certificate. Every number is a standard
// deviation in one coordinate, after scaling of the features.
//
// The gradient estimate of step t is e_t = keep e_{t-back} plus a release whose noise has standard
// deviation s_t: the factor keep reuses the estimate of an earlier step, back steps before. Steps
// w_{t+1} = w_t - eta e_t of size eta carry the noise to the weights. If the loss is flat and there
// is no preconditioner (metric), the noise of different weights is independent and has the run's
// own standard deviation. If the loss is convex and its steps do not overshoot, the noise is
// multiplied by matrices of norm at most 1, so no combination of weights of length 1 has more
// noise. Projections and convex regularizers also do not increase it. Noise here does not include
// the effects of clipping and of the finite table.
type noise struct {
	// estimate is the noise of the gradient estimate at each step. It is empty for runs of very many steps.
	estimate []float64
	// weight is an upper bound on the standard deviation of the noise in each weight of the result. It is
	// computed for a run without a preconditioner.
	weight float64
	// absolute reports that the noises of different weights may be correlated in any way, so that
	// the field weight bounds only each weight alone.
	absolute bool
	// loose says why the noise of a weight may be smaller than the bound even if the loss is flat.
	// It is empty if a flat loss reaches the bound.
	loose string
}

// derive computes the noise of a run from its law, the public description of its steps and
// releases.
func derive(l *runrecord.Realised) (noise, error) {
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
