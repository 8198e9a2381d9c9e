package train

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Outlook is a forecast of the accuracy of a plan, computed from public numbers alone.
type Outlook struct {
	// Lost and Most are shares of the gain that a fit without privacy has over the best constant. They come
	// from benchmarks whose effective size, n mu/sqrt(d) for n records and d weights, was in the same range
	// as the plan's. Half of these fits lost at most the share Lost of the gain to noise, and nine in ten
	// lost at most the share Most. Most 1 means that one in ten lost the whole gain or more. Lost above 1
	// means that half of the fits were no better than the constant. The figures are from 162 settings of 27
	// tasks (lab/results/outcome.md). They are no guarantee, since other tables may differ.
	Lost float64 `json:"lost_share"`
	Most float64 `json:"lost_share_most"`
	// Either of Records and Epsilon doubles the effective size, n mu/sqrt(d) for n records and d
	// weights: Records is a number of records at this budget, Epsilon an epsilon for the present
	// number of records at the same delta. Epsilon is 0 if no epsilon doubles the size.
	Records float64 `json:"records_to_double"`
	Epsilon float64 `json:"epsilon_to_double,omitempty"`
	// Either of HalveRecords and HalveEpsilon halves Lost: HalveRecords is a number of records at this
	// budget, HalveEpsilon an epsilon for the present number of records at the same delta. Both are 0 if no
	// benchmark had a share as small as Lost/2. HalveEpsilon is also 0 if no epsilon is sufficient.
	HalveRecords float64 `json:"records_to_halve,omitempty"`
	HalveEpsilon float64 `json:"epsilon_to_halve,omitempty"`
}

// measuredLost lists how much fits lost to noise in benchmarks, as a share of the gain that a fit without
// privacy has over the best constant. half is the median share. Nine in ten fits lost at most the share most;
// most is 1 if one in ten lost the whole gain or more. An entry is for effective sizes (n mu/sqrt(d) for n
// records and d weights) of at least size and below the size of the entry before it.
var measuredLost = []struct{ size, half, most float64 }{
	{800, .01, .07}, {400, .01, .26}, {200, .02, .65}, {100, .25, 1}, {60, .38, 1}, {30, .56, 1}, {0, 1.1, 1},
}

// Outlook returns the forecast of the plan's accuracy, which follows from the plan's effective
// size, n mu/sqrt(d) for n records and d weights.
func (p Planned) Outlook() Outlook { return p.outlookAt(p.Summary.Effective) }

// Linear returns the outlook of the same fit without the curves of its columns, and its effective size, which is
// larger, since there are fewer weights. A fit with curves gains from their shape, which no public number
// foretells, and loses more to noise. ok is false if no column has a curve, and if weights are not in proportion
// to features, as those of a network.
func (p Planned) Linear() (o Outlook, size float64, ok bool) {
	straight := p.Features
	if p.Schema != nil && p.Schema.Dim() == p.Features {
		for _, h := range p.Schema.Hats() {
			if h.Curve() {
				straight -= h.Width
			}
		}
	}
	if straight == p.Features || p.Dim%p.Features != 0 || p.First != nil {
		return Outlook{}, 0, false
	}
	size = p.Summary.Effective * math.Sqrt(float64(p.Features)/float64(straight))
	return p.outlookAt(size), size, true
}

// outlookAt returns the forecast of a fit of this budget and number of records with the given effective size.
func (p Planned) outlookAt(size float64) Outlook {
	var o Outlook
	for _, m := range measuredLost {
		if o.Lost, o.Most = m.half, m.most; size >= m.size {
			break
		}
	}
	o.Records, o.Epsilon = p.grown(2)
	if half := sizeOfHalf(o.Lost); half > size {
		o.HalveRecords, o.HalveEpsilon = p.grown(half / size)
	}
	return o
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

// Verdict says in words whether a fit is expected to beat the best constant. It has four answers, chosen by
// the benchmarks of the fit's effective size: nine in ten fits lost at most half of the gain (Most <= .5),
// half of the fits lost at most half of it (Lost <= .5), half of them lost at most all of it (Lost <= 1), or
// none of these.
func (o Outlook) Verdict() string {
	switch {
	case o.Most <= .5:
		return "will beat a constant, if the columns tell of the target"
	case o.Lost <= .5:
		return "will probably beat a constant, if the columns tell of the target"
	case o.Lost <= 1:
		return "may be no better than a constant"
	}
	return "will probably be no better than a constant"
}

// String returns the forecast of the accuracy as text, without a final full stop.
func (o Outlook) String() string {
	most := fmt.Sprintf("nine in ten up to %.2g%%", 100*o.Most)
	if o.Most >= 1 {
		most = "one in ten all of it or more"
	}
	return fmt.Sprintf("%s: noise cost half of such benchmarks up to %.3g%% of the gain, %s",
		o.Verdict(), 100*o.Lost, most)
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
	// Size is the effective size, n mu/sqrt(d) for n records and d weights; it is below
	// optimize.SmallSize.
	Size float64
	// Either of Records and Epsilon makes the effective size sufficient: Records is a number of
	// records at this budget, Epsilon an epsilon for the present number of records at the same
	// delta. Epsilon is 0 if no epsilon is sufficient.
	Records, Epsilon float64
}

// Error returns a text with the effective size and with the number of records or the epsilon that would be
// sufficient.
func (e *SmallError) Error() string {
	text := fmt.Sprintf("train: too few rows for this budget, the model would be noise (effective size N = %.2g, below "+
		"%d): %.0f records would do at this budget",
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
	e := &SmallError{Size: size}
	e.Records, e.Epsilon = p.grown(optimize.SmallSize / size)
	return e
}
