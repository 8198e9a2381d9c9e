package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Names of the files in an output folder.
const (
	ModelFile       = "model.json"
	CertificateFile = train.CertificateFile
	// LedgerFile is the name of the ledger, which is append-only: it has one JSON line for each reservation and
	// each settlement. Overwriting a model never removes a line.
	LedgerFile = "ledger.jsonl"
	// lockFile prevents two fits from writing to one folder at the same time.
	lockFile = ".lock"
)

// folder is the output folder of a fit. It has the fit's model, certificate, ledger and journal.
type folder struct {
	disk place
	path string
	// base, if not empty, is the path to which a number is added to name the folder.
	base      string
	overwrite bool
	unlock    func()
	fit       int
	entry     Entry

	// These fields belong to a fit that is kept in the folder: the function that opens the stores
	// of budgets where earlier fits are settled, the settlements that were made, and the
	// reservations of other fits for the same table.
	stores    train.Stores
	reclaimed []Settlement
	others    []Entry
}

// newFolder decides the path of a fit's output folder. It creates nothing on disk.
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
	for _, file := range []string{ModelFile, CertificateFile, LedgerFile} {
		if _, err := f.disk.Lstat(f.file(file)); err == nil {
			return fmt.Errorf("output %s: holds an earlier fit (%s): choose another --out, or --overwrite to replace its "+
				"model; its charge stays in %s", f.path, file, LedgerFile)
		}
	}
	return nil
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

func (f *folder) ledger() string { return f.file(LedgerFile) }

// maxNumbered limits the search for a free numbered folder.
const maxNumbered = 10000

// create makes the folder and returns after its name is on stable storage.
func (f *folder) create() error {
	if f.base == "" {
		return durable.MakeFolder(f.disk, f.path)
	}
	for i := 1; i <= maxNumbered; i++ {
		f.path = f.numbered(i)
		err := f.disk.Mkdir(f.path)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		return f.disk.SyncFolder(filepath.Dir(f.path))
	}
	return fmt.Errorf("%s: %d numbered folders exist already: give --out", f.base, maxNumbered)
}

// would sets the folder's path to the path of the folder that create would make, and creates nothing. It
// returns an error if existing files may not be replaced.
func (f *folder) would() error {
	if f.base != "" {
		for i := 1; ; i++ {
			if i > maxNumbered {
				return fmt.Errorf("%s: %d numbered folders exist already: give --out", f.base, maxNumbered)
			}
			f.path = f.numbered(i)
			if _, err := f.disk.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
				return nil
			}
		}
	}
	return f.replaceable()
}

// replaceable returns an error if the folder has a model or certificate that the new file could not
// replace.
func (f *folder) replaceable() error {
	for _, name := range []string{ModelFile, CertificateFile} {
		if err := f.disk.MayReplace(f.file(name)); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) numbered(i int) string {
	if i == 1 {
		return f.base
	}
	return fmt.Sprintf("%s-%d", f.base, i)
}

// claim makes the folder, locks it against other fits until release is called, and gives this fit its
// number. If the ledger cannot be read, claim returns an error before anything is created. After locking,
// claim repeats the tests of the folder, since another fit may have run between the tests and the lock.
func (f *folder) claim(data string) error {
	if _, err := f.earlier(data); err != nil {
		return err
	}
	if err := f.create(); err != nil {
		return err
	}
	if err := f.hold(); err != nil {
		return err
	}
	if err := f.free(); err != nil {
		return err
	}
	if err := f.replaceable(); err != nil {
		return err
	}
	own, err := f.read(f.path)
	if err != nil {
		return err
	}
	f.fit = 1
	for _, o := range own {
		f.fit = max(f.fit, o.Fit+1)
	}
	return nil
}

// hold locks the folder against other processes until release is called.
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
