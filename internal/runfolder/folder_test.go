package runfolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

func reservation(data string) Entry {
	return Entry{Data: data, Algorithm: "gd",
		Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6, Mu: 0.2367043806634357}}
}

func reserve(t *testing.T, out, base string) (*folder, []Entry) {
	t.Helper()
	f, err := looked(nil, out, base, true)
	if err != nil {
		t.Fatal(err)
	}
	prior, err := claimAndReserve(f)
	if err != nil {
		t.Fatal(err)
	}
	f.release()
	return f, prior
}

func claimAndReserve(f *folder) ([]Entry, error) {
	if err := f.claim("/people.csv"); err != nil {
		return nil, err
	}
	return f.reserve(reservation("/people.csv"))
}

const wholeLine = `{"time":"2026-01-02T03:04:05Z","entry":"reserved","fit":1,"data":"/people.csv","algorithm":"gd","relation":"replace-one","epsilon":1,"delta":0.000001,"mu":0.2367043806634357}`

// TestTornLine tests a ledger whose last line a crash has cut at any byte. The entries before it
// must still count, and the next entry must replace the cut line.
func TestTornLine(t *testing.T) {
	t.Chdir(t.TempDir())
	path := filepath.Join("out", LedgerFile)
	for cut := 0; cut < len(wholeLine); cut += (len(wholeLine) - 1) / 12 {
		write(t, path, wholeLine+"\n"+wholeLine[:cut])
		f, prior := reserve(t, "out", "")
		if len(prior) != 1 || f.fit != 2 {
			t.Fatalf("cut at %d: %d earlier reservations, fit %d: must be 1 and 2", cut, len(prior), f.fit)
		}
		if err := f.settle(0.01, true, ""); err != nil {
			t.Fatal(err)
		}
		if got := kinds(t, "out"); got != "reserved reserved settled" {
			t.Fatalf("cut at %d: ledger %s", cut, got)
		}
		if text := read(t, path); !strings.HasPrefix(text, wholeLine+"\n{") || strings.Count(text, "\n") != 3 {
			t.Fatalf("cut at %d: ledger\n%s", cut, text)
		}
	}
}

// TestMissingNewline: a whole last line counts, even if its newline is missing because an
// editor dropped it.
func TestMissingNewline(t *testing.T) {
	t.Chdir(t.TempDir())
	path := write(t, filepath.Join("out", LedgerFile), wholeLine)
	_, prior := reserve(t, "out", "")
	if len(prior) != 1 || kinds(t, "out") != "reserved reserved" || !strings.HasPrefix(read(t, path), wholeLine+"\n{") {
		t.Errorf("%d earlier reservations; ledger\n%s", len(prior), read(t, path))
	}
}

// TestDamagedLedger tests that a line that is no entry, in the middle of a ledger, is an error. It
// must not be skipped, since it may have been a charge.
func TestDamagedLedger(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"{", "", "[]", `{"relation":"other"}`} {
		path := write(t, filepath.Join("out", LedgerFile), wholeLine+"\n"+line+"\n"+wholeLine+"\n")
		f, err := looked(nil, "out", "", true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = claimAndReserve(f)
		wantError(t, err, path+": line 2: not an entry")
	}
}

// TestDamagedSibling: if a folder of the same series (people-fit, people-fit-2, ...) has a damaged ledger, a
// fit must return an error before it makes a new folder.
func TestDamagedSibling(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, filepath.Join("people-fit", LedgerFile), "{\n")
	f, _ := looked(nil, "", "people", false)
	wantError(t, f.claim("/people.csv"), filepath.Join("people-fit", LedgerFile)+": line 1: not an entry")
	if _, err := os.Stat("people-fit-2"); err == nil {
		t.Error("people-fit-2 left behind")
	}
}

func TestNumberedFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "people-fit-3", "a file in the way")
	for i, want := range []string{"people-fit", "people-fit-2", "people-fit-4", "people-fit-5"} {
		f, prior := reserve(t, "", "people")
		if f.path != want || len(prior) != i {
			t.Errorf("folder %s with %d earlier reservations: must be %s with %d", f.path, len(prior), want, i)
		}
	}
	// Folders with other names do not count. A missing number does not end the search.
	write(t, filepath.Join("people-fit-old", LedgerFile), wholeLine+"\n")
	write(t, filepath.Join("people-fitting", LedgerFile), wholeLine+"\n")
	write(t, filepath.Join("people-fit-77", LedgerFile),
		wholeLine+"\n"+strings.NewReplacer("/people.csv", "/other.csv", `"fit":1`, `"fit":2`).Replace(wholeLine)+"\n")
	os.RemoveAll("people-fit")
	os.RemoveAll("people-fit-2")
	f, prior := reserve(t, "", "people")
	if f.path != "people-fit" || len(prior) != 3 {
		t.Errorf("folder %s with %d earlier reservations: must be people-fit with 3", f.path, len(prior))
	}
}

func TestOutIsAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "out", "precious")
	for _, overwrite := range []bool{false, true} {
		_, err := looked(nil, "out", "", overwrite)
		wantError(t, err, "output out: is a file: must be a folder")
	}
	f, err := looked(nil, filepath.Join("out", "below"), "", true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = claimAndReserve(f)
	wantError(t, err, "not a directory")
	if read(t, "out") != "precious" {
		t.Error("the file was touched")
	}
}

func TestDeepFolderIsMade(t *testing.T) {
	t.Chdir(t.TempDir())
	f, _ := reserve(t, filepath.Join("a", "b", "c"), "")
	if kinds(t, f.path) != "reserved" {
		t.Error(kinds(t, f.path))
	}
}

// TestLedgerMustBeRegular: a ledger that is a device is refused, since reading it may never
// end. TestIrregularFiles tests pipes.
func TestLedgerMustBeRegular(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	os.Mkdir("out", 0o777)
	if err := os.Symlink("/dev/zero", filepath.Join("out", LedgerFile)); err != nil {
		t.Skip(err)
	}
	f, err := looked(nil, "out", "", true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = claimAndReserve(f)
	wantError(t, err, "must be a regular file")
}

// TestOneFitAFolder: while a fit writes to a folder, another fit in the folder is refused, and
// nothing is reserved for it.
func TestOneFitAFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := looked(nil, filepath.Join(dir, "out"), "x", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claimAndReserve(first); err != nil {
		t.Fatal(err)
	}
	second, err := looked(nil, filepath.Join(dir, "out"), "x", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claimAndReserve(second); err == nil || !strings.Contains(err.Error(), "another fit") {
		t.Errorf("a second fit in the folder: %v", err)
	}
	first.release()
	prior, err := claimAndReserve(second)
	if err != nil || len(prior) != 1 || second.fit != 2 {
		t.Errorf("after the first: %d earlier, fit %d (%v): want 1 and 2", len(prior), second.fit, err)
	}
	second.release()
}
