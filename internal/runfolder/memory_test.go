package runfolder

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestMemory: rows that do not fit into the configured memory are kept in a file, in the folder
// that the configuration names relative to its own folder. If that folder is missing, the fit
// ends before it begins its output folder. If the rows fit into memory, the folder is not
// needed.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name, memory string
		folder       bool
		fails        bool
	}{
		{"all in memory", "", false, false},
		{"room for all", "memory: {gigabytes: 1, folder: rows}", false, false},
		{"no room", "memory: {gigabytes: 1e-9, folder: rows}", true, false},
		{"no room, no folder", "memory: {gigabytes: 1e-9, folder: rows}", false, true},
		{"no room, the system's folder", "memory: {gigabytes: 1e-9}", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "people.csv"), people(400))
			if c.folder {
				if err := os.Mkdir(filepath.Join(dir, "rows"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			config, err := train.ReadConfig(write(t, filepath.Join(dir, "people.yaml"), peopleYAML+c.memory+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			f, err := fit(context.Background(), config, options{Software: "test", Out: filepath.Join(dir, "fit")})
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "rows")) {
					t.Errorf("%v: want the folder named", err)
				}
				if _, err := os.Stat(filepath.Join(dir, "fit")); err == nil {
					t.Error("a fit was begun")
				}
				return
			}
			if err != nil || f.Records != 400 || !f.Result.Complete {
				t.Errorf("%v", err)
			}
		})
	}
}
