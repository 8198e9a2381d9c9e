package runfolder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNamesOfLeftovers: the files that a fit leaves behind are its journal and the temporary files of its results, each with
// the fit's number.
func TestNamesOfLeftovers(t *testing.T) {
	for name, want := range map[string]int{"journal-12.jsonl": 12, ".model.json-3": 3, ".certificate.json-45": 45, "." + DescriptionFile + "-6": 6,
		".intent.json-7": 0, "model.json": 0, "model.json-3": 0, ".model.json": 0, ".model.json-": 0, ".model.json-x": 0, "journal-.jsonl": 0,
		"journal-12": 0, ".ledger.jsonl-3": 0, "journal-012.jsonl": 0, "journal-+5.jsonl": 0, "journal--5.jsonl": 0, "journal-0.jsonl": 0,
		".intent-7": 7, ".intent-07": 0, "journal-1.jsonl": 1} {
		if fit, ok := leftover(name); ok != (want > 0) || ok && fit != want {
			t.Errorf("%s: fit %d, %v: must be %d", name, fit, ok, want)
		}
	}
}

// TestNamesOfSiblings: the folders of a series are those with its name and a decimal number.
func TestNamesOfSiblings(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"people-fit", "people-fit-2", "people-fit-17", "people-fit-a", "people-fit-1a", "people-fit-0x2", "people-fit-", "people-fit2", "other-3", "people-fit-18446744073709551616"} {
		if err := os.Mkdir(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join("people-fit-4"), "a file")
	f, err := looked(nil, "", "people", false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.siblings()
	slices.Sort(got)
	if want := []string{"people-fit", "people-fit-17", "people-fit-2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v: must be %q", got, err, want)
	}
}

// TestSettlementsToTheLetter compares the sentence about a settlement in each of its cases.
func TestSettlementsToTheLetter(t *testing.T) {
	of := func(change func(*Settlement)) string {
		s := Settlement{Store: "sqlite:s.db", Dataset: "people", Run: "r7", Fit: 3, Charged: .0123456}
		change(&s)
		return s.String()
	}
	for want, got := range map[string]string{
		"people: run r7 is charged 0.0123456 (units of mu^2), all that it can have released": of(func(*Settlement) {}),
		"people: run r7 is charged 0.0123456 (units of mu^2): this folder proves more than the 0.01 at which it was settled": of(func(s *Settlement) {
			s.Before = .01
		}),
		"people: run r7 was reserved and released nothing: the store has all of it back": of(func(s *Settlement) { s.Charged = 0 }),
		"people: run r7 is charged 1e-09 (units of mu^2), all that it can have released": of(func(s *Settlement) { s.Charged = 1e-9 }),
		"people: run r7 was never reserved: the store is as it was":                      of(func(s *Settlement) { s.Absent, s.Charged = true, 0 }),
		"people: run r7 stays charged in full, 0.0123456 (units of mu^2): no journal; stillpoint budget settle r7 --store sqlite:s.db --in-full ends it so": of(func(s *Settlement) {
			s.Kept = "no journal"
		}),
	} {
		if got != want {
			t.Errorf("%s: must be %s", got, want)
		}
	}
}

// TestRoundedUp tests the four digits of an epsilon that readers are told: never less than it, and at most 0.16% more.
func TestRoundedUp(t *testing.T) {
	for x, want := range map[float64]float64{1: 1, 1.2344: 1.235, 1.2345: 1.235, 1.23451: 1.235, .099991: .1, 12345: 12350, 9.9995: 10, 0: 0} {
		if got := RoundUp(x); got != want {
			t.Errorf("%v: %v: must be %v", x, got, want)
		}
	}
	for i := range 10000 {
		x := 1 + float64(i)/1111
		if got := RoundUp(x); got < x || got > x*1.0016 {
			t.Fatalf("%v: %v", x, got)
		}
	}
}

// TestFoldersThatHoldAFit tests each file that an earlier fit or description may have left alone: a fit is refused there
// unless it may overwrite, and a file that cannot be replaced is told before anything is charged. A recovery takes all but
// the ledger for results.
func TestFoldersThatHoldAFit(t *testing.T) {
	for name, result := range map[string]bool{ModelFile: true, DescriptionFile: true, CertificateFile: true, LedgerFile: false, "notes.txt": false} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, name), "")
		f := newFolder(nil, dir, "", false)
		err := f.look()
		if want := "output " + dir + ": holds an earlier fit (" + name + "): choose another --out, or --overwrite to replace its model; its charge stays in " +
			LedgerFile; (err == nil) != (name == "notes.txt") || err != nil && err.Error() != want {
			t.Errorf("%s: %v: must be %s", name, err, want)
		}
		if err := newFolder(nil, dir, "", true).look(); err != nil {
			t.Errorf("%s, to be replaced: %v", name, err)
		}
		if got := f.holds(); got != result {
			t.Errorf("%s is a result: %v", name, got)
		}
		other := t.TempDir()
		if err := os.Mkdir(filepath.Join(other, name), 0o777); err != nil {
			t.Fatal(err)
		}
		f = newFolder(nil, other, "", true)
		if err := f.replaceable(); (err != nil) != result {
			t.Errorf("%s is a folder: %v", name, err)
		}
		if err := f.would(); (err != nil) != result {
			t.Errorf("%s is a folder, of a fit that is not run: %v", name, err)
		}
	}
	if err := newFolder(nil, filepath.Join(t.TempDir(), "none"), "", false).look(); err != nil {
		t.Errorf("no folder: %v", err)
	}
}
