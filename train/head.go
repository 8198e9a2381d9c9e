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

// JournalVersion is the version of the journals that this program writes. It also reads version 1,
// whose lines have neither numbers nor checksums.
const JournalVersion = 2

// CertificateFile is the name of the certificate's file as a model states it.
const CertificateFile = "certificate.json"

// Head holds all facts of a fit that are known before its first release. The head and the releases
// determine the model and the certificate. The two files are the same whether the fit makes them or
// they are recovered from the fit's journal.
type Head struct {
	Journal  int    `json:"journal"`
	Software string `json:"software"`
	// Fit is the number of the reservation. Relation, Epsilon and Delta are its budget.
	Fit      int              `json:"fit"`
	Relation account.Relation `json:"relation"`
	Epsilon  float64          `json:"epsilon"`
	Delta    float64          `json:"delta"`
	Records  int64            `json:"records"`
	// Budget is the fit's reservation in a store of budgets; nil for none.
	Budget *certificate.Reservation `json:"budget,omitempty"`
	// Schedule is the schedule of a fit on Poisson samples. Mu is the budget of its Gaussian releases
	// beside the samples.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
	Mu       float64                `json:"schedule_mu,omitempty"`

	Loss        string           `json:"loss"`
	Regularizer string           `json:"regularizer"`
	Schema      *dataset.Schema  `json:"schema"`
	Reduce      string           `json:"reduce,omitempty"`
	Plan        optimize.Summary `json:"plan"`
	CSV         dataset.CSV      `json:"csv,omitzero"`
	// Seed is the seed of the public random bits, in hexadecimal; empty if none are drawn.
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

// Released holds what a fit released.
type Released struct {
	Complete bool
	// Weights are the weights of the result; nil if there is none.
	Weights []float64
	// Session is the closed session that released the result. It is nil if only the journal of a run is
	// left, or if nothing was released; Events and the schedule then take its place.
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

// records returns the records with which the fit's session was opened (see tells).
func (h Head) records() account.Records {
	return account.Records{Count: h.Records, Unit: h.Unit(), Filter: h.filter()}
}

// tells returns an error unless the head and the session's ledger state the same records and relation.
// Files made from a journal then say the same as files made from the session.
func (h Head) tells(v account.View) error {
	if r, opened := v.Records(); !opened || r != h.records() || v.Budget().Relation() != h.Relation {
		return fmt.Errorf("train: records: the session's ledger says %+v: must be %+v, as the configuration has it",
			r, h.records())
	}
	return nil
}

// Unit says whose rows form one record. The loss must be valid.
func (h Head) Unit() certificate.Unit {
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return certificate.Unit{}
	}
	return unitOf(h.Schema, l)
}

// filter returns the row filter.
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

// features returns the number of features of a row as the model is trained on it: after Reduce, if it
// is set.
func (h Head) features() int {
	if reduce, err := h.reduction(); err == nil && reduce != nil {
		return reduce.Size()
	}
	return h.Schema.Dim()
}

// Parameters returns the number of weights of a run: the model's weights, or the weights for shortened
// rows.
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

// reduction returns the map that shortens rows; nil for none.
func (h Head) reduction() (*dataset.Projection, error) {
	if h.Reduce == "" {
		return nil, nil
	}
	return dataset.ParseProjection(h.Reduce, h.Schema.Dim())
}

// lifted returns the scales of the noise in the model's weights, given the scales for the weights of
// shortened rows. Each weight of the model is a sum over all weights for shortened rows, with factors
// whose squares are 1/k.
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

// Room returns upper bounds on the bytes of a run's files before its first event; PerEvent is the bound
// for each event. Room makes the files of a run without releases, so that an error shows before
// anything is charged.
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

// empty makes the files of a run that has released nothing, with weights 0.
func (h Head) empty(r Released) (*model.Model, *certificate.Certificate, error) {
	parameters, err := h.Parameters()
	if err != nil {
		return nil, nil, err
	}
	r.Complete, r.Session, r.Events, r.Schedule = false, nil, nil, nil
	r.Weights = make([]float64, parameters)
	return h.Files(r)
}

// possible returns an error, before anything is charged, if the files of a run cannot be made.
func (h Head) possible(r Released) error {
	_, _, err := h.empty(r)
	return err
}

// PerEvent is the largest size of an event in a certificate, in bytes.
const PerEvent = 640

func sha(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// MostNorms is the largest number of steps whose norms a certificate keeps. It keeps none of a longer
// run.
const MostNorms = 20_000

// KeptNorm returns the norm of a step's gradient as certificates store it, with five digits. The noise
// makes further digits meaningless.
func KeptNorm(s Step) (norm float64, ok bool) {
	norm, err := strconv.ParseFloat(strconv.FormatFloat(s.GradientNorm, 'g', 5, 64), 64)
	return norm, s.Of <= MostNorms && err == nil && !math.IsNaN(norm) && !math.IsInf(norm, 0)
}
