package certificate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// format and version are the values of the members format and version, the first members of every
// certificate file.
const (
	format  = "stillpoint certificate"
	version = 1
)

// BasisGaussianFilter is the basis of a claim whose guarantee is mu-Gaussian differential privacy. A
// privacy filter enforces mu, which is fixed before the first release.
const BasisGaussianFilter = "gaussian-dp-filter"

// BasisSchedule is the basis of a claim whose guarantee covers two parts together: a schedule of releases on
// Poisson samples, and Gaussian releases within the claim's mu. The schedule is fixed before its first
// release and is composed by privacy-loss distributions.
const BasisSchedule = "sampled-gaussian-schedule"

// unitOfRow and unitOfRows are the two values of the member privacy_unit. They say which rows are one
// record. With unitOfRow each row is one record. With unitOfRows all rows with the same value in a column
// are one record, and the member unit names the column. Verify refuses other values.
const (
	unitOfRow  = "row"
	unitOfRows = "rows with one value"
)

// Coins is the source of the noise's random bits. The zero value is invalid.
type Coins string

const (
	// Secret means that the random bits came from the operating system and nobody knows them.
	Secret Coins = "secret"
	// Simulated means that the random bits were seeded, replayed or absent. Such noise protects nobody.
	Simulated Coins = "simulated"
)

// claim is the member claim of a certificate file. It has no privacy unit: the unit is a separate member of
// the document.
type claim struct {
	Epsilon  float64          `json:"epsilon"`
	Delta    float64          `json:"delta"`
	Mu       float64          `json:"mu"`
	Relation account.Relation `json:"relation"`
}

// Algorithm is the algorithm of the run. Plan is a JSON object with any members. In it the run's program
// states public quantities that were fixed before the first release.
type Algorithm struct {
	Name string          `json:"name"`
	Plan json.RawMessage `json:"plan"`
}

// document is the content of a certificate file without the checksum. The fields are in the order of the
// file's members.
type document struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Software string `json:"software"`
	Claim    claim  `json:"claim"`
	Basis    string `json:"basis"`
	Records  int64  `json:"records"`
	// Budget names the row of a store of budgets if the run was also charged to a budget that outlasts the
	// run. For other runs it is absent.
	Budget *account.Reservation `json:"budget,omitempty"`
	// Filter is present exactly if the table had a row filter.
	Filter      *account.Filter `json:"filter,omitempty"`
	PrivacyUnit string          `json:"privacy_unit"`
	// Unit is present exactly if PrivacyUnit is unitOfRows.
	Unit        *account.Unit `json:"unit,omitempty"`
	Algorithm   Algorithm     `json:"algorithm"`
	Complete    bool          `json:"complete"`
	Coins       Coins         `json:"coins"`
	Charged     float64       `json:"charged"`
	Trusted     []string      `json:"trusted"`
	ModelSHA256 string        `json:"model_sha256"`
	// Schedule, the steps on Poisson samples, is present exactly if Basis is BasisSchedule.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
	Events   []account.Event        `json:"events"`
}

// Certificate is the record of one run. It is immutable. Its methods return the file's statements without
// verifying them, except [Certificate.Verify] and [Certificate.Ledger], which verify. The zero Certificate
// claims nothing, and Verify returns an error for it.
type Certificate struct {
	doc      document
	checksum string // the checksum that the file states
	text     []byte // all bytes of the file
}

// Claim returns the claimed guarantee: the run is (Epsilon, Delta)-DP under the relation, for records of the unit. With
// BasisGaussianFilter the run is Mu-GDP. With BasisSchedule, Mu covers only the Gaussian releases that are not in the
// schedule, and is often 0.
func (c *Certificate) Claim() account.Guarantee { return c.doc.guarantee() }

// guarantee returns the claim together with its privacy unit.
func (d *document) guarantee() account.Guarantee {
	g := account.Guarantee{Relation: d.Claim.Relation, Epsilon: d.Claim.Epsilon, Delta: d.Claim.Delta, Mu: d.Claim.Mu}
	if d.Unit != nil {
		g.Unit = d.Unit.Column
	}
	return g
}

// Basis returns the basis of the claim: BasisGaussianFilter or BasisSchedule.
func (c *Certificate) Basis() string { return c.doc.Basis }

// Software returns the program and version that wrote the certificate.
func (c *Certificate) Software() string { return c.doc.Software }

// Records returns the number of records. Under replace-one it is the true number, which is public. Under
// add-or-remove it is the number that was declared.
func (c *Certificate) Records() int64 { return c.doc.Records }

// Filter returns the row filter that chose the records. The zero Filter means that all rows were records.
func (c *Certificate) Filter() account.Filter {
	if c.doc.Filter == nil {
		return account.Filter{}
	}
	return *c.doc.Filter
}

// Unit returns the unit of privacy. The zero Unit means that each row was one record.
func (c *Certificate) Unit() account.Unit {
	if c.doc.Unit == nil {
		return account.Unit{}
	}
	return *c.doc.Unit
}

