package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Options say where a fit writes and who watches it.
type Options struct {
	// Out is the output folder. Empty means NAME-fit in the current folder,
	// with NAME the configuration's, or NAME-fit-2 and so on if that exists.
	Out string
	// Overwrite lets a fit replace the model of an earlier one in Out. The
	// ledger keeps both charges.
	Overwrite bool
	// Software is the program's name and version, for the files.
	Software string
	// Planned, if not nil, is called when everything is settled and the budget
	// is about to be reserved.
	Planned func(Planned)
	// Step, if not nil, is called after each step with released numbers.
	Step func(Step)
}

// Step is what may be shown of a step.
type Step = optimize.Step

// Planned is what will run, before any record has been asked about.
type Planned struct {
	// Records is the public number of records; Dim the number of features.
	Records float64
	Dim     int
	Budget  account.Budget
	// Filter says which rows are records; the zero Filter for all of them.
	Filter  certificate.Filter
	Outline optimize.Outline
	// LowerBound is the scale below which no private algorithm can promise to
	// come on every such problem (optimize.LowerBound).
	LowerBound float64
	// Candidates are all algorithms that auto compared, the chosen one first;
	// nil when the configuration names its algorithm.
	Candidates []optimize.Candidate
	// Plan is what will run.
	Plan optimize.Plan
	// Goal is what auto compared them by, and Why says why it chose the first.
	Goal optimize.Goal
	Why  string
}

// Ranked returns the candidates, or the named algorithm's plan alone.
func (p Planned) Ranked() []optimize.Candidate {
	if p.Candidates != nil {
		return p.Candidates
	}
	return []optimize.Candidate{{Plan: p.Plan, Outline: p.Outline, Predicted: p.Outline.Predicted}}
}

// Fitted is what a fit released and what it cost.
type Fitted struct {
	Planned
	Result optimize.Result
	// Measured is the released quality of the result; nil if not asked for.
	Measured *optimize.Measured
	// Releases is how many answers were given.
	Releases int
	// Charged is the odometer's reading in units of mu^2; the cost is the
	// budget.
	Charged float64
	// Trusted lists the assumptions that the guarantee rests on and the program
	// does not enforce, as the certificate does.
	Trusted []string
	// Folder holds the files.
	Folder, ModelPath, CertificatePath string
	// Earlier are the reservations already made for the same table that the
	// output folders know of.
	Earlier []Entry

	entry Entry
	norms []float64
}

// Plan settles what Fit would run, without asking anything about records. The
// table is opened only to count its rows, and not even that when the
// configuration states privacy.records.
func (c *Config) Plan(ctx context.Context) (Planned, error) {
	budget, err := c.budget()
	if err != nil {
		return Planned{}, err
	}
	n := c.Privacy.Records
	if n == 0 {
		if _, err := c.declared(budget.Relation()); err != nil {
			return Planned{}, err
		}
		if n, err = curator.Count(ctx, c.DataPath(), c.Schema); err != nil {
			return Planned{}, err
		}
		if n == 0 {
			return Planned{}, fmt.Errorf("%s: no row is left after the public filter", c.DataPath())
		}
	}
	_, planned, _, err := c.settle(budget, float64(n))
	if err != nil || planned.Candidates == nil || c.Train.Measure > 0 {
		return planned, err
	}
	// The list also holds what Fit need not plan, since it would not choose it.
	problem, _, err := c.Problem()
	if err != nil {
		return Planned{}, err
	}
	goal := planned.Goal
	goal.Budget = budget
	planned.Candidates, err = optimize.Auto(problem, c.size(budget, float64(n)), goal)
	return planned, err
}

// size is what plans may know of the table.
func (c *Config) size(b account.Budget, records float64) optimize.Size {
	s := optimize.Size{Records: records, Mu: b.Mu() * math.Sqrt(1-c.Train.Measure), Neighbours: 2}
	if b.Relation() == account.AddOrRemove {
		s.Neighbours = 1
	}
	return s
}

