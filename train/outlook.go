package train

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Outlook is the accuracy to hope for with a plan, computed from public numbers alone.
type Outlook struct {
	// Lost is the share that noise takes of the gain of a fit without privacy over the constant model:
	// about 3/N, where N is the effective size. It was measured on subsets of one table, of
	// 1,000 to 10,000 rows at epsilon .1 to 2. It is a rule of thumb and no guarantee.
	Lost float64 `json:"lost_share"`
	// Records and Epsilon are two ways to halve Lost: that number of records at this budget, or that
	// epsilon for these records, at the same delta. Epsilon is 0 if no epsilon does.
	Records float64 `json:"records_to_halve"`
	Epsilon float64 `json:"epsilon_to_halve,omitempty"`
}

// lostTimes is N times the lost share.
const lostTimes = 3

// Outlook returns the accuracy to hope for with the plan.
func (p Planned) Outlook() Outlook {
	o := Outlook{Lost: math.Min(1, lostTimes/p.Summary.Effective), Records: math.Ceil(2 * p.Records)}
	if epsilon, err := account.GaussianEpsilon(2*p.Budget.Mu(), p.Budget.Delta()); err == nil {
		o.Epsilon = epsilon
	}
	return o
}

// String returns the outlook in one sentence.
func (o Outlook) String() string {
	text := fmt.Sprintf("about %.2g%% of what the model could gain on a constant is lost to noise; half of that with %.0f records", 100*o.Lost, o.Records)
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
