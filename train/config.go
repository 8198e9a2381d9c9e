package train

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/internal/regular"
	"github.com/stillpoint-dp/stillpoint/internal/strictyaml"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Config is a fit as its YAML file describes it. Unknown keys are errors.
type Config struct {
	// Data is the table, relative to the configuration's folder; "-" is standard input.
	Data Files `yaml:"data"`
	// Table, if not empty, is a public name by which ledgers know the table instead of
	// the file's path: fits of all files and streams of one name are summed. A table of
	// several files needs one: it goes on to be the same table as files come and go.
	Table string `yaml:"table"`
	// CSV says how its files are written, if they are text and not as is usual.
	CSV dataset.CSV `yaml:"csv"`
	// Schema describes the table by public facts.
	Schema *dataset.Schema `yaml:"schema"`
	// Model says what is fitted.
	Model Model `yaml:"model"`
	// Privacy says what the fit may charge. Nothing in it has a default.
	Privacy Privacy `yaml:"privacy"`
	// Budget names the dataset in a store of budgets that the fit is charged to, beside
	// the ledger in its folder; nil for none.
	Budget *StoredBudget `yaml:"budget"`
	// Train says how it is fitted; all of it has defaults.
	Train Train `yaml:"train"`
	// Memory bounds what of the table is in memory; all of it if left out.
	Memory Memory `yaml:"memory"`

	// Rows and Reader are those of a table that the program holds, in place of Data: rows,
	// or a stream of text that is read once to its end.
	Rows   *curator.Rows `yaml:"-"`
	Reader io.Reader     `yaml:"-"`

	name, folder string
}

// Model names a loss and a regularizer as package loss writes them.
type Model struct {
	// Loss is for example logistic, huber(0.1) or softmax, which is softmax(K) for
	// the schema's K classes, or a network.
	Loss LossName `yaml:"loss"`
	// Weights are public weights of classes, for example {yes: 5}: by how much a record
	// of the class counts, and how long its gradient may be. 1 for those left out.
	Weights map[string]float64 `yaml:"weights"`
	// Regularizer is for example l2(0.001); empty for none.
	Regularizer string `yaml:"regularizer"`
	// Radius, if > 0, keeps the weights in the ball of that radius around the start:
	// zero but for networks.
	Radius Positive `yaml:"radius"`
	// Reduce, for example jl(500), trains on rows mapped to so many features by a public
	// random map, for generalised linear models of very many features.
	Reduce string `yaml:"reduce"`
	// KL is what is publicly known, not from the table, of how fast the objective rises
	// from its minimum: F(w) - min F <= (gamma ||grad F(w)||)^kappa. Empty for nothing.
	KL optimize.KL `yaml:"kl"`
	// Units says how rows of one unit count together, where the schema has one: mean, and
	// each unit counts alike, or sum, and each row does. Empty for mean.
	Units string `yaml:"units"`
}

// Privacy is the budget of a fit.
type Privacy struct {
	Epsilon  *float64 `yaml:"epsilon"`
	Delta    *float64 `yaml:"delta"`
	Relation string   `yaml:"relation"`
	// Records is the public number of records: required under add-or-remove,
	// optional under replace-one, where it is checked against the table.
	Records int `yaml:"records"`
}

// StoredBudget names a dataset in a store (package budget).
type StoredBudget struct {
	// Store is sqlite:FILE, relative to the configuration's folder, or
	// postgres://USER@HOST/DATABASE.
	Store string `yaml:"store"`
	// Dataset is the name under which the table is registered there.
	Dataset string `yaml:"dataset"`
}

// Train overrides the default rules of an algorithm.
type Train struct {
	// Algorithm is one of Algorithms; empty for the first.
	Algorithm string
	// Measure is the share of the budget kept for releasing the loss and the
	// gradient norm at the result; zero for not measuring.
	Measure float64
	// Compare is the share of the budget kept for comparing the result with the best
	// constant; zero for DefaultCompare where that much tells anything, Off for none.
	Compare float64
	// Settings are the algorithm's, and those of its output.
	Settings Settings
}

// DefaultCompare is the share of the budget that tells whether a model is better than the
// best constant, if it is not said otherwise. Off turns the comparison off.
const (
	DefaultCompare = .02
	Off            = -1
)

// ReadConfig reads a configuration file.
func ReadConfig(path string) (*Config, error) {
	text, err := regular.Read(path, strictyaml.Largest)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	c := new(Config)
	if err := c.decode(text); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	c.folder = filepath.Dir(path)
	c.name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	if c.Schema, err = c.Schema.WithLists(c.list); err != nil {
		return nil, fmt.Errorf("configuration %s: schema: %w", path, err)
	}
	return c, nil
}

