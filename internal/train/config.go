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
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/strictyaml"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Config is the content of a fit's YAML file. A key that no field has is an error.
type Config struct {
	// Data names the file or files of the table, relative to the configuration's folder; "-" is standard
	// input.
	Data Files `yaml:"data"`
	// Table is a public name of the table. Ledgers identify the table by this name instead of the file's
	// path, and sum the budgets of all fits with the same name. Table is required if the data are standard
	// input or more than one file. The name still identifies the table after files are added or removed.
	Table string `yaml:"table"`
	// CSV describes the text format of the files, if it differs from comma-separated values with a header
	// row.
	CSV dataset.CSV `yaml:"csv"`
	// Schema describes the columns and the target of the table by public facts.
	Schema *dataset.Schema `yaml:"schema"`
	// Described names the file of a description of the table (stillpoint describe), relative to the configuration's
	// folder. Columns with number: auto or date: auto then have the bounds that the description released. The
	// certificate of the fit states the file's SHA-256. The costs of the description and of the fit add up.
	Described string `yaml:"described"`
	// Model describes the model to fit.
	Model Model `yaml:"model"`
	// Privacy is the privacy budget that the fit may spend. It has no defaults.
	Privacy Privacy `yaml:"privacy"`
	// Budget names a dataset in a store of budgets. The fit is then charged there as well as in the ledger
	// of its folder. Without this key no store is used.
	Budget *StoredBudget `yaml:"budget"`
	// Train selects the algorithm and its settings. Every key has a default.
	Train Train `yaml:"train"`
	// Memory limits how much of the table is kept in memory. Without this key the whole table is kept in
	// memory.
	Memory Memory `yaml:"memory"`
	// Inference requests confidence intervals of the coefficients. Without this key there are none.
	Inference *Inference `yaml:"inference"`

	// Rows or Reader, if not nil, replaces Data for a table that the calling program provides. Rows
	// are rows in memory; Reader is a stream of text that is read once, to its end.
	Rows   *curator.Rows `yaml:"-"`
	Reader io.Reader     `yaml:"-"`
	// Shards replaces Data for a table whose partitions are read by workers in other processes.
	Shards *curator.Shards `yaml:"-"`

	name, folder string

	// adapted has the warnings about curves and interactions that For has left out of the schema because the
	// table is too small. settled reports that For has been called, so the schema is final. counted is the
	// number of records in the table when it was counted for the schema; 0 if the records were not counted.
	// curves are the columns with curve: auto whose number of knots For has chosen, and chosen is the family.
	adapted []Warning
	curves  []string
	chosen  Family
	settled bool
	counted int

	// describes is true if the configuration is that of a description, which has no model. described names the
	// description from which bounds of columns came; nil if there is none.
	describes bool
	described *runrecord.Described
}

