package main

import (
	"encoding/json"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
)

// rekeyed returns a line of runs.jsonl, the record of a finished run, with its key recomputed from
// the trial that the line describes.
func rekeyed(t *testing.T, line string) string {
	t.Helper()
	var run experiment.Finished
	if err := json.Unmarshal([]byte(line), &run); err != nil {
		t.Fatal(err)
	}
	run.Key = run.Trial.Key()
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
