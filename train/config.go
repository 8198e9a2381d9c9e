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

// Config is the content of a fit's YAML file. Unknown keys are errors.
type Config struct {
	// Data is the table, relative to the configuration's folder; "-" is standard input.
	Data Files `yaml:"data"`
	// Table, if not empty, is a public name by which ledgers identify the table, in place of the file's
	// path. The fits of all files and streams of one name are summed. A table of several files needs a
	// name: the table stays the same when files are added or removed.
	Table string `yaml:"table"`
	// CSV describes the text format of the files, if it is not the usual one.
	CSV dataset.CSV `yaml:"csv"`
	// Schema describes the table by public facts.
	Schema *dataset.Schema `yaml:"schema"`
	// Model describes the model to fit.
	Model Model `yaml:"model"`
	// Privacy is the budget that the fit may spend. It has no defaults.
	Privacy Privacy `yaml:"privacy"`
	// Budget names a dataset in a store of budgets. The fit is charged there as well as in the ledger
	// of its folder. nil means no store.
	Budget *StoredBudget `yaml:"budget"`
	// Train describes how to fit; all of it has defaults.
	Train Train `yaml:"train"`
	// Memory limits how much of the table is kept in memory. Left out, the whole table is kept.
	Memory Memory `yaml:"memory"`

	// Rows and Reader, in place of Data, are a table that the program holds: rows, or a stream of text
	// that is read once to its end.
	Rows   *curator.Rows `yaml:"-"`
	Reader io.Reader     `yaml:"-"`

	name, folder string
}

// Model names a loss and a regularizer in the notation of package loss.
type Model struct {
	// Loss is for example logistic, huber(0.1), a network, or softmax, which means softmax(K) for the
	// schema's K classes.
	Loss LossName `yaml:"loss"`
	// Weights are public weights of classes, for example {yes: 5}. The weight multiplies the loss of
	// each record of the class, and the largest length of its gradient. Classes left out have weight 1.
	Weights map[string]float64 `yaml:"weights"`
	// Regularizer is for example l2(0.001); empty for none.
	Regularizer string `yaml:"regularizer"`
	// Radius, if > 0, keeps the weights in the ball of that radius around the start, which is zero
	// except for networks.
	Radius Positive `yaml:"radius"`
	// Reduce, for example jl(500), maps rows to that number of features by a public random map before
	// training. It is for generalised linear models of very many features.
	Reduce string `yaml:"reduce"`
	// KL is public knowledge, not from the table, of how fast the objective rises from its minimum:
	// F(w) - min F <= (gamma ||grad F(w)||)^kappa. Empty means no such knowledge.
	KL optimize.KL `yaml:"kl"`
	// Units says how the rows of one unit count together, if the schema has a unit: mean, so that each
	// unit counts the same, or sum, so that each row does. Empty means mean.
	Units string `yaml:"units"`
}

// Privacy is the budget of a fit.
type Privacy struct {
	Epsilon  *float64 `yaml:"epsilon"`
	Delta    *float64 `yaml:"delta"`
	Relation string   `yaml:"relation"`
	// Records is the public number of records. It is required under add-or-remove. Under replace-one it
	// is optional, and a table with another number of records is an error.
	Records int `yaml:"records"`
}

// StoredBudget names a dataset in a store (package budget).
type StoredBudget struct {
	// Store is sqlite:FILE, relative to the configuration's folder, or postgres://USER@HOST/DATABASE.
	Store string `yaml:"store"`
	// Dataset is the name under which the table is registered there.
	Dataset string `yaml:"dataset"`
}

// Train holds the settings that override the default rules of an algorithm.
type Train struct {
	// Algorithm is one of Algorithms; empty for the first.
	Algorithm string
	// Measure is the share of the budget reserved for releasing the loss and the gradient norm at the
	// result; zero means no measurement.
	Measure float64
	// Compare is the share of the budget reserved for comparing the result with the best constant. Zero
	// means DefaultCompare, if that share can show a difference; Off means no comparison.
	Compare float64
	// Settings are the settings of the algorithm and of its output rule.
	Settings Settings
}

// DefaultCompare is the share of the budget that a comparison with the best constant spends by default.
// Off turns the comparison off.
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

// mostList is the largest size, in bytes, of a file with a category's values.
const mostList = 16 << 20

// list reads a file of public values. The name of the table is an error.
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

// decode parses the text of a configuration. Its errors quote nothing of the text, since the text may
// be a table that was passed by mistake.
func (c *Config) decode(text []byte) error {
	err := strictyaml.Decode(text, c)
	if errors.Is(err, strictyaml.ErrOther) {
		return fmt.Errorf("%w (stillpoint schema DATA drafts a configuration)", err)
	}
	return err
}

// Check returns an error if something is missing in a configuration that was not read from a file. Fit
// and Plan check the values.
func (c *Config) Check() error { return c.check() }

// check returns an error if something is missing. The code that uses a value checks it.
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

// mostName is the largest length of a table's name in bytes.
const mostName = 200

// nameRule returns the rule that a table's name breaks; empty if it breaks none.
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

// mostMu is the largest mu. It is far beyond any real protection, and within the range of the noise
// grid of curator/internal/kernel.
const mostMu = 1e4

// mostDelta is the largest delta: at 1/2 the guarantee fails as often as it holds.
const mostDelta = .5

// budget returns the budget of the fit. Missing or invalid figures are an error.
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

// declared returns the number of records that the session is opened with.
func (c *Config) declared(r account.Relation) (float64, error) {
	if r == account.ReplaceOne {
		return 0, nil
	}
	if c.Privacy.Records < 1 {
		return 0, errors.New("privacy.records: must declare the public number of records under add-or-remove")
	}
	return float64(c.Privacy.Records), nil
}

// loss returns the loss. The configuration may leave out the number of classes. The schema and
// model.weights add weights and exposures.
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

// classWeights returns the weights of the classes in their order; nil if none is given.
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

// features returns the number of features of a row as the model is trained on it.
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

// Problem returns the minimisation problem for a public number of records, and its loss. The share of
// the budget for the measurement is subtracted from the budget of the plan.
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