// mostList is the most bytes of a file of a category's values.
const mostList = 16 << 20

// list reads a file of public values, which is not the table.
func (c *Config) list(name string) ([]byte, error) {
	path := c.resolve(name)
	own, err := os.Stat(path)
	if err != nil {
		return regular.Read(path, mostList) // to say why
	}
	for _, data := range c.Data {
		table, err := c.files(data)
		if err != nil {
			continue // is said when the table is read
		}
		for _, part := range table {
			if info, err := os.Stat(part); err == nil && os.SameFile(info, own) {
				return nil, errors.New("is the table, whose values are not public: must be a list from elsewhere")
			}
		}
	}
	return regular.Read(path, mostList)
}

// decode reads the text of a configuration. Its errors quote nothing of it: it may
// be a table given in its place.
func (c *Config) decode(text []byte) error {
	err := strictyaml.Decode(text, c)
	if errors.Is(err, strictyaml.ErrOther) {
		return fmt.Errorf("%w (stillpoint schema DATA drafts a configuration)", err)
	}
	return err
}

// Check finds what is missing of a configuration that no file was read for. Fit and Plan
// check the values.
func (c *Config) Check() error { return c.check() }

// check finds what is missing; values are checked by what uses them.
func (c *Config) check() error {
	if err := c.checkData(); err != nil {
		return err
	}
	switch {
	case c.Schema == nil:
		return errors.New("schema: must describe the table's columns (stillpoint schema DATA drafts one)")
	case c.Model.Loss == "":
		return errors.New("model.loss: must name a loss")
	case c.Privacy.Relation == "":
		return errors.New("privacy.relation: must be replace-one or add-or-remove")
	case c.Privacy.Records < 0:
		return fmt.Errorf("privacy.records = %d: must be >= 1", c.Privacy.Records)
	}
	if c.Budget != nil {
		if _, err := budget.ParseAddress(c.Budget.Store); err != nil {
			return fmt.Errorf("budget.store: %w", err)
		}
		if c.Budget.Dataset == "" {
			return errors.New("budget.dataset: must name a registered dataset (stillpoint budget create registers one)")
		}
	}
	return c.Memory.check()
}

// Name is the configuration file's name without its extension.
func (c *Config) Name() string { return c.name }

// mostName is the most bytes of a table's name.
const mostName = 200

// nameRule returns the rule that a table's name breaks, or "".
func nameRule(name string) string {
	switch {
	case name != strings.TrimSpace(name):
		return "not begin or end with white space"
	case len(name) > mostName:
		return fmt.Sprintf("have at most %d bytes", mostName)
	case printable.Text(name) != name:
		return "hold visible characters only"
	}
	return ""
}

// mostMu is far beyond what protects anybody, and within what the kernel's grid
// can serve.
const mostMu = 1e4

// mostDelta is where a promise fails as often as it holds.
const mostDelta = .5

// budget makes the budget.
func (c *Config) budget() (account.Budget, error) {
	if c.Privacy.Epsilon == nil {
		return account.Budget{}, errors.New("privacy.epsilon: must be given (or --epsilon)")
	}
	if c.Privacy.Delta == nil {
		return account.Budget{}, errors.New("privacy.delta: must be given (or --delta)")
	}
	relation, err := account.ParseRelation(c.Privacy.Relation)
	if err != nil {
		return account.Budget{}, fmt.Errorf("privacy: %w", err)
	}
	b, err := account.NewBudget(*c.Privacy.Epsilon, *c.Privacy.Delta, relation)
	if err != nil {
		return account.Budget{}, fmt.Errorf("privacy: %w", err)
	}
	if b.Delta() >= mostDelta {
		return account.Budget{}, fmt.Errorf("privacy.delta = %v: must be below %v: delta is a chance of no protection at all, and belongs below 1/records", b.Delta(), mostDelta)
	}
	if b.Mu() > mostMu {
		return account.Budget{}, fmt.Errorf("privacy.epsilon = %v: must be smaller: mu = %.3g protects nobody", b.Epsilon(), b.Mu())
	}
	return b, nil
}

// declared is the number of records a session is told.
func (c *Config) declared(r account.Relation) (float64, error) {
	if r == account.ReplaceOne {
		return 0, nil
	}
	if c.Privacy.Records < 1 {
		return 0, errors.New("privacy.records: must declare the public number of records under add-or-remove")
	}
	return float64(c.Privacy.Records), nil
}

