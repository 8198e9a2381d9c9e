package loss

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// odds are the baseline odds of an event in each interval of the time, as shares of their sum, of one level of a column
// after the other. The zero odds are those of one interval.
type odds struct{ levels [][]float64 }

// newLogitHazard returns the loss of a time to an event that is known by its interval alone, under a logit model of the
// event in each interval for which the record is at risk (Cox 1972, section 6; Singer and Willett 1993). The odds in
// interval j are h_j e^z for public h_j with the sum 1, so that z is the logarithm of the sum of the odds. The target
// encodes the intervals and whether the event occurs in the last (targetpair.JoinRisk). Over the intervals at risk the
// loss is minus the log-likelihood of a logistic regression with a row for each interval, without the constant ln h_j of
// the interval of an event. With s_j = h_j e^z/(1 + h_j e^z) and y = 1 for an event, otherwise 0:
//
//	value: sum_j ln(1 + h_j e^z) - y z
//	slope: sum_j s_j - y, at least -1, clipped to [-clip, clip] for the whole record
//	curvature: sum_j s_j (1 - s_j) <= sum_j s_j, and so in [0, 1 + clip] where the slope is at most clip, and 0 beyond
//
// The number of intervals is in no bound. An h_j above 0 counts as at least least, and an event where it is 0 is none.
// The value falls from that at 0 by at most ln(1 + h_j) - ln(h_j) for an event, and by sum_j ln(1 + h_j) <= 1 + 64 least
// otherwise. The third derivative is at most the second.
func newLogitHazard(clip, least float64) (Loss, error) {
	l, err := PoissonRate(clip, least)
	if err != nil {
		return nil, fmt.Errorf("loss: logit-hazard, whose parameters are those of poisson-rate: %w", err)
	}
	p := l.(poisson)
	p.grouped = true
	return p.withOdds([][]float64{{1}}), nil
}

func (p poisson) withOdds(levels [][]float64) poisson {
	p.odds = &odds{levels}
	return p
}

// Timed returns the loss with the baseline odds of t. A loss that needs none is returned as it is.
func (p poisson) Timed(t targetpair.Times) Loss {
	if p.odds == nil || len(t.Cuts) == 0 {
		return p
	}
	var levels [][]float64
	for level := range max(1, len(t.Increments)/len(t.Cuts)) {
		of := append([]float64(nil), t.Shares(level)...)
		for j, h := range of {
			if of[j] = min(h, 1); h > 0 {
				of[j] = max(of[j], p.least)
			} else {
				of[j] = 0
			}
		}
		levels = append(levels, of)
	}
	return p.withOdds(levels)
}

// Odds returns the baseline odds of the first level as shares of their sum; nil for another loss.
func (p poisson) Odds() []float64 {
	if p.odds == nil {
		return nil
	}
	return p.odds.levels[0]
}

// at returns the odds of the intervals in which a record is at risk, and whether the event occurs in the last of them.
func (p poisson) at(y float64) (at []float64, event, ok bool) {
	if y, _ = Carried(Real, y); y != y {
		return nil, false, false
	}
	level, from, to, event := targetpair.SplitRisk(y)
	of := p.odds.levels[min(level, len(p.odds.levels)-1)]
	to = min(to, len(of))
	at = of[min(from, to):to]
	return at, event && len(at) > 0 && at[len(at)-1] > 0, true
}

// highest is the margin beyond which values of records with odds are continued linearly, which they are there but for e^-600.
const highest = 700

// hazards computes the loss of records with odds (order 0), its slopes (1) or its curvatures (2).
func (p poisson) hazards(dst, z, y []float64, order int) {
	for i, z := range z {
		at, event, ok := p.at(y[i])
		if !ok || z != z {
			dst[i] = math.NaN()
			continue
		}
		c := min(z, highest)
		e := repromath.Exp(c)
		var value, slope, bend float64
		for _, h := range at {
			a := float64(h * e)
			if order == 0 {
				value += repromath.Log1p(a)
				if beyond := z - c; beyond > 0 && h > 0 {
					value += beyond
				}
				continue
			}
			s := a / (1 + a)
			slope += s
			bend += s / (1 + a)
		}
		if event {
			value -= z
			slope--
		}
		switch order {
		case 0:
			dst[i] = value
		case 1:
			dst[i] = clamp(slope, -p.clip, p.clip)
		default:
			if dst[i] = bend; math.Abs(slope) > p.clip {
				dst[i] = 0
			}
		}
	}
}
