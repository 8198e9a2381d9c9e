package runfolder

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestRecoveredKnots: the model that is recovered from the journal of a killed fit has the knots by the ranks that
// the fit had released, whichever operation on the disk was the fit's last. A journal in which the knots come after
// an iterate, or are of another schema, is read up to there.
func TestRecoveredKnots(t *testing.T) {
	dir := t.TempDir()
	s := scene{dir, filepath.Join(dir, "out")}
	write(t, filepath.Join(dir, "people.csv"), people(3000))
	write(t, s.config(), strings.Replace(peopleYAML, "  columns:", "  curves: auto\n  columns:", 1)+
		"train: {ranks: 0.1, algorithm: gd, steps: 3}\n")
	d := durabletest.New()
	f, _, err := s.fitOn(t, context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	knots := func(s *dataset.Schema) []float64 { return s.Columns()[0].Knots }
	want := knots(f.Model.Schema())
	if len(want) != 4 {
		t.Fatalf("knots %v: must be 4", want)
	}
	recovered, journal := 0, ""
	for n := range d.Ops() {
		left := d.Crash(n, durabletest.Kept{})
		text, _ := left.Text(diskOut + "/journal-1.jsonl")
		r, err := recoverIn(context.Background(), left, diskOut, RecoverOptions{Overwrite: true})
		if err != nil || r.Step == 0 || r.ModelPath == "" {
			continue
		}
		recovered++
		journal = text
		made, _ := left.Text(diskOut + "/" + ModelFile)
		m, err := model.Parse([]byte(made))
		if err != nil {
			t.Fatal(err)
		}
		if got := knots(m.Schema()); !slices.Equal(got, want) {
			t.Fatalf("after %d operations: knots %v, must be %v", n, got, want)
		}
		cert, _ := left.Text(diskOut + "/" + CertificateFile)
		if !strings.Contains(cert, `"ranks"`) || !strings.Contains(cert, "mean row") {
			t.Fatalf("after %d operations: the certificate does not tell of ranks: %s", n, cert)
		}
	}
	if recovered < 3 {
		t.Fatalf("%d models recovered", recovered)
	}
	told, err := readJournal(strings.NewReader(journal), mostLine)
	if err != nil || told.weights == nil {
		t.Fatal(err)
	}
	other := *told.head.Schema
	if err := told.take(record{Line: train.Line{Refined: &other}}); err == nil {
		t.Error("knots after an iterate are taken")
	}
	told.weights = nil
	if err := told.take(record{Line: train.Line{Refined: &other}}); err != nil {
		t.Error(err)
	}
	silent := *told.head
	silent.Ranks = nil
	announced := told.head
	told.head = &silent
	if err := told.take(record{Line: train.Line{Refined: &other}}); err == nil {
		t.Error("knots by ranks of which the head does not tell are taken")
	}
	told.head = announced
	if more, err := told.head.Schema.Fine(told.head.Ranks); err != nil || told.take(record{Line: train.Line{Refined: more}}) == nil {
		t.Errorf("knots for another number of weights are taken, or: %v", err)
	}
	wrong := config(t, 10, "[0, 100]", "[0, 99]").Schema
	if err := told.take(record{Line: train.Line{Refined: wrong}}); err == nil {
		t.Error("another schema is taken")
	}
}