// loss returns the loss. That of classes may be written without their number, and any
// without the weights and exposures that the schema and model.weights have.
func (c *Config) loss() (loss.Loss, error) {
	target := c.Schema.Target()
	l, err := loss.ParseFor(string(c.Model.Loss), len(target.Classes))
	if err != nil {
		return nil, fmt.Errorf("model.loss: %w", err)
	}
	if least := target.Least(); least > 0 && loss.LeastExposure(l) == 0 {
		if l, err = loss.WithExposure(l, least); err != nil {
			return nil, fmt.Errorf("model.loss: schema.target %q: exposure: %w", target.Column, err)
		}
	}
	w := loss.Weights{Row: target.Weight != "" && !loss.RowWeighted(l)}
	if w.Classes, err = c.classWeights(); err != nil {
		return nil, err
	}
	if len(w.Classes) > 0 || w.Row {
		if l, err = loss.NewWeighted(l, w); err != nil {
			return nil, fmt.Errorf("model.weights: %w", err)
		}
	}
	if l, err = c.units(l); err != nil {
		return nil, err
	}
	err = loss.Suits(l, loss.Targets{Classes: len(target.Classes), Weighted: target.Weight != "", Least: target.Least()})
	if err != nil {
		return nil, fmt.Errorf("model.loss: schema.target %q: %w", target.Column, err)
	}
	return l, nil
}

// classWeights are the weights of the classes in their order; none if none is given.
func (c *Config) classWeights() ([]float64, error) {
	classes := c.Schema.Target().Classes
	for class := range c.Model.Weights {
		if !slices.Contains(classes, class) {
			return nil, fmt.Errorf("model.weights: %q: must be a class of schema.target", class)
		}
	}
	if len(c.Model.Weights) == 0 {
		return nil, nil
	}
	weights := slices.Repeat([]float64{1}, len(classes))
	for i, class := range classes {
		if v, given := c.Model.Weights[class]; given {
			weights[i] = v
		}
	}
	return weights, nil
}

// Reduction returns the map that shortens rows; nil for none.
func (c *Config) Reduction() (*dataset.Projection, error) {
	if c.Model.Reduce == "" {
		return nil, nil
	}
	p, err := dataset.ParseProjection(c.Model.Reduce, c.Schema.Dim())
	if err != nil {
		return nil, fmt.Errorf("model.reduce: %w", err)
	}
	return p, nil
}

// features is the number of features of a row of what is trained on.
func (c *Config) features(l loss.Loss) (int, error) {
	reduce, err := c.Reduction()
	if err != nil || reduce == nil {
		return c.Schema.Dim(), err
	}
	if loss.Count(loss.RowLoss(l)) == 0 {
		return 0, fmt.Errorf("model.reduce: loss %s: must be of a generalised linear model", l.Name())
	}
	return reduce.Size(), nil
}

// Problem returns the minimisation problem for a public number of records, and its
// loss. What is to be measured is kept from what plans divide.
func (c *Config) Problem(budget account.Budget, records float64) (optimize.Problem, loss.Loss, error) {
	l, err := c.loss()
	if err != nil {
		return optimize.Problem{}, nil, err
	}
	target := c.Schema.Target()
	if loss.Counts(l) && target.Low != 0 {
		return optimize.Problem{}, nil, fmt.Errorf("model.loss: loss %s is for counts: schema.target %q has the lower bound %v: must be 0", l.Name(), target.Column, target.Low)
	}
	features, err := c.features(l)
	if err != nil {
		return optimize.Problem{}, nil, err
	}
	p, err := optimize.NewProblem(l, budget, optimize.Stated(loss.RecordFeatures(l, features), records))
	if err != nil {
		return optimize.Problem{}, nil, err
	}
	if m := c.Train.Measure; !(m >= 0 && m < 1) {
		return optimize.Problem{}, nil, fmt.Errorf("train.measure = %v: must be a share of the budget, >= 0 and < 1", m)
	}
	p.Mu *= math.Sqrt(1 - c.Train.Measure)
	if p.KL = c.Model.KL; p.KL.Validate() != nil {
		return optimize.Problem{}, nil, fmt.Errorf("model.kl: %w", p.KL.Validate())
	}
	if c.Model.Regularizer != "" {
		if p.Regularizer, err = loss.ParseRegularizer(c.Model.Regularizer); err != nil {
			return optimize.Problem{}, nil, fmt.Errorf("model.regularizer: %w", err)
		}
	}
	if c.Model.Radius != 0 {
		if p.Set, err = convex.NewBall(p.StartPoint(), float64(c.Model.Radius)); err != nil {
			return optimize.Problem{}, nil, fmt.Errorf("model.radius: %w", err)
		}
	}
	return p, l, nil
}
