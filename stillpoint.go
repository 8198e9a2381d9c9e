package stillpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/crashsafe"
	"github.com/stillpoint-dp/stillpoint/internal/fitting"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Spec describes a fit. Table, Schema, Loss and Budget must be given. The comment of every other field states
// the meaning of its zero value.
type Spec struct {
	// Table is the source of the rows: CSV, Parquet, File, Rows or Reader.
	Table Table
	// Shards replaces Table for a table in partitions, which workers read in other processes or on other
	// machines (ServeShard). With the same random bits the fit is the same, to the bit, as a fit of the whole
	// table in one process. With Shards, Table must have a name and no source: Table{}.Named("people").
	Shards *Shards
	// Schema describes the table's columns by public facts: bounds, categories, target. It is never derived
	// from the table (package dataset).
	Schema *dataset.Schema
	// Described names the file of a description of the table (stillpoint describe). Columns of the schema with number:
	// auto or date: auto then have the bounds that the description released, and the costs of the two add up. Empty
	// means none.
	Described string
	// Loss is the loss of one row. It must be a loss of package loss, because the model's file stores only the loss's
	// name. If the schema has a privacy unit, the field Units says how the losses of the unit's rows are combined.
	Loss loss.Loss
	// Budget is the privacy budget of the fit. It has no default.
	Budget Budget

	// Weights are public weights of the classes. A class that is left out has the weight 1.
	Weights map[string]float64
	// Regularizer is added to the mean loss. nil adds nothing.
	Regularizer loss.Regularizer
	// Radius, if not 0, keeps the weights in the ball of this radius around the starting point.
	Radius float64
	// Reduce projects rows to fewer features by a public random linear map before training: jl(500)
	// projects them to 500 features, jl(auto) to a number that follows from the number of records and the
	// budget. Empty means no projection.
	Reduce string
	// Family is the family of the model: "lines", "curves", "effects", or "auto", the richest of them that gained at this
	// size on benchmarks (train.Model). Empty means "auto".
	Family string
	// Features, if it is "effects", adds features in which a linear model can express interactions of all columns
	// (train.Model). Empty means none.
	Features string
	// KL is public knowledge of how fast the objective rises from its minimum.
	KL KL
	// Start states the constant at which the fit begins, in place of its release. It must be public knowledge.
	Start Start
	// Units is "mean" or "sum" if the schema has a privacy unit, and otherwise "". With "mean" every unit has
	// the same weight, and with "sum" every row has the same weight. "" means "mean".
	Units string

	// Train overrides the choice of the algorithm and its settings. It also sets the shares of the budget
	// that pay for a measurement of the result and for its comparison with the best constant, the model that
	// predicts the same for every row. With the zero Train, all choices follow from public numbers, and the
	// result is compared with the best constant unless the comparison would show nothing above its noise.
	Train Train
	// Inference requests confidence intervals of the coefficients. The fit then uses the algorithm of package
	// optimize/onestep, and Train may set neither algorithm nor settings. nil means no intervals.
	Inference *Inference
	// Memory limits how much of the table is in memory. The zero Memory sets no limit. Rows beyond the limit
	// are kept in a private file during the fit. This file is not encrypted.
	Memory Memory

	// Folder is the folder in which the fit is stored, from before its first release. If the process is
	// killed, model and certificate can be made from the folder's files (stillpoint recover). With nil the
	// fit writes no file until Result.Save is called. If the process is killed before that, nothing of the
	// fit is left, and a store of budgets keeps its whole charge.
	Folder *Folder `config:"beside"`

	// Stores opens the store of budgets that Budget.Dataset or Config names. Programs pass stores.Open of
	// package budget/stores. Programs that use no store leave Stores nil and then link no database driver.
	Stores func(ctx context.Context, address string) (*budget.Book, error) `config:"beside"`

	// Config is a fit as a configuration file describes it. It replaces all fields above except Folder and
	// Stores. See ReadConfig; ReadConfigOver is for Shards.
	Config *Config `config:"beside"`

	// Anyway, if true, makes Fit train even if the table is too small for its budget. A table is too small if
	// its effective size, n mu/sqrt(d) for n records and d weights, is below optimize.SmallSize, 30; the
	// model is then mostly noise. If Anyway is false, Fit returns an error for such a table.
	Anyway bool `config:"beside"`
	// Software is the program's name and version in the files. If empty, "a Go program" is written.
	Software string `config:"beside"`
	// Planned, if not nil, is called once, after the plan is fixed and before anything is charged. Fit calls
	// it on the goroutine that called Fit, and waits until it returns.
	Planned func(Planned) `config:"beside"`
	// Step, if not nil, is called after each step with released and public numbers only. Fit waits until it
	// returns.
	Step func(Step) `config:"beside"`
}

