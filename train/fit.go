package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// Options say where a fit is kept and who watches it.
type Options struct {
	// Keeper is where; nil for nowhere but in what Fit returns. A process that is killed
	// then leaves nothing of its fit, and what a store of budgets has reserved for it stays
	// charged in full.
	Keeper Keeper
	// Strict refuses a fit of an effective size below optimize.SmallSize, at which a model
	// is noise, before anything is charged.
	Strict bool
	// Software is the program's name and version, for the files.
	Software string
	// Planned, if not nil, is called when everything is settled and the budget
	// is about to be reserved.
	Planned func(Planned)
	// Step, if not nil, is called after each step with released numbers.
	Step func(Step)

	// Stores opens the store of budgets that the configuration names; nil where none is.
	Stores Stores
}

// Step is what may be shown of a step.
type Step = optimize.Step

// Fitted is what a fit released and what it cost.
type Fitted struct {
	Planned
	Result optimize.Result
	// Measured is the released quality of the result; nil if not asked for.
	Measured *optimize.Measured
	// Constant is what to compare the measured loss with; nil where nothing was, or
	// nothing public is, to be compared.
	Constant *Constant
	// Compared is how the result compares with the best constant; nil if it was not.
	Compared *optimize.Compared
	// Releases is how many answers were given.
	Releases int
	// Charged is the odometer's reading in units of mu^2; the cost is the
	// budget.
	Charged float64
	// Warnings are what a user of the model has to know, as the model's file has them.
	Warnings []Warning
	// Trusted lists the assumptions that the guarantee rests on and the program
	// does not enforce, as the certificate does.
	Trusted []string
	// Reserved is where the fit was charged in a store of budgets; nil for none.
	Reserved *certificate.Reservation
	// Model is what was trained; nil if the run was interrupted before there was one.
	Model *model.Model
	// Certificate is the public record of the run.
	Certificate *certificate.Certificate
	// Ledger is what was charged, release by release. It has ended.
	Ledger account.View
	// Entry is the reservation as ledgers of folders have it.
	Entry Entry

	norms []float64
}

// prepared is a fit that could begin: settled, its table read, nothing charged.
type prepared struct {
	budget  account.Budget
	store   *storedRun
	session *curator.Session
	loss    loss.Loss
	plan    optimize.Plan
	planned Planned
}

func (p *prepared) close() {
	p.store.close()
	p.session.Close()
}

// keeper is where a fit is kept.
func (o Options) keeper() Keeper {
	if o.Keeper == nil {
		return unkept{}
	}
	return o.Keeper
}

// prepare does all of a fit that neither charges nor writes.
func (c *Config) prepare(ctx context.Context, o Options) (p *prepared, err error) {
	budget, err := c.budget()
	if err != nil {
		return nil, err
	}
	declared, err := c.declared(budget.Relation())
	if err != nil {
		return nil, err
	}
	if err := o.keeper().Look(); err != nil {
		return nil, err
	}
	// Settled once for its errors before anything is read, for as many records as
	// are declared, or for enough of them.
	const enough = 1 << 20
	likely := max(declared, float64(c.Privacy.Records))
	if likely == 0 {
		likely = enough
	}
	_, first, l, err := c.settle(ctx, budget, likely, 0)
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
	paths, err := c.DataPaths()
	if err != nil {
		return nil, err
	}
	store, err := c.stored(ctx, o.Stores)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p == nil {
			store.close()
		}
	}()
	if err := store.covers(ctx, budget, c.Schema.Unit().Column, c.samples(first.Plan)); err != nil {
		return nil, err
	}
	session, err := curator.Open(ctx, curator.Config{
		Reserve: store.reserve(),
		Paths:   paths, Rows: c.Rows, Reader: c.Reader, CSV: c.CSV,
		Schema: c.Schema, Reduce: reduce, Loss: l, Budget: budget, Declared: declared,
		Memory: c.Memory.bytes(), Folder: c.memoryFolder(),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted while reading %s: nothing was charged: %w", c.DataPath(), err)
		}
		return nil, err
	}
	defer func() {
		if p == nil {
			session.Close()
		}
	}()
	records := session.All().Size()
	if n := c.Privacy.Records; n != 0 && float64(n) != records {
		return nil, fmt.Errorf("privacy.records = %d: must be the number of records, %.0f, or be left out", n, records)
	}
	seed, err := session.PublicSeed()
	if err != nil {
		return nil, err
	}
	plan, planned, _, err := c.settle(ctx, budget, records, seed)
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
			return nil, fmt.Errorf("train.measure: is not possible with %s, whose whole budget is its schedule's", planned.Summary.Algorithm)
		}
		if err := session.Follow(schedule); err != nil {
			return nil, err
		}
	}
	return &prepared{budget, store, session, l, plan, planned}, nil
}

