package loss

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// odds are the baseline odds of an event in each interval of the time, as shares of their sum.
type odds struct{ shares []float64 }

var oneInterval = &odds{[]float64{1}}

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
	p.grouped, p.odds = true, oneInterval
	return p, nil
}

// Timed returns the loss with the baseline odds of t. A loss that needs none is returned as it is.
func (p poisson) Timed(t targetpair.Times) Loss {
	if p.odds == nil || len(t.Cuts) == 0 {
		return p
	}
	of := t.Shares()
	for j, h := range of {
		if h > 0 {
			of[j] = max(h, p.least)
		}
	}
	p.odds = &odds{of}
	return p
}

// Odds returns the baseline odds of the intervals as shares of their sum; nil for another loss.
func (p poisson) Odds() []float64 {
	if p.odds == nil {
		return nil
	}
	return p.odds.shares
}

// at returns the odds of the intervals in which a record is at risk, and whether the event occurs in the last of them.
func (p poisson) at(y float64) (at []float64, event, ok bool) {
	if y, _ = Carried(Real, y); y != y {
		return nil, false, false
	}
	from, to, event := targetpair.SplitRisk(y)
	of := p.odds.shares
	to = min(to, len(of))
	at = of[min(from, to):to]
	return at, event && len(at) > 0 && at[len(at)-1] > 0, true
}

// highest is the margin beyond which values of records with odds are continued linearly, which they are there but for e^-600.
const highest = 700

// hazards computes a derivative of the loss of records with odds.
func (p poisson) hazards(dst, z, y []float64, of derivative) {
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
			if of == values {
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
		switch of {
		case values:
			dst[i] = value
		case slopes:
			dst[i] = clamp(slope, -p.clip, p.clip)
		case curvatures:
			dst[i] = bendWithin(slope, p.clip, bend)
		}
	}
}

// hazardChanges returns an interval that contains the loss at a margin in [low, high] minus that at the margin at. A
// record without an event moves with the margin, by at most a record at risk in all intervals, and an event adds minus
// the difference of the margins.
func (p poisson) hazardChanges(low, high, at float64) (least, most float64) {
	moved := func(z float64) (sum float64) {
		for _, h := range p.odds.shares {
			sum += repromath.Log1p(h*repromath.Exp(min(z, highest))) - repromath.Log1p(h*repromath.Exp(min(at, highest)))
		}
		return sum + float64(len(p.odds.shares))*(max(z-highest, 0)-max(at-highest, 0))
	}
	return min(0, moved(low), at-high), max(0, moved(high), at-low)
}
