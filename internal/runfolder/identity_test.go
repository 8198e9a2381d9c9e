package runfolder

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestEveryWayToATableIsFound: a fit finds the earlier fits of the same table, by whatever path
// or link each of them reached it. It does not find the fits of a copy of the table.
func TestEveryWayToATableIsFound(t *testing.T) {
	c := config(t, 30)
	c.Train.Algorithm, c.Train.Settings = "gd", train.Settings{"steps": 1}
	table := c.DataPath()
	folder := filepath.Dir(table)
	links := t.TempDir()
	for from, to := range map[string]string{
		"file.csv": table, "twice.csv": "file.csv", "folder": folder, "again": "folder",
	} {
		if err := os.Symlink(to, filepath.Join(links, from)); err != nil {
			t.Skip(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(here, table)
	if err != nil {
		t.Fatal(err)
	}
	ways := []string{
		table, "people.csv",
		filepath.Join(links, "file.csv"), filepath.Join(links, "twice.csv"),
		filepath.Join(links, "folder", "people.csv"), filepath.Join(links, "again", "people.csv"),
		folder + "/./people.csv", folder + "//people.csv", folder + "/../" + filepath.Base(folder) + "/people.csv",
	}
	again := func(way string, earlier int) {
		t.Helper()
		c.Data = train.Files{way}
		f, err := fit(context.Background(), c, options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Earlier) != earlier {
			t.Errorf("the table as %s: %d earlier fits of it are known, there were %d", way, len(f.Earlier), earlier)
		}
	}
	for i, way := range ways {
		again(way, i)
	}
	// From the current folder, and from another.
	own := c
	c = beside(t, c)
	again(up, len(ways))
	c = own
	again(write(t, filepath.Join(t.TempDir(), "people.csv"), read(t, table)), 0)
	again(table, len(ways)+1)
}
