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
)

// journalVersion is that of the journals this program writes. It also reads version 1,
// whose lines have neither numbers nor checksums.
const journalVersion = 2

// head is all of a fit that is settled before its first release. What the fit
// releases, and a head, are its model and its certificate: the same two files
// whether the fit makes them or they are recovered from its journal.
type head struct {
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
func (c *Config) head(software string, fit int, p Planned, l loss.Loss, s *account.Schedule) (head, error) {
	regularizer := loss.None()
	if c.Model.Regularizer != "" {
		var err error
		if regularizer, err = loss.ParseRegularizer(c.Model.Regularizer); err != nil {
			return head{}, err
		}
	}
	h := head{
		Journal: journalVersion, Software: software, Fit: fit,
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

// run is what a fit released.
type run struct {
	complete bool
	// weights are those of the result; nil if there is none.
	weights []float64
	// session released it, and is closed; nil of a run of which only the journal is left,
	// or nothing yet, with its events and its schedule.
	session  certificate.Session
	events   []account.Event
	schedule *account.Schedule
	conduct  conduct
}

// conduct is what a certificate keeps of a run beside its charges, for people and
// reports: the plan, and released numbers.
type conduct struct {
	optimize.Summary
	// GradientNorms are the norms of the noisy gradient estimates, one a step.
	GradientNorms []float64          `json:"gradient_norms,omitempty"`
	Measured      *optimize.Measured `json:"measured,omitempty"`
	// Compared is how the result compares with the best constant.
	Compared *optimize.Compared `json:"compared,omitempty"`
	// Law is how the releases became the result; nil of a recovered run, whose
	// journal does not tell.
	Law *optimize.Realised `json:"law,omitempty"`
	// Reduce is the public map that shortened rows; empty for none.
	Reduce string `json:"reduce,omitempty"`
	// Seed is that of the public coins, in hexadecimal; empty where none were drawn.
	Seed string `json:"public_seed,omitempty"`
	// Late says whether more steps would have helped, and Arrived says it in words.
	Late    *optimize.Late `json:"late,omitempty"`
	Arrived string         `json:"arrived,omitempty"`
	// Foreseen is the gradient norm to expect after what was released.
	Foreseen float64 `json:"foreseen_gradient_norm,omitempty"`
	// Curvature is what was released of that at the result.
	Curvature *optimize.Curved `json:"curvature,omitempty"`

	Recovered *recovered `json:"recovered,omitempty"`
}

// files makes the two files of a run. The model's text is nil if there is none.
func (h head) files(r run) (modelText []byte, cert *certificate.Certificate, err error) {
	digest := ""
	if r.weights != nil {
		m, err := h.model(r)
		if err != nil {
			return nil, nil, err
		}
		if modelText, err = m.Bytes(); err != nil {
			return nil, nil, err
		}
		digest = sha(modelText)
	}
	r.conduct.Reduce, r.conduct.Seed = h.Reduce, h.Seed
	plan, err := json.Marshal(r.conduct)
	if err != nil {
		return nil, nil, err
	}
	params := certificate.Params{
		Software: h.Software, Complete: r.complete, Reservation: h.Budget,
		Algorithm: certificate.Algorithm{Name: h.Plan.Algorithm, Plan: plan}, ModelSHA256: digest,
	}
	if r.session != nil {
		cert, err = certificate.New(r.session, params)
		return modelText, cert, err
	}
	journal := account.Journal{Records: h.records(), Schedule: r.schedule, Events: r.events}
	if journal.Budget, err = account.NewBudget(h.Epsilon, h.Delta, h.Relation); err != nil {
		return nil, nil, err
	}
	cert, err = certificate.FromJournal(journal, params)
	return modelText, cert, err
}

// records are those that the fit's session was opened with (tells).
func (h head) records() account.Records {
	return account.Records{Count: h.Records, Unit: account.Unit(h.unit()), Filter: account.Filter(h.filter())}
}

// tells demands that the head says of its records what the session's ledger says, so that
// files made of a journal say what files made of the session do.
func (h head) tells(v account.View) error {
	if r, opened := v.Records(); !opened || r != h.records() || v.Budget().Relation() != h.Relation {
		return fmt.Errorf("train: records: the session's ledger says %+v: must be %+v, as the configuration has it",
			r, h.records())
	}
	return nil
}

// unit says whose rows made up one record. The loss is one that was made before.
func (h head) unit() certificate.Unit {
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return certificate.Unit{}
	}
	return unitOf(h.Schema, l)
}

// filter says which rows are records.
func (h head) filter() certificate.Filter { return certificate.Filter(h.Schema.Filter()) }

func (h head) model(r run) (*model.Model, error) {
	weights := r.weights
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
		Software: h.Software, Complete: r.complete, Warnings: h.warnings(r), Loss: loss.RowLoss(l), Regularizer: regularizer,
		Schema: h.Schema, Weights: weights, CSV: h.CSV, Clamped: model.MayClamp(h.Schema.Target()),
		Privacy: model.Privacy{
			Epsilon: h.Epsilon, Delta: h.Delta, Relation: h.Relation.String(),
			Neighbour: h.unit().Neighbour(h.filter(), h.Relation), Certificate: CertificateFile,
		},
	})
}

