package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Privacy is a copy of the guarantee in the model's certificate.
type Privacy struct {
	// Guarantee is the claim. Its mu and its privacy unit are in the certificate and not in this
	// file.
	account.Guarantee
	// Neighbour says in words which tables are neighbouring. It takes the row filter into account.
	Neighbour string `json:"neighbour"`
	// Certificate is the name of the certificate's file, without directories.
	Certificate string `json:"certificate"`
}

// privacyMembers has the members of Privacy that a model file has.
type privacyMembers struct {
	Epsilon     float64          `json:"epsilon"`
	Delta       float64          `json:"delta"`
	Relation    account.Relation `json:"relation"`
	Neighbour   string           `json:"neighbour"`
	Certificate string           `json:"certificate"`
}

// MarshalJSON writes the members that a model file has: the certificate's name, the neighbouring
// table, and the guarantee without its mu and its unit.
func (p Privacy) MarshalJSON() ([]byte, error) {
	return json.Marshal(privacyMembers{p.Epsilon, p.Delta, p.Relation, p.Neighbour, p.Certificate})
}

// UnmarshalJSON reads the members that MarshalJSON writes. Any other member is an error.
func (p *Privacy) UnmarshalJSON(text []byte) error {
	var in privacyMembers
	var err error
	strictjson.NewObject("privacy", text, &err).Into(&in)
	p.Guarantee = account.Guarantee{Relation: in.Relation, Epsilon: in.Epsilon, Delta: in.Delta}
	p.Neighbour, p.Certificate = in.Neighbour, in.Certificate
	return err
}

// Params holds the parts of a model, for [New].
type Params struct {
	// Software is the program and version, such as "stillpoint v1.2.0".
	Software string
	// Complete is false if the run that made the model ended before it had made all its steps.
	Complete    bool
	Privacy     Privacy
	Loss        loss.Loss
	Regularizer loss.Regularizer
	Schema      *dataset.Schema
	// Weights has one weight for each parameter of the loss: one for each feature in the schema's
	// order, or one for each feature and margin, or the parameters of a network.
	Weights []float64
	// CSV is the dialect of the table, if it was text. Prediction and evaluation read other tables in the
	// same dialect unless ReadAs sets another. Fits store the dialect without the names of columns. A file
	// without a header row is therefore refused unless ReadAs names its columns.
	CSV dataset.CSV
	// Clamped is true if predictions of a number are clamped to the target's public bounds. Training clamps
	// targets to the same bounds. Clamped must be false for a target with an exposure, whose predictions are
	// rates, and for a target of classes (see MayClamp).
	Clamped bool
	// Warnings are facts that a reader of the model has to know first.
	Warnings []Warning
	// Inference contains the released numbers from which confidence intervals are computed, as a model's file
	// states them; nil for none.
	Inference json.RawMessage
}

// Warning is a fact about a fit that its user has to know. Code identifies it for programs; Text is
// for people.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// MayClamp reports whether predictions of a target may be clamped to its public bounds: the target is a
// number without an exposure, and no time to an event.
func MayClamp(t dataset.Target) bool {
	return t.Kind == dataset.Number && t.Exposure.Column == "" && t.Event == ""
}

// Model is a trained model. It is immutable and safe for concurrent use. The zero Model is
// unusable; make one with [New] or [Read].
type Model struct {
	software    string
	complete    bool
	privacy     Privacy
	loss        loss.Loss
	regularizer loss.Regularizer
	schema      *dataset.Schema
	weights     []float64
	csv         dataset.CSV
	clamped     bool
	warnings    []Warning
	inference   *inference.Fit
	written     json.RawMessage // the JSON form of inference
}