// settle makes the plan for a public number of records.
func (c *Config) settle(budget account.Budget, records float64) (optimize.Plan, Planned, loss.Loss, error) {
	problem, l, err := c.Problem()
	if err != nil {
		return nil, Planned{}, nil, err
	}
	if m := c.Train.Measure; !(m >= 0 && m < 1) {
		return nil, Planned{}, nil, fmt.Errorf("train.measure = %v: must be a share of the budget, >= 0 and < 1", m)
	}
	if c.Train.Inner == optimize.PhasedSGD.String() {
		if err := curator.TakesStable(l); err != nil {
			return nil, Planned{}, nil, fmt.Errorf("train.inner = %s: %w", c.Train.Inner, err)
		}
	}
	plan, candidates, err := c.Train.Plan(problem, c.size(budget, records), budget)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	o := plan.Outline()
	for _, x := range []float64{o.StepSize, o.Effective, o.Floor, o.Predicted} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, Planned{}, nil, fmt.Errorf("privacy: epsilon = %v, delta = %v: too extreme: the plan's figures leave the range of float64", budget.Epsilon(), budget.Delta())
		}
	}
	planned := Planned{
		LowerBound: optimize.LowerBound(problem, records, budget.Epsilon(), budget.Delta()),
		Records:    records, Dim: problem.Dim, Budget: budget, Outline: o, Candidates: candidates, Plan: plan,
		Filter: certificate.Filter(c.Schema.Filter()),
	}
	if candidates != nil {
		if planned.Goal, err = c.Train.goal(budget); err != nil {
			return nil, Planned{}, nil, err
		}
		planned.Why = optimize.Why(candidates, planned.Goal)
	}
	return plan, planned, l, nil
}

// Fit reads the table, reserves the budget, runs the plan and writes the model
// and its certificate. The whole budget is on stable storage before the first
// answer, and stays there whatever happens.
//
// When the context is cancelled on the way, what has been reached is written
// and certified as incomplete, and Fit returns it together with the context's
// error: the answers so far have been paid for.
func (c *Config) Fit(ctx context.Context, o Options) (*Fitted, error) {
	budget, err := c.budget()
	if err != nil {
		return nil, err
	}
	declared, err := c.declared(budget.Relation())
	if err != nil {
		return nil, err
	}
	out, err := newFolder(o.Out, c.name, o.Overwrite)
	if err != nil {
		return nil, err
	}
	// Settled once for its errors before anything is read, for as many records as
	// are declared, or for enough of them.
	const enough = 1 << 20
	likely := max(declared, float64(c.Privacy.Records))
	if likely == 0 {
		likely = enough
	}
	_, _, l, err := c.settle(budget, likely)
	if err != nil {
		return nil, err
	}
	session, err := curator.Open(ctx, curator.Config{
		Path: c.DataPath(), Schema: c.Schema, Loss: l, Budget: budget, Declared: declared,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted while reading %s: nothing was charged: %w", c.DataPath(), err)
		}
		return nil, err
	}
	defer session.Close()
	records := session.All().Size()
	if n := c.Privacy.Records; n != 0 && float64(n) != records {
		return nil, fmt.Errorf("privacy.records = %d: must be the number of rows, %.0f, or be left out", n, records)
	}
	plan, planned, _, err := c.settle(budget, records)
	if err != nil {
		return nil, err
	}
	if sampled, ok := plan.(optimize.SampledPlan); ok && sampled.Schedule() != nil {
		if c.Train.Measure > 0 {
			return nil, fmt.Errorf("train.measure: is not possible with %s, whose whole budget is its schedule's", planned.Outline.Algorithm)
		}
		if err := session.Follow(sampled.Schedule()); err != nil {
			return nil, err
		}
	}
	if o.Planned != nil {
		o.Planned(planned)
	}
	data, err := identity(c.DataPath())
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted before the first release: nothing was charged: %w", err)
	}
	fitted := &Fitted{Planned: planned}
	defer out.release()
	fitted.entry = Entry{
		Data: data, Algorithm: planned.Outline.Algorithm, Relation: budget.Relation(),
		Epsilon: budget.Epsilon(), Delta: budget.Delta(), Mu: budget.Mu(),
	}
	if s := session.Ledger().Schedule(); s != nil {
		fitted.entry.Schedule = s.Steps()
	}
	fitted.Earlier, err = out.reserve(fitted.entry)
	if err != nil {
		return nil, err
	}
	result, runErr := plan.Run(ctx, session, fitted.watch(o.Step))
	if runErr == nil && c.Train.Measure > 0 {
		runErr = c.measure(ctx, session, fitted, result.W)
	}
	fitted.Result, fitted.Charged = result, session.Ledger().Charged()
	fitted.Releases = len(session.Ledger().Events())
	if runErr != nil && (ctx.Err() == nil || result.Steps == 0) {
		// The charge stays; there is nothing to write a model from.
		return nil, out.charged(errors.Join(runErr, out.settle(fitted.Charged, false)))
	}
	if err := c.write(out, o, fitted, l, session.Ledger()); err != nil {
		return nil, out.charged(err)
	}
	if err := out.settle(fitted.Charged, result.Complete); err != nil {
		return nil, out.charged(err)
	}
	if runErr != nil {
		return fitted, ctx.Err()
	}
	return fitted, nil
}

