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
		"journal-12": 0, ".ledger.jsonl-3": 0} {
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
