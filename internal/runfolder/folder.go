package runfolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Names of the files in an output folder.
const (
	ModelFile       = runrecord.ModelFile
	CertificateFile = runrecord.CertificateFile
	// DescriptionFile is the name of the file that a description makes in place of a model.
	DescriptionFile = train.DescriptionFile
	// LedgerFile is the name of the ledger, which is append-only: it has one JSON line for each reservation
	// and each settlement. Overwriting a model never removes a line.
	LedgerFile = runrecord.LedgerFile
	// lockFile prevents two fits from writing to one folder at the same time.
	lockFile = ".lock"
)

// folder is the output folder of a fit. It has the fit's model, certificate, ledger and journal.
type folder struct {
	disk place
	path string
	// base is set if the user named no folder. The fit then goes to the folder base or, if that exists, to
	// the first of base-2, base-3 and so on that does not exist.
	base      string
	overwrite bool
	// describes is true if the run is a description.
	describes bool
	unlock    func()
	fit       int
	entry     Entry

	// stores opens the stores of budgets to which earlier fits of the folder were charged. reclaimed are the
	// settlements of these fits. others are the reservations of other fits for the same table.
	stores    train.Stores
	reclaimed []Settlement
	others    []Entry
}

// newFolder returns a fit's output folder with the path out. If out is empty, the folder's path is name-fit, with a
// number if that exists. A nil disk means the machine's file system. newFolder creates nothing on disk.
func newFolder(disk place, out, name string, overwrite bool) *folder {
	if disk == nil {
		disk = machine{}
	}
	if out == "" {
		return &folder{disk: disk, base: name + "-fit"}
	}
	return &folder{disk: disk, path: out, overwrite: overwrite}
}

// look returns an error if the folder's path is a file, or if the folder has an earlier fit and overwriting
// is not allowed.
func (f *folder) look() error {
	if f.base != "" {
		return nil
	}
	if info, err := f.disk.Stat(f.path); err == nil && !info.IsDir() {
		return fmt.Errorf("output %s: is a file: must be a folder", f.path)
	}
	return f.free()
}

// free returns an error if the folder has an earlier fit and overwriting is not allowed.
func (f *folder) free() error {
	if f.overwrite {
		return nil
	}
	for _, file := range []string{ModelFile, DescriptionFile, CertificateFile, LedgerFile} {
		if _, err := f.disk.Lstat(f.file(file)); err == nil {
			return fmt.Errorf("output %s: holds an earlier fit (%s): choose another --out, or --overwrite to replace its "+
				"model; its charge stays in %s", f.path, file, LedgerFile)
		}
	}
	return nil
}

