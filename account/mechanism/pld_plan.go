package mechanism

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// profile is an approximation of the cumulant generating function K(theta) = ln E_P e^(theta L) of the composed loss L.
// It holds a sketch, a rough copy, of each law and the number of its uses. It is used to choose the tilt theta, the
// grid and the window of losses. Every choice gives a valid bracket; a good choice gives a narrow one.
type profile []sketched

type sketched struct {
	atoms []sketchAtom
	count float64
}

func (p profile) cumulant(theta float64) (k, mean, variance float64) {
	for _, s := range p {
		top := math.Inf(-1)
		for _, a := range s.atoms {
			if a.mass > 0 {
				top = max(top, theta*a.loss)
			}
		}
		var sum, first, second float64
		for _, a := range s.atoms {
			e := a.mass * math.Exp(theta*a.loss-top)
			sum += e
			first += e * a.loss
			second += e * a.loss * a.loss
		}
		m := first / sum
		var spread float64
		if second > 0 {
			spread = max(second/sum-m*m, 1e-12*second/sum)
		}
		k += s.count * (top + math.Log(sum))
		mean += s.count * m
		variance += s.count * spread
	}
	return k, mean, variance
}

// saddle is a tilt theta with the epsilon and ln delta to which it belongs. K is the cumulant
// generating function of the composed privacy loss. V is the variance of the loss tilted by
// e^(theta loss), plus 1/theta^2 + 1/(theta+1)^2. delta is about exp(K(theta) - theta
// epsilon)/(theta (theta+1) sqrt(2 pi V)). The tilted mean is epsilon + 1/theta + 1/(theta+1).
type saddle struct {
	theta, epsilon, logDelta, deviation float64
}

func (p profile) at(theta float64) saddle {
	k, mean, variance := p.cumulant(theta)
	s := saddle{theta: theta, deviation: math.Sqrt(variance)}
	s.epsilon = mean - 1/theta - 1/(theta+1)
	effective := variance + 1/(theta*theta) + 1/((theta+1)*(theta+1))
	s.logDelta = k - theta*s.epsilon - math.Log(theta*(theta+1)) - .5*math.Log(2*math.Pi*effective)
	return s
}

// These limits bound ln theta in the search for a tilt theta. They cover every epsilon and delta that
// a float64 can represent.
const (
	saddleLow, saddleHigh = -14, 24 // ln theta
	saddleSteps           = 26
)

func (p profile) find(enough func(saddle) bool) saddle {
	return p.at(math.Exp(vector.Halve(saddleLow, saddleHigh, saddleSteps, func(x float64) bool {
		return enough(p.at(math.Exp(x)))
	})))
}

// forEpsilon returns the [saddle] with the least theta whose epsilon is at least the given epsilon or whose ln delta is
// below -670. If the epsilon of the result exceeds the given epsilon, it is replaced by the given epsilon.
func (p profile) forEpsilon(epsilon float64) saddle {
	s := p.find(func(s saddle) bool { return s.epsilon >= epsilon || s.logDelta < -670 })
	s.epsilon = min(s.epsilon, epsilon)
	return s
}

func (p profile) forDelta(delta float64) saddle {
	log := math.Log(delta)
	s := p.find(func(s saddle) bool { return s.logDelta <= log })
	if s.epsilon <= 0 {
		return p.forEpsilon(0)
	}
	return s
}

// layout is the grid of losses for one composition by a Fourier transform: the grid's width and a
// window of n points. The window begins at the loss bottom.
type layout struct {
	saddle
	width, bottom float64
	n             int
	high, low     float64 // the exponents of the Chernoff bounds on the mass above and below the window
	// above is the probability mass that each law may leave out at high losses.
	above float64
	// below[i] is a probability mass at the lowest losses of law i. The upper bound on the law may
	// move this mass up to the smallest of the remaining losses.
	below []float64
}

const (
	// maxPoints is the largest number of points of the window. maxCells is the largest number of
	// cells into which one law is divided.
	maxPoints   = 1 << 21
	maxCells    = 1 << 20
	windowLeave = 28  // -ln of the relative mass that the window may leave out
	widest      = 300 // the largest width; it keeps e^width within float64
)

// labour returns the work of one evaluation of the cumulant generating function.
func (p profile) labour() float64 {
	return vector.Sum(p, func(s sketched) float64 { return 2 * float64(len(s.atoms)) })
}