// entry is the reservation as ledgers have it.
func (p *prepared) entry(data string) Entry {
	e := Entry{
		Data: data, Algorithm: p.planned.Summary.Algorithm, Guarantee: p.budget.Guarantee(p.planned.Unit.Column),
	}
	if schedule := p.session.Ledger().Schedule(); schedule != nil {
		e.Schedule = schedule.Steps()
	}
	return e
}

// samples reports whether the run may draw Poisson samples, whose schedule depends on how
// many records there are.
func (c *Config) samples(first optimize.Plan) bool {
	return first.Needs().Schedule != nil || c.Train.Settings["passes"] != nil
}

// Fit reads the table, reserves the budget, runs the plan and makes the model and its
// certificate. The whole budget is reserved before the first answer, in the store that the
// configuration names and with the keeper that there is, and stays so whatever happens.
// Without a keeper no file is written.
//
// When the context is cancelled on the way, or the keeper cannot take any more of what is
// released, what has been reached is certified as incomplete, and Fit returns it together
// with the error: the answers so far have been paid for.
func (c *Config) Fit(ctx context.Context, o Options) (*Fitted, error) {
	p, err := c.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	k, store, session, planned := o.keeper(), p.store, p.session, p.planned
	if o.Planned != nil {
		o.Planned(planned)
	}
	data, err := c.Identity()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted before the first release: nothing was charged: %w", err)
	}
	fitted := &Fitted{Planned: planned, Entry: p.entry(data)}
	schedule := session.Ledger().Schedule()
	// Before anything is made for a fit that the store refuses.
	if _, err := store.would(ctx, session.Ledger()); err != nil {
		return nil, err
	}
	defer k.Release()
	if err := k.Claim(ctx, data); err != nil {
		return nil, err
	}
	// Until the keeper has the fit, nothing was released, and the store has its
	// reservation back.
	undone := func(err error) (*Fitted, error) { return nil, errors.Join(err, store.withdraw(ctx, k, session)) }
	charged, err := store.begin(ctx, k, session.Ledger(), &fitted.Entry)
	if err != nil {
		return undone(err)
	}
	h, err := c.head(o.Software, k.Number(), planned, p.loss, schedule)
	if err == nil {
		err = h.tells(session.Ledger())
	}
	if err != nil {
		return undone(err)
	}
	h.Budget, fitted.Reserved = charged, charged
	r := Released{Session: session, Run: runrecord.Run{Plan: planned.Summary}}
	log, err := k.Begin(h, r)
	if err != nil {
		return undone(fmt.Errorf("output: %w: nothing was charged", err))
	}
	defer log.Close()
	fitted.Entry.Fit = h.Fit
	if err := k.Reserve(fitted.Entry); err != nil {
		return undone(err)
	}
	oracle := &recorder{session: session, log: log}
	result, runErr := p.plan.Run(ctx, oracle, fitted.watch(oracle, o.Step))
	if runErr == nil && c.Train.Measure > 0 {
		runErr = c.measure(ctx, oracle, fitted, result.W)
	}
	if runErr == nil && planned.Compare != nil {
		runErr = c.compare(ctx, oracle, fitted, result.W)
	}
	// Nothing more is asked: what the files say of the ledger is final.
	_ = session.Close()
	fitted.Result, fitted.Charged, fitted.Releases = result, session.Ledger().Charged(), session.Ledger().Len()
	fitted.Ledger = session.Ledger()
	stopped := ctx.Err() != nil || oracle.failed != nil
	if runErr != nil && (!stopped || result.Steps == 0) {
		// The charge stays; there is nothing to write a model from but what is in
		// the log.
		log.Discard()
		return nil, k.Charged(errors.Join(runErr, oracle.finish(), k.Settle(fitted.Charged, false), store.settle(ctx, k, session)))
	}
	r.Complete, r.Weights = result.Complete, result.W
	law := result.Law.Compact()
	law.Scales = h.lifted(law.Scales)
	if result.Late.Steps > 0 {
		r.Run.Late, r.Run.Arrived = &result.Late, result.Late.Text(planned.Summary.Steps, planned.Summary.Effective)
	}
	r.Run.Foreseen, r.Run.Curvature = result.Foreseen, result.Curvature
	r.Run.GradientNorms, r.Run.Measured, r.Run.Compared, r.Run.Law = fitted.norms, fitted.Measured, fitted.Compared, &law
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
	return fitted, fmt.Errorf("stopped after %d of %d steps, whose model is saved; the whole budget stays charged: %w", result.Steps, planned.Summary.Steps, runErr)
}

// publish makes the files of a run and has them kept.
func (f *Fitted) publish(log Log, h Head, r Released) (err error) {
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

// measure releases the quality of the result from the share kept for it.
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
	return r.measured(m)
}

// watch keeps the norms of the steps that it passes on, and what they released in
// the journal.
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
