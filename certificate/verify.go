package certificate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Verify recomputes everything in the certificate that can be recomputed without the data. It returns an
// error unless all of these hold:
//
//   - the checksum is right (it is not a signature);
//   - epsilon, recomputed from mu and delta or from the schedule, is at most the claimed epsilon;
//   - with [BasisGaussianFilter], mu is the largest mu for the claimed epsilon and delta;
//   - the charge of each event, recomputed from its sensitivity and noise, is at most the stated charge;
//   - the largest total charged to any record equals the stated total, and is at most mu^2;
//   - every event states the claim's relation and is of a kind that the basis counts;
//   - no event states a cohort above the number of records;
//   - the assumptions of releases by stability are listed as trusted;
//   - the random bits were secret;
//   - relation, basis, counts and names have valid values.
//
// A wrong checksum gives [ErrAltered], every other failure [ErrUnsound]. If the context is cancelled,
// Verify returns the context's error. The package comment says what a verified certificate does not prove.
func (c *Certificate) Verify(ctx context.Context) (*Report, error) {
	if err := c.checkSeal(); err != nil {
		return nil, err
	}
	d := &c.doc
	epsilon, err := d.check(ctx)
	if err != nil {
		return nil, err
	}
	if d.Coins != Secret {
		return nil, unsound("coins", strconv.Quote(string(d.Coins)), "must be %q: noise from other coins protects nobody",
			Secret)
	}
	return &Report{
		Guarantee:  d.guarantee(),
		Recomputed: epsilon,
		Basis:      d.Basis,
		Charged:    d.Charged,
		Records:    d.Records,
		Neighbour:  c.Unit().Neighbour(c.Filter(), d.Claim.Relation),
		Filter:     d.Filter,
		Unit:       d.Unit,
		Events:     len(d.Events),
		Complete:   d.Complete,
		Budget:     d.Budget,
		Cohorts:    d.cohorts(),
		Stable:     d.stable(),
		Trusted:    c.Trusted(),
	}, nil
}

// VerifyModel compares the SHA-256 of the model file at path with the SHA-256 that the certificate states. It returns
// [ErrModel] if they differ or if the run wrote no model. It does not verify the certificate itself.
func VerifyModel(c *Certificate, path string) error {
	if c.doc.ModelSHA256 == "" {
		return faultOf(ErrModel, "model_sha256", `""`, "the run wrote no model")
	}
	text, err := regularfile.Read(path, regularfile.Document)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	if sum := hex.EncodeToString(digest[:]); sum != c.doc.ModelSHA256 {
		return faultOf(ErrModel, "model_sha256", c.doc.ModelSHA256,
			fmt.Sprintf("%s has %s: it is not the certified model, or was altered", path, sum))
	}
	return nil
}

// A certificate's file consists of three parts: the head, the line with the checksum, and the tail.
// The checksum covers head and tail.
const (
	checksumStart = `  "checksum": `
	checksumKind  = "sha256:"
	tail          = "}\n"
)

// seal returns the whole file of a certificate: head, which is the text before the line with the checksum,
// then this line, then the end of the file.
func seal(head []byte) []byte {
	return slices.Concat(head, []byte(checksumStart+strconv.Quote(checksum(head))+"\n"+tail))
}

// checksum returns the checksum of a file with the given head: "sha256:" and the SHA-256 of head and tail
// in hexadecimal.
func checksum(head []byte) string {
	h := sha256.New()
	h.Write(head)
	h.Write([]byte(tail))
	return checksumKind + hex.EncodeToString(h.Sum(nil))
}

// checkSeal recomputes the checksum. It returns ErrAltered if the stated checksum differs from it, or if
// the line with the checksum is not at the place where seal writes it.
func (c *Certificate) checkSeal() error {
	altered := func(rule string) error {
		return faultOf(ErrAltered, "checksum", strconv.Quote(c.checksum), rule)
	}
	body, found := bytes.CutSuffix(c.text, []byte("\n"+tail))
	line := bytes.LastIndexByte(body, '\n') + 1
	if !found || !bytes.HasPrefix(body[line:], []byte(checksumStart)) ||
		bytes.Count(c.text, []byte("\n"+checksumStart)) != 1 {
		return altered("must stand alone on the last line but one: the file was reformatted or edited")
	}
	head := body[:line]
	if want := checksum(head); c.checksum != want || string(body[line:]) != checksumStart+strconv.Quote(want) {
		return altered("must be " + want + ", that of the rest of the file: the file was altered since it was written")
	}
	return nil
}

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
