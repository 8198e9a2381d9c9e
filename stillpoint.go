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

// Spec says what is fitted, to what and at what cost. Table, Schema, Loss and Budget must be
// given; all else has a stated zero value.
type Spec struct {
	// Table is where the rows come from: CSV, Parquet, File, Rows or Reader.
	Table Table
	// Schema describes the table's columns by public facts: bounds, categories, target.
	// It is never read from the table (package dataset).
	Schema *dataset.Schema
	// Loss is the loss of one row, one that package loss makes: the model names it, and who
	// reads the model makes it again by that name. Where the schema has a unit, rows of one
	// are weighed by Units.
	Loss loss.Loss
	// Budget is what the fit may charge. It has no default.
	Budget Budget

	// Weights are public weights of classes; 1 for those left out.
	Weights map[string]float64
	// Regularizer is added to the mean loss; nil for none.
	Regularizer loss.Regularizer
	// Radius, if not 0, keeps the weights in the ball of that radius around the start.
	Radius float64
	// Reduce, for example jl(500), trains on rows mapped to so many features by a public
	// random map; empty for none.
	Reduce string
	// KL is what is publicly known of how fast the objective rises from its minimum.
	KL optimize.KL
	// Units is mean or sum, where the schema has a unit: each unit counts alike, or each
	// row does. Empty for mean.
	Units string

	// Train overrides the choice of the algorithm and its settings, and says which shares
	// of the budget tell how good the result is. The zero Train has all chosen by public
	// numbers alone, and the result compared with the best constant.
	Train Train
	// Memory bounds what of the table is in memory; all of it if left out. Rows beyond it
	// go to a private file while the fit lasts, which is not encrypted.
	Memory Memory

	// Folder keeps the fit in a folder while it lasts and afterwards: a process that is
	// killed leaves there what its files can be made from. nil for no file at all, unless
	// Result.Save is called: a process that is killed then leaves nothing, and what it was
	// charged in a store stays charged in full.
	Folder *Folder

	// Stores opens the store of budgets that Budget.Dataset, or Config, names: stores.Open
	// of package budget/stores. It is given by programs, so that those which have no store
	// carry no database.
	Stores func(ctx context.Context, address string) (*budget.Book, error)

	// Config describes all of the above but Folder in place of the fields, as a
	// configuration file does. See ReadConfig.
	Config *Config

	// Anyway fits also a table that is too small for its budget: one of an effective size
	// below 30, at which a model is noise.
	Anyway bool
	// Software names the program and its version in the files; "a Go program" if empty.
	Software string
	// Planned, if not nil, is called once all is settled and before anything is charged.
	// Step is called after each step, with released and public numbers only. Both are
	// called from the goroutine of Fit, and end before it goes on.
	Planned func(Planned)
	Step    func(Step)
}

// Names of the other packages that specs are written in.
type (
	// Train says how a model is fitted.
	Train = train.Train
	// Settings are those of an algorithm, by name (stillpoint algorithms NAME).
	Settings = train.Settings
	// Memory says how much of a table is kept in memory.
	Memory = train.Memory
	// Config is a fit as a configuration file describes it.
	Config = train.Config
	// Planned is what will run, before any record has been asked about.
	Planned = train.Planned
	// Step is what may be shown of a step.
	Step = train.Step
	// Warning is a fact about a fit that its user has to know: a code and a text.
	Warning = train.Warning
	// ChargedError is an error after the budget was charged, which stays so.
	ChargedError = train.ChargedError
)

// Folder is where a fit is kept.
type Folder = runfolder.Out

// ReadConfig reads a configuration file, for Spec.Config.
func ReadConfig(path string) (*Config, error) { return train.ReadConfig(path) }

// Fit trains a model. It reads the table behind a wall (package curator), settles a plan by
// public numbers, charges the whole budget, trains, and makes the model and the certificate
// from which anybody can recheck what it cost.
//
// All that a fit releases, the Result included, is (Budget.Epsilon, Budget.Delta)-
// differentially private for neighbouring tables, which differ in one row or, where the
// schema has a unit, in all rows of one; see the package comment for what that leaves out.
// A second fit of the same people costs a second budget: only Budget.Dataset holds fits to
// one cap, and a fit that the rest of the cap does not cover is refused with an
// *account.BudgetError before the table is read.
//
// Fit refuses, before anything is charged: what breaks a rule, with an error that names
// field, value and rule; a table too small for its budget, unless Anyway says otherwise; a
// plan that would return its start. Warnings of the result say what else its user has to
// know, first of all a model that is not better than a constant.
//
// A context that is cancelled before the first release costs nothing. Later it ends the fit
// after the step: Fit then returns the result reached so far, certified as incomplete,
// together with the context's error. After any other error the result is nil, and a
// *ChargedError says if the budget is charged.
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

// Plan settles what Fit would run, and asks nothing about records. The table is opened only
// to count its rows, which are public under replace-one, and not even that where
// Budget.Records is given.
func Plan(ctx context.Context, s Spec) (Planned, error) {
	c, err := s.config()
	if err != nil {
		return Planned{}, err
	}
	return c.Plan(ctx)
}

// Silence keeps the process from showing records when it crashes, and returns where its own
// messages go, also where it fails. A program that holds records calls it first in main
// (package silence).
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

// said names the way round an error in the words of a Spec.
func (s Spec) said(err error) error {
	if small := (*train.SmallError)(nil); s.Config == nil && errors.As(err, &small) {
		return fmt.Errorf("%w; Anyway fits all the same", err)
	}
	return err
}

// rule says what a field must be.
func rule(field string, value any, must string) error {
	return fmt.Errorf("stillpoint: %s = %v: must be %s", field, value, must)
}

// config is the spec as configurations are written.
func (s Spec) config() (*Config, error) {
	if s.Config != nil {
		return s.Config, s.bare()
	}
	switch {
	case s.Table.kind == nothing:
		return nil, errors.New("stillpoint: table: must be given: CSV, Parquet, File, Rows or Reader")
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
		Table: s.Table.name, CSV: s.Table.csv, Rows: s.Table.rows, Reader: s.Table.reader, Data: s.Table.paths, Schema: s.Schema,
		Model: train.Model{
			Loss: name, Weights: s.Weights, Radius: train.Positive(s.Radius), Reduce: s.Reduce, KL: s.KL, Units: s.Units,
		},
		Train: s.Train, Memory: s.Memory,
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

// lossName is the name by which a model knows a loss. One that package loss does not make
// could not be made again by who reads the model.
func lossName(l loss.Loss) (train.LossName, error) {
	own, err := loss.Parse(l.Name())
	if err != nil || fmt.Sprintf("%T", own) != fmt.Sprintf("%T", l) {
		return "", fmt.Errorf("stillpoint: loss = %q: must be one that package loss makes, so that a model can name it; packages curator and optimize train others", l.Name())
	}
	return train.LossName(l.Name()), nil
}

// bare refuses a description beside a configuration.
func (s Spec) bare() error {
	for field, given := range map[string]bool{
		"table": s.Table.kind != nothing, "schema": s.Schema != nil, "loss": s.Loss != nil, "budget": s.Budget != (Budget{}),
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
