package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
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

	// Stores opens the store of budgets that the configuration names; nil where none is.
	Stores Stores

	// disk is where the folder is; nil for the machine's.
	disk place
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
	// Releases is how many answers were given.
	Releases int
	// Charged is the odometer's reading in units of mu^2; the cost is the
	// budget.
	Charged float64
	// Trusted lists the assumptions that the guarantee rests on and the program
	// does not enforce, as the certificate does.
	Trusted []string
	// Reserved is where the fit was charged in a store of budgets; nil for none.
	Reserved *certificate.Reservation
	// Reclaimed is what stores were told of earlier fits in the folder that were killed.
	Reclaimed []Settlement
	// Folder holds the files.
	Folder, ModelPath, CertificatePath string
	// Earlier are the other reservations for the same table that the output
	// folders know of: those made before this one, and some of those made at the
	// same time.
	Earlier []Entry

	entry Entry
	norms []float64
}

// prepared is a fit that could begin: settled, its table read, nothing charged.
type prepared struct {
	budget  account.Budget
	out     *folder
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
	out, err := newFolder(o.disk, o.Out, c.name, o.Overwrite)
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
	_, first, l, err := c.settle(ctx, budget, likely)
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
	session, err := curator.Open(ctx, curator.Config{
		Reserve: store.reserve(),
		Paths:   paths, CSV: c.CSV, Schema: c.Schema, Reduce: reduce, Loss: l, Budget: budget, Declared: declared,
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
	plan, planned, _, err := c.settle(ctx, budget, records)
	if err == nil {
		err = planned.Useless()
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
	return &prepared{budget, out, store, session, l, plan, planned}, nil
}

// entry is the reservation as ledgers have it.
func (p *prepared) entry(data string) Entry {
	e := Entry{
		Data: data, Algorithm: p.planned.Summary.Algorithm, Relation: p.budget.Relation(),
		Epsilon: p.budget.Epsilon(), Delta: p.budget.Delta(), Mu: p.budget.Mu(), Unit: p.planned.Unit.Column,
	}
	if schedule := p.session.Ledger().Schedule(); schedule != nil {
		e.Schedule = schedule.Steps()
	}
	return e
}

// Fit reads the table, reserves the budget, runs the plan and writes the model
// and its certificate. The whole budget is on stable storage before the first
// answer, and stays there whatever happens.
//
// Room for both files is made on the disk before that, and what the run releases
// goes to a journal in the folder while it lasts, from which Recover makes them
// if the process is killed.
//
// When the context is cancelled on the way, or the journal cannot be written any
// more, what has been reached is written and certified as incomplete, and Fit
// returns it together with the error: the answers so far have been paid for.
func (c *Config) Fit(ctx context.Context, o Options) (*Fitted, error) {
	p, err := c.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	out, store, session, planned := p.out, p.store, p.session, p.planned
	if o.Planned != nil {
		o.Planned(planned)
	}
	data, err := c.identity()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted before the first release: nothing was charged: %w", err)
	}
	fitted := &Fitted{Planned: planned, entry: p.entry(data)}
	schedule := session.Ledger().Schedule()
	// Before anything is made for a fit that the store refuses.
	if _, err := store.would(ctx, session.Ledger()); err != nil {
		return nil, err
	}
	defer out.release()
	if err := out.claim(data); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if fitted.Reclaimed, err = out.reclaim(ctx, o.Stores); err != nil {
		return nil, err
	}
	// Until the folder's ledger has the fit, nothing was released, and the store has
	// its reservation back.
	undone := func(err error) (*Fitted, error) { return nil, errors.Join(err, store.withdraw(ctx, out, session)) }
	charged, err := store.begin(ctx, out, session.Ledger(), &fitted.entry)
	if err != nil {
		return undone(err)
	}
	h, err := c.head(o.Software, out.fit, planned, p.loss, schedule)
	if err != nil {
		return undone(err)
	}
	h.Budget, fitted.Reserved = charged, charged
	r := run{schedule: schedule, conduct: conduct{Summary: planned.Summary}}
	files, journal, err := out.begin(h, r)
	if err != nil {
		return undone(fmt.Errorf("output: %w: nothing was charged", err))
	}
	defer journal.close()
	defer files.close()
	fitted.Earlier, err = out.reserve(fitted.entry)
	if err != nil {
		return undone(err)
	}
	oracle := &recorder{session: session, journal: journal, pair: files}
	result, runErr := p.plan.Run(ctx, oracle, fitted.watch(oracle, o.Step))
	if runErr == nil && c.Train.Measure > 0 {
		runErr = c.measure(ctx, oracle, fitted, result.W)
	}
	r.events = session.Ledger().Events()
	fitted.Result, fitted.Charged, fitted.Releases = result, session.Ledger().Charged(), len(r.events)
	stopped := ctx.Err() != nil || oracle.failed != nil
	if runErr != nil && (!stopped || result.Steps == 0) {
		// The charge stays; there is nothing to write a model from but what is in
		// the journal.
		files.discard()
		return nil, out.charged(errors.Join(runErr, oracle.finish(), out.settle(fitted.Charged, false), store.settle(ctx, out, session)))
	}
	r.complete, r.weights = result.Complete, result.W
	law := result.Law.Compact()
	law.Scales = h.lifted(law.Scales)
	if result.Late.Steps > 0 {
		r.conduct.Late = &result.Late
	}
	r.conduct.Foreseen, r.conduct.Curvature = result.Foreseen, result.Curvature
	r.conduct.GradientNorms, r.conduct.Measured, r.conduct.Law = fitted.norms, fitted.Measured, &law
	if err := fitted.publish(out, files, journal, h, r); err != nil {
		return nil, out.charged(err)
	}
	if err := store.settle(ctx, out, session); err != nil {
		return fitted, errors.Join(runErr, out.charged(err))
	}
	switch {
	case runErr == nil:
		return fitted, nil
	case ctx.Err() != nil:
		return fitted, ctx.Err()
	}
	return fitted, fmt.Errorf("stopped after %d of %d steps, whose model is saved; the whole budget stays charged: %w", result.Steps, planned.Summary.Steps, runErr)
}

// begin makes room for the files of a run and begins its journal. Nothing is
// left of them if that fails.
func (f *folder) begin(h head, r run) (*pair, *journal, error) {
	files, err := f.newPair(h, r)
	if err != nil {
		return nil, nil, err
	}
	j, err := f.newJournal(h)
	if err != nil {
		files.discard()
		_ = f.removeIfThere(f.journalFile())
		return nil, nil, err
	}
	return files, j, nil
}

// publish writes the files of a run, makes them seen, and settles its
// reservation.
func (f *Fitted) publish(out *folder, files *pair, j *journal, h head, r run) error {
	text, cert, err := h.files(r)
	if err != nil {
		return err
	}
	certText, err := cert.Bytes()
	if err != nil {
		return err
	}
	done, err := files.fill(text, certText)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	done.Charged, done.Complete = cert.Charged(), r.complete
	if err := j.ready(done); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := out.show(done); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	f.Trusted, f.Folder, f.CertificatePath = cert.Trusted(), out.path, out.file(CertificateFile)
	if text != nil {
		f.ModelPath = out.file(ModelFile)
	}
	if err := out.settle(done.Charged, done.Complete); err != nil {
		return err
	}
	return out.sweep()
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
		if norm, ok := keptNorm(s); ok {
			f.norms = append(f.norms, norm)
		}
		r.step(s)
		if next != nil {
			next(s)
		}
	}
}

// Sum returns an epsilon of this fit and the earlier ones together, at this
// fit's delta. ok is false when they do not share a relation and a unit of privacy.
func (f *Fitted) Sum(ctx context.Context) (epsilon float64, ok bool) {
	for _, e := range f.Earlier {
		if e.Relation != f.Budget.Relation() || e.Unit != f.Unit.Column {
			return 0, false
		}
	}
	epsilon, err := together(ctx, append([]Entry{f.entry}, f.Earlier...), f.Budget.Delta())
	return epsilon, err == nil
}