// product is the name of the file that the run makes beside its certificate.
func (f *folder) product() string {
	if f.describes {
		return DescriptionFile
	}
	return ModelFile
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

func (f *folder) ledger() string { return f.file(LedgerFile) }

// maxNumbered is the largest number that is added to a folder's name.
const maxNumbered = 10000

// create makes the folder and returns after its name is on stable storage. If base is set, create makes the
// first of the numbered folders that does not exist, and sets path.
func (f *folder) create() error {
	if f.base == "" {
		return durable.MakeFolder(f.disk, f.path)
	}
	if err := f.number(f.disk.Mkdir); err != nil {
		return err
	}
	return f.disk.SyncFolder(filepath.Dir(f.path))
}

// number sets path to that of the first numbered folder for which try does not return fs.ErrExist, and returns the
// result of try.
func (f *folder) number(try func(path string) error) error {
	for i := 1; i <= maxNumbered; i++ {
		if f.path = f.base; i > 1 {
			f.path = fmt.Sprintf("%s-%d", f.base, i)
		}
		if err := try(f.path); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("%s: %d numbered folders exist already: give --out", f.base, maxNumbered)
}

// would sets the folder's path to the path of the folder that create would make. It creates nothing. It
// returns an error if the folder has a model or certificate that cannot be replaced (replaceable).
func (f *folder) would() error {
	if f.base == "" {
		return f.replaceable()
	}
	return f.number(func(path string) error {
		if _, err := f.disk.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fs.ErrExist
		}
		return nil
	})
}

// replaceable returns an error if the folder has a model or certificate that the file system does not allow
// to replace.
func (f *folder) replaceable() error {
	for _, name := range []string{ModelFile, DescriptionFile, CertificateFile} {
		if err := f.disk.MayReplace(f.file(name)); err != nil {
			return err
		}
	}
	return nil
}

// claim makes the folder, locks it against other fits until release is called, and sets this fit's number:
// one more than the largest number in the ledger, or 1. data is the string under which ledgers sum the
// table's fits. If a ledger cannot be read, claim returns an error before it creates anything. After locking,
// claim checks again that the folder has no earlier fit (free), since another fit may have run since look.
func (f *folder) claim(data string) error {
	if _, err := f.earlier(data); err != nil {
		return err
	}
	for _, step := range []func() error{f.create, f.hold, f.free, f.replaceable} {
		if err := step(); err != nil {
			return err
		}
	}
	own, err := f.read(f.path)
	if err == nil {
		err = f.behind(own)
	}
	if err != nil {
		return err
	}
	f.fit = 1
	for _, o := range own {
		f.fit = max(f.fit, o.Fit+1)
	}
	return nil
}

// hold locks the folder against other processes until release is called. If another process has locked it,
// hold returns an error at once.
func (f *folder) hold() error {
	unlock, held, err := f.disk.Lock(f.file(lockFile))
	if err != nil {
		return err
	}
	if held {
		return fmt.Errorf("%s: another fit is writing there: wait for it or choose another --out", f.path)
	}
	f.unlock = unlock
	return nil
}

// release unlocks the folder.
func (f *folder) release() {
	if f.unlock != nil {
		f.unlock()
		f.unlock = nil
	}
}

func (f *folder) charged(err error) error {
	return &ChargedError{Ledger: f.ledger(), Folder: f.path, Err: err}
}

// Dry describes the charge and the files of a fit that was not run.
type Dry struct {
	// Fitted has the plan, the earlier fits of the table and the paths of the files that the fit would write.
	// Nothing in it was computed from records.
	*Fitted
	// Cost is the charge to the table's dataset in a store of budgets. It is nil without a store.
	Cost *budget.Cost
	// Ledger is the path of the ledger in which the budget would be reserved first.
	Ledger string
}

// DryRun does everything that a fit does except charging and writing (train.Config.DryRun). It returns an
// error if the output folder would not accept the fit.
func DryRun(ctx context.Context, c *train.Config, to Out, o train.Options) (*Dry, error) {
	out := to.folder(c, o.Stores)
	o.Storage = &storage{out}
	d, err := c.DryRun(ctx, o)
	if err != nil {
		return nil, err
	}
	f := &Fitted{Fitted: d.Fitted}
	if f.Earlier, err = out.earlier(d.Entry.Data); err == nil {
		err = out.would()
	}
	if err != nil {
		return nil, inOutput(err)
	}
	f.Folder, f.ModelPath, f.CertificatePath = out.path, out.file(ModelFile), out.file(CertificateFile)
	return &Dry{Fitted: f, Cost: d.Cost, Ledger: out.ledger()}, nil
}

// place is the file system of output folders. Tests replace it by a file system that fails.
type place interface {
	durable.Disk
	// Lock locks a file until unlock is called. If another process has locked the file, Lock does not wait,
	// and held is true.
	Lock(path string) (unlock func(), held bool, err error)
}

// machine is the machine's own file system, the usual place of output folders.
type machine struct{ durable.System }

// Lock locks a file in a folder, and creates the file if it does not exist. All users who may write in the
// folder use the same file. The lock ends with the process, so a killed fit leaves no lock.
func (m machine) Lock(path string) (unlock func(), held bool, err error) {
	f, err := m.Append(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = m.Create(path, durable.Shared); errors.Is(err, fs.ErrExist) { // by another process
			f, err = m.Append(path)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if err := f.Close(); err != nil {
		return nil, false, err
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	free, err := lock.TryLock()
	return func() { _ = lock.Unlock() }, !free, err
}
