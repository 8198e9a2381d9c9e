package train

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
)

// JournalVersion is the version of the journals that this program writes. The program also reads journals of
// version 1, whose lines have neither numbers nor checksums.
const JournalVersion = 2

// DescriptionFile is the name of the file of a description.
const DescriptionFile = "describe.json"

// Header holds all facts of a fit that are known before its first release. The head and the releases together determine
// the model and the certificate. A fit and a recovery from the fit's journal therefore make the same two files.
type Header struct {
	Journal  int    `json:"journal"`
	Software string `json:"software"`
	// Fit is the number of the fit in its folder's ledger. Guarantee states the fit's budget; it
	// has no Mu and no Unit in a head that an earlier version of the program wrote.
	Fit int `json:"fit"`
	account.Guarantee
	Records int64 `json:"records"`
	// Budget is the fit's reservation in a store of budgets; nil if no store is used.
	Budget *account.Reservation `json:"budget,omitempty"`
	// Place is the folder of the fit and the file of its journal; nil if the journal is of an earlier version.
	Place *holder.Place `json:"place,omitempty"`
	// Schedule lists the steps of a fit on Poisson samples. ScheduleMu is the mu of all other Gaussian
	// releases of the fit together; 0 if there are none.
	Schedule   []account.SampledSteps `json:"schedule,omitempty"`
	ScheduleMu float64                `json:"schedule_mu,omitempty"`

	Loss        string          `json:"loss"`
	Regularizer string          `json:"regularizer"`
	Schema      *dataset.Schema `json:"schema"`
	Reduce      string          `json:"reduce,omitempty"`
	// Features is model.features of the configuration. Schema gets the features of effects when they are found.
	Features string `json:"features,omitempty"`
	// Family is the family of the model; nil in a head that an earlier version of the program wrote.
	Family *runrecord.Family `json:"family,omitempty"`
	Plan   optimize.Summary  `json:"plan"`
	CSV    dataset.CSV       `json:"csv,omitzero"`
	// Seed is the seed of the public random bits, in hexadecimal; empty if the plan draws none.
	Seed string `json:"public_seed,omitempty"`
	// Adapted has the warnings about curves and interactions that Config.For left out of the schema because
	// the table is too small.
	Adapted []Warning `json:"adapted,omitempty"`
	// Start is the public constant at which the fit begins; nil if the constant is released or there is none.
	Start *Base `json:"start,omitempty"`
	// Describes is true if the run is a description. Its schema has no target, and it makes no model.
	Describes bool `json:"describes,omitempty"`
	// Described names the description from which bounds of columns came; nil if there is none.
	Described *runrecord.Described `json:"described,omitempty"`
	// Ranks are the columns whose curves get their knots by released ranks. Schema has them with equally
	// spaced knots until the ranks are released.
	Ranks []string `json:"ranks,omitempty"`
}

// head returns the head of a fit. fit is its number in the ledger, p its plan, l its loss, and s the schedule
// of its Poisson samples (nil if it draws none).
func (c *Config) head(software string, fit int, p Planned, l loss.Loss, s *account.Schedule) (Header, error) {
	regularizer := loss.None()
	if c.Model.Regularizer != "" {
		var err error
		if regularizer, err = loss.ParseRegularizer(c.Model.Regularizer); err != nil {
			return Header{}, err
		}
	}
	h := Header{
		Journal: JournalVersion, Software: software, Fit: fit,
		Guarantee: p.Budget.Guarantee(p.Unit.Column), Records: int64(p.Records),
		Loss: l.Name(), Regularizer: regularizer.Name(), Schema: c.Schema, Plan: p.Summary,
		Reduce: c.Model.Reduce, Features: c.Model.Features, CSV: c.CSV, Adapted: c.adapted,
	}
	if p.Plan.Needs().Seed || p.First != nil {
		h.Seed = fmt.Sprintf("%016x", p.Seed)
	}
	if p.Family.Name != "" {
		h.Family = &p.Family.Family
	}
	if p.Ranks != nil {
		h.Ranks = p.Ranks.Columns
	}
	h.Start, h.Described = p.Start, c.described
	if e, err := c.findsAt(sizeOf(p.Budget, p.Records), p.Records); err == nil && e != nil {
		h.Features = e.String() // another version may know other defaults
	}
	h.CSV.Header = nil // left out: another file with the same columns may or may not have a header row
	if s != nil {
		h.Schedule, h.ScheduleMu = s.Steps(), s.Mu()
	}
	return h, nil
}