// Model names a loss and a regularizer in the notation of package loss.
type Model struct {
	// Loss is the name of a loss, such as logistic or huber(0.1), or a network. The name softmax stands for softmax(K)
	// with the schema's K classes. For the time to an event the loss is hazard, also if it is left out.
	Loss LossName `yaml:"loss"`
	// Weights are public weights of classes, for example {yes: 5}. The weight multiplies the loss of each record of the
	// class, and therefore the largest norm of its gradient. Classes that are not listed have weight 1.
	Weights map[string]float64 `yaml:"weights"`
	// Regularizer is a term that depends on the weights alone, for example l2(0.001). Empty means none.
	Regularizer string `yaml:"regularizer"`
	// Radius, if > 0, keeps the weights in the ball of that radius around the starting point, which is zero except for
	// networks.
	Radius Positive `yaml:"radius"`
	// Reduce, for example jl(500), maps each row to 500 features by a public random linear map before training. It
	// requires a generalised linear model, and is of use for very many features. jl(auto) takes the number from the
	// number of records and the budget (Arora et al. 2023, Theorem 6), and keeps rows as they are if they have no more
	// features than this number.
	Reduce string `yaml:"reduce"`
	// Family is the family of the model: lines, curves (a curve for each number and date), effects (curves, and
	// features of effects by which columns act together) or auto. Empty means auto. A rule then chooses the richest
	// family that gained accuracy on benchmarks with the same kind of target, as many records and the same budget.
	// Curves in the schema, or the key features, replace that rule.
	Family string `yaml:"family"`
	// Features, if it is effects, adds features by which a linear model can express interactions of all columns,
	// without a list of pairs. The fit has two stages. The first spends 30% of the budget on the model without these
	// features. The second continues from the first with added features, which are computed from the columns' released
	// effects on the score. Their number is 700 for classes and 200 to 1400 for numbers, by the numbers of records and
	// the budget. It is 200 for counts, for small fits of classes, and if the model has more than 300 features of its
	// own. effects(5) gives the added features the norm 5 in place of 3 (2 for counts and such fits); effects(5,400) also
	// sets their number. The key requires a linear model of a number, a count or two classes.
	Features string `yaml:"features"`
	// KL states how fast the objective F rises from its minimum as a function of the weights w: F(w) - min F <= (gamma
	// ||grad F(w)||)^kappa. Kappa and gamma must be public knowledge that does not come from the table. Without this
	// key nothing is assumed known.
	KL optimize.KL `yaml:"kl"`
	// Start states the constant at which the fit begins, such as {share: 0.02} for two classes, {shares: [...]} for
	// more, {rate: 0.3} for counts and {value: 40} for numbers. It must be public knowledge that does not come from the
	// table. Without this key the fit releases the constant first.
	Start Start `yaml:"start"`
	// Units says how the rows of a person are combined if the schema has a unit: with mean each person has the same
	// weight, with sum each row has the same weight. Empty means mean.
	Units string `yaml:"units"`
}

// Privacy is the budget of a fit.
type Privacy struct {
	// Epsilon is the epsilon of the guarantee, above 0.
	Epsilon *float64 `yaml:"epsilon"`
	// Delta is the delta of the guarantee, the probability with which it may fail.
	Delta *float64 `yaml:"delta"`
	// Relation is replace-one (one record's content is hidden) or add-or-remove (its presence is hidden).
	Relation string `yaml:"relation"`
	// Records is the public number of records. It is required under add-or-remove. Under replace-one it is
	// optional, and a table with another number of records is an error.
	Records int `yaml:"records"`
}

// StoredBudget names a dataset in a store of budgets (package budget).
type StoredBudget struct {
	// Store is sqlite:FILE, relative to the configuration's folder, or postgres://USER@HOST/DATABASE.
	Store string `yaml:"store"`
	// Dataset is the name under which the table is registered in the store.
	Dataset string `yaml:"dataset"`
}

// Train selects the algorithm of a fit and the settings that override its defaults.
type Train struct {
	// Algorithm is one of Algorithms; empty means the first of them, auto.
	Algorithm string
	// Measure is the share of the budget, at least 0 and below 1, reserved for releasing the loss and the
	// gradient norm at the result. Zero means no measurement.
	Measure float64
	// Compare is the share of the budget reserved for comparing the result with the best constant. Zero
	// means CompareShare, or no comparison if that share is too small to show a difference above the noise.
	// Off means no comparison. The comparison also decides which model is published: a fit with a larger
	// loss than the constant is replaced by the constant (see runrecord.Compared.Decide). For a rare class and for
	// counts half of the share, but at most a tenth of the steps', is spent again to calibrate the fit's mean prediction.
	Compare float64
	// Base is the share of the budget reserved for the base rate: the best constant, at which the fit begins and with
	// which it is compared. Zero means optimize.BaseShare. Off means that the fit begins at 0.
	Base float64
	// Ranks is the share of the budget reserved for releasing ranks, by which curves with curve: auto get
	// their knots: more of them where rows are many. Zero means DefaultRanks where the records and the budget
	// suffice (RankedSize), and otherwise none. Off means equally spaced knots.
	Ranks float64
	// Settings are the settings of the algorithm and of its output rule.
	Settings Settings
}

