//go:build results

package results_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestFitting makes one fit of the configuration in the environment variable FITTING, to measure its
// processor time or to profile it.
func TestFitting(t *testing.T) {
	c, err := train.ReadConfig(os.Getenv("FITTING"))
	if err != nil {
		t.Skip("FITTING names no configuration: ", err)
	}
	if _, err := runfolder.Fit(t.Context(), c, runfolder.Out{Path: filepath.Join(t.TempDir(), "fit")},
		train.Options{Software: "test"}); err != nil {
		t.Fatal(err)
	}
}
