package train

import (
	"os"
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

// TestListsAreNoLinksToTheTable: a file of the table is refused as a list of public values by whatever name it is reached: its
// own, a symbolic or a hard link, a link to a link, and each file of a pattern. A copy is another file.
func TestListsAreNoLinksToTheTable(t *testing.T) {
	folder := t.TempDir()
	text := people(5)
	table := write(t, filepath.Join(folder, "people.csv"), text)
	second := write(t, filepath.Join(folder, "people-2.csv"), text)
	write(t, filepath.Join(folder, "copy.txt"), "f\nm\n")
	for from, to := range map[string]string{"soft": table, "soft-2": second, "again": filepath.Join(folder, "soft")} {
		if err := os.Symlink(to, filepath.Join(folder, from)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Link(second, filepath.Join(folder, "hard-2")); err != nil {
		t.Skip(err)
	}
	for name, refused := range map[string]bool{"people.csv": true, "soft": true, "again": true, "people-2.csv": true, "soft-2": true,
		"hard-2": true, "copy.txt": false} {
		for _, data := range []string{"data: people.csv", "data: people*.csv\ntable: people"} {
			yaml := strings.Replace(peopleYAML, "[f, m]", "{file: "+name+"}", 1)
			yaml = data + strings.TrimPrefix(yaml, "data: people.csv")
			_, err := ReadConfig(write(t, filepath.Join(folder, "people.yaml"), yaml))
			is := err != nil && strings.Contains(err.Error(), "columns.sex.category.file: is the table")
			if want := refused && (strings.Contains(data, "*") || !strings.Contains(name, "-2")); is != want {
				t.Errorf("%s as a list beside %q: %v", name, data, err)
			}
		}
	}
}