// identity is the name by which earlier fits of a table are found: its absolute
// path behind all links. A copy is another table to it.
func identity(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// measure releases the quality of the result from the share kept for it.
func (c *Config) measure(ctx context.Context, s *curator.Session, f *Fitted, w []float64) error {
	p, _, err := c.Problem()
	if err != nil {
		return err
	}
	m, err := optimize.Measure{Charge: f.Budget.Charge() * c.Train.Measure}.Ask(ctx, s, p, w)
	if err != nil {
		return err
	}
	f.Measured = &m
	return nil
}

// write writes the model and its certificate.
func (c *Config) write(out *folder, o Options, f *Fitted, l loss.Loss, ledger *account.Ledger) error {
	f.Folder = out.path
	f.ModelPath = filepath.Join(out.path, ModelFile)
	f.CertificatePath = filepath.Join(out.path, CertificateFile)
	budget := f.Budget
	regularizer := loss.None()
	if c.Model.Regularizer != "" {
		var err error
		if regularizer, err = loss.ParseRegularizer(c.Model.Regularizer); err != nil {
			return err
		}
	}
	m, err := model.New(model.Params{
		Software: o.Software, Complete: f.Result.Complete, Loss: l, Regularizer: regularizer,
		Schema: c.Schema, Weights: f.Result.W,
		Privacy: model.Privacy{
			Epsilon: budget.Epsilon(), Delta: budget.Delta(), Relation: budget.Relation().String(),
			Neighbour: f.Filter.Neighbour(budget.Relation()), Certificate: CertificateFile,
		},
	})
	if err != nil {
		return err
	}
	digest, err := m.Write(f.ModelPath)
	if err != nil {
		return err
	}
	text, err := json.Marshal(conduct{f.Outline, f.norms, f.Measured})
	if err != nil {
		return err
	}
	cert, err := certificate.New(certificate.Params{
		Software: o.Software, Budget: budget, Records: int64(f.Records), Filter: f.Filter, Complete: f.Result.Complete,
		Algorithm: certificate.Algorithm{Name: f.Outline.Algorithm, Plan: text},
		Coins:     certificate.Secret, ModelSHA256: digest, Events: ledger.Events(), Schedule: ledger.Schedule(),
	})
	if err != nil {
		return err
	}
	f.Trusted = cert.Trusted()
	return cert.Write(f.CertificatePath)
}

// conduct is what a certificate keeps of a run beside its charges, for people and
// reports: the plan, and released numbers.
type conduct struct {
	optimize.Outline
	// GradientNorms are the norms of the noisy gradient estimates, one a step.
	GradientNorms []float64          `json:"gradient_norms,omitempty"`
	Measured      *optimize.Measured `json:"measured,omitempty"`
}

// mostNorms is how many steps' norms a certificate keeps: none of a longer run.
const mostNorms = 20_000

// watch keeps the norms of the steps that it passes on.
func (f *Fitted) watch(next func(Step)) func(Step) {
	return func(s Step) {
		// Five digits are more than the noise leaves.
		norm, err := strconv.ParseFloat(strconv.FormatFloat(s.GradientNorm, 'g', 5, 64), 64)
		if s.Of <= mostNorms && err == nil && !math.IsNaN(norm) && !math.IsInf(norm, 0) {
			f.norms = append(f.norms, norm)
		}
		if next != nil {
			next(s)
		}
	}
}

// Sum returns an epsilon of this fit and the earlier ones together, at this
// fit's delta: Gaussian budgets and schedules are composed by their privacy-loss
// distributions. ok is false when they do not share a relation.
func (f *Fitted) Sum(ctx context.Context) (epsilon float64, ok bool) {
	var all []account.Composed
	for _, e := range append([]Entry{f.entry}, f.Earlier...) {
		if e.Relation != f.Budget.Relation() {
			return 0, false
		}
		parts, err := e.composed()
		if err != nil {
			return 0, false
		}
		all = append(all, parts...)
	}
	c, err := account.Compose(ctx, all, 1e-3)
	if err != nil {
		return 0, false
	}
	b, err := c.Epsilon(ctx, f.Budget.Delta())
	return b.Upper, err == nil
}

// composed returns what an entry's reservation is to an accountant.
func (e Entry) composed() ([]account.Composed, error) {
	if len(e.Schedule) == 0 {
		m, err := account.NewGaussian(1 / e.Mu)
		return []account.Composed{{Mechanism: m, Count: 1}}, err
	}
	var all []account.Composed
	for _, s := range e.Schedule {
		m, err := account.NewSampledGaussian(s.NoiseMultiplier, s.Sampling, e.Relation)
		if err != nil {
			return nil, err
		}
		all = append(all, account.Composed{Mechanism: m, Count: s.Count})
	}
	return all, nil
}
