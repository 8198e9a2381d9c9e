package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Outlook is a forecast of the accuracy of a plan, computed from public numbers alone.
type Outlook struct {
	// Size is the effective size M at the base rate: n mu/sqrt(d) for n records and d weights, times 4 p (1-p) for
	// two classes of shares p and 1-p, for counts times four times the mean count as a share of the largest, at most
	// 1, and for relative residuals with a cap above 5 times (5/cap)^2. Assumed says which base rate is assumed if the
	// schema states none (target.share); it is empty if none is needed.
	Size    float64 `json:"size"`
	Assumed string  `json:"assumed,omitempty"`
	// Lost and Most are shares of the gain that a fit without privacy has over the best constant. They come from
	// benchmarks whose effective size M was in the same range as the plan's. Half of these fits lost at most the
	// share Lost of the gain to noise, and nine in ten lost at most the share Most. Most 1 means that one in ten lost
	// the whole gain or more. Lost above 1 means that half of the fits were no better than the constant. The figures
	// are those of lab/results/outlook.txt. They are no guarantee, since other tables may differ.
	Lost float64 `json:"lost_share,omitempty"`
	Most float64 `json:"lost_share_most,omitempty"`
	// Either of Records and Epsilon doubles the effective size: Records is a number of records at this budget, Epsilon
	// an epsilon for the present number of records at the same delta. Epsilon is 0 if no epsilon doubles the size.
	Records float64 `json:"records_to_double"`
	Epsilon float64 `json:"epsilon_to_double,omitempty"`
	// Either of HalveRecords and HalveEpsilon halves Lost: HalveRecords is a number of records at this
	// budget, HalveEpsilon an epsilon for the present number of records at the same delta. Both are 0 if no
	// benchmark had a share as small as Lost/2. HalveEpsilon is also 0 if no epsilon is sufficient.
	HalveRecords float64 `json:"records_to_halve,omitempty"`
	HalveEpsilon float64 `json:"epsilon_to_halve,omitempty"`
	// Unmeasured is the algorithm that the configuration states if the benchmarks have no fits with it. Lost, Most and
	// what halves Lost are then 0. It is empty otherwise.
	Unmeasured string `json:"not_measured_with,omitempty"`
}

// measuredLost lists how much fits lost to noise in benchmarks, as a share of the gain that a fit without
// privacy has over the best constant. half is the median share. Nine in ten fits lost at most the share most;
// most is 1 if one in ten lost the whole gain or more. An entry is for effective sizes M (see Outlook.Size) of at
// least size and below the size of the entry before it.
var measuredLost = []struct{ size, half, most float64 }{
	{800, .01, .05}, {400, .02, .1}, {200, .03, .15}, {100, .08, .25}, {60, .2, 1}, {30, .6, 1}, {15, .85, 1}, {0, 1.1, 1},
}

// curvature returns the ratio of the effective size M at the stated base rate to the effective size N. assumed says
// which base rate the ratio is for if the schema states none.
func (p Planned) curvature() (ratio float64, assumed string) {
	if p.Schema == nil {
		return 1, ""
	}
	settled, ok := p.Plan.(interface{ Problem() optimize.Problem })
	counts := ok && settled.Problem().Counts
	switch t := p.Schema.Target(); {
	case t.Kind == dataset.Number && !counts:
		return 1, ""
	case t.Event != "" && len(t.Share) == 0:
		return 1, "an event for a quarter of the records or more"
	case t.Event != "":
		return min(1, 4*t.Share[0]), ""
	case len(t.Share) == 0 && counts:
		return 1, "a mean count of a quarter of the largest or more"
	case len(t.Share) == 0:
		return 1, "equally common classes"
	case counts:
		return min(1, 4*t.Share[0]/t.High), ""
	case len(t.Share) == 1:
		return 4 * t.Share[0] * (1 - t.Share[0]), ""
	default:
		return 2 * steepest(t.Share), ""
	}
}

// steepest returns the largest eigenvalue of diag(p) - p p' for shares p of classes: the largest curvature of the
// softmax loss at the best constant. It is at most 1/2.
func steepest(shares []float64) (value float64) {
	v := vector.Make(len(shares), func(i int) float64 { return float64(i) - .3 }) // no eigenvector of equal shares
	for range 200 {                                                               // the power method
		along := vector.Dot(shares, v)
		for i, p := range shares {
			v[i] = p * (v[i] - along)
		}
		value = math.Sqrt(vector.Dot(v, v))
		vector.Divide(v, value)
	}
	return value
}

