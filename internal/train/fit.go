package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Options say where a fit is stored and which functions are called during it.
type Options struct {
	// Storage stores the fit. If it is nil, the fit exists only in the values that Fit returns: if the process is
	// killed, nothing of the fit is left, and the store of budgets (if one is used) keeps the whole budget charged.
	Storage Storage
	// Strict makes Fit return a *SmallError, before anything is charged, if the effective size at the stated base rate
	// (Outlook.Size) is below optimize.SmallSize. The model of such a fit would be mostly noise.
	Strict bool
	// Software is the program's name and version. The model and the certificate state it.
	Software string
	// Planned, if not nil, is called when the plan is complete and before the budget is reserved.
	Planned func(Planned)
	// Step, if not nil, is called after each step. All numbers of a Step are public or released.
	Step func(Step)

	// Stores opens the store of budgets that the configuration names. It may be nil if the configuration
	// names none.
	Stores Stores
}

// Step describes one step of a run by numbers that are public or released.
type Step = optimize.Step

// Fitted is the result of a fit: its plan, everything it released, its charges and its files.
type Fitted struct {
	Planned
	Result optimize.Result
	// Measured is the released loss and gradient norm at the result; nil if no measurement was configured.
	Measured *optimize.Measured
	// Constant is the public loss to compare the measured loss with; nil if no loss was measured, or if no
	// bounds on the loss of weights 0 are public.
	Constant *Constant
	// Base is the released base rate, at which the fit began; nil if none was released.
	Base *Base
	// Compared is the released comparison of the result with the best constant; nil if the fit did not make
	// this comparison.
	Compared *optimize.Compared
	// Releases is the number of releases.
	Releases int
	// Charged is the sum of the charges of all releases, in units of mu^2. The guarantee is stated for the
	// whole budget, even if Charged is smaller.
	Charged float64
	// Warnings are the facts that a user of the model must know. The model's file lists them too.
	Warnings []Warning
	// Trusted lists the assumptions of the guarantee that the program does not enforce. The certificate
	// lists them too.
	Trusted []string
	// Reserved is the reservation of the fit in a store of budgets; nil if no store is used.
	Reserved *account.Reservation
	// Model is the trained model; nil if the run was interrupted before its first step.
	Model *model.Model
	// Certificate is the public record of the run.
	Certificate *certificate.Certificate
	// Ledger lists the charge of each release. It no longer changes.
	Ledger account.View
	// Entry is the fit's reservation of budget, as a line of a folder's ledger states it.
	Entry Entry

	// norms are the released gradient norms of the run's steps, which the certificate lists. A run of more
	// than MostNorms steps keeps none (see KeptNorm).
	norms []float64
}

// prepared is a fit that is ready to run: its plan is made and its table is open. Nothing is charged yet.
type prepared struct {
	budget  account.Budget
	store   *storedRun
	session *curator.Session
	loss    loss.Loss
	plan    optimize.Plan
	planned Planned
	// start is the problem for which the base rate is released.
	start optimize.Problem
	// config is the configuration with the schema that the number of records has settled, and data identifies the table.
	config *Config
	data   string
}

func (p *prepared) close() {
	p.store.close()
	p.session.Close()
}

// storage returns the storage of the options, which stores the fit, or unstored if the options have
// none.
func (o Options) storage() Storage {
	if o.Storage == nil {
		return unstored{}
	}
	return o.Storage
}

