package runfolder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Out is the output folder of a fit.
type Out struct {
	// Path is the folder. Empty means a new folder in the current folder: NAME-fit, where NAME is the
	// configuration's name, or the first of NAME-fit-2, NAME-fit-3 and so on that does not exist.
	Path string
	// Overwrite lets a fit replace the model of an earlier fit in Path. The ledger keeps both charges.
	Overwrite bool

	// disk is the file system of the folder; tests replace it. nil means the machine's file system.
	disk place
}

// ChargedError is an error that occurred after the budget was reserved. The reservation stays.
type ChargedError = train.ChargedError

// folder returns the output folder for a fit of the configuration c. It creates nothing on disk.
func (o Out) folder(c *train.Config, stores train.Stores) *folder {
	f := newFolder(o.disk, o.Path, c.Name(), o.Overwrite)
	f.stores = stores
	return f
}

// Fitted is the result of a fit that is stored in a folder.
type Fitted struct {
	*train.Fitted
	// Reclaimed are the settlements of the folder's earlier fits that were killed. A settlement is the
	// message that tells a store of budgets a run's final charge.
	Reclaimed []Settlement
	// Folder is the folder of the files. ModelPath is empty if there is no model.
	Folder, ModelPath, CertificatePath string
	// Earlier are the reservations of other fits for the same table, in this fit's output folder and in the
	// folders of the same name with another number. They are all reservations made before this fit's, and
	// possibly some made at the same time.
	Earlier []Entry
}

// Fit does what train.Config.Fit does and stores the fit in a folder. It reads the table, reserves the
// budget, runs the plan and writes the model and its certificate. The reservation of the whole budget is on
// stable storage before the first release. The reservation stays, whether the fit succeeds or fails.
//
// If the context is cancelled during the run, or if writing the journal fails, Fit writes the model of the
// steps made so far and certifies it as incomplete. It returns this result together with the error. The whole
// budget stays charged.
func Fit(ctx context.Context, c *train.Config, to Out, o train.Options) (*Fitted, error) {
	out := to.folder(c, o.Stores)
	ctx = out.on(ctx)
	o.Storage = &storage{out}
	f, err := c.Fit(ctx, o)
	if f == nil {
		return nil, err
	}
	fitted := &Fitted{Fitted: f, Reclaimed: out.reclaimed, Earlier: out.others, Folder: out.path,
		CertificatePath: out.file(CertificateFile)}
	if f.Model != nil {
		fitted.ModelPath = out.file(ModelFile)
	}
	return fitted, err
}

// Sum returns an epsilon, at this fit's delta, that holds for this fit and the earlier fits of the table together. ok
// is false if the fits do not all have the same relation and privacy unit, or if the epsilon cannot be computed.
func (f *Fitted) Sum(ctx context.Context) (epsilon float64, ok bool) {
	for _, e := range f.Earlier {
		if !e.Adds(f.Entry.Guarantee) {
			return 0, false
		}
	}
	epsilon, err := ledgerfile.Together(ctx, append([]Entry{f.Entry}, f.Earlier...), f.Budget.Delta())
	return epsilon, err == nil
}

// Together describes in words the privacy cost of this fit and the earlier fits of the table together. It
// returns "" if there are no earlier fits.
func (f *Fitted) Together(ctx context.Context) string {
	n := len(f.Earlier)
	if n == 0 {
		return ""
	}
	fits := "1 earlier fit"
	if n > 1 {
		fits = fmt.Sprintf("%d earlier fits", n)
	}
	text := "with " + fits + " of this table"
	switch epsilon, ok := f.Sum(ctx); {
	case ok:
		return text + fmt.Sprintf(": epsilon %.4g at delta %v; every fit costs a budget of its own", RoundUp(epsilon),
			f.Budget.Delta())
	case slices.ContainsFunc(f.Earlier, func(e Entry) bool { return e.Relation != f.Budget.Relation() }):
		return text + ", some under another relation: add the guarantees"
	case slices.ContainsFunc(f.Earlier, func(e Entry) bool { return e.Unit != f.Unit.Column }):
		return text + ", some for another unit of privacy: their guarantees do not add up to one"
	}
	return text + ": no common epsilon could be computed: add the guarantees"
}

// RoundUp returns x with four significant digits, rounded up. The result is at most 0.16% larger than x.
func RoundUp(x float64) float64 {
	var y float64
	fmt.Sscanf(fmt.Sprintf("%.4g", x*1.0005), "%g", &y)
	return y
}

// storage implements train.Storage: it stores a fit in the folder f.
type storage struct{ f *folder }

func (k *storage) Look() error { return k.f.look() }

// Claim implements train.Storage: it claims the folder for the fit. For killed earlier fits of the folder it
// also tells their stores of budgets the final charges (reclaim).
func (k *storage) Claim(ctx context.Context, table string) (err error) {
	if err := k.f.claim(table); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	k.f.reclaimed, err = k.f.reclaim(k.f.on(ctx), k.f.stores)
	if _, there := k.f.disk.Lstat(k.f.intentFile(k.f.fit)); err == nil && there == nil {
		err = fmt.Errorf("output: %s: its run stays charged in full: settle it (stillpoint budget settle RUN --in-full), or "+
			"choose another --out", k.f.intentFile(k.f.fit))
	}
	return err
}

func (k *storage) Release() { k.f.release() }

func (k *storage) Number() int { return k.f.fit }

func (k *storage) Folder() string { return k.f.path }

func (k *storage) Intend(store, dataset, run string) error {
	return k.f.intend(intent{Store: store, Dataset: dataset, Run: run})
}

