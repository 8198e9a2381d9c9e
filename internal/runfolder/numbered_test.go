package runfolder

import (
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