// features is how many a row has, as it is trained on.
func (h head) features() int {
	if reduce, err := h.reduction(); err == nil && reduce != nil {
		return reduce.Size()
	}
	return h.Schema.Dim()
}

// parameters is how many weights a run has: those of the model, or of shortened rows.
func (h head) parameters() (int, error) {
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
func (h head) reduction() (*dataset.Projection, error) {
	if h.Reduce == "" {
		return nil, nil
	}
	return dataset.ParseProjection(h.Reduce, h.Schema.Dim())
}

// lifted are the scales of the noise in the model's weights, from those in the weights of
// shortened rows: each of the former is a sum over all of the latter, of entries whose
// squares are 1/k.
func (h head) lifted(scales []float64) []float64 {
	if h.Reduce == "" || len(scales) == 0 {
		return scales
	}
	square := 0.0
	for _, s := range scales {
		square += s * s / float64(len(scales))
	}
	return slices.Repeat([]float64{math.Sqrt(square)}, h.Schema.Dim())
}

// room returns how many bytes the files of a run can take at most before its
// first event, and perEvent for each. Making files of nothing shows, before
// anything is charged, that they can be made.
func (h head) room(r run) (modelSize, certificateSize int64, err error) {
	const (
		aNumber = 26  // a float64 in decimal, its comma and its sign
		aNorm   = 32  // one, indented; a step has one, and five of the law
		aStep   = 160 // of a schedule
		rest    = 4096
		warned  = 1024 // a comparison's warning
		aMargin = 32   // of the constant that the result is compared with
	)
	r.complete, r.session, r.events, r.schedule = false, nil, nil, nil
	parameters, err := h.parameters()
	if err != nil {
		return 0, 0, err
	}
	lift := 1 // weights of the model for each of the run's
	if reduce, err := h.reduction(); err == nil && reduce != nil {
		lift += h.Schema.Dim() / reduce.Size()
	}
	r.weights = make([]float64, parameters)
	text, cert, err := h.files(r)
	if err != nil {
		return 0, 0, err
	}
	certText, err := cert.Bytes()
	if err != nil {
		return 0, 0, err
	}
	return int64(len(text) + aNumber*parameters*lift + warned),
		int64(len(certText)+6*aNorm*min(h.Plan.Steps, mostNorms)+aStep*len(h.Schedule)+aMargin*parameters/max(h.Schema.Dim(), 1)+rest) + optimize.MomentBytes(h.features()), nil
}

// perEvent is the most bytes of an event in a certificate.
const perEvent = 640

func sha(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// mostNorms is how many steps' norms a certificate keeps: none of a longer run.
const mostNorms = 20_000

// keptNorm returns the norm of a step's gradient as certificates keep it: five
// digits are more than the noise leaves.
func keptNorm(s Step) (norm float64, ok bool) {
	norm, err := strconv.ParseFloat(strconv.FormatFloat(s.GradientNorm, 'g', 5, 64), 64)
	return norm, s.Of <= mostNorms && err == nil && !math.IsNaN(norm) && !math.IsInf(norm, 0)
}

func finite(w []float64) bool {
	var sum float64
	for _, x := range w {
		sum += math.Abs(x)
	}
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}