// DefaultCompare and SmallCompare are the default shares of the budget for the comparison with the best constant.
// SmallCompare applies if the effective size, n mu/sqrt(d) for n records and d weights, is below SmallCompared. At such
// sizes the comparison more often changes which model is published (lab/results/outcome.md). Off is the value of
// Train.Compare that turns the comparison off, and of Train.Ranks that turns the ranks off.
const (
	DefaultCompare = .02
	SmallCompare   = .04
	SmallCompared  = 1000
	Off            = -1
)

// CompareShare returns the default share of the budget for the comparison with the best constant: SmallCompare if the
// problem's effective size, n mu/sqrt(d) for n records and d weights, is below SmallCompared, otherwise DefaultCompare.
func CompareShare(p optimize.Problem) float64 {
	if p.Effective() < SmallCompared {
		return SmallCompare
	}
	return DefaultCompare
}

// ReadConfig reads the configuration file at path and makes the checks of [Config.Check].
func ReadConfig(path string) (*Config, error) { return ReadConfigOver(path, nil) }

// ReadConfigOver reads the configuration file of a fit whose table worker processes (shards) read in partitions. If
// shards is nil, ReadConfigOver does the same as ReadConfig, and the configuration must name the table.
func ReadConfigOver(path string, shards *curator.Shards) (*Config, error) {
	return readInto(path, &Config{Shards: shards})
}

// readInto reads a configuration file into c, which has what no file says.
func readInto(path string, c *Config) (*Config, error) {
	text, err := regularfile.Read(path, strictyaml.Largest)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
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
	if err := c.resolveBounds(); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

// mostList is the largest size, in bytes, of a file with a category's values.
const mostList = 16 << 20

// list reads a file that the schema names as the list of a category's public values. The file has one value
// on each line and at most mostList bytes. If the file belongs to the table, list returns an error, since the
// table's values are not public.
func (c *Config) list(name string) ([]byte, error) {
	path := c.resolve(name)
	own, err := os.Stat(path)
	if err != nil {
		return regularfile.Read(path, mostList) // regularfile.Read returns an error that says why the file cannot be read
	}
	for _, data := range c.Data {
		table, err := c.files(data)
		if err != nil {
			continue // the error is reported when the table is read
		}
		for _, part := range table {
			if info, err := os.Stat(part); err == nil && os.SameFile(info, own) {
				return nil, errors.New("is the table, whose values are not public: must be a list from elsewhere")
			}
		}
	}
	return regularfile.Read(path, mostList)
}

// decode parses the text of a configuration into c. The errors do not quote the text, since it may be a table
// that was passed by mistake.
func (c *Config) decode(text []byte) error {
	err := strictyaml.Decode(text, c)
	if errors.Is(err, strictyaml.ErrOther) {
		return fmt.Errorf("%w (stillpoint schema DATA drafts a configuration)", err)
	}
	return err
}

// Check returns an error if a required value is missing. It also returns an error if the table's name, the text format,
// the number of records, the address of the budget store or the memory limit is invalid. A calling program uses Check
// for a configuration that was not read from a file. Plan and Fit check the other values.
func (c *Config) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.resolveBounds()
}