// Released holds everything that a fit released.
type Released struct {
	// Complete reports whether the run made all its steps.
	Complete bool
	// Weights are the weights of the result; nil if the run has no result.
	Weights []float64
	// Session is the closed session that made the releases. Session is nil if only the journal of the run is
	// left or nothing was released; Events and Schedule are used then.
	Session  certificate.Session
	Events   []account.Event
	Schedule *account.Schedule
	Run      runrecord.Run
	// Inference is the released estimate of the coefficients with its covariance; nil if the fit has no
	// intervals.
	Inference *inference.Fit
	// Described is the file of a description; nil for a fit.
	Described []byte
}

// Files makes the model and the certificate of a run. The model is nil if r has no weights.
func (h Header) Files(r Released) (m *model.Model, cert *certificate.Certificate, err error) {
	digest := ""
	if r.Weights != nil {
		if r.Run.Monotone == nil {
			r.Weights, r.Run.Monotone = h.monotone(r.Weights, r.Run.Trace)
		}
		if m, err = h.model(r); err != nil {
			return nil, nil, err
		}
		text, err := m.Bytes()
		if err != nil {
			return nil, nil, err
		}
		digest = sha(text)
	}
	if r.Run.Base == nil {
		r.Run.Base = h.Start
	}
	r.Run.Reduce, r.Run.Seed, r.Run.Ranks, r.Run.Effects = h.Reduce, h.Seed, h.Ranks, foundIn(h.Schema, r.Run.Effects)
	r.Run.Family, r.Run.Described = h.Family, h.Described
	if r.Described != nil {
		digest = sha(r.Described)
	}
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

// records returns the number, unit and filter of the fit's records. The fit's session was opened with the
// same ones (see tells).
func (h Header) records() account.Records {
	return account.Records{Count: h.Records, Unit: h.RecordUnit(), Filter: h.filter()}
}

// tells returns an error if the head and the ledger v of the fit's session differ in the number of records,
// the unit, the filter or the relation. Without an error, a certificate made from the journal states the same
// facts as a certificate made from the session.
func (h Header) tells(v account.View) error {
	if r, opened := v.Records(); !opened || r != h.records() || v.Budget().Relation() != h.Relation {
		return fmt.Errorf("train: records: the session's ledger says %+v: must be %+v, as the configuration has it",
			r, h.records())
	}
	return nil
}

// RecordUnit says which rows form one record. It returns the zero Unit if each row is a record, or if the
// head's loss is invalid.
func (h Header) RecordUnit() account.Unit {
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return account.Unit{}
	}
	return unitOf(h.Schema, l)
}

// filter returns the row filter of the schema in the certificate's form.
func (h Header) filter() account.Filter { return account.Filter(h.Schema.Filter()) }

// model makes the model of a run from the weights to publish (see published): the weights of the fit, or
// weights closer to the best constant.
func (h Header) model(r Released) (*model.Model, error) {
	weights, err := h.published(r.Run.Compared, r.Weights)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
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
	intervals, err := r.Inference.JSON()
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return model.New(model.Params{
		Software: h.Software, Complete: r.Complete, Warnings: h.warnings(r), Loss: loss.RowLoss(l), Regularizer: regularizer,
		Inference: intervals,
		Schema:    h.Schema, Weights: weights, CSV: h.CSV, Clamped: model.MayClamp(h.Schema.Target()),
		Privacy: model.Privacy{
			Guarantee: account.Guarantee{Relation: h.Relation, Epsilon: h.Epsilon, Delta: h.Delta},
			Neighbour: h.RecordUnit().Neighbour(h.filter(), h.Relation), Certificate: runrecord.CertificateFile,
		},
	})
}

