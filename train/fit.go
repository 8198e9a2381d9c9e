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

// Options say where a fit is kept and which functions observe it.
type Options struct {
	// Keeper stores the fit; with nil the fit is only in the values that Fit returns. If a process without a
	// keeper is killed, nothing of its fit is left, and the budget that a store has reserved for it
	// stays charged in full.
	Keeper Keeper
	// Strict makes a fit whose effective size is below optimize.SmallSize an error, before anything is
	// charged. The model of such a fit would be noise.
	Strict bool
	// Software is the program's name and version, for the files.
	Software string
	// Planned, if not nil, is called when the plan is complete and before the budget is reserved.
	Planned func(Planned)
	// Step, if not nil, is called after each step with released numbers.
	Step func(Step)

	// Stores opens the store of budgets that the configuration names. It may be nil if the
	// configuration names none.
	Stores Stores
}

// Step holds the facts of a step that may be shown.
type Step = optimize.Step

// Fitted holds the releases and the cost of a fit.
type Fitted struct {
	Planned
	Result optimize.Result
	// Measured is the released quality of the result; nil if not asked for.
	Measured *optimize.Measured
	// Constant is the loss with which to compare the measured loss; nil if no loss was measured or no
	// such loss is public.
	Constant *Constant
	// Compared is the comparison of the result with the best constant; nil if there was none.
	Compared *optimize.Compared
	// Releases is the number of answers.
	Releases int
	// Charged is the sum of the charges in units of mu^2. The cost of the fit is the whole budget.
	Charged float64
	// Warnings are the facts that a user of the model must know. The model's file lists them too.
	Warnings []Warning
	// Trusted lists the assumptions of the guarantee that the program does not enforce. The certificate
	// lists them too.
	Trusted []string
	// Reserved is the reservation of the fit in a store of budgets; nil for none.
	Reserved *certificate.Reservation
	// Model is the trained model; nil if the run was interrupted before there was one.
	Model *model.Model
	// Certificate is the public record of the run.
	Certificate *certificate.Certificate
	// Ledger lists the charges, release by release. It is final.
	Ledger account.View
	// Entry is the reservation as the ledgers of folders store it.
	Entry Entry

	norms []float64
}

// prepared is a fit that is ready to begin: its plan is made and its table read, and nothing is
// charged.
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

// keeper returns the keeper of the fit.
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
	// The plan is first made before anything is read, so that its errors come early. It is made for the
	// declared number of records, or for a large enough number.
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

// entry returns the reservation as ledgers store it.
func (p *prepared) entry(data string) Entry {
	e := Entry{
		Data: data, Algorithm: p.planned.Summary.Algorithm, Guarantee: p.budget.Guarantee(p.planned.Unit.Column),
	}
	if schedule := p.session.Ledger().Schedule(); schedule != nil {
		e.Schedule = schedule.Steps()
	}
	return e
}

// samples reports whether the run may draw Poisson samples. The schedule of samples depends on the
// number of records.
func (c *Config) samples(first optimize.Plan) bool {
	return first.Needs().Schedule != nil || c.Train.Settings["passes"] != nil
}

// Fit reads the table, reserves the budget, runs the plan and makes the model and its certificate. The
// whole budget is reserved before the first answer, in the store that the configuration names and with
// the keeper. It stays reserved whatever happens. Without a keeper no file is written.
//
// If the context is cancelled during the run, or the keeper cannot store further releases, Fit
// certifies what the run has reached as incomplete and returns it together with the error: the answers
// so far have been paid for.
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
	// This comes first, so that nothing is made for a fit that the store rejects.
	if _, err := store.would(ctx, session.Ledger()); err != nil {
		return nil, err
	}
	defer k.Release()
	if err := k.Claim(ctx, data); err != nil {
		return nil, err
	}
	// Until the keeper has stored the fit, nothing was released, and the store gets its reservation
	// back.
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
	// No further query is made, so that the files state the final ledger.
	_ = session.Close()
	fitted.Result, fitted.Charged, fitted.Releases = result, session.Ledger().Charged(), session.Ledger().Len()
	fitted.Ledger = session.Ledger()
	stopped := ctx.Err() != nil || oracle.failed != nil
	if runErr != nil && (!stopped || result.Steps == 0) {
		// The charge stays. A model can only be made from the content of the log.
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

// publish makes the files of a run and passes them to the log to be stored.
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

// measure releases the quality of the result, from the share of the budget reserved for it.
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

// watch records the norms of the steps that it passes on, and writes what they released to the journal.
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
