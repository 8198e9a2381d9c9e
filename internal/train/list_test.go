package train

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestListsAreReadBesideTheConfiguration tests a category whose public values are in a file: the
// file is looked for in the configuration's folder. A values file that is also a file of the table
// must be refused, since the table's values are not public.
func TestListsAreReadBesideTheConfiguration(t *testing.T) {
	folder := t.TempDir()
	table := write(t, filepath.Join(folder, "people.csv"), people(5))
	write(t, filepath.Join(folder, "sexes.txt"), "f\nm\n")
	inFile := func(name string) string { return strings.Replace(peopleYAML, "[f, m]", "{file: "+name+"}", 1) }
	c, err := ReadConfig(write(t, filepath.Join(folder, "people.yaml"), inFile("sexes.txt")))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Schema.Features(), " "); got != "age sex=f sex=m sex=other (intercept)" {
		t.Error(got)
	}
	for name, want := range map[string]string{
		"absent.txt":      "columns.sex.category.file: open",
		"people.csv":      "columns.sex.category.file: is the table",
		`"` + table + `"`: "columns.sex.category.file: is the table",
	} {
		_, err := ReadConfig(write(t, filepath.Join(folder, "people.yaml"), inFile(name)))
		wantError(t, err, want)
	}
}