// features returns the number of features of a row on which the model is trained: after the projection
// Reduce, if it is set.
func (h Header) features() int {
	if reduce, err := h.reduction(); err == nil && reduce != nil {
		return reduce.Size()
	}
	return h.Schema.Dim()
}

// Parameters returns the number of weights that a run trains. If Reduce is set, these are weights for
// projected rows, and the published model has more weights.
func (h Header) Parameters() (int, error) {
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return 0, err
	}
	if _, err := h.reduction(); err != nil {
		return 0, err
	}
	return loss.Check(l, loss.RecordFeatures(l, h.features()))
}

// reduction returns the random projection that shortens rows; nil if rows are not projected.
func (h Header) reduction() (*dataset.Projection, error) {
	if h.Reduce == "" {
		return nil, nil
	}
	return dataset.ParseProjection(h.Reduce, h.Schema.Dim())
}

// lifted converts standard deviations of noise from the trained weights to the model's weights. The two
// differ if a random projection shortened the rows to k features. Each weight of the model is then the sum of
// all k trained weights, each multiplied by +-1/sqrt(k), so its variance is the mean of their variances.
// Without a projection lifted returns scales unchanged.
func (h Header) lifted(scales []float64) []float64 {
	if h.Reduce == "" || len(scales) == 0 {
		return scales
	}
	square := vector.Sum(scales, func(s float64) float64 { return s * s / float64(len(scales)) })
	return slices.Repeat([]float64{math.Sqrt(square)}, h.Schema.Dim())
}

// Room returns upper bounds on the sizes of the model's and the certificate's file in bytes, so that disk
// space can be reserved. certificateSize includes no events (charges): the caller must add PerEvent for each.
// Room makes the files of a run without releases, so that an error in making the files is found before
// anything is charged. A plan that follows from a released base rate may have up to moreSteps more steps.
func (h Header) Room(r Released) (modelSize, certificateSize int64, err error) {
	const (
		aNumber   = 26  // a float64 in decimal, with comma and sign
		aNorm     = 32  // an indented number; a step has six: its gradient norm and five in runrecord.Trace
		aStep     = 160 // a step of a schedule of Poisson samples
		rest      = 4096
		warned    = 2048 + mostQualityWarnings*qualityWarningBytes // warnings from the comparison and from the second moment
		aMargin   = 5 * 32                                         // a margin of the best constant, with four numbers of its base rate
		moreSteps = 150
		aKnot     = 48 // a knot by ranks, on a line of its own
	)
	if h.Describes {
		return h.describedRoom(r)
	}
	h, err = h.largest()
	if err != nil {
		return 0, 0, err
	}
	m, cert, err := h.empty(r)
	if err != nil {
		return 0, 0, err
	}
	parameters, err := h.Parameters()
	if err != nil {
		return 0, 0, err
	}
	lift := 1 // upper bound on the model's weights for each trained weight
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
	knots := 0
	for _, c := range h.Schema.Columns() {
		if slices.Contains(h.Ranks, c.Name) {
			knots += c.Curve + 1
		}
	}
	intervals := 0
	if h.Plan.Algorithm == onestep.Name {
		intervals = inferenceRoom(h.Schema.Dim())
	}
	found, moment := 0, int64(0)
	if e, ok := h.Schema.Effects(); ok {
		found, moment = aNumber*(len(e.Weights)+len(e.Centres)+2), runrecord.MomentBytes(len(e.Weights))
	}
	return int64(len(text) + aNumber*parameters*lift + aKnot*knots + warned + intervals + found),
		int64(len(certText)+6*aNorm*min(h.Plan.Steps+moreSteps, MostNorms)+aStep*len(h.Schedule)+aMargin*parameters/max(h.Schema.Dim(),
			1)+rest) + moment + 2*runrecord.MomentBytes(h.features()), nil
}