func (k *storage) Forget() error { return k.f.forget(k.f.fit) }

func (k *storage) Begin(h train.Header, r train.Released) (train.Log, error) {
	files, j, err := k.f.begin(h, r)
	if err != nil {
		return nil, err
	}
	return &log{k.f, files, j}, nil
}

func (k *storage) Reserve(e Entry) (err error) {
	k.f.others, err = k.f.reserve(e)
	return err
}

func (k *storage) Settle(charged float64, complete bool) error {
	return k.f.settle(charged, complete, "")
}

func (k *storage) Charged(err error) error { return k.f.charged(err) }

// begin reserves disk space for the files of a run and begins the run's journal. If it fails, it removes the
// reserved files and the journal.
func (f *folder) begin(h train.Header, r train.Released) (*pair, *journal, error) {
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

// log implements train.Log. It has the journal of a run, and the run's model and certificate under the
// temporary names that they have until they are complete.
type log struct {
	f       *folder
	files   *pair
	journal *journal
}

// Events writes the events (charges) of a query to the journal. It also extends the space reserved for the
// certificate if the events need more.
func (l *log) Events(events []account.Event) error {
	if err := l.journal.note(events); err != nil {
		return err
	}
	return l.files.grow(l.journal.events)
}

func (l *log) Step(s train.Step) error { return l.journal.step(s) }

func (l *log) Write(line train.Line) error { return l.journal.add(record{Line: line}) }

func (l *log) Sync() error { return l.journal.sync() }

// Publish writes the model and the certificate of the fit, gives them their final names, and writes the end
// of the fit to the ledger. It then removes journals and temporary files that are no longer needed (sweep).
func (l *log) Publish(model []byte, cert *certificate.Certificate) error {
	text, err := cert.Bytes()
	if err != nil {
		return err
	}
	done, err := l.files.fill(model, text)
	if err != nil {
		return inOutput(err)
	}
	done.Charged, done.Complete = cert.Charged(), cert.Complete()
	if err := l.journal.ready(done); err != nil {
		return inOutput(err)
	}
	return l.f.end(done)
}

func (l *log) Discard() { l.files.discard() }

func (l *log) Close() {
	l.journal.close()
	l.files.close()
}

// Save writes the files of a fit that was made without a folder: model, certificate, and a ledger with the
// fit's charge. It writes to a new folder, or to a folder without a fit. The three files are the ones that
// Fit would have written. Save charges nothing.
func Save(dir string, f *train.Fitted) error { return save(machine{}, dir, f) }

func save(disk place, dir string, f *train.Fitted) error {
	if dir == "" {
		return errors.New(`folder = "": must be named`)
	}
	out := newFolder(disk, dir, "", false)
	if err := out.look(); err != nil {
		return err
	}
	defer out.release()
	if err := out.claim(f.Entry.Data); err != nil {
		return err
	}
	var model []byte
	if f.Model != nil {
		var err error
		if model, err = f.Model.Bytes(); err != nil {
			return err
		}
	}
	cert, err := f.Certificate.Bytes()
	if err != nil {
		return err
	}
	p := &pair{f: out}
	done, err := p.whole(model, cert)
	if err != nil {
		p.discard()
		return err
	}
	defer p.close()
	if _, err := out.reserve(f.Entry); err != nil {
		p.discard()
		return err
	}
	done.Charged, done.Complete = f.Certificate.Charged(), f.Certificate.Complete()
	return out.end(done)
}

// end puts a fit's files in their places, notes its end in the ledger and removes what the fit does not need any more.
func (f *folder) end(done ready) error {
	if err := f.show(done); err != nil {
		return inOutput(err)
	}
	if err := f.settle(done.Charged, done.Complete, done.Certificate); err != nil {
		return err
	}
	return f.sweep()
}

// whole writes the model and the certificate of a fit to new files under temporary names, which
// readers do not see. The files are on stable storage when whole returns.
func (p *pair) whole(model, certificate []byte) (r ready, err error) {
	if p.model, err = p.f.newPartial(p.f.product()); err != nil {
		return ready{}, err
	}
	if p.certificate, err = p.f.newPartial(CertificateFile); err != nil {
		return ready{}, err
	}
	return p.fill(model, certificate)
}

// SchemaFile is the name of the file in which a description writes the configuration's schema with released bounds.
// PageFile is the name of its page.
const (
	SchemaFile = "schema.yaml"
	PageFile   = "describe.html"
)

// Described is a description that is stored in a folder.
type Described struct {
	*train.Described
	// Earlier are the reservations of other runs for the same table, as Fitted.Earlier has them.
	Earlier []Entry
	Folder  string
}

// Together describes in words the privacy cost of the description and the earlier runs of the table together. It
// returns "" if there are none.
func (d *Described) Together(ctx context.Context) string {
	run := &train.Fitted{Planned: train.Planned{Budget: d.Budget}, Entry: d.Entry}
	run.Unit.Column = d.Entry.Unit
	return (&Fitted{Fitted: run, Earlier: d.Earlier}).Together(ctx)
}

// Describe does what train.Config.Describe does and stores the description in a folder, as Fit stores a fit.
func Describe(ctx context.Context, c *train.Config, to Out, o train.DescribeOptions) (*Described, error) {
	out := to.folder(c, o.Stores)
	if out.describes = true; out.base != "" {
		out.base = c.Name() + "-describe"
	}
	ctx = out.on(ctx)
	o.Storage = &storage{out}
	d, err := c.Describe(ctx, o)
	if d == nil {
		return nil, err
	}
	return &Described{Described: d, Earlier: out.others, Folder: out.path}, err
}