// Budget returns the row of a store of budgets that also charged the run. ok is false if no store charged
// the run.
func (c *Certificate) Budget() (r account.Reservation, ok bool) {
	if c.doc.Budget == nil {
		return account.Reservation{}, false
	}
	return *c.doc.Budget, true
}

// Algorithm returns the algorithm of the run.
func (c *Certificate) Algorithm() Algorithm {
	a := c.doc.Algorithm
	a.Plan = slices.Clone(a.Plan)
	return a
}

// Complete reports whether the run ended as planned. If the run was interrupted, the claim holds for
// everything that the run released.
func (c *Certificate) Complete() bool { return c.doc.Complete }

// Coins returns the source of the noise's random bits.
func (c *Certificate) Coins() Coins { return c.doc.Coins }

// Charged returns the largest total charge to any record over all releases outside a schedule, in units of
// mu^2.
func (c *Certificate) Charged() float64 { return c.doc.Charged }

// Trusted returns the assumptions that the guarantee needs and the program does not enforce.
func (c *Certificate) Trusted() []string { return slices.Clone(c.doc.Trusted) }

// ModelSHA256 returns the SHA-256 of the model file in lower-case hexadecimal, or "" if the run was
// interrupted and wrote no model.
func (c *Certificate) ModelSHA256() string { return c.doc.ModelSHA256 }

// Events returns the releases in order.
func (c *Certificate) Events() []account.Event { return slices.Clone(c.doc.Events) }

// checkFilter returns an error if the filter's column or value is empty, is not valid UTF-8, or begins or
// ends with white space. Package dataset refuses the same texts. A nil filter is valid.
func checkFilter(f *account.Filter) error {
	if f == nil {
		return nil
	}
	for _, part := range []struct{ field, text string }{{"filter.column", f.Column}, {"filter.value", f.Value}} {
		if part.text == "" || part.text != strings.TrimSpace(part.text) || !utf8.ValidString(part.text) {
			return unsound(part.field, strconv.Quote(part.text), "must be a text without white space around it")
		}
	}
	return nil
}

// checkUnit returns an error if the unit's column is empty, is not valid UTF-8 or begins or ends with white
// space, if Rows is below 1, or if Count is neither Mean nor Sum. A nil unit is valid.
func checkUnit(u *account.Unit) error {
	switch {
	case u == nil:
		return nil
	case u.Column == "" || u.Column != strings.TrimSpace(u.Column) || !utf8.ValidString(u.Column):
		return unsound("unit.column", strconv.Quote(u.Column), "must be a text without white space around it")
	case u.Rows < 1:
		return unsound("unit.rows", u.Rows, "must be >= 1")
	case u.Count != account.Mean && u.Count != account.Sum:
		return unsound("unit.count", strconv.Quote(string(u.Count)), "must be %q or %q", account.Mean, account.Sum)
	}
	return nil
}

// privacyUnit returns the value of the member privacy_unit for the unit u: unitOfRow if u is nil,
// otherwise unitOfRows.
func privacyUnit(u *account.Unit) string {
	if u == nil {
		return unitOfRow
	}
	return unitOfRows
}

// Ledger verifies the certificate and returns an ended ledger that holds the certificate's events. A store
// of budgets reads the run's final charge from this ledger. If the certificate does not verify, Ledger
// returns the error of Verify.
func (c *Certificate) Ledger(ctx context.Context) (account.View, error) {
	if _, err := c.Verify(ctx); err != nil {
		return account.View{}, err
	}
	claim := c.doc.Claim
	budget, err := account.NewBudget(claim.Epsilon, claim.Delta, claim.Relation)
	if err != nil {
		return account.View{}, fmt.Errorf("certificate: claim: %w: %w", ErrUnsound, err)
	}
	j := account.Journal{Budget: budget, Records: c.records(), Events: c.doc.Events}
	if c.doc.Basis == BasisSchedule {
		if j.Schedule, err = account.NewSchedule(ctx, budget, claim.Mu, c.doc.Schedule...); err != nil {
			return account.View{}, fmt.Errorf("certificate: schedule: %w", err)
		}
	}
	v, err := account.Replay(j)
	if err != nil {
		return account.View{}, fmt.Errorf("certificate: events: %w: %w", ErrUnsound, err)
	}
	return v, nil
}

// records returns the certificate's statements about the records: their number, unit and filter, and
// whether the random bits were simulated.
func (c *Certificate) records() account.Records {
	return account.Records{
		Count: c.doc.Records, Unit: c.Unit(), Filter: c.Filter(),
		Simulated: c.doc.Coins == Simulated,
	}
}

// Write writes the certificate to path and replaces an existing file. After a crash, path holds either the
// whole new file or what it held before.
func (c *Certificate) Write(path string) error {
	text, err := c.Bytes()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, text); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return nil
}

