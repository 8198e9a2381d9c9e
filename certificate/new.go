package certificate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/account"
)

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
	// Trusted lists the assumptions that the guarantee needs and the program does not enforce. New adds the
	// assumptions of releases whose basis is stability (gradient steps that do not move two points further
	// apart).
	Trusted []string
	// ModelSHA256 is the SHA-256 of the model file's bytes, in lower-case hexadecimal. It may be empty for an
	// interrupted run that wrote no model.
	ModelSHA256 string
}

// Session is the source of a certificate: a *curator.Session.
type Session interface {
	Ledger() account.View
}

// New makes the certificate of a closed session. It returns [ErrUnsound] for an open session, because an
// open session may release more than the certificate covers, and for a session whose ledger does not state
// the records. New also returns an error if [Certificate.Verify] would fail for a reason other than
// simulated random bits. The certificate of a session with simulated random bits states them, and never
// verifies.
func New(s Session, p Params) (*Certificate, error) {
	v := s.Ledger()
	if _, opened := v.Records(); !opened {
		return nil, &fault{ErrUnsound, "session", "", "must say in its ledger which records it charges (curator.Open)"}
	}
	if !v.Ended() {
		return nil, &fault{ErrUnsound, "session", "", "must be closed: later releases would not be covered"}
	}
	return certify(v.Journal(), p)
}

// FromJournal makes the certificate of a session that no longer exists, from the journal that its program
// kept of the ledger. It admits the journal's events again, one by one, to a new ledger. It returns an
// error for an event without a relation, for an event whose index is not the number of events before it,
// and for an event that the budget does not cover. The caller must know that no event is missing at the
// end, and that the events happened.
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
