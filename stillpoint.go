package stillpoint

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/runfolder"
	"github.com/stillpoint-dp/stillpoint/silence"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Spec describes a fit. Table, Schema, Loss and Budget must be given. Every other field has a zero value,
// whose meaning the field's comment states.
type Spec struct {
	// Table is the source of the rows: CSV, Parquet, File, Rows or Reader.
	Table Table
	// Shards replaces Table for a table in partitions that workers read in other processes and on other
	// machines (ServeShard). The fit is the same, to the bit, as a fit of the whole table in one process.
	// Of Table only the name is then given: Table{}.Named("people").
	Shards *Shards
	// Schema describes the table's columns by public facts: bounds, categories, target. It is never derived
	// from the table (package dataset).
	Schema *dataset.Schema
	// Loss is the loss of one row. Package loss must make it: the model stores the loss's name, and the
	// reader of the model makes the loss again by this name. Where the schema has a unit, Units gives the
	// weights of the unit's rows.
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
	// KL is public knowledge of how fast the objective rises from its minimum (optimize.KL).
	KL optimize.KL
	// Units is "mean" or "sum", where the schema has a unit. With mean every unit has the same weight; with
	// sum every row has. An empty text means mean.
	Units string

	// Train overrides the choice of the algorithm and its settings. It also says which shares of the budget
	// are used to measure the quality of the result. With the zero Train, all choices follow from public
	// numbers alone, and the result is compared with the best constant.
	Train Train
	// Inference asks for confidence intervals of the coefficients. The fit then has a plan of its own, and
	// Train may set neither algorithm nor settings. nil asks for none.
	Inference *Inference
	// Memory limits how much of the table is in memory. The zero Memory sets no limit. Rows beyond the limit
	// are kept in a private file during the fit. This file is not encrypted.
	Memory Memory

	// Folder keeps the fit in a folder, during the fit and afterwards. If the process is killed, the folder
	// has the data from which the fit's files can be made. With nil the fit writes no file until Result.Save
	// is called. If the process is killed then, nothing is left, and a store of budgets keeps the fit's whole
	// charge.
	Folder *Folder

	// Stores opens the store of budgets that Budget.Dataset or Config names. Programs pass stores.Open of
	// package budget/stores. Programs without a store leave it nil, and so link no database.
	Stores func(ctx context.Context, address string) (*budget.Book, error)

	// Config is a fit as a configuration file describes it. It replaces all fields above except Folder and
	// Stores. See ReadConfig; ReadConfigOver is for Shards.
	Config *Config

	// Anyway also fits a table that is too small for its budget. A table is too small if its signal-to-noise
	// size (optimize.SmallSize) is below 30; its model is then noise.
	Anyway bool
	// Software is the program's name and version in the files. If empty, "a Go program" is written.
	Software string
	// Planned, if not nil, is called once, after the plan is fixed and before anything is charged. Fit calls
	// it on Fit's own goroutine and continues after it returns.
	Planned func(Planned)
	// Step, if not nil, is called after each step, with released and public numbers only. Fit calls it as it
	// calls Planned.
	Step func(Step)
}

// Types of package train that a Spec uses.
type (
	// Train chooses the algorithm and its settings.
	Train = train.Train
	// Inference requests confidence intervals and states their level.
	Inference = train.Inference
	// Settings are settings of an algorithm, by name (stillpoint algorithms NAME).
	Settings = train.Settings
	// Memory limits how much of a table is kept in memory.
	Memory = train.Memory
	// Config is a fit as a configuration file describes it.
	Config = train.Config
	// Planned is the plan of a fit, made before any query on records.
	Planned = train.Planned
	// Step is the public and released facts of one step.
	Step = train.Step
	// Warning is a fact about a fit that its user must know: a code and a text.
	Warning = train.Warning
	// ChargedError is an error of a fit after the budget was charged. The charge stays.
	ChargedError = train.ChargedError
)

// Folder is a folder in which a fit is kept.
type Folder = runfolder.Out

// ReadConfig reads a configuration file, for Spec.Config.
func ReadConfig(path string) (*Config, error) { return train.ReadConfig(path) }

// ReadConfigOver reads the configuration file of a fit whose table workers hold in partitions
// (shards). The file names no data, and gives the table a name.
func ReadConfigOver(path string, shards *Shards) (*Config, error) {
	return train.ReadConfigOver(path, shards)
}

