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

// Params is what a run states about itself. Everything not listed here is
// computed by [New].
type Params struct {
	// Software is the program and version, such as "stillpoint v1.2.0".
	Software string
	// Budget is the filter's, fixed before the first release.
	Budget account.Budget
	// Records is the public number of records or, under add-or-remove, the
	// declared one.
	Records int64
	// Filter says which rows were records; the zero Filter for all of them.
	Filter Filter
	// Unit says whose rows made up one record; the zero Unit if each was one.
	Unit Unit
	// Reservation is where the run was charged beside its own ledger; nil for nowhere.
	Reservation *Reservation
	// Algorithm is what was run; a nil Plan is written as {}.
	Algorithm Algorithm
	// Complete is false for a run that was interrupted.
	Complete bool
	// Coins must agree with the events: all of them are marked simulated, or none.
	Coins Coins
	// Trusted lists the assumptions that are trusted rather than enforced, beside
	// those of releases by stability, which New adds.
	Trusted []string
	// ModelSHA256 is of the model file's bytes, in lower-case hexadecimal. It may
	// be empty for an interrupted run that wrote none.
	ModelSHA256 string
	// Schedule is what the run's samples were drawn by; nil for none.
	Schedule *account.Schedule
	// Events are the ledger's. One without a relation has that of Budget.
	Events []account.Event
}

// New makes the certificate of a run. It checks all that [Certificate.Verify]
// checks, but for the coins: a run with simulated coins gets a certificate that
// says so and never verifies.
func New(p Params) (*Certificate, error) {
	d := document{
		Format:   Format,
		Version:  Version,
		Software: p.Software,
		Claim: Claim{
			Epsilon:  p.Budget.Epsilon(),
			Delta:    p.Budget.Delta(),
			Mu:       p.Budget.Mu(),
			Relation: p.Budget.Relation(),
		},
		Basis:       BasisGaussianFilter,
		Records:     p.Records,
		Budget:      p.Reservation,
		Algorithm:   p.Algorithm,
		Complete:    p.Complete,
		Coins:       p.Coins,
		Trusted:     append([]string{}, p.Trusted...),
		ModelSHA256: p.ModelSHA256,
		Events:      append([]account.Event{}, p.Events...),
	}
	for i := range d.Events {
		if e := &d.Events[i]; e.Relation == 0 {
			e.Relation = d.Claim.Relation
		}
	}
	d.Trusted = append(d.Trusted, d.untold()...)
	if p.Filter != (Filter{}) {
		d.Filter = &p.Filter
	}
	if p.Unit != (Unit{}) {
		d.Unit = &p.Unit
	}
	d.PrivacyUnit = d.Unit.privacyUnit()
	if p.Schedule != nil {
		d.Basis, d.Claim.Mu, d.Schedule = BasisSchedule, p.Schedule.Mu(), p.Schedule.Steps()
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

// encode writes the file.
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