// New makes a model. It returns an error if a part is missing or invalid. The weights and the sum of their
// absolute values, which bounds every margin, must be finite. The number of weights must fit the loss and the
// schema. The loss must suit the schema's target and number of classes. The score must be monotone in the
// columns that the schema declares monotone.
func New(p Params) (*Model, error) {
	if p.Schema == nil || p.Schema.Dim() == 0 {
		return nil, errors.New("model: schema: must be given")
	}
	if p.Loss == nil {
		return nil, errors.New("model: loss: must be given")
	}
	if p.Regularizer == nil {
		return nil, errors.New("model: regularizer: must be given; loss.None() is none")
	}
	intervals, err := inference.Parse(p.Inference)
	if err != nil {
		return nil, fmt.Errorf("model: inference: %w", err)
	}
	text, err := intervals.JSON()
	if err != nil {
		return nil, fmt.Errorf("model: inference: %w", err)
	}
	m := &Model{
		software:    p.Software,
		complete:    p.Complete,
		privacy:     p.Privacy,
		loss:        targetpair.WithOdds(p.Loss, timesOf(p.Schema.Target())),
		regularizer: p.Regularizer,
		schema:      p.Schema,
		weights:     slices.Clone(p.Weights),
		csv:         p.CSV,
		clamped:     p.Clamped,
		warnings:    slices.Clone(p.Warnings),
		inference:   intervals,
		written:     text,
	}
	for _, check := range []func() error{m.checkNames, m.privacy.check, m.checkTarget, m.checkWeights, m.checkMonotone,
		m.checkCSV, m.checkInference} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// checkNames returns an error if the software has no name, or if parsing the name of the loss or of the
// regularizer does not give the same name again. The file stores these names.
func (m *Model) checkNames() error {
	if m.software == "" {
		return errors.New(`model: software = "": must name the program and its version`)
	}
	if l, err := loss.Parse(m.loss.Name()); err != nil || l.Name() != m.loss.Name() {
		return fmt.Errorf("model: loss = %q: must be one that loss.Parse knows", m.loss.Name())
	}
	if r, err := loss.ParseRegularizer(m.regularizer.Name()); err != nil || r.Name() != m.regularizer.Name() {
		return fmt.Errorf("model: regularizer = %q: must be one that loss.ParseRegularizer knows", m.regularizer.Name())
	}
	return nil
}

func (p Privacy) check() error {
	if err := p.Guarantee.Check(); err != nil {
		return fmt.Errorf("model: privacy.%w", err)
	}
	switch {
	case p.Neighbour == "":
		return errors.New(`model: privacy.neighbour = "": must say what a neighbouring table is`)
	case p.Certificate == "" || p.Certificate != path.Base(p.Certificate) || strings.ContainsAny(p.Certificate, `/\`) ||
		strings.Trim(p.Certificate, ".") == "":
		return fmt.Errorf("model: privacy.certificate = %q: must be the name of a file, without directories", p.Certificate)
	}
	return nil
}

func (m *Model) checkTarget() error {
	target := m.schema.Target()
	if m.clamped && !MayClamp(target) {
		return fmt.Errorf("model: clamped = true: schema's target %q: must be a number without an exposure", target.Column)
	}
	if err := loss.Suits(m.loss, loss.Targets{Classes: len(target.Classes), Weighted: target.Weight != "",
		Least: target.Least()}); err != nil {
		return fmt.Errorf("model: schema's target %q: %w", target.Column, err)
	}
	return nil
}

// checkMonotone returns nil if the schema declares no column monotone. Otherwise it returns an error unless
// the score is one weighted sum of features (one margin, no network) and is monotone, up to rounding and in
// the declared direction, in each such column.
func (m *Model) checkMonotone() error {
	if !m.schema.Monotonic() {
		return nil
	}
	if len(m.weights) != m.schema.Dim() || !m.Linear() {
		return fmt.Errorf("model: loss %s: must have one margin where the schema has a monotone column", m.loss.Name())
	}
	if err := m.schema.CheckMonotone(m.weights); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}

func (m *Model) checkCSV() error {
	if err := m.csv.Check(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}

// ReadAs returns a copy of the model that reads tables in the dialect c. Fields that c leaves empty are taken
// from the dialect of the table that the model was fitted to.
func (m *Model) ReadAs(c dataset.CSV) *Model {
	as := *m
	as.csv = c.Or(m.csv)
	return &as
}

func (m *Model) checkWeights() error {
	features := m.schema.Dim()
	parameters, err := loss.Check(m.loss, features)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if len(m.weights) != parameters {
		return fmt.Errorf("model: weights: %d of them: must be %d for loss %s and %d features", len(m.weights), parameters,
			m.loss.Name(), features)
	}
	sum := 0.0
	for j, w := range m.weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return fmt.Errorf("model: weights[%d] = %v: must be finite", j, w)
		}
		sum += math.Abs(w)
	}
	if math.IsInf(sum, 0) {
		return errors.New("model: weights: the sum of their absolute values must be finite")
	}
	return nil
}

// Software returns the program and version that made the model.
func (m *Model) Software() string { return m.software }

// Complete reports whether the run that made the model made all its steps.
func (m *Model) Complete() bool { return m.complete }

// Privacy returns the guarantee of the model's certificate.
func (m *Model) Privacy() Privacy { return m.privacy }

// Loss returns the loss the model was trained with.
func (m *Model) Loss() loss.Loss { return m.loss }

// Regularizer returns the regularizer the model was trained with.
func (m *Model) Regularizer() loss.Regularizer { return m.regularizer }

// Schema returns the map from cells to features.
func (m *Model) Schema() *dataset.Schema { return m.schema }

// Clamped reports whether predictions are clamped to the target's public bounds.
func (m *Model) Clamped() bool { return m.clamped }

// Warnings returns the facts that a reader of the model has to know first.
func (m *Model) Warnings() []Warning { return slices.Clone(m.warnings) }

// Weights returns a copy of the weights.
func (m *Model) Weights() []float64 { return slices.Clone(m.weights) }

// Constant returns the weights with which the model gives every row the margins z. It returns false
// if the loss does not have len(z) margins.
func (m *Model) Constant(z []float64) ([]float64, bool) {
	return loss.ConstantWeights(m.Loss(), m.Schema().Dim(), 1/m.Schema().Scale(), z)
}

// dim returns the number of weights.
func (m *Model) dim() int { return len(m.weights) }

// margins returns the margins of an encoded row: W x, or a network's outputs. The loss must be a function of
// margins. margins panics if len(x) is not the number of features.
func (m *Model) margins(x []float32) []float64 {
	if m.schema == nil || len(x) != m.schema.Dim() {
		panic(fmt.Sprintf("model: a row of %d features: must be one of the schema's", len(x)))
	}
	if network, ok := m.loss.(loss.Composed); ok {
		return network.MarginsAt(m.weights, x)
	}
	return loss.MarginsAt(m.weights, x)
}

// Linear reports whether each margin is a weighted sum of features. It is false for a network and
// for a loss that is not a function of margins.
func (m *Model) Linear() bool {
	_, ok := m.loss.(margins)
	return ok
}

// margins is a loss as a function of the margins.
type margins interface {
	loss.Loss
	Values(dst, z, y []float64)
	Slopes(dst, z, y []float64)
}

// predicting returns the function by which the model predicts: its loss for a record of weight 1, as
// a function of margins. It returns an error if the loss is not a function of margins.
func (m *Model) predicting() (margins, error) {
	if m.schema == nil {
		return nil, errZero
	}
	l, ok := loss.Unweighted(m.loss).(margins)
	if !ok {
		return nil, fmt.Errorf("model: loss = %q: must be a function of margins W x or of a network's outputs: what "+
			"another model predicts is not defined", m.loss.Name())
	}
	return l, nil
}

var errZero = errors.New("model: the zero Model predicts nothing")
