package certificate

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Report is the result of a verification.
type Report struct {
	// Guarantee is the certificate's claim, which was fixed before the first release. Its Mu is the mu of
	// the privacy filter or, with a schedule, covers only the releases outside the schedule.
	account.Guarantee
	// Recomputed is the epsilon at Delta that follows from Mu or, for a run on Poisson samples,
	// from the schedule. It is at most Epsilon.
	Recomputed float64 `json:"epsilon_recomputed"`
	Basis      string  `json:"basis"`
	// Charged is the largest total charge to any record, at most Mu^2. It is for information and is not the
	// guarantee.
	Charged float64 `json:"charged"`
	Records int64   `json:"records"`
	// Neighbour describes in words how a neighbouring table differs, including the row filter.
	Neighbour string `json:"neighbour"`
	// Filter is the row filter. nil means that all rows were records.
	Filter *account.Filter `json:"filter,omitempty"`
	// Unit is the unit of privacy. nil means that each row was one record.
	Unit   *account.Unit `json:"unit,omitempty"`
	Events int           `json:"events"`
	// Cohorts is the number of cohorts (random subsets of the records) in the events. The program draws
	// disjoint cohorts, so the charges of different cohorts are not added. A certificate cannot show that
	// the cohorts were disjoint.
	Cohorts int `json:"cohorts,omitempty"`
	// Stable is the number of releases whose guarantee also depends on the convexity and the
	// declared smoothness of a loss. Trusted then names the loss.
	Stable   int  `json:"stable,omitempty"`
	Complete bool `json:"complete"`
	// Budget names the row of a store of budgets that also charged the run. It is nil if no store charged
	// the run.
	Budget *account.Reservation `json:"budget,omitempty"`
	// Trusted lists assumptions that the guarantee needs and the program does not enforce.
	Trusted []string `json:"trusted,omitempty"`
}

// MarshalJSON writes the report as a JSON object, with the members in the same order as earlier versions.
func (r Report) MarshalJSON() ([]byte, error) {
	type rest Report
	return json.Marshal(struct {
		Epsilon    float64          `json:"epsilon"`
		Delta      float64          `json:"delta"`
		Recomputed float64          `json:"epsilon_recomputed"`
		Relation   account.Relation `json:"relation"`
		Basis      string           `json:"basis"`
		Mu         float64          `json:"mu"`
		rest
	}{r.Epsilon, r.Delta, r.Recomputed, r.Relation, r.Basis, r.Mu, rest(r)})
}

// String states the report in plain language, over several lines.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The run was (epsilon %s, delta %v)-differentially private under %v.\n", roundUp(r.Epsilon), r.Delta,
		r.Relation)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s  %s\n", name, fmt.Sprintf(format, args...))
	}
	with := ""
	if r.Filter != nil {
		with = fmt.Sprintf(" with %v; their number is public", *r.Filter)
	}
	if r.Relation == account.AddOrRemove {
		counted := "rows"
		if r.Unit != nil {
			counted = "values of " + r.Unit.String()
		}
		line("neighbour", "%s; the number of %s is secret", r.Neighbour, counted)
		line("records", "%d declared", r.Records)
	} else {
		line("neighbour", "%s", r.Neighbour)
		line("records", "%d%s", r.Records, with)
	}
	if r.Unit != nil {
		line("unit", "%s: %s", r.Unit.Record(), r.Unit.Note())
	}
	if r.Filter != nil {
		line("rows used", "%v: %s", *r.Filter, r.Filter.Note())
	}
	if r.Basis == BasisSchedule {
		line("basis", "%s: all samples were drawn by a schedule fixed before the first release", r.Basis)
	} else {
		line("basis", "%s: mu = %.6g was fixed before the first release and the filter kept every record within it", r.Basis,
			r.Mu)
	}
	if r.Mu > 0 {
		line("charged", "%.6g of mu^2 = %.6g, the largest total of a record (informational)", r.Charged, r.Mu*r.Mu)
	}
	if r.Cohorts > 1 {
		line("cohorts", "%d, disjoint: a record is in one at most, so their charges are not added up", r.Cohorts)
	}
	if r.Stable > 0 {
		line("stability",
			"the sensitivity of %d of %d releases is not enforced by clipping alone: it rests on the trusted constants "+
				"of a loss below", r.Stable, r.Events)
	}
	line("releases", "%d", r.Events)
	if b := r.Budget; b != nil {
		line("budget", "%s, row %d, head %s: stillpoint budget show tells whether the store still has it",
			safetext.Text(b.Dataset), b.Row, b.Head)
	}
	if r.Complete {
		line("complete", "yes")
	} else {
		line("complete", "NO: the run was interrupted; the guarantee covers its releases")
	}
	if len(r.Trusted) == 0 {
		line("trusted", "nothing beyond the program itself")
	}
	for _, assumption := range r.Trusted {
		line("TRUSTED", "%q", assumption)
	}
	b.WriteString("This follows from the certificate's own record. Its checksum finds accidents and\n" +
		"careless edits; it is not a signature.\n")
	return b.String()
}

// roundUp writes x with at most six significant digits, rounded to nearest or, if that is below x, up.
func roundUp(x float64) string {
	s := strconv.FormatFloat(x, 'g', 6, 64)
	y, err := strconv.ParseFloat(s, 64)
	if err != nil || y >= x {
		return s
	}
	// y is below x by at most half a unit of the sixth digit.
	unit := math.Pow(10, math.Floor(math.Log10(x))-5)
	return strconv.FormatFloat(y+unit, 'g', 6, 64)
}