// check makes the checks of Check that need no other file. ReadConfig calls it too.
func (c *Config) check() error {
	if err := c.checkData(); err != nil {
		return err
	}
	switch {
	case c.Schema == nil:
		return errors.New("schema: must describe the table's columns (stillpoint schema DATA drafts one)")
	case c.Model.Loss == "" && c.Schema.Target().Event == "" && !c.describes:
		return errors.New("model.loss: must name a loss")
	case c.Privacy.Relation == "":
		return errors.New("privacy.relation: must be replace-one or add-or-remove")
	case c.Privacy.Records < 0:
		return fmt.Errorf("privacy.records = %d: must be >= 1", c.Privacy.Records)
	}
	if err := c.checkFamily(); err != nil && !c.describes {
		return err
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

// Name returns the configuration file's name without folder and extension.
func (c *Config) Name() string { return c.name }

// mostName is the largest length of a table's name, in bytes.
const mostName = 200

// nameRule returns the rule that a table's name breaks, worded to follow "must" in an error
// message; it returns "" for a valid name.
func nameRule(name string) string {
	switch {
	case name != strings.TrimSpace(name):
		return "not begin or end with white space"
	case len(name) > mostName:
		return fmt.Sprintf("have at most %d bytes", mostName)
	case safetext.Text(name) != name:
		return "hold visible characters only"
	}
	return ""
}

// mostMu is the largest mu (of Gaussian differential privacy) that a fit accepts. A budget with this mu gives
// no useful protection, but curator/internal/session can still make its noise.
const mostMu = 1e4

// mostDelta is the exclusive upper limit of delta. With delta 1/2 the guarantee may fail in half of the
// runs.
const mostDelta = .5

// budget returns the privacy budget of the fit. It returns an error if epsilon, delta or the relation is
// missing or invalid, if delta is not below mostDelta, or if the budget's mu exceeds mostMu.
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
		return account.Budget{},
			fmt.Errorf("privacy.delta = %v: must be below %v: delta is a chance of no protection at all, and belongs below "+
				"1/records", b.Delta(), mostDelta)
	}
	if b.Mu() > mostMu {
		return account.Budget{}, fmt.Errorf("privacy.epsilon = %v: must be smaller: mu = %.3g protects nobody", b.Epsilon(),
			b.Mu())
	}
	return b, nil
}

// declared returns the number of records that must be known before the table is read. Under add-or-remove it
// returns privacy.records, and an error if that number is missing or below 1. Under replace-one no number is
// needed, and it returns 0.
func (c *Config) declared(r account.Relation) (float64, error) {
	if r == account.ReplaceOne {
		return 0, nil
	}
	if c.Privacy.Records < 1 {
		return 0, errors.New("privacy.records: must declare the public number of records under add-or-remove")
	}
	return float64(c.Privacy.Records), nil
}

// hazardLoss names the loss of the time to an event, which may be left out: minus the logarithm of the likelihood of
// the times, that of counts of events with the integrated baseline hazards as exposures. hazardClip bounds by how many
// more events than a record had the model may expect of it before its pull is clipped.
const hazardLoss, hazardClip = "hazard", "3"