// profileLooks bounds the number of evaluations in a search for a saddle point or a layout.
const profileLooks = 2 * (saddleSteps + 1)

func (p profile) count() float64 {
	return vector.Sum(p, func(part sketched) float64 { return part.count })
}

// tail returns the probability mass that may be left out of a law at either end of its losses if
// delta is to be bracketed to the relative width goal.
func (p profile) tail(s saddle, goal float64) float64 {
	return min(1e-3, max(1e-290, math.Exp(s.logDelta)*goal*1e-3)) / p.count()
}

// lift returns, for each law, the probability mass at its lowest losses that may be moved up to the smallest of the
// remaining losses. It is at least tail. Moving a mass up to a loss changes the result, relative to its value, by about
// mass times e^(theta loss), for the tilt theta. lift limits this change to goal/1000 over all uses of all laws.
func (p profile) lift(theta, goal, tail float64) []float64 {
	limit := goal * 1e-3 / p.count()
	out := make([]float64, len(p))
	for i, s := range p {
		out[i] = tail
		var mass float64
		for _, a := range s.atoms {
			mass += a.mass
			if mass*math.Exp(theta*a.loss) > limit || mass > .5 {
				break
			}
			out[i] = max(tail, mass)
		}
	}
	return out
}

// lay chooses the lattice and the window of a computation that brackets delta to about the relative width
// goal. A variance v added to the loss multiplies delta by exp(theta (theta+1) v/2), and each use of a law
// adds width^2/4 to the variance. The window leaves out at most the fraction e^-windowLeave of the mass
// tilted by e^(theta loss), by Chernoff bounds.
func (p profile) lay(s saddle, goal, tail float64, laws []lossLaw) layout {
	l := layout{saddle: s, above: tail, below: p.lift(s.theta, goal, tail)}
	k, _, _ := p.cumulant(s.theta)
	deviation := max(s.deviation, 1e-3/s.theta)
	highest, lowest := math.Inf(1), math.Inf(-1)
	for _, c := range []float64{1, 2, 4, 6, 8, 11, 16} {
		kappa := c / deviation
		above, _, _ := p.cumulant(s.theta + kappa)
		below, _, _ := p.cumulant(s.theta - kappa)
		if at := (above - k + windowLeave) / kappa; at < highest {
			highest, l.high = at, kappa
		}
		if at := (k - below - windowLeave) / kappa; at > lowest {
			lowest, l.low = at, kappa
		}
	}
	top, bottom := max(s.epsilon, highest), min(s.epsilon, lowest)
	margin := .01*(top-bottom) + 1e-300
	top, bottom = top+margin, bottom-margin
	var spanned, periods float64
	for i, w := range laws {
		lo, hi := w.span(l.below[i], l.above)
		spanned = max(spanned, hi-lo)
		periods = max(periods, w.period())
	}
	least := max(spanned/maxCells, 0x1p-40*max(math.Abs(top), math.Abs(bottom)))
	width := math.Sqrt(8 * goal / (s.theta * (s.theta + 1) * p.count()))
	width = max(min(width, (top-bottom)/512, widest), (top-bottom)/(maxPoints-8), least)
	if periods > 0 {
		width = p.align(width, laws)
	}
	l.n = 512
	for float64(l.n-8)*width < top-bottom {
		l.n *= 2
	}
	if periods == 0 {
		width = max((top-bottom)/float64(l.n-8), least) // the window's n points cover top - bottom
	}
	l.width, l.bottom = width, bottom
	return l
}

// align returns a lattice width between about half the given width and the given width. It chooses
// the width of which the laws' periods (the distances between their atoms) are most nearly
// multiples. The remainder of a period is weighted by the number of uses of its law.
func (p profile) align(width float64, laws []lossLaw) float64 {
	longest := max(0, vector.Most(laws, func(w lossLaw) float64 { return w.period() }))
	best, least := width, math.Inf(1)
	from := math.Ceil(longest / width)
	for k := range min(1000, int(from)) {
		at := longest / (from + float64(k))
		var cost float64
		for i, w := range laws {
			rest := w.period() / at
			if rest -= math.Floor(rest); rest > 1e-9 && rest < 1-1e-9 {
				cost += p[i].count * (1 - rest) * at
			}
		}
		if cost < least {
			best, least = at, cost
		}
	}
	return best
}
