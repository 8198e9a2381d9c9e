package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/report"
	"github.com/stillpoint-dp/stillpoint/runfolder"
	"github.com/stillpoint-dp/stillpoint/train"
)

// TestEveryAlgorithmsNoiseIsKnown: whatever the registry names, with the output
// rules it takes, leaves a certificate from which the report tells the noise in
// the coefficients. Fails for an algorithm that does not write its law down.
func TestEveryAlgorithmsNoiseIsKnown(t *testing.T) {
	dir := t.TempDir()
	if err := writePeople(dir, 2000); err != nil {
		t.Fatal(err)
	}
	for _, name := range train.Algorithms() {
		for _, more := range []train.Settings{{}, {"output": "smallest"}, {"output": "random"}, {"output": "average"}, {"output": "selected"}, {"inner": "phased-sgd"}, {"theorem": true, "accuracy": 1e-9}} {
			if testing.Short() && len(more) > 0 {
				continue
			}
			c, err := train.ReadConfig(filepath.Join(dir, "people.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			c.Train = train.Train{Algorithm: name, Settings: more}
			if name == "smoothed" {
				c.Model.Loss = "hinge"
			}
			if name == "dp-sgd" || name == "dp-adam" {
				c.Train.Settings["steps"] = 4 // schedules of many take long to compose
			}
			out := filepath.Join(t.TempDir(), "fit")
			if _, err := runfolder.Fit(t.Context(), c, runfolder.Out{Path: out}, train.Options{Software: "test"}); err != nil {
				if len(more) == 0 {
					t.Errorf("%s: %v", name, err)
				}
				continue // a setting it does not take
			}
			f, err := report.ReadFit(t.Context(), out)
			if err != nil {
				t.Fatal(err)
			}
			page, err := f.Page(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := page.Render(&text); err != nil {
				t.Fatal(err)
			}
			if s := text.String(); strings.Contains(s, "is not stated here") || !strings.Contains(s, "Noise (sd)") {
				t.Errorf("%s %v: the report does not know the noise", name, more)
			}
		}
	}
}