// loss returns the loss of one record. It starts from model.loss and adds the number of classes, the smallest
// exposure and the column of row weights, which the schema states, and the weights of classes from
// model.weights. If the schema has a privacy unit, the loss of a record combines the losses of the unit's
// rows. It returns an error if the loss does not suit the target.
func (c *Config) loss() (loss.Loss, error) {
	target := c.Schema.Target()
	name := c.Model.Loss.of(target)
	l, err := loss.ParseFor(name, len(target.Classes))
	if of := lossUses[name]; err != nil && of.shown != "" && of.shown != name { // its parameters are lacking
		err = fmt.Errorf("%w, such as %s", err, of.shown)
	}
	if err != nil {
		return nil, fmt.Errorf("model.loss: %w", err)
	}
	g, counts := loss.Unweighted(l).(interface{ Grouped() string })
	if target.Event != "" && !counts || counts && g.Grouped() != target.Grouped {
		return nil, fmt.Errorf("model.loss: schema.target %q: loss %s: is not the loss of this target: the time to an "+
			"event chooses its own loss: leave model.loss out", target.Column, l.Name())
	}
	if _, own := l.(interface{ Odds() []float64 }); target.Grouped == targetpair.Logit && !own {
		return nil, fmt.Errorf("model.loss: schema.target %q: loss %s: must be logit-hazard itself with target.grouped = logit: the "+
			"loss of a network does not know the odds of intervals (grouped: true has networks)", target.Column, l.Name())
	}
	if unit := c.Schema.Unit(); target.Grouped == targetpair.Logit && unit != (dataset.Unit{}) {
		return nil, fmt.Errorf("schema.unit %q: must be left out: with target.grouped = logit a record is one row", unit.Column)
	}
	if of, ok := loss.Unweighted(l).(interface{ LeastValue() float64 }); ok && of.LeastValue() != target.Low/target.High {
		return nil, fmt.Errorf("model.loss: schema.target %q: loss %s is for numbers of at least %v of the largest: leave "+
			"its second number out, which is then that of the bounds", target.Column, l.Name(), of.LeastValue())
	}
	of, most := loss.Unweighted(l).(interface{ Most() float64 })
	if most && target.Low != 0 {
		return nil, fmt.Errorf("model.loss: schema.target %q: loss %s is for numbers from 0: the lower bound must be 0 and is %v",
			target.Column, l.Name(), target.Low)
	}
	if most && of.Most() != target.High {
		return nil, fmt.Errorf("model.loss: schema.target %q: loss %s is for numbers from 0 to %v: the upper bound is %v (leave "+
			"the last number of the loss out, which is then the upper bound)", target.Column, l.Name(), of.Most(), target.High)
	}
	if err := checkRounding(target, l); err != nil {
		return nil, err
	}
	if least := target.Least(); least > 0 && loss.LeastExposure(l) == 0 {
		if l, err = loss.WithExposure(l, least); err != nil {
			return nil, fmt.Errorf("model.loss: schema.target %q: exposure or offset: %w", target.Column, err)
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
	return l, c.checkMonotone(l)
}

// checkMonotone returns an error if the schema declares a column monotone and the fit does not support it.
// The loss must then have exactly one margin, rows must not be projected (model.reduce), and no confidence
// intervals may be requested. Without a monotone column it returns nil.
func (c *Config) checkMonotone(l loss.Loss) error {
	switch {
	case !c.Schema.Monotonic():
		return nil
	case loss.Count(loss.RowLoss(l)) != 1:
		return fmt.Errorf("model.loss: %s: must have one margin where a column is monotone: a linear model of a number, a "+
			"count or two classes", l.Name())
	case c.Model.Reduce != "":
		return errors.New("model.reduce: must be left out where a column is monotone")
	case c.Inference != nil:
		return errors.New("inference: must be left out where a column is monotone: intervals are for the weights " +
			"before they are made monotone")
	}
	return nil
}

// classWeights returns the weight of each class, in the order of the schema's classes. A class without a
// weight in model.weights has weight 1. If model.weights is empty, classWeights returns nil. A name in
// model.weights that is not a class is an error.
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

// Problem returns the minimisation problem of the fit for a public number of records, and its loss. The
// problem's budget is the fit's budget minus the share that train.measure reserves for the measurement.
func (c *Config) Problem(budget account.Budget, records float64) (optimize.Problem, loss.Loss, error) {
	l, err := c.loss()
	if err != nil {
		return optimize.Problem{}, nil, err
	}
	target := c.Schema.Target()
	if loss.Counts(l) && target.Low != 0 {
		return optimize.Problem{}, nil,
			fmt.Errorf("model.loss: loss %s is for counts: schema.target %q has the lower bound %v: must be 0", l.Name(),
				target.Column, target.Low)
	}
	features, err := c.features(l)
	if err != nil {
		return optimize.Problem{}, nil, err
	}
	p, err := optimize.NewProblem(l, budget, optimize.Stated(loss.RecordFeatures(l, features), records))
	if err != nil {
		return optimize.Problem{}, nil, err
	}
	p.Explained = c.Model.Reduce == "" && c.Model.Features == "" && (p.RankOne || p.Grouped && loss.Count(loss.RowLoss(l)) == 1 && !p.Layered)
	if c.Model.Reduce == "" && p.RankOne {
		p.Filled = c.Schema.Filled()
		for _, g := range c.Schema.Groups() {
			if c.Model.Features == "" {
				p.Groups = append(p.Groups, [2]int{g.First, g.Width})
			}
		}
		p.Curved = slices.ContainsFunc(c.Schema.Hats(), dataset.Hats.Curve) && p.Explained
	}
	if m := c.Train.Measure; !(m >= 0 && m < 1) {
		return optimize.Problem{}, nil, fmt.Errorf("train.measure = %v: must be a share of the budget, >= 0 and < 1", m)
	}
	if err := c.Train.shares(); err != nil {
		return optimize.Problem{}, nil, err
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