// Config is a fit as a configuration file describes it.
type Config struct{ c *train.Config }

// Warning is a fact about a fit that its user must know: a code and a text.
type Warning = model.Warning

// ChargedError is an error of a fit after the budget was charged. The charge stays.
type ChargedError = account.ChargedError

// ReadConfig reads a configuration file, for Spec.Config.
func ReadConfig(path string) (*Config, error) { return ReadConfigOver(path, nil) }

// ReadConfigOver reads the configuration file of a fit whose table worker processes read in partitions
// (shards). The file must not have the key data and must give the table a name.
func ReadConfigOver(path string, shards *Shards) (*Config, error) {
	c, err := train.ReadConfigOver(path, shards.curators())
	if err != nil {
		return nil, err
	}
	return &Config{c}, nil
}

// Fit trains a model. It reads the table through package curator, makes a plan from public numbers, charges the whole
// budget, trains, and makes the model and the certificate. Anybody can recheck the privacy cost from the certificate.
//
// All releases of a fit, the Result included, are (Budget.Epsilon, Budget.Delta)-differentially private for
// neighbouring tables. Neighbouring tables differ in one row or, where the schema has a unit, in all rows of
// one unit. The package comment lists the limits of this guarantee. A second fit on the same people costs a
// second budget. Only Budget.Dataset limits the privacy loss of several fits together to a cap. If a fit's
// budget exceeds the part of the cap that is left, Fit returns an *account.BudgetError. It does so before the
// table is read, unless the fit may draw Poisson samples.
//
// Fit refuses in three cases, before anything is charged. First, a value breaks a rule; the error names
// field, value and rule. Second, the table is too small for its budget and Anyway is not set. Third, the plan
// would return its starting point, whatever is released. Other facts that the user must know are warnings of
// the result, for example that the model is not better than a constant.
//
// If the context is cancelled before the first release, the fit costs nothing. If it is cancelled later, the
// fit ends after the current step. Fit then returns the result of the steps so far, certified as incomplete,
// together with the context's error. Fit also returns the result of the steps so far if the folder's journal
// cannot be written, and the whole result if only the store of budgets cannot be told that the fit has ended.
// After any other error the result is nil. If the budget is charged and the result is nil, the error is a
// *ChargedError.
func Fit(ctx context.Context, s Spec) (*Result, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	var folder *runfolder.Out
	if s.Folder != nil {
		folder = &runfolder.Out{Path: s.Folder.Path, Overwrite: s.Folder.Overwrite}
	}
	r, err := fitting.Fit(ctx, c, folder, s.options())
	return result(r), s.said(err)
}

// Plan returns the plan that Fit would run. It makes no query about records. It opens the table only if
// Budget.Records is not given, and only to count its records. Their number is public under replace-one.
func Plan(ctx context.Context, s Spec) (Planned, error) {
	c, err := s.config()
	if err != nil {
		return Planned{}, err
	}
	p, err := c.Plan(ctx)
	if err != nil {
		return Planned{}, err
	}
	return planned(p), nil
}

// Silence makes sure that a crash of the process shows no records. It returns the file to which the program
// must write its own messages; this file is valid even if Silence returns an error. A program that reads
// records must call Silence first in main (package internal/crashsafe).
func Silence() (stderr *os.File, err error) {
	if stderr, err = crashsafe.Crashes(); err != nil {
		return os.Stderr, err
	}
	return stderr, nil
}

func (s Spec) options() train.Options {
	o := train.Options{Strict: !s.Anyway, Software: s.Software, Stores: s.Stores}
	if s.Planned != nil {
		o.Planned = func(p train.Planned) { s.Planned(planned(p)) }
	}
	if s.Step != nil {
		o.Step = func(step train.Step) { s.Step(Step(step)) }
	}
	o.Software = cmp.Or(o.Software, "a Go program")
	return o
}

