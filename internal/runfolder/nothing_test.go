package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestJournalsOfUnknownFits tests the proof that a run released nothing, beside a ledger that lacks it: a journal must
// have no event and no damage, and be readable or absent. A ledger beside a journal with one of the two was lost or put
// back.
func TestJournalsOfUnknownFits(t *testing.T) {
	_, d, _, _, journal := killedWithStore(t)
	lines := strings.SplitAfter(journal, "\n")
	head := lines[0]
	for _, c := range []struct {
		name, journal string // of the fit 2; "" for none
		known         bool   // whether something may have been released
	}{
		{"no journal", "", false},
		{"half a head", head[:len(head)/2], false},
		{"a head", head + "\x00\x00", false},
		{"a damaged line", head + "x\n\x00", true},
		{"a cut file", head, true},
		{"a head and events", strings.Join(lines[:3], "") + "\x00", true},
	} {
		if c.journal != "" {
			d.Put("out/journal-2.jsonl", c.journal)
		}
		f := &folder{disk: d, path: diskOut, fit: 1}
		text, err := f.text(f.path)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := ledgerfile.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.lost(entries); (err != nil) != c.known {
			t.Errorf("%s: the ledger: %v", c.name, err)
		}
		place := f.here(nil)
		begun := intent{Fit: 2, Place: &place, Ledger: linesOf(text)}
		if e := f.nothing(begun); (e.why != "") != c.known || !c.known && e.events != -1 ||
			c.known && !strings.Contains(e.why, "lacks fit 2, whose journal is there") {
			t.Errorf("%s: nothing was released: %+v", c.name, e)
		}
		// The same folder proves nothing of an intent of another place, or of a ledger that has lost lines.
		other, more := place, *begun.Ledger
		other.Folder = holder.File{Device: place.Folder.Device, Inode: place.Folder.Inode + 1}
		more.Size--
		for _, i := range []intent{{Fit: 2, Place: &other, Ledger: begun.Ledger}, {Fit: 2, Ledger: begun.Ledger},
			{Fit: 2, Place: &place, Ledger: &more}, {Fit: 2, Place: &place}} {
			if e := f.nothing(i); e.why == "" {
				t.Errorf("%s: %+v proves that nothing was released", c.name, i)
			}
		}
	}
}

// TestIntentsAreWrittenOrRefused lets each operation of the disk fail in turn while an intent is written: there is an error,
// since a run must not be reserved without it, and no file of a fit to come is left behind that is not whole.
func TestIntentsAreWrittenOrRefused(t *testing.T) {
	broken := errors.New("broken")
	for fails := 0; ; fails++ {
		d := durabletest.New()
		if err := d.Mkdir(diskOut); err != nil {
			t.Fatal(err)
		}
		d.Put("out/"+LedgerFile, "{}\n")
		d.Put("out/"+lockFile, "")
		n := 0
		d.Fail = func(durabletest.Op) error {
			if n++; n > fails {
				return broken
			}
			return nil
		}
		f := &folder{disk: d, path: diskOut, fit: 7}
		err := f.intend(intent{Store: "sqlite:///s.db", Dataset: "people", Run: "r"})
		text, there := d.Text("out/intent-7.json")
		if err == nil {
			i, bad := parseIntent([]byte(text), 7)
			if fails < 4 || n != fails || bad != nil || i.Run != "r" || i.Dataset != "people" || i.Store != "sqlite:///s.db" ||
				!i.Place.Is(f.here(nil)) || !i.Ledger.begins([]byte("{}\nmore")) || i.Ledger.begins([]byte("[]\n")) {
				t.Errorf("after %d operations of %d: %+v, %v", fails, n, i, bad)
			}
			return
		}
		if _, bad := parseIntent([]byte(text), 7); !errors.Is(err, broken) || there && bad != nil {
			t.Errorf("operation %d fails: %v, and the intent is %q", fails, err, text)
		}
	}
}

// TestFoldersOfDescriptions tests the name of the folder of a description: that of its configuration, if none is given, and
// not a fit's.
func TestFoldersOfDescriptions(t *testing.T) {
	s := newScene(t, "gd")
	c, err := train.ReadDescription(s.config())
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"": c.Name() + "-describe", "here": "here"} {
		d, err := Describe(t.Context(), c, Out{Path: given, disk: durabletest.New()}, train.DescribeOptions{Level: .95,
			Options: train.Options{Software: "test"}})
		if err != nil || d.Folder != want {
			t.Errorf("%q: %v, %+v: must be %s", given, err, d, want)
		}
	}
}

