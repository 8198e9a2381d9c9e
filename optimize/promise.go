package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// Names of the quantities that theorems bound.
const (
	OfGradient = "gradient norm"
	OfExcess   = "excess risk"
)

// MostStart returns a bound on the gradient norm at the starting point: the smaller of L0 and sqrt(2 L1 F0). The
// regularizer's gradient at the start must be 0.
func (p Problem) MostStart() float64 { return min(p.Constants.Lipschitz, p.InitialGradient()) }

// mostRecords is the largest number of records for which Promises evaluates a bound.
const mostRecords = 1e18

// Promises sets the promise of a theorem in the plan's summary. bound returns the theorem's bound for a problem, with
// constants that the theorem does not state set to 1, and must fall with the problem's number of records. start is a
// bound that the starting point satisfies.
func (s *Settled) Promises(theorem, of string, start float64, bound func(Problem) float64) {
	at := func(records float64) float64 {
		p := s.problem
		p.Records = records
		if b := bound(p); b <= math.MaxFloat64 {
			return b
		}
		return math.MaxFloat64 // also for NaN
	}
	promise := runrecord.Promise{Theorem: theorem, Of: of, Bound: at(s.problem.Records), Start: start}
	low, high := 1., mostRecords
	if at(high) < start {
		for high > 1.001*low {
			if mid := math.Sqrt(low * high); at(mid) < start {
				high = mid
			} else {
				low = mid
			}
		}
		promise.From = high
	}
	s.summary.Promise = promise
}