// prepare makes a fit ready to run, without charging or writing anything: it makes the plan, opens the store
// of budgets and the table, and checks that the store covers the budget and that the table has the stated
// number of records. If an error occurs, the store and the table are closed again.
func (c *Config) prepare(ctx context.Context, o Options) (p *prepared, err error) {
	if c, err = c.resolved(ctx); err != nil {
		return nil, err
	}
	budget, declared, err := c.granted(o.storage())
	if err != nil {
		return nil, err
	}
	// A first plan is made before the table is read, so that an invalid configuration fails early. It is made
	// for the stated number of records or, if none is stated, for 2^20 records.
	const enough = 1 << 20
	likely := cmp.Or(max(declared, float64(c.Privacy.Records)), enough)
	_, first, l, err := c.planFor(ctx, budget, likely, 0)
	if err == nil {
		err = first.Useless()
	}
	if err != nil {
		return nil, err
	}
	reduce, err := c.Reduction()
	if err != nil {
		return nil, err
	}
	store, session, err := c.opened(ctx, o.Stores, c.samples(first.Plan),
		curator.Config{Schema: c.Schema, Reduce: reduce, Loss: l, Budget: budget, Declared: declared})
	if err != nil {
		return nil, err
	}
	defer func() {
		if p == nil {
			session.Close()
			store.close()
		}
	}()
	records := session.All().Size()
	if n := c.counted; n != 0 && float64(n) != records {
		return nil, fmt.Errorf("%s: had %d records when they were counted and has %.0f now: must not change during a fit",
			c.DataPath(), n, records)
	}
	seed, err := session.PublicSeed()
	if err != nil {
		return nil, err
	}
	plan, planned, _, err := c.planFor(ctx, budget, records, seed)
	if err == nil {
		err = planned.Useless()
	}
	if err == nil && o.Strict {
		err = planned.Small()
	}
	if err != nil {
		return nil, err
	}
	if schedule := plan.Needs().Schedule; schedule != nil {
		if c.Train.Measure > 0 {
			return nil, fmt.Errorf("train.measure: is not possible with %s, whose whole budget is its schedule's",
				planned.Summary.Algorithm)
		}
		if err := session.Follow(schedule); err != nil {
			return nil, err
		}
	}
	start, _, err := c.Problem(budget, records)
	if err != nil {
		return nil, err
	}
	data, err := c.Identity()
	if err != nil {
		return nil, err
	}
	return &prepared{budget, store, session, l, plan, planned, start, c, data}, nil
}

// granted returns the budget of a run and the public number of records, after it has checked that the storage can take
// the run.
func (c *Config) granted(k Storage) (b account.Budget, declared float64, err error) {
	if b, err = c.budget(); err == nil {
		declared, err = c.declared(b.Relation())
	}
	if err == nil {
		err = k.Look()
	}
	return b, declared, err
}

// opened opens the store of budgets, and the table for the schema, the loss and the budget of a run. It checks that the
// store covers the budget, of a run that samples records or not, and that the table has the stated number of records.
// If an error occurs, both are closed again, and neither may be used.
func (c *Config) opened(ctx context.Context, stores Stores, samples bool, of curator.Config) (store *storedRun,
	session *curator.Session, err error) {
	if of.Paths, err = c.DataPaths(); err != nil {
		return nil, nil, err
	}
	if store, err = c.stored(ctx, stores); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			store.close()
		}
	}()
	if err = store.covers(ctx, of.Budget, of.Schema.Unit().Column, samples); err != nil {
		return store, nil, err
	}
	of.Reserve, of.Rows, of.Reader, of.Shards, of.CSV = store.reserve(), c.Rows, c.Reader, c.Shards, c.CSV
	if of.Memory = c.Memory.bytes(); c.Memory.Folder != "" {
		of.Folder = c.resolve(c.Memory.Folder)
	}
	if session, err = curator.Open(ctx, of); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted while reading %s: nothing was charged: %w", c.DataPath(), err)
		} else if c.Shards != nil {
			err = fmt.Errorf("%w: nothing was charged", err)
		}
		return store, nil, err
	}
	if n, records := c.Privacy.Records, session.All().Size(); n != 0 && float64(n) != records {
		session.Close()
		err = fmt.Errorf("privacy.records = %d: must be the number of records, %.0f, or be left out", n, records)
		return store, nil, err
	}
	return store, session, nil
}

// begun reserves the budget of a run in the store of budgets and with the storage, and returns the head of the run, which
// head makes, and its log. Nothing is released until the storage has stored the reservation. If an error occurs before
// that, the reservation in the store of budgets is withdrawn.
func (k *storedRun) begun(ctx context.Context, to Storage, session *curator.Session, e *Entry,
	head func() (Header, error), r Released) (h Header, log Log, err error) {
	// The store is asked first, so that no file is made for a fit that the store rejects.
	if _, err := k.would(ctx, session.Ledger()); err != nil {
		return h, nil, err
	}
	if err := to.Claim(ctx, e.Data); err != nil {
		return h, nil, err
	}
	undone := func(err error) (Header, Log, error) {
		return h, nil, errors.Join(err, k.withdraw(ctx, to, session))
	}
	charged, err := k.begin(ctx, to, session.Ledger(), e)
	if err != nil {
		return undone(err)
	}
	if h, err = head(); err == nil {
		err = h.tells(session.Ledger())
	}
	if err != nil {
		return undone(err)
	}
	h.Budget = charged
	if log, err = to.Begin(h, r); err != nil {
		return undone(fmt.Errorf("output: %w: nothing was charged", err))
	}
	e.Fit = h.Fit
	if err := to.Reserve(*e); err != nil {
		defer log.Close()
		return undone(err)
	}
	return h, log, nil
}