// said returns err. If err is a *train.SmallError, the error for a table that is too small for its budget,
// said adds to its text that the field Anyway of Spec allows the fit.
func (s Spec) said(err error) error {
	if small := (*train.SmallError)(nil); s.Config == nil && errors.As(err, &small) {
		return fmt.Errorf("%w; Anyway fits all the same", err)
	}
	return err
}

// rule returns the error for a field of Spec whose value breaks a rule. must states the rule.
func rule(field string, value any, must string) error {
	return fmt.Errorf("stillpoint: %s = %v: must be %s", field, value, must)
}

// config returns the fit that the spec describes in the form of a configuration.
func (s Spec) config() (*train.Config, error) {
	if s.Config != nil {
		if s.Config.c == nil {
			return nil, errors.Join(s.bare(), errors.New("stillpoint: config: must be one that ReadConfig returns"))
		}
		return s.Config.c, s.bare()
	}
	switch {
	case s.Table.kind == nothing && s.Shards == nil:
		return nil, errors.New("stillpoint: table: must be given: CSV, Parquet, File, Rows or Reader, or shards")
	case s.Table.kind != nothing && s.Shards != nil:
		return nil,
			errors.New("stillpoint: table: must be left out but for its name beside shards, whose workers hold the table")
	case s.Schema == nil:
		return nil, errors.New("stillpoint: schema: must be given: the public facts about the table's columns (dataset.New)")
	case s.Loss == nil:
		return nil, errors.New("stillpoint: loss: must be given, for example loss.Logistic()")
	}
	name, err := lossName(s.Loss)
	if err != nil {
		return nil, err
	}
	c := &train.Config{
		Table: s.Table.name, CSV: s.Table.csv, Rows: s.Table.rows, Reader: s.Table.reader, Shards: s.Shards.curators(),
		Data: s.Table.paths, Schema: s.Schema, Described: s.Described,
		Model: train.Model{
			Loss: name, Weights: s.Weights, Radius: train.Positive(s.Radius), Reduce: s.Reduce,
			Family: s.family(), Features: s.Features, KL: optimize.KL(s.KL), Start: train.Start(s.Start), Units: s.Units,
		},
		Train:  train.Train(s.Train),
		Memory: train.Memory{Gigabytes: train.Positive(s.Memory.Gigabytes), Folder: s.Memory.Folder},
	}
	if s.Inference != nil {
		c.Inference = &train.Inference{Level: train.Positive(s.Inference.Level)}
		if rows, ok := s.Train.Settings["rows"].(string); ok && len(s.Train.Settings) == 1 {
			c.Inference.Rows, c.Train.Settings = rows, nil
		}
	}
	if s.Regularizer != nil {
		c.Model.Regularizer = s.Regularizer.Name()
	}
	if err := s.Budget.into(c); err != nil {
		return nil, err
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("stillpoint: %w", err)
	}
	return c, s.Table.check(c)
}

// family returns the family that the spec states. A configuration file without the key is told which family it has.
func (s Spec) family() string { return cmp.Or(s.Family, train.FamilyAuto) }

// lossName returns the loss's name, as the model's file states it. It returns an error if loss.Parse does not
// make a loss of the same type from this name, since the model could then not be read again.
func lossName(l loss.Loss) (train.LossName, error) {
	own, err := loss.Parse(l.Name())
	if err != nil || fmt.Sprintf("%T", own) != fmt.Sprintf("%T", l) {
		return "", fmt.Errorf("stillpoint: loss = %q: must be one that package loss makes, so that a model can name it; "+
			"packages curator and optimize train others", l.Name())
	}
	return train.LossName(l.Name()), nil
}

// bare returns an error if a field that Config replaces is set: every field without the tag config. A new field of Spec
// therefore needs no other place here.
func (s Spec) bare() error {
	own := reflect.ValueOf(s)
	for i := range own.NumField() {
		f := own.Type().Field(i)
		if _, beside := f.Tag.Lookup("config"); !beside && !own.Field(i).IsZero() {
			return fmt.Errorf("stillpoint: %s: must be left out beside config, which describes the fit", strings.ToLower(f.Name))
		}
	}
	return nil
}
