package optimize

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// bisections is the number of times that the search for the best constant halves its interval of
// margins.
const bisections = 12

// leastMean returns the least mean that a constant of a loss of relative residuals with a logarithmic link may have, as
// a share of the largest number. It is 0 for any other loss.
func leastMean(of loss.Loss) float64 {
	if l, ok := loss.Unweighted(of).(interface{ LeastMean() float64 }); ok {
		return l.LeastMean()
	}
	return 0
}

// margins returns the interval in which the best constant's margin is searched. It is [-1, 1] for real
// targets, and that of the logarithms of the possible means for losses of relative residuals. It is [-16, 2] for counts,
// whose margin is the logarithm of the expected count over the largest count. It is [-8, 8] for two classes, whose margin
// is a log odds.
func margins(of loss.Loss) (lo, hi float64) {
	switch {
	case loss.Counts(of):
		return -16, 2
	case leastMean(of) > 0:
		if least := loss.LeastExposure(of); least > 0 {
			return math.Log(leastMean(of)), -math.Log(least)
		}
		return math.Log(leastMean(of)), 0
	case of.Target() == loss.Real:
		return -1, 1
	}
	return -8, 8
}

// sureSlope is the noise of a slope, as a share of that of a record at its mean, that bisect wants.
const sureSlope = .1

// bisect finds the margin of the best constant by bisection. Each step releases the mean change of the loss between two
// nearby margins, divided by their distance, and follows the sign of this slope. A record's slope is at most L0,
// whatever the distance. Near the optimum noise makes the sign of a slope unsure. bisect therefore returns the root of
// a line through all released slopes (see root), which averages the noise of the nearby slopes.
//
// Of a loss of relative residuals with a large cap, slopes are clipped so that one of them has noise of at most sureSlope,
// or at usualCap if that is larger: the constant is then that of the loss with the smaller cap.
func (b BaseRate) bisect(ctx context.Context, o Oracle, p Problem, of loss.Loss) (Base, error) {
	lo, hi := margins(of)
	apart := (hi - lo) / (1 << bisections)
	clip, relative := of.Constants().Lipschitz*apart, leastMean(of) > 0
	if relative {
		sure := sureSlope * p.Records * math.Sqrt(b.Charge/bisections*usable) / query.Gradient.Facts().Moves(p.Relation)
		clip = min(clip, max(sure, usualCap)*apart)
	}
	if u, ok := b.Loss.(loss.Units); ok && u.Summed() {
		clip *= float64(u.Rows())
	}
	var slopes []slope
	for range bisections {
		middle := (lo + hi) / 2
		from, _ := b.weights([]float64{middle - apart/2})
		to, _ := b.weights([]float64{middle + apart/2})
		change, err := ask(ctx, o, b.Charge/bisections*usable, query.ValueChangeAt(o.All(), to, from, clip))
		if err != nil {
			return Base{}, err
		}
		slopes = append(slopes, slope{middle, change.Mean[0], change.Sigma})
		if change.Mean[0] > 0 {
			hi = middle
		} else {
			lo = middle
		}
	}
	least, most := margins(of)
	z, rise := root(slopes, (lo+hi)/2, (hi-lo)/2, (most-least)*nearby)
	out := Base{Margins: []float64{z}, Resolved: rise > 0}
	if rise > 0 { // the slopes near z have about the noise of one of them
		sigma := slopes[0].sigma / rise
		if out.MarginSigma, out.Excess = []float64{sigma}, sigma*sigma*rise/apart; !relative {
			out.Excess = max(out.Excess, within(slopes, z, least, most)/apart)
		}
	}
	return out, nil
}

// within returns a bound on apart times the difference between the loss at the margin z and the smallest loss, if the
// best margin lies between the two released slopes nearest to z on either side: the larger of the two slopes times the
// distance between them. It matters for losses with kinks, of which the slope jumps at the best margin.
func within(slopes []slope, z, least, most float64) float64 {
	below, above := slope{at: least}, slope{at: most}
	for _, s := range slopes {
		if s.at <= z && s.at >= below.at {
			below = s
		}
		if s.at >= z && s.at <= above.at {
			above = s
		}
	}
	return max(math.Abs(below.change), math.Abs(above.change)) * (above.at - below.at)
}

// slope is a released slope of the mean loss at a margin. The field at is the margin. The field change is
// the released change of the mean loss between two margins around it, at a distance that is the same for
// all slopes. The field sigma is the standard deviation of the noise in change.
type slope struct{ at, change, sigma float64 }

// nearby is the largest value of the distance near in the function root, as a share of the length of the
// searched interval. The sign of a slope counts as unsure if the slope is at most unsure standard
// deviations of its noise away from zero.
const nearby, unsure = 1. / 16, 3

// root fits a line to the released slopes by weighted least squares and returns the margin at which the
// line is zero, moved to within near of the margin end at which the bisection stopped. A slope has the
// weight 1/(1 + (its distance from end)^4/near^4). near is the largest distance from end at which a slope
// has an unsure sign, limited to [least, most]. Slopes farther from end have sure signs, so the bisection
// chose the right half there. Such slopes get little weight, because they need not lie on the line. If the
// fitted line does not rise, root returns end. It also returns the rise of the line, or 0 if it does not rise.
func root(slopes []slope, end, least, most float64) (at, rise float64) {
	near := least
	for _, s := range slopes {
		if math.Abs(s.change) <= unsure*s.sigma {
			near = max(near, math.Abs(s.at-end))
		}
	}
	near = min(near, most)
	var sum, change, square, product float64
	for range 2 { // the first pass computes the means, the second the moments about the means
		square, product = 0, 0
		var weights, ats, changes float64
		for _, s := range slopes {
			weight := 1 / (1 + math.Pow((s.at-end)/near, 4))
			weights, ats, changes = weights+weight, ats+weight*s.at, changes+weight*s.change
			square += weight * (s.at - at) * (s.at - at)
			product += weight * (s.at - at) * (s.change - change)
		}
		sum, at, change = weights, ats/weights, changes/weights
	}
	if !(sum > 0 && square > 0 && product > 0) {
		return end, 0
	}
	rise = product / square
	return min(max(at-change/rise, end-near), end+near), rise
}

// centred subtracts the mean of z from z, in place, and returns z.
func centred(z []float64) []float64 {
	sum := vector.Total(z)
	for j := range z {
		z[j] -= sum / float64(len(z))
	}
	return z
}