// entry returns the reservation of the fit, in the form in which ledgers store it.
func (p *prepared) entry() Entry {
	e := Entry{Data: p.data, Algorithm: p.planned.Summary.Algorithm, Guarantee: p.budget.Guarantee(p.planned.Unit.Column)}
	if schedule := p.session.Ledger().Schedule(); schedule != nil {
		e.Schedule = schedule.Steps()
	}
	return e
}

// samples reports whether the run may draw Poisson samples. It returns true if the plan first, made for a provisional
// number of records, draws them, or if the setting passes is given: auto may then choose such a plan. The charge of a
// run on Poisson samples depends on the number of records, so it is unknown until the table is read.
func (c *Config) samples(first optimize.Plan) bool {
	return first.Needs().Schedule != nil || c.Train.Settings["passes"] != nil
}

// Fit reads the table, reserves the budget, runs the plan, and makes the model and its certificate. The whole
// budget is reserved before the first release, with the storage and in the store of budgets that the
// configuration names. The storage never removes its reservation. Without a storage no file is written.
//
// If the context is cancelled during the run, or the storage cannot store further releases, Fit makes a model
// and a certificate of the steps made so far, marks both as incomplete, and returns them together with the
// error. The budget for these steps is spent. If no step was made, or the run failed for another reason, Fit
// returns an error and no model.
func (c *Config) Fit(ctx context.Context, o Options) (*Fitted, error) {
	p, err := c.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	c, k, store, session, planned := p.config, o.storage(), p.store, p.session, p.planned
	if o.Planned != nil {
		o.Planned(planned)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted before the first release: nothing was charged: %w", err)
	}
	fitted := &Fitted{Planned: planned, Base: planned.Start, Entry: p.entry()}
	schedule := session.Ledger().Schedule()
	defer k.Release()
	r := Released{Session: session, Run: runrecord.Run{Plan: planned.Summary}}
	h, log, err := store.begun(ctx, k, session, &fitted.Entry, func() (Header, error) {
		return c.head(o.Software, k.Number(), planned, p.loss, schedule)
	}, r)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	fitted.Reserved = h.Budget
	oracle := &recorder{session: session, log: log, store: store}
	var result optimize.Result
	var runErr error
	begin := func() {
		if runErr == nil && planned.Base != nil {
			c, runErr = c.begun(ctx, p, oracle, fitted, &h)
			planned, r.Run.Plan, r.Run.Base = p.planned, p.planned.Summary, fitted.Base
		}
	}
	early := planned.BeginsEarly(p.loss)
	if early {
		begin()
	}
	if runErr == nil && planned.Ranks != nil {
		c, h, runErr = c.ranked(ctx, oracle, fitted, h, p.loss)
	}
	if runErr == nil && planned.Hazards != nil {
		c, h, runErr = c.hazarded(ctx, oracle, p, fitted, h)
	}
	if !early {
		begin()
	}
	if runErr == nil {
		result, h.Schema, runErr = c.run(ctx, p, oracle, fitted.watch(oracle, o.Step))
		if s := p.planned.First; s != nil && s.metric != nil {
			r.Run.Effects = &runrecord.Effects{Synthetic: s.metric}
		}
	}
	if !planned.foresees {
		result.Foreseen = 0
	}
	if result.W != nil {
		result.W, r.Run.Monotone = h.monotone(result.W, (*runrecord.Trace)(&result.Trace))
	}
	published := result.W
	if runErr == nil && planned.Compare != nil {
		published, runErr = c.of(h.Schema).compare(ctx, oracle, fitted, h, result)
	}
	if runErr == nil && c.Train.Measure > 0 {
		runErr = c.of(h.Schema).measure(ctx, oracle, fitted, published)
	}
	// The session is closed here, so that no further query is possible and the files state the final ledger.
	_ = session.Close()
	fitted.Result, fitted.Charged, fitted.Releases = result, session.Ledger().Charged(), session.Ledger().Len()
	fitted.Ledger = session.Ledger()
	stopped := ctx.Err() != nil || oracle.failed != nil
	if runErr != nil && (!stopped || result.Steps == 0) {
		// The whole budget stays charged. There is no model, since no step was made or the run failed. The
		// log keeps the releases.
		log.Discard()
		return nil, k.Charged(errors.Join(runErr, oracle.finish(), k.Settle(fitted.Charged, false),
			store.settle(ctx, k, session)))
	}
	r.Complete, r.Weights, r.Inference = result.Complete, result.W, result.Inference
	trace := result.Trace.Compact()
	trace = trace.WithScales(h.lifted(trace.Scales))
	if result.Late.Steps > 0 {
		r.Run.Late = &result.Late
		r.Run.Arrived = result.Late.Text(planned.Summary.Steps, planned.Summary.Effective, fitted.Compared.IsBetter())
	}
	r.Run.Foreseen, r.Run.Curvature, r.Run.SelectedNorm = result.Foreseen, result.Curvature, result.SelectedNorm
	r.Run.GradientNorms, r.Run.Measured, r.Run.Compared, r.Run.Trace = fitted.norms, fitted.Measured, fitted.Compared, &trace
	fitted.Warnings = h.warnings(r)
	if err := fitted.publish(log, h, r); err != nil {
		return nil, k.Charged(err)
	}
	if err := store.settle(ctx, k, session); err != nil {
		return fitted, errors.Join(runErr, k.Charged(err))
	}
	switch {
	case runErr == nil:
		return fitted, nil
	case ctx.Err() != nil:
		return fitted, ctx.Err()
	}
	return fitted, fmt.Errorf("stopped after %d of %d steps, whose model is saved; the whole budget stays charged: %w",
		result.Steps, planned.Summary.Steps, runErr)
}

