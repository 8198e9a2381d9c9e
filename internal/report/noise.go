package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// noise holds standard deviations of the privacy noise of a fit, computed from its certificate. Every
// number is the standard deviation in one coordinate of the scaled features. The effects of clipping and
// the sampling error of the finite table are not included.
//
// The gradient estimate of step t is e_t = keep e_{t-back} + r_t. It reuses a share keep of the
// estimate made back steps earlier, and r_t is a release with noise of standard deviation s_t. Each
// step w_{t+1} = w_t - eta e_t of size eta adds the noise of e_t to the weights.
//
// For a flat loss and no preconditioner (metric), the noises of different weights are independent, and
// their standard deviation follows from these sums. For a convex loss whose steps do not overshoot, each
// step multiplies the noise by a matrix of norm at most 1. Every linear combination of weights whose
// factors have length 1 then has at most the standard deviation that a flat loss gives. Projections and
// convex regularizers do not increase the noise either.
type noise struct {
	// estimate is the noise of the gradient estimate at each step. It is empty if the certificate does not
	// hold the noise of each step, as for runs of very many steps.
	estimate []float64
	// weight is an upper bound on the standard deviation of the noise in each weight of the result. It
	// holds for a run without a preconditioner.
	weight float64
	// absolute reports that the noises of different weights may be correlated in any way. The field weight
	// is then a bound for each weight, but not for linear combinations of weights.
	absolute bool
	// loose says why the noise of a weight may be smaller than the bound even if the loss is flat.
	// It is empty if a flat loss reaches the bound.
	loose string
}

// derive computes the noise of a run from its law l, the public description of its steps and releases. It
// returns an error with the reason if the law does not determine the noise.
func derive(l *runrecord.Trace) (noise, error) {
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
	// On a flat loss the noise of the start stays in the intercept. The bound is the same for all weights.
	n := noise{weight: math.Hypot(l.WeightNoise, l.Start), absolute: l.Move > 0}
	for _, v := range variance {
		n.estimate = append(n.estimate, math.Sqrt(v))
	}
	switch {
	case l.Move > 0:
		n.loose = "the steps are no linear function of the estimates, so their greatest length counts"
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