// Bytes returns the bytes of the file that Write writes. It returns an error for the zero Certificate.
func (c *Certificate) Bytes() ([]byte, error) {
	if len(c.text) == 0 {
		return nil, errors.New("certificate: the zero Certificate claims nothing")
	}
	return bytes.Clone(c.text), nil
}

// Params are the statements of a certificate that the caller makes. The other statements come from the
// session's ledger: claim, records, unit, filter, source of random bits, schedule and events.
type Params struct {
	// Software is the program and version, such as "stillpoint v1.2.0".
	Software string
	// Reservation names the row of a store of budgets that also charged the run. It is nil if no store
	// charged the run.
	Reservation *account.Reservation
	// Algorithm is the algorithm of the run. A nil Plan is written as {}.
	Algorithm Algorithm
	// Complete is true if the run ended as planned, and false if it was interrupted.
	Complete bool
	// Trusted lists the assumptions that the guarantee needs and the program does not enforce. New adds the assumptions
	// of releases whose basis is stability (gradient steps that do not move two points further apart).
	Trusted []string
	// ModelSHA256 is the SHA-256 of the model file's bytes, in lower-case hexadecimal. It may be empty for an
	// interrupted run that wrote no model.
	ModelSHA256 string
}

// Session is the source of a certificate: a *curator.Session.
type Session interface {
	Ledger() account.View
}

// New makes the certificate of a closed session. It returns [ErrUnsound] for an open session, because an open session
// may release more than the certificate covers, and for a session whose ledger does not state the records. New also
// returns an error if [Certificate.Verify] would fail for a reason other than simulated random bits. The certificate of
// a session with simulated random bits states them, and never verifies.
func New(s Session, p Params) (*Certificate, error) {
	v := s.Ledger()
	if _, opened := v.Records(); !opened {
		return nil, unsound("session", "", "must say in its ledger which records it charges (curator.Open)")
	}
	if !v.Ended() {
		return nil, unsound("session", "", "must be closed: later releases would not be covered")
	}
	return certify(v.Journal(), p)
}

// FromJournal makes the certificate of a session that no longer exists, from the journal that its program kept of the
// ledger. It admits the journal's events again, one by one, to a new ledger. It returns an error for an event without a
// relation, for an event whose index is not the number of events before it, and for an event that the budget does not
// cover. The caller must know that no event is missing at the end, and that the events happened.
func FromJournal(j account.Journal, p Params) (*Certificate, error) {
	v, err := account.Replay(j)
	if err != nil {
		return nil, fmt.Errorf("certificate: journal: %w: %w", ErrUnsound, err)
	}
	return certify(v.Journal(), p)
}

// certify makes a certificate from the journal of an ended ledger and the caller's statements. It returns
// an error if check fails.
func certify(j account.Journal, p Params) (*Certificate, error) {
	d := document{
		Format:   format,
		Version:  version,
		Software: p.Software,
		Claim: claim{
			Epsilon:  j.Budget.Epsilon(),
			Delta:    j.Budget.Delta(),
			Mu:       j.Budget.Mu(),
			Relation: j.Budget.Relation(),
		},
		Basis:       BasisGaussianFilter,
		Records:     j.Records.Count,
		Budget:      p.Reservation,
		Algorithm:   p.Algorithm,
		Complete:    p.Complete,
		Coins:       Secret,
		Trusted:     append([]string{}, p.Trusted...),
		ModelSHA256: p.ModelSHA256,
		Events:      append([]account.Event{}, j.Events...),
	}
	if j.Records.Simulated {
		d.Coins = Simulated
	}
	d.Trusted = append(d.Trusted, d.untold()...)
	if f := j.Records.Filter; f != (account.Filter{}) {
		d.Filter = &f
	}
	if u := j.Records.Unit; u != (account.Unit{}) {
		d.Unit = &u
	}
	d.PrivacyUnit = privacyUnit(d.Unit)
	if j.Schedule != nil {
		d.Basis, d.Claim.Mu, d.Schedule = BasisSchedule, j.Schedule.Mu(), j.Schedule.Steps()
	}
	if d.Algorithm.Plan == nil {
		d.Algorithm.Plan = json.RawMessage("{}")
	}
	if !json.Valid(d.Algorithm.Plan) {
		return nil, unsound("algorithm.plan", strconv.Quote(string(d.Algorithm.Plan)), "must be a JSON object")
	}
	total, err := account.Total(d.Events)
	if err != nil {
		return nil, fmt.Errorf("certificate: events: %w: %w", ErrUnsound, err)
	}
	d.Charged = total
	if _, err := d.check(context.Background()); err != nil {
		return nil, err
	}
	text, err := d.encode()
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// encode returns the bytes of the certificate file, with the checksum.
func (d *document) encode() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	head := bytes.TrimSuffix(b.Bytes(), []byte("\n}\n"))
	return seal(slices.Concat(head, []byte(",\n"))), nil
}