// usualCap is the largest cap of a relative residual with which the noise is that of the benchmarks.
const usualCap = 5

// capped returns the factor of a large cap on the effective size of an outlook: the noise of steps and that of the
// comparison with the constant each grow with the cap (docs/how-to/costs.md), and the gain does not.
func (p Planned) capped() float64 {
	if settled, ok := p.Plan.(interface{ Problem() optimize.Problem }); ok {
		ratio := usualCap / max(settled.Problem().Cap(), usualCap)
		return ratio * ratio
	}
	return 1
}

// Outlook returns the forecast of the plan's accuracy, which follows from the plan's effective size at the base rate
// that the schema states.
func (p Planned) Outlook() Outlook {
	var o Outlook
	ratio, assumed := p.curvature()
	size := p.Summary.Effective * ratio * p.capped()
	o.Size, o.Assumed = size, assumed
	o.Records, o.Epsilon = p.grown(2)
	if o.Unmeasured = p.unmeasured; o.Unmeasured != "" {
		return o
	}
	for _, m := range measuredLost {
		if o.Lost, o.Most = m.half, m.most; size >= m.size {
			break
		}
	}
	if half := sizeOfHalf(o.Lost); half > size {
		o.HalveRecords, o.HalveEpsilon = p.grown(half / size)
	}
	return o
}

// unmeasured returns the stated algorithm if it is another than that of the benchmarks, and otherwise "".
func (t Train) unmeasured() string {
	if slices.Contains([]string{"", "auto", "preconditioned"}, t.Algorithm) {
		return ""
	}
	return t.Algorithm
}

// sizeOfHalf returns the smallest effective size in measuredLost whose median share is at most lost/2. It
// returns 0 if no entry of measuredLost has such a share.
func sizeOfHalf(lost float64) float64 {
	size := 0.
	for _, m := range measuredLost { // from the largest size down
		if m.half <= lost/2 {
			size = m.size
		}
	}
	return size
}

// grown returns two ways to multiply the plan's effective size by factor: a number of records at this budget,
// or an epsilon for the present number of records at the same delta. epsilon is 0 if no epsilon does it.
func (p Planned) grown(factor float64) (records, epsilon float64) {
	epsilon, err := mechanism.GaussianEpsilon(factor*p.Budget.Mu(), p.Budget.Delta())
	if err != nil {
		epsilon = 0
	}
	return math.Ceil(factor * p.Records), epsilon
}

// Verdict says in words whether a fit is expected to beat the best constant. Where there are benchmarks of the algorithm,
// it has four answers, chosen by those of the fit's effective size: nine in ten fits lost at most half of the gain
// (Most <= .5), half of the fits lost at most half of it (Lost <= .5), half of them lost at most all of it (Lost <= 1), or
// none of these.
func (o Outlook) Verdict() string {
	switch {
	case o.Unmeasured != "":
		return "unknown: it was measured with the default algorithm alone, and train.algorithm states " + o.Unmeasured
	case o.Most <= .5:
		return "will beat a constant prediction, if the columns predict the target"
	case o.Lost <= .5:
		return "will probably beat a constant prediction, if the columns predict the target"
	case o.Lost <= 1:
		return "may be no better than a constant prediction"
	}
	return "will probably be no better than a constant prediction"
}

// String returns the forecast of the accuracy as text, without a final full stop.
func (o Outlook) String() string {
	if o.Unmeasured != "" {
		return o.Verdict()
	}
	text := o.Verdict() + ". In benchmarks of this size, half of the fits "
	switch {
	case o.Lost >= 1:
		text += "gained nothing over the constant"
	case o.Most >= 1:
		text += fmt.Sprintf("kept %.2g%% or more of the gain over the constant that a fit without noise has, and one in ten gained nothing",
			100*(1-o.Lost))
	default:
		text += fmt.Sprintf("kept %.2g%% or more of the gain over the constant that a fit without noise has, and nine in ten kept %.2g%% or more",
			100*(1-o.Lost), 100*(1-o.Most))
	}
	if o.Assumed != "" {
		text += fmt.Sprintf(". Assumes %s (target.share states another base rate)", o.Assumed)
	}
	return text
}

