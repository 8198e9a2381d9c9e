package train

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Outlook is a forecast of the accuracy of a plan, computed from public numbers alone.
type Outlook struct {
	// Lost and Most are shares of the gain that a fit without privacy has over the best constant.
	// In benchmarks at such an effective size (n mu/sqrt(d) for n records and d weights), half of
	// the fits lost at most the share Lost of this gain to noise, and nine in ten lost at most
	// Most; Most 1 means that one in ten lost the whole gain or more. The figures are from
	// results/outcome.md: 102 settings of 17 tasks. They are no guarantee, since other tables may
	// differ.
	Lost float64 `json:"lost_share"`
	Most float64 `json:"lost_share_most"`
	// Either of Records and Epsilon doubles the effective size, n mu/sqrt(d) for n records and d
	// weights: Records is a number of records at this budget, Epsilon an epsilon for the present
	// number of records at the same delta. Epsilon is 0 if no epsilon doubles the size.
	Records float64 `json:"records_to_double"`
	Epsilon float64 `json:"epsilon_to_double,omitempty"`
}

// measuredLost lists what fits lost to noise in benchmarks, as shares of the gain that a fit
// without privacy has over the best constant. An entry is for effective sizes (n mu/sqrt(d) for n
// records and d weights) of at least size and below the size of the entry before it: half is the
// median share, and nine in ten fits lost at most the share most.
var measuredLost = []struct{ size, half, most float64 }{
	{800, .01, .07}, {400, .01, .26}, {200, .03, .83}, {100, .15, 1}, {60, .33, 1}, {0, .75, 1},
}

// Outlook returns the forecast of the plan's accuracy, which follows from the plan's effective
// size, n mu/sqrt(d) for n records and d weights.
func (p Planned) Outlook() Outlook {
	o := Outlook{Records: math.Ceil(2 * p.Records)}
	for _, m := range measuredLost {
		if o.Lost, o.Most = m.half, m.most; p.Summary.Effective >= m.size {
			break
		}
	}
	if epsilon, err := mechanism.GaussianEpsilon(2*p.Budget.Mu(), p.Budget.Delta()); err == nil {
		o.Epsilon = epsilon
	}
	return o
}

// String returns the forecast of the accuracy as text, without a final full stop.
func (o Outlook) String() string {
	most := fmt.Sprintf("nine in ten up to %.2g%%", 100*o.Most)
	if o.Most >= 1 {
		most = "one in ten all of it or more"
	}
	return fmt.Sprintf("noise cost half of the benchmarks of this size up to %.2g%% of the possible gain over a constant, %s",
		100*o.Lost, most)
}

// Double returns as text what doubles the effective size: Records or Epsilon.
func (o Outlook) Double() string {
	text := fmt.Sprintf("%.0f records", o.Records)
	if o.Epsilon > 0 {
		text += fmt.Sprintf(" or epsilon %.2g", o.Epsilon)
	}
	return text + ": twice the size"
}

// SmallError is the error for a table that is too small for its budget (see Options.Strict).
type SmallError struct {
	// Size is the effective size, n mu/sqrt(d) for n records and d weights; it is below
	// optimize.SmallSize.
	Size float64
	// Either of Records and Epsilon makes the effective size sufficient: Records is a number of
	// records at this budget, Epsilon an epsilon for the present number of records at the same
	// delta. Epsilon is 0 if no epsilon is sufficient.
	Records, Epsilon float64
}

// Error says how many records or which epsilon would be sufficient.
func (e *SmallError) Error() string {
	text := fmt.Sprintf("train: too few rows for this budget, the model would be noise (effective size N = %.2g, below %d): %.0f records would do at this budget",
		e.Size, optimize.SmallSize, e.Records)
	if e.Epsilon > 0 {
		text += fmt.Sprintf(", or epsilon %.2g for these", e.Epsilon)
	}
	return text + ", or fewer columns; nothing was charged"
}

// Small returns a *SmallError if the plan's effective size, n mu/sqrt(d) for n records and d
// weights, is below optimize.SmallSize, and otherwise nil.
func (p Planned) Small() error {
	size := p.Summary.Effective
	if size >= optimize.SmallSize {
		return nil
	}
	more := optimize.SmallSize / size
	e := &SmallError{Size: size, Records: math.Ceil(more * p.Records)}
	if epsilon, err := mechanism.GaussianEpsilon(more*p.Budget.Mu(), p.Budget.Delta()); err == nil {
		e.Epsilon = epsilon
	}
	return e
}
