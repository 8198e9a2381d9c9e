package experiment

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// journaled returns a different record for every seed.
func journaled(seed uint64) Finished {
	c := Trial{Family: "tanh", Dim: 3, Rows: 10, Repeat: 1, Epsilon: 1, Delta: 1e-6, Label: "gd",
		Settings: json.RawMessage(`{}`), Seed: seed}
	return Finished{Key: c.Key(), Trial: c, Seconds: float64(seed)}
}

// TestNothingFollowsAFailedLine tests that, after a write that may have been incomplete, every
// later append returns the same error.
func TestNothingFollowsAFailedLine(t *testing.T) {
	folder := t.TempDir()
	j, err := openJournal(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.append(journaled(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, RunsFile)
	whole := j.file
	if j.file, err = os.Open(path); err != nil { // the file is opened for reading only
		t.Fatal(err)
	}
	defer j.file.Close()
	failed := j.append(journaled(2))
	if failed == nil {
		t.Fatal("a line was written to a file that is open for reading")
	}
	j.file.Close()
	j.file = whole
	if err := j.append(journaled(3)); err != failed {
		t.Errorf("after %v: %v", failed, err)
	}
	records, err := ReadFinished(folder)
	if err != nil || len(records) != 1 || records[0].Seed != 1 {
		t.Errorf("%d records, %v: want the first alone", len(records), err)
	}
}

// TestDoubledLineCountsOnce tests that a run that two processes recorded in one folder counts once.
func TestDoubledLineCountsOnce(t *testing.T) {
	folder := t.TempDir()
	j, err := openJournal(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{1, 2, 1, 1, 3} {
		if err := j.append(journaled(seed)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, RunsFile))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte{'\n'}); lines != 5 {
		t.Errorf("%d lines: want 5", lines)
	}
	records, err := ReadFinished(folder)
	if err != nil || len(records) != 3 {
		t.Errorf("%d records, %v: want 3", len(records), err)
	}
}