// Halve returns a text with the number of records and the epsilon that halve Lost, the share of the gain that
// noise costs. It returns "" if HalveRecords is 0.
func (o Outlook) Halve() string {
	if o.HalveRecords == 0 {
		return ""
	}
	text := fmt.Sprintf("%.0f records", o.HalveRecords)
	if o.HalveEpsilon > 0 {
		text += fmt.Sprintf(" or epsilon %.2g", o.HalveEpsilon)
	}
	return text + ": noise costs half as much"
}

// SmallError is the error for a table that is too small for its budget (see Options.Strict).
type SmallError struct {
	// Size is the effective size M at the stated base rate (see Outlook.Size); it is below optimize.SmallSize.
	Size float64
	// Each of Records, Epsilon and Weights makes the effective size sufficient, as a plan for it showed: Records is a
	// number of records at this budget, Epsilon an epsilon for the present number of records at the same delta, and
	// Weights a number of weights. Present is the present number of weights. Each is 0 if no number was found.
	// Epsilon is at most LargestAdvised.
	Records, Epsilon float64
	Weights, Present int
}

// LargestAdvised is the largest epsilon that an error advises. A larger one promises next to nothing.
const LargestAdvised = 10

// Error returns a text that begins with the reason and ends with what would be sufficient.
func (e *SmallError) Error() string {
	text := fmt.Sprintf("train: too few rows for this budget, the model would be noise (effective size %.2g, below %d)", e.Size,
		optimize.SmallSize)
	weights := ""
	if e.Weights > 0 {
		weights = fmt.Sprintf("at most %d weights in place of %d (fewer columns, or fewer levels)", e.Weights, e.Present)
	}
	return text + advice(e.Records, e.Epsilon, weights) + "; nothing was charged"
}

// advice returns the text that lists what would be enough. Numbers that are 0 and an empty text are left out.
func advice(records, epsilon float64, more string) string {
	var ways []string
	if records > 0 {
		ways = append(ways, fmt.Sprintf("%.0f records at this budget", records))
	}
	if epsilon > 0 {
		ways = append(ways, fmt.Sprintf("epsilon %.2g for these", epsilon))
	}
	if more != "" {
		ways = append(ways, more)
	}
	if len(ways) == 0 {
		return ""
	}
	return ": enough would be " + strings.Join(ways, ", or ")
}

// signal returns the effective size M at the stated base rate.
func (p Planned) signal() float64 {
	ratio, _ := p.curvature()
	return p.Summary.Effective * ratio
}

// Small returns a *SmallError if the plan's effective size at the stated base rate is below optimize.SmallSize, and
// otherwise nil.
func (p Planned) Small() error {
	size := p.signal()
	if size >= optimize.SmallSize {
		return nil
	}
	e := &SmallError{Size: size, Present: p.Dim}
	e.Records, e.Epsilon = p.enough()
	// The size is in proportion to one over the root of the number of weights.
	ratio := size / optimize.SmallSize
	if weights := int(float64(p.Dim) * ratio * ratio); weights > 1 {
		e.Weights = weights
	}
	return e
}

// enough returns a number of records at this budget and an epsilon for the present number of records, each of which
// makes a fit that is not refused: its plan is made, its effective size is sufficient, and it leaves its start. Either
// is 0 if none was found. The epsilon is larger than the present one and at most LargestAdvised.
func (p Planned) enough() (records, epsilon float64) {
	if p.again == nil {
		return 0, 0
	}
	works := func(records, epsilon float64) bool {
		planned, err := p.again(records, epsilon)
		return err == nil && planned.signal() >= optimize.SmallSize && planned.moves()
	}
	n, larger := p.grown(max(optimize.SmallSize/p.signal(), 1.1))
	for range 20 { // plans for more records may have more weights, such as more knots
		if rounded := roundUp(n); works(rounded, p.Budget.Epsilon()) {
			records = rounded
			break
		}
		n *= 1.2
	}
	for ; larger > 0 && roundUp(larger) <= LargestAdvised; larger *= 1.1 {
		if rounded := roundUp(larger); rounded > p.Budget.Epsilon() && works(p.Records, rounded) {
			return records, rounded
		}
	}
	return records, 0
}

// roundUp returns x rounded up to two significant digits.
func roundUp(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Ceil(x/unit*(1-1e-12)) * unit
}
