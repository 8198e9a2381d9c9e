package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// JournalVersion is that of the journals this program writes. It also reads version 1,
// whose lines have neither numbers nor checksums.
const JournalVersion = 2

// CertificateFile is the name by which a model speaks of its certificate.
const CertificateFile = "certificate.json"

// Head is all of a fit that is settled before its first release. What the fit
// releases, and a head, are its model and its certificate: the same two files
// whether the fit makes them or they are recovered from its journal.
type Head struct {
	Journal  int    `json:"journal"`
	Software string `json:"software"`
	// Fit and the budget are those of the reservation.
	Fit      int              `json:"fit"`
	Relation account.Relation `json:"relation"`
	Epsilon  float64          `json:"epsilon"`
	Delta    float64          `json:"delta"`
	Records  int64            `json:"records"`
	// Budget is where the fit is charged beside its folder's ledger.
	Budget *certificate.Reservation `json:"budget,omitempty"`
	// Schedule is that of a fit that samples, beside Gaussian releases of Mu.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
	Mu       float64                `json:"schedule_mu,omitempty"`

	Loss        string           `json:"loss"`
	Regularizer string           `json:"regularizer"`
	Schema      *dataset.Schema  `json:"schema"`
	Reduce      string           `json:"reduce,omitempty"`
	Plan        optimize.Summary `json:"plan"`
	CSV         dataset.CSV      `json:"csv,omitzero"`
	// Seed is that of the public coins, in hexadecimal; empty where none are drawn.
	Seed string `json:"public_seed,omitempty"`
}

// head returns the head of a fit.
func (c *Config) head(software string, fit int, p Planned, l loss.Loss, s *account.Schedule) (Head, error) {
	regularizer := loss.None()
	if c.Model.Regularizer != "" {
		var err error
		if regularizer, err = loss.ParseRegularizer(c.Model.Regularizer); err != nil {
			return Head{}, err
		}
	}
	h := Head{
		Journal: JournalVersion, Software: software, Fit: fit,
		Relation: p.Budget.Relation(), Epsilon: p.Budget.Epsilon(), Delta: p.Budget.Delta(), Records: int64(p.Records),
		Loss: l.Name(), Regularizer: regularizer.Name(), Schema: c.Schema, Plan: p.Summary,
		Reduce: c.Model.Reduce, CSV: c.CSV,
	}
	if p.Plan.Needs().Seed {
		h.Seed = fmt.Sprintf("%016x", p.Seed)
	}
	h.CSV.Header = nil // whether files to come have a header row is theirs to say
	if s != nil {
		h.Schedule, h.Mu = s.Steps(), s.Mu()
	}
	return h, nil
}

// Released is what a fit released.
type Released struct {
	Complete bool
	// Weights are those of the result; nil if there is none.
	Weights []float64
	// Session released it, and is closed; nil of a run of which only the journal is left,
	// or nothing yet, with its events and its schedule.
	Session  certificate.Session
	Events   []account.Event
	Schedule *account.Schedule
	Run      runrecord.Run
}

// Files makes the two files of a run. The model is nil if there is none.
func (h Head) Files(r Released) (m *model.Model, cert *certificate.Certificate, err error) {
	digest := ""
	if r.Weights != nil {
		if m, err = h.model(r); err != nil {
			return nil, nil, err
		}
		text, err := m.Bytes()
		if err != nil {
			return nil, nil, err
		}
		digest = sha(text)
	}
	r.Run.Reduce, r.Run.Seed = h.Reduce, h.Seed
	plan, err := json.Marshal(r.Run)
	if err != nil {
		return nil, nil, err
	}
	params := certificate.Params{
		Software: h.Software, Complete: r.Complete, Reservation: h.Budget,
		Algorithm: certificate.Algorithm{Name: h.Plan.Algorithm, Plan: plan}, ModelSHA256: digest,
	}
	if r.Session != nil {
		cert, err = certificate.New(r.Session, params)
		return m, cert, err
	}
	journal := account.Journal{Records: h.records(), Schedule: r.Schedule, Events: r.Events}
	if journal.Budget, err = account.NewBudget(h.Epsilon, h.Delta, h.Relation); err != nil {
		return nil, nil, err
	}
	cert, err = certificate.FromJournal(journal, params)
	return m, cert, err
}

// records are those that the fit's session was opened with (tells).
func (h Head) records() account.Records {
	return account.Records{Count: h.Records, Unit: h.Unit(), Filter: h.filter()}
}

// tells demands that the head says of its records what the session's ledger says, so that
// files made of a journal say what files made of the session do.
func (h Head) tells(v account.View) error {
	if r, opened := v.Records(); !opened || r != h.records() || v.Budget().Relation() != h.Relation {
		return fmt.Errorf("train: records: the session's ledger says %+v: must be %+v, as the configuration has it",
			r, h.records())
	}
	return nil
}

// Unit says whose rows made up one record. The loss is one that was made before.
func (h Head) Unit() certificate.Unit {
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return certificate.Unit{}
	}
	return unitOf(h.Schema, l)
}

