//go:build unix

package runfolder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestSixFitsAtOnce: six fits of one table, in folders beside each other, reserve at the same time. For any
// two of the fits, at least one must find the other's reservation. Each fit must have its own folder.
func TestSixFitsAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	const fits = 6
	var wait sync.WaitGroup
	folders := make([]*folder, fits)
	others := make([][]Entry, fits)
	reserved := make(chan struct{})
	for i := range fits {
		f, err := looked(nil, "", "people", false)
		if err != nil {
			t.Fatal(err)
		}
		folders[i] = f
		wait.Go(func() {
			if err := f.claim("/people.csv"); err != nil {
				t.Error(err)
			}
			<-reserved
			var err error
			if others[i], err = f.reserve(reservation("/people.csv")); err != nil {
				t.Error(err)
			}
			f.release()
		})
	}
	close(reserved)
	wait.Wait()
	pairs := 0
	for _, o := range others {
		pairs += len(o)
		if len(o) > fits-1 {
			t.Errorf("a fit sees %d others of %d", len(o), fits-1)
		}
	}
	if pairs < fits*(fits-1)/2 {
		t.Errorf("%d sights of another fit: must be at least one for each of %d pairs", pairs, fits*(fits-1)/2)
	}
	seen := map[string]bool{}
	for _, f := range folders {
		seen[f.path] = true
	}
	if len(seen) != fits {
		t.Errorf("%d folders for %d fits", len(seen), fits)
	}
}

// between is a disk that calls a function before each SyncFolder, so that a test can act at that
// moment.
type between struct {
	place
	sync func(path string)
}

func (b between) SyncFolder(path string) error {
	b.sync(path)
	return b.place.SyncFolder(path)
}

// TestReadAfterReserving: a fit reads the reservations of others after it has written its own.
// If a second fit reserves between these two, each finds the other.
func TestReadAfterReserving(t *testing.T) {
	t.Chdir(t.TempDir())
	first, err := looked(nil, "", "people", false)
	if err != nil {
		t.Fatal(err)
	}
	var other []Entry
	done := false
	first.disk = between{machine{}, func(path string) {
		if _, err := os.Stat(filepath.Join("people-fit", LedgerFile)); err == nil && !done {
			done = true // the first fit has written its line and not read yet
			_, other = reserve(t, "", "people")
		}
	}}
	prior, err := claimAndReserve(first)
	if err != nil {
		t.Fatal(err)
	}
	if len(prior) != 1 || len(other) != 1 {
		t.Errorf("the first sees %d, the second %d: must see each other", len(prior), len(other))
	}
}

// TestFolderTakenMeanwhile: the tests of the folder are repeated under its lock. If another fit
// has written there meanwhile, the fit ends with an error and reserves nothing.
func TestFolderTakenMeanwhile(t *testing.T) {
	c := config(t, 300)
	_, err := fit(context.Background(), c, options{Software: "test", Out: "out", Planned: func(train.Planned) {
		if _, err := fit(context.Background(), c, options{Software: "test", Out: "out"}); err != nil {
			t.Fatal(err)
		}
	}})
	wantError(t, err, "output out: holds an earlier fit (model.json)")
	if kinds(t, "out") != "reserved settled" {
		t.Errorf("ledger: %s", kinds(t, "out"))
	}
}

// TestIrregularFiles: if the lock, the ledger, the model or the certificate is not a regular
// file, a fit returns an error before it reserves anything. It leaves the file as it is, and
// does not wait for the other end of a pipe.
func TestIrregularFiles(t *testing.T) {
	makers := map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"folder": func(path string) error { return os.Mkdir(path, 0o777) },
		"link":   func(path string) error { return os.Symlink(filepath.Join("..", "elsewhere"), path) },
		"dangling": func(path string) error {
			return os.Symlink("nowhere", path)
		},
		"loop":   func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"socket": func(path string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			return syscall.Bind(fd, &syscall.SockaddrUnix{Name: path})
		},
	}
	for kind, make := range makers {
		for _, name := range []string{lockFile, LedgerFile, ModelFile, CertificateFile} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Chdir(t.TempDir())
				const other = "somebody else's"
				write(t, "elsewhere", other)
				os.Mkdir("out", 0o777)
				path := filepath.Join("out", name)
				if err := make(path); err != nil {
					t.Skip(err)
				}
				f, err := looked(nil, "out", "", true)
				if err != nil {
					t.Fatal(err)
				}
				_, err = claimAndReserve(f)
				f.release()
				wantError(t, err, path+": must be a regular file")
				if read(t, "elsewhere") != other {
					t.Error("a file behind a link was touched")
				}
				if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
					t.Errorf("%v, %v: must be as it was", info, err)
				}
				if _, err := os.Stat("nowhere"); err == nil {
					t.Error("a file was made behind a link")
				}
			})
		}
	}
}

// TestSharedFolder: everybody who may write in a folder may write to its lock, its ledger and
// its journal, whatever the umask of the user who created them. Nobody else may.
func TestSharedFolder(t *testing.T) {
	for _, test := range []struct {
		folder os.FileMode
		umask  int
		want   os.FileMode
	}{
		{0o755, 0o022, 0o644},
		{0o755, 0o077, 0o600},
		{0o700, 0o022, 0o644},
		{0o775, 0o022, 0o664},
		{0o775, 0o077, 0o660},
		{0o770, 0o027, 0o660},
		{0o775, 0o002, 0o664},
		{0o777, 0o022, 0o666},
		{0o777 | os.ModeSticky, 0o077, 0o666},
		{0o770 | os.ModeSetgid, 0o077, 0o660},
	} {
		t.Run(fmt.Sprintf("%v %03o", test.folder, test.umask), func(t *testing.T) {
			t.Chdir(t.TempDir())
			os.Mkdir("out", 0o777)
			if err := os.Chmod("out", test.folder); err != nil {
				t.Fatal(err)
			}
			old := syscall.Umask(test.umask)
			defer syscall.Umask(old)
			f, _ := reserve(t, "out", "")
			j, err := f.newJournal(train.Header{Guarantee: account.Guarantee{Relation: account.ReplaceOne}})
			if err != nil {
				t.Fatal(err)
			}
			j.close()
			for _, name := range []string{lockFile, LedgerFile, filepath.Base(f.journalFile())} {
				if info, err := os.Stat(filepath.Join("out", name)); err != nil || info.Mode().Perm() != test.want {
					t.Errorf("%s: %v, %v: must be %v", name, info.Mode(), err, test.want)
				}
			}
		})
	}
}