// Fit trains a model. It reads the table through package curator, makes a plan from public numbers, charges
// the whole budget, trains, and makes the model and the certificate. Anybody can recheck the privacy cost
// from the certificate.
//
// All releases of a fit, the Result included, are (Budget.Epsilon, Budget.Delta)-differentially private for
// neighbouring tables. Neighbouring tables differ in one row or, where the schema has a unit, in all rows of
// one unit. The package comment lists the limits of this guarantee. A second fit on the same people costs a
// second budget. Only Budget.Dataset limits several fits together to one cap: if the rest of the cap does not
// cover a fit, Fit returns an *account.BudgetError before the table is read.
//
// Fit refuses in three cases, before anything is charged. First, a value breaks a rule; the error names
// field, value and rule. Second, the table is too small for its budget and Anyway is not set. Third, the plan
// would return its start. Warnings of the result state other facts that the user must know, first of all a
// model that is not better than a constant.
//
// If the context is cancelled before the first release, the fit costs nothing. If it is cancelled later, the
// fit ends after the current step. Fit then returns the result of the steps so far, certified as incomplete,
// together with the context's error. After any other error the result is nil. The error is a *ChargedError if
// the budget is charged.
func Fit(ctx context.Context, s Spec) (*Result, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	o := s.options()
	if s.Folder == nil {
		f, err := c.Fit(ctx, o)
		return result(c, f, nil), s.said(err)
	}
	kept, err := runfolder.Fit(ctx, c, *s.Folder, o)
	if kept == nil {
		return nil, s.said(err)
	}
	return result(c, kept.Fitted, kept), s.said(err)
}

// Plan returns the plan that Fit would run. It makes no query on records. It opens the table only to count
// its rows, which is public under replace-one, and only if Budget.Records is not given.
func Plan(ctx context.Context, s Spec) (Planned, error) {
	c, err := s.config()
	if err != nil {
		return Planned{}, err
	}
	return c.Plan(ctx)
}

// Silence keeps the process from showing records when it crashes. It returns the file for the program's own
// messages, also if it fails. A program that reads records must call Silence first in main (package silence).
func Silence() (stderr *os.File, err error) {
	if stderr, err = silence.Crashes(); err != nil {
		return os.Stderr, err
	}
	return stderr, nil
}

func (s Spec) options() train.Options {
	o := train.Options{Strict: !s.Anyway, Software: s.Software, Planned: s.Planned, Step: s.Step, Stores: s.Stores}
	if o.Software == "" {
		o.Software = "a Go program"
	}
	return o
}

// said adds to a *train.SmallError, the error for a table that is too small for its budget, the
// field of Spec that allows the fit.
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
func (s Spec) config() (*Config, error) {
	if s.Config != nil {
		return s.Config, s.bare()
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
	c := &Config{
		Table: s.Table.name, CSV: s.Table.csv, Rows: s.Table.rows, Reader: s.Table.reader, Shards: s.Shards,
		Data: s.Table.paths, Schema: s.Schema,
		Model: train.Model{
			Loss: name, Weights: s.Weights, Radius: train.Positive(s.Radius), Reduce: s.Reduce, KL: s.KL, Units: s.Units,
		},
		Train: s.Train, Memory: s.Memory, Inference: s.Inference,
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

// lossName returns the name by which a model's file states the loss. It returns an error for a loss
// that package loss does not make: the reader of the model could not make such a loss again.
func lossName(l loss.Loss) (train.LossName, error) {
	own, err := loss.Parse(l.Name())
	if err != nil || fmt.Sprintf("%T", own) != fmt.Sprintf("%T", l) {
		return "",
			fmt.Errorf("stillpoint: loss = %q: must be one that package loss makes, so that a model can name it; packages "+
				"curator and optimize train others", l.Name())
	}
	return train.LossName(l.Name()), nil
}

// bare returns an error if a field of the spec is set although Config, which replaces it, is set
// too.
func (s Spec) bare() error {
	for field, given := range map[string]bool{
		"table": s.Table.kind != nothing, "shards": s.Shards != nil, "schema": s.Schema != nil, "loss": s.Loss != nil, "budget": s.Budget != (Budget{}),
		"weights": s.Weights != nil, "regularizer": s.Regularizer != nil, "radius": s.Radius != 0, "reduce": s.Reduce != "",
		"kl": s.KL != (optimize.KL{}), "units": s.Units != "", "memory": s.Memory != (Memory{}),
		"train": s.Train.Algorithm != "" || s.Train.Measure != 0 || s.Train.Compare != 0 || s.Train.Settings != nil,
	} {
		if given {
			return fmt.Errorf("stillpoint: %s: must be left out beside config, which describes the fit", field)
		}
	}
	return nil
}