// filter says which rows are records.
func (h Head) filter() certificate.Filter { return certificate.Filter(h.Schema.Filter()) }

func (h Head) model(r Released) (*model.Model, error) {
	weights := r.Weights
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	regularizer, err := loss.ParseRegularizer(h.Regularizer)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	reduce, err := h.reduction()
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if reduce != nil {
		weights = reduce.Lift(weights)
	}
	return model.New(model.Params{
		Software: h.Software, Complete: r.Complete, Warnings: h.warnings(r), Loss: loss.RowLoss(l), Regularizer: regularizer,
		Schema: h.Schema, Weights: weights, CSV: h.CSV, Clamped: model.MayClamp(h.Schema.Target()),
		Privacy: model.Privacy{
			Guarantee: account.Guarantee{Relation: h.Relation, Epsilon: h.Epsilon, Delta: h.Delta},
			Neighbour: h.Unit().Neighbour(h.filter(), h.Relation), Certificate: CertificateFile,
		},
	})
}

// features returns the number of features of a row as it is trained on: after Reduce, if it is set.
func (h Head) features() int {
	if reduce, err := h.reduction(); err == nil && reduce != nil {
		return reduce.Size()
	}
	return h.Schema.Dim()
}

// Parameters is how many weights a run has: those of the model, or of shortened rows.
func (h Head) Parameters() (int, error) {
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return 0, err
	}
	reduce, err := h.reduction()
	if err != nil {
		return 0, err
	}
	if reduce != nil {
		return loss.Check(l, loss.RecordFeatures(l, reduce.Size()))
	}
	return loss.Check(l, loss.RecordFeatures(l, h.Schema.Dim()))
}

// reduction is the map that shortens rows; nil for none.
func (h Head) reduction() (*dataset.Projection, error) {
	if h.Reduce == "" {
		return nil, nil
	}
	return dataset.ParseProjection(h.Reduce, h.Schema.Dim())
}

// lifted are the scales of the noise in the model's weights, from those in the weights of
// shortened rows: each of the former is a sum over all of the latter, of entries whose
// squares are 1/k.
func (h Head) lifted(scales []float64) []float64 {
	if h.Reduce == "" || len(scales) == 0 {
		return scales
	}
	square := 0.0
	for _, s := range scales {
		square += s * s / float64(len(scales))
	}
	return slices.Repeat([]float64{math.Sqrt(square)}, h.Schema.Dim())
}

// Room returns how many bytes the files of a run can take at most before its
// first event, and PerEvent for each. Making files of nothing shows, before
// anything is charged, that they can be made.
func (h Head) Room(r Released) (modelSize, certificateSize int64, err error) {
	const (
		aNumber = 26  // a float64 in decimal, its comma and its sign
		aNorm   = 32  // one, indented; a step has one, and five of the law
		aStep   = 160 // of a schedule
		rest    = 4096
		warned  = 1024 + mostSeen*seenBytes // warnings of a comparison and of a second moment
		aMargin = 32                        // of the constant that the result is compared with
	)
	m, cert, err := h.empty(r)
	if err != nil {
		return 0, 0, err
	}
	parameters, err := h.Parameters()
	if err != nil {
		return 0, 0, err
	}
	lift := 1 // weights of the model for each of the run's
	if reduce, err := h.reduction(); err == nil && reduce != nil {
		lift += h.Schema.Dim() / reduce.Size()
	}
	text, err := m.Bytes()
	if err != nil {
		return 0, 0, err
	}
	certText, err := cert.Bytes()
	if err != nil {
		return 0, 0, err
	}
	return int64(len(text) + aNumber*parameters*lift + warned),
		int64(len(certText)+6*aNorm*min(h.Plan.Steps, MostNorms)+aStep*len(h.Schedule)+aMargin*parameters/max(h.Schema.Dim(), 1)+rest) + runrecord.MomentBytes(h.features()), nil
}

// empty makes the files of a run that has released nothing, with weights that are 0.
func (h Head) empty(r Released) (*model.Model, *certificate.Certificate, error) {
	parameters, err := h.Parameters()
	if err != nil {
		return nil, nil, err
	}
	r.Complete, r.Session, r.Events, r.Schedule = false, nil, nil, nil
	r.Weights = make([]float64, parameters)
	return h.Files(r)
}

// possible says, before anything is charged, whether the files of a run can be made.
func (h Head) possible(r Released) error {
	_, _, err := h.empty(r)
	return err
}

// PerEvent is the most bytes of an event in a certificate.
const PerEvent = 640

func sha(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// MostNorms is how many steps' norms a certificate keeps: none of a longer run.
const MostNorms = 20_000

// KeptNorm returns the norm of a step's gradient as certificates keep it: five
// digits are more than the noise leaves.
func KeptNorm(s Step) (norm float64, ok bool) {
	norm, err := strconv.ParseFloat(strconv.FormatFloat(s.GradientNorm, 'g', 5, 64), 64)
	return norm, s.Of <= MostNorms && err == nil && !math.IsNaN(norm) && !math.IsInf(norm, 0)
}
