package train

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Outlook is the accuracy to hope for with a plan, computed from public numbers alone.
type Outlook struct {
	// Lost is the share that noise takes of the gain of a fit without privacy over the best constant:
	// half of the fits measured at such an effective size lost at most Lost. Nine in ten lost at most
	// Most; 1 means that one in ten lost all of the gain or more. The figures are from
	// results/outcome.md: 102 settings of 17 tasks, whose tables may be unlike another. They are
	// no guarantee.
	Lost float64 `json:"lost_share"`
	Most float64 `json:"lost_share_most"`
	// Records and Epsilon are two ways to double the effective size: that number of records at this
	// budget, or that epsilon for these records, at the same delta. Epsilon is 0 if no epsilon does.
	Records float64 `json:"records_to_double"`
	Epsilon float64 `json:"epsilon_to_double,omitempty"`
}

// measuredLost lists the lost shares measured at effective sizes from size on, to the size of the
// entry before it: the median, and the share that nine in ten fits did not exceed.
var measuredLost = []struct{ size, half, most float64 }{
	{800, .01, .07}, {400, .01, .26}, {200, .03, .83}, {100, .15, 1}, {60, .33, 1}, {0, .75, 1},
}

// Outlook returns the accuracy to hope for with the plan.
func (p Planned) Outlook() Outlook {
	o := Outlook{Records: math.Ceil(2 * p.Records)}
	for _, m := range measuredLost {
		if o.Lost, o.Most = m.half, m.most; p.Summary.Effective >= m.size {
			break
		}
	}
	if epsilon, err := account.GaussianEpsilon(2*p.Budget.Mu(), p.Budget.Delta()); err == nil {
		o.Epsilon = epsilon
	}
	return o
}

// String returns the outlook in one sentence.
func (o Outlook) String() string {
	most := fmt.Sprintf("nine in ten up to %.2g%%", 100*o.Most)
	if o.Most >= 1 {
		most = "one in ten all of it or more"
	}
	text := fmt.Sprintf("half of the tables measured at such a size lost up to %.2g%% of the possible gain over a constant to noise, %s; twice the size: %.0f records",
		100*o.Lost, most, o.Records)
	if o.Epsilon > 0 {
		text += fmt.Sprintf(", or epsilon %.2g", o.Epsilon)
	}
	return text
}

// SmallError is the error for a table that is too small for its budget.
type SmallError struct {
	// Size is the effective size, which is below optimize.SmallSize.
	Size float64
	// Records and Epsilon are two ways to a sufficient size: that number of records at this budget, or
	// that epsilon for these records, at the same delta. Epsilon is 0 if no epsilon is sufficient.
	Records, Epsilon float64
}

// Error says which number of records or which epsilon would be sufficient.
func (e *SmallError) Error() string {
	text := fmt.Sprintf("train: the effective size N = %.2g is below %d: the model would be noise: %.0f records would do at this budget",
		e.Size, optimize.SmallSize, e.Records)
	if e.Epsilon > 0 {
		text += fmt.Sprintf(", or epsilon %.2g for these", e.Epsilon)
	}
	return text + ", or fewer columns; nothing was charged"
}

// Small returns a *SmallError if the effective size is below optimize.SmallSize.
func (p Planned) Small() error {
	size := p.Summary.Effective
	if size >= optimize.SmallSize {
		return nil
	}
	more := optimize.SmallSize / size
	e := &SmallError{Size: size, Records: math.Ceil(more * p.Records)}
	if epsilon, err := account.GaussianEpsilon(more*p.Budget.Mu(), p.Budget.Delta()); err == nil {
		e.Epsilon = epsilon
	}
	return e
}