// publish makes the model and the certificate of a run and passes them to the log, which stores them. h holds
// the facts that were known before the first release, and r everything that the run released.
func (f *Fitted) publish(log Log, h Header, r Released) (err error) {
	if f.Model, f.Certificate, err = h.Files(r); err != nil {
		return err
	}
	f.Trusted = f.Certificate.Trusted()
	var text []byte
	if f.Model != nil {
		if text, err = f.Model.Bytes(); err != nil {
			return err
		}
	}
	return log.Publish(text, f.Certificate)
}

// measure releases the loss and the gradient norm at the weights w and pays with the share of the budget that
// train.measure reserves. It stores them in f.Measured and the log, and sets f.Constant.
func (c *Config) measure(ctx context.Context, r *recorder, f *Fitted, w []float64) error {
	p, l, err := c.Problem(f.Budget, f.Records)
	if err != nil {
		return err
	}
	m, err := optimize.Measure{Charge: f.Budget.Charge() * c.Train.Measure}.Ask(ctx, r, p, w)
	if err != nil {
		return err
	}
	f.Measured = &m
	f.Constant = constant(l, p, w)
	return r.write(Line{Measured: &m})
}

// watch returns the function that observes the steps of a run: it keeps each step's gradient norm (see
// KeptNorm), writes the step to the log, and calls next unless next is nil.
func (f *Fitted) watch(r *recorder, next func(Step)) func(Step) {
	return func(s Step) {
		if norm, ok := KeptNorm(s); ok {
			f.norms = append(f.norms, norm)
		}
		r.step(s)
		if next != nil {
			next(s)
		}
	}
}

// Dry is the result of DryRun: it describes a fit that was planned and not run.
type Dry struct {
	// Fitted has the plan and the entry for the ledger. Its other fields are empty.
	*Fitted
	// Cost is the charge that the fit would make to the dataset in the store of budgets; nil if no store is
	// used.
	Cost *budget.Cost
}

// DryRun does everything that Fit does before it charges or writes anything: it reads the configuration and the table,
// makes the plan, and asks the storage (which would store the fit) and the store of budgets whether they would accept
// the fit. It returns the errors that Fit would return before the first release. Nothing that it returns depends on the
// content of the rows, except for the number of records, which is public.
func (c *Config) DryRun(ctx context.Context, o Options) (*Dry, error) {
	p, err := c.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted: nothing was charged: %w", err)
	}
	p.planned.begin, p.planned.again, p.planned.left.Seed = nil, nil, 0 // nothing is released, and the size was checked
	d := &Dry{Fitted: &Fitted{Planned: p.planned, Entry: p.entry()}}
	d.Cost, err = p.store.would(ctx, p.session.Ledger())
	return d, err
}
