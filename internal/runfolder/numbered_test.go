package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
)

// synced notes the folders whose entries are put on stable storage.
type synced struct {
	machine
	folders *[]string
}

func (s synced) SyncFolder(path string) error {
	*s.folders = append(*s.folders, path)
	return s.machine.SyncFolder(path)
}

// TestNumberedFoldersAreOnStableStorage: the folder that holds a new numbered folder is synced, once.
func TestNumberedFoldersAreOnStableStorage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"people-fit", "people-fit-2"} {
		var folders []string
		f := &folder{disk: synced{folders: &folders}, base: "people-fit"}
		if err := f.create(); err != nil || f.path != want || !slices.Equal(folders, []string{"."}) {
			t.Errorf("%s, %v, synced %v: must be %s and [.]", f.path, err, folders, want)
		}
	}
}

// TestLastNumberedFolder: the numbers of folders go from 2 to 10000. After the last of them the error names their number, and
// another error than that of an existing folder ends the search at once.
func TestLastNumberedFolder(t *testing.T) {
	other := errors.New("other")
	for _, c := range []struct {
		free   int // the number of the first folder that does not exist
		result error
		path   string
		tries  int
		says   string
	}{
		{1, nil, "fit", 1, ""}, {2, nil, "fit-2", 2, ""}, {9999, nil, "fit-9999", 9999, ""}, {10000, nil, "fit-10000", 10000, ""},
		{10001, nil, "fit-10000", 10000, "fit: 10000 numbered folders exist already: give --out"}, {1, other, "fit", 1, "other"}, {3, other, "fit-3", 3, "other"},
	} {
		f, tries := &folder{base: "fit", path: "before"}, 0
		err := f.number(func(path string) error {
			tries++
			if want := fmt.Sprintf("fit-%d", tries); path != want && (tries > 1 || path != "fit") {
				t.Fatalf("try %d is of %s", tries, path)
			}
			if tries < c.free {
				return fmt.Errorf("%s: %w", path, fs.ErrExist)
			}
			return c.result
		})
		if says := fmt.Sprint(err); f.path != c.path || tries != c.tries || (c.says != "" || err != nil) && says != c.says {
			t.Errorf("%+v: %s after %d tries, %v", c, f.path, tries, err)
		}
	}
}