// describedRoom is Room for a description.
func (h Header) describedRoom(r Released) (description, certificate int64, err error) {
	const aFeature, rest = 600, 1 << 14 // a value of a category has two numbers with intervals, each on a line
	_, cert, err := h.Files(Released{Run: r.Run})
	if err != nil {
		return 0, 0, err
	}
	text, err := cert.Bytes()
	if err != nil {
		return 0, 0, err
	}
	schema, err := h.Schema.MarshalJSON()
	return int64(rest + 2*len(schema) + aFeature*h.Schema.Dim()), int64(rest + len(text)), err
}

// largest returns the head whose schema has features of effects, if the fit is to find them.
func (h Header) largest() (Header, error) {
	e, err := ParseFeatures(h.Features, bought)
	if e == nil || err != nil {
		return h, err
	}
	if _, found := h.Schema.Effects(); !found {
		h.Schema, err = e.placeholder(h.Schema)
	}
	return h, err
}

// Found returns the head after the effects were found: its schema has their features. It returns an error if the
// fit was to find none, or others.
func (h Header) Found(e dataset.Effects) (Header, error) {
	want, err := ParseFeatures(h.Features, bought)
	if err != nil {
		return h, err
	}
	if want == nil || e.Features != want.Features || e.Weight != want.Weight || fmt.Sprintf("%016x", e.Seed) != h.Seed {
		return h, errors.New("effects: must be those that the fit was to find")
	}
	h.Schema, err = h.Schema.WithEffects(e)
	return h, err
}

// Begins returns weights with which rows of the head's schema have the scores that rows without features of
// effects have with the weights w. It returns w if the schema has no such features.
func (h Header) Begins(w []float64) []float64 {
	_, ratio := h.Schema.EffectFactors()
	more := h.Schema.Dim() - len(w)
	if more <= 0 || len(w) == 0 {
		return w
	}
	last := len(w) - 1
	begins := make([]float64, h.Schema.Dim())
	for j, v := range w[:last] {
		begins[j] = v / ratio
	}
	begins[last+more] = w[last] / ratio
	return begins
}

// empty makes the model and the certificate of a run without releases. All weights of the model are 0.
func (h Header) empty(r Released) (*model.Model, *certificate.Certificate, error) {
	if h.Describes {
		return h.Files(Released{Run: r.Run})
	}
	parameters, err := h.Parameters()
	if err != nil {
		return nil, nil, err
	}
	r.Complete, r.Session, r.Events, r.Schedule = false, nil, nil, nil
	r.Weights = make([]float64, parameters)
	return h.Files(r)
}

// possible returns an error if the model or the certificate of the run cannot be made. It is called
// before anything is charged, so that no budget is lost to such an error.
func (h Header) possible(r Released) error {
	_, _, err := h.empty(r)
	return err
}

// PerEvent is the largest size of an event, the record of a charge, in a certificate, in bytes.
const PerEvent = 640

// sha returns the SHA-256 of a text in hexadecimal.
func sha(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// MostNorms is the largest number of steps of a run whose gradient norms a certificate lists. For a longer
// run the certificate lists no norms.
const MostNorms = 20_000

// KeptNorm returns the gradient norm of a step as certificates store it, rounded to five digits; the noise makes
// further digits meaningless. ok is false if the run has more than MostNorms steps or the norm is not finite.
func KeptNorm(s Step) (norm float64, ok bool) {
	norm, err := strconv.ParseFloat(strconv.FormatFloat(s.GradientNorm, 'g', 5, 64), 64)
	return norm, s.Of <= MostNorms && err == nil && !math.IsNaN(norm) && !math.IsInf(norm, 0)
}