// unreadable is a disk of which one reading fails: the folder or file that is opened after so many others.
type unreadable struct {
	*durabletest.Disk
	after, n int
}

var errUnreadable = errors.New("unreadable")

func (d *unreadable) fails() error {
	if d.n++; d.n > d.after {
		return errUnreadable
	}
	return nil
}

func (d *unreadable) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	return d.Disk.ReadDir(path)
}

func (d *unreadable) Open(path string) (durable.File, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	return d.Disk.Open(path)
}

// TestWhatCannotBeReadIsNotLeftOut lets each folder and file that is read fail in turn: earlier fits that cannot be read are an
// error, and none of those that do not exist, since their budgets would be missing in sums and refusals.
func TestWhatCannotBeReadIsNotLeftOut(t *testing.T) {
	_, d, _, _, _ := killedWithStore(t)
	text, ok := d.Text("out/" + LedgerFile)
	if !ok {
		t.Fatal("no ledger")
	}
	entries, err := ledgerfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Mkdir("out-2"); err != nil {
		t.Fatal(err)
	}
	d.Put("out-2/"+LedgerFile, text)
	for name, read := range map[string]func(*folder) (string, error){
		"fits of the series": func(f *folder) (string, error) {
			f.base, f.path = "out", "out-3"
			list, err := f.earlier(entries[0].Data)
			return fmt.Sprint(len(list)), err
		},
		"fits of the folder": func(f *folder) (string, error) {
			f.fit = 2
			list, err := f.earlier(entries[0].Data)
			return fmt.Sprint(len(list)), err
		},
		"intents":    func(f *folder) (string, error) { list, err := f.intents(); return fmt.Sprint(len(list)), err },
		"lost fits":  func(f *folder) (string, error) { return "", f.lost(entries) },
		"other fits": func(f *folder) (string, error) { return "", f.unknown(entries) },
		"a new intent": func(f *folder) (string, error) {
			f.fit = 9
			return "", f.intend(intent{Store: "sqlite:///s.db", Dataset: "people", Run: "r"})
		},
		"an end":     func(f *folder) (string, error) { start, err := f.mendTail(); return string(start), err },
		"the ledger": func(f *folder) (string, error) { list, err := f.read(f.path); return fmt.Sprint(len(list)), err },
	} {
		want, err := read(&folder{disk: d, path: diskOut})
		if err != nil {
			t.Fatal(name, err)
		}
		for after := 0; ; after++ {
			disk := &unreadable{Disk: d, after: after}
			got, err := read(&folder{disk: disk, path: diskOut})
			if disk.n <= after {
				if err != nil || got != want || after == 0 {
					t.Errorf("%s: %s, %v after %d readings: must be %s", name, got, err, after, want)
				}
				break
			}
			if !errors.Is(err, errUnreadable) {
				t.Errorf("%s: reading %d fails: %s, %v", name, after, got, err)
			}
		}
	}
}

// TestFullDisksEndARunBeforeItBegins: a run for whose description, certificate or journal the disk has no space ends with this
// error before its first release, and leaves no file of a result.
func TestFullDisksEndARunBeforeItBegins(t *testing.T) {
	c, err := train.ReadDescription(newScene(t, "gd").config())
	if err != nil {
		t.Fatal(err)
	}
	for after := 0; ; after++ {
		disk, n := durabletest.New(), 0
		disk.Fail = func(o durabletest.Op) error {
			if strings.HasPrefix(fmt.Sprint(o), "reserve") {
				if n++; n == after+1 {
					return errFull
				}
			}
			return nil
		}
		_, err := Describe(t.Context(), c, Out{Path: "out", disk: disk}, train.DescribeOptions{Level: .95, Options: train.Options{Software: "test"}})
		if disk.Fail = nil; n <= after {
			if err != nil || after < 3 {
				t.Errorf("%d reservations, %v", n, err)
			}
			return
		}
		if !errors.Is(err, errFull) || n != after+1 {
			t.Errorf("reservation %d of %d fails: %v", after+1, n, err)
		}
		for _, name := range []string{DescriptionFile, CertificateFile} {
			if _, err := disk.Lstat("out/" + name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("reservation %d fails: %s: %v", after+1, name, err)
			}
		}
	}
}
