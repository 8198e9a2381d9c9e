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

// TestRecoveredSimplerFamily: the model that is recovered from the journal of a killed fit is of lines, which took the
// place of a richer family when the base rate was released, whichever operation on the disk was the fit's last. Without
// the line that names the family, a journal whose schema lacks the curves is read up to that schema.
func TestRecoveredSimplerFamily(t *testing.T) {
	dir := t.TempDir()
	s := scene{dir, filepath.Join(dir, "out")}
	table := strings.Split(people(3000), "\n")
	for i, line := range table {
		if i%600 > 0 && strings.HasSuffix(line, ",1") {
			table[i] = strings.TrimSuffix(line, "1") + "0"
		}
	}
	write(t, filepath.Join(dir, "people.csv"), strings.Join(table, "\n"))
	write(t, s.config(), strings.NewReplacer("loss: logistic", "loss: logistic, family: auto", "epsilon: 1,", "epsilon: 8,").Replace(peopleYAML))
	d := durabletest.New()
	f, _, err := s.fitOn(t, context.Background(), d)
	// About one fit in 20 releases a share that keeps the curves.
	for fits := 1; err == nil && f.Family.Name == "curves" && fits < 12; fits++ {
		d = durabletest.New()
		f, _, err = s.fitOn(t, context.Background(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
	bent := func(s *dataset.Schema) bool { return slices.ContainsFunc(s.Hats(), dataset.Hats.Curve) }
	if f.Family.Name != "lines" || bent(f.Model.Schema()) || f.Ranks != nil {
		t.Fatalf("%+v, ranks %v", f.Family, f.Ranks)
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
		cert, _ := left.Text(diskOut + "/" + CertificateFile)
		if bent(m.Schema()) || len(m.Weights()) != f.Model.Schema().Dim() || !strings.Contains(cert, f.Family.Why) ||
			strings.Contains(cert, `"ranks"`) {
			t.Fatalf("after %d operations: %d weights, and the certificate says %s", n, len(m.Weights()), cert)
		}
	}
	if recovered < 3 {
		t.Fatalf("%d models recovered", recovered)
	}
	told, err := readJournal(strings.NewReader(journal), mostLine)
	if err != nil || !told.simpler || told.head.Features != "" {
		t.Fatalf("%+v, %v", told, err)
	}
	first, _, _ := strings.Cut(journal, "\n")
	other, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "height", Kind: dataset.Number, High: 2}}, Target: told.head.Schema.Target()})
	if err != nil {
		t.Fatal(err)
	}
	// Journals of earlier versions have the knots by ranks before the base rate.
	early, err := readJournal(strings.NewReader(first+"\n"), mostLine)
	if err != nil || len(early.head.Ranks) == 0 {
		t.Fatalf("%v, %v", err, early)
	}
	for _, r := range []train.Line{{Refined: early.head.Schema}, {Begun: &train.Begun{Base: *told.base, Family: told.head.Family}},
		{Refined: told.head.Schema}} {
		if err := early.take(record{Line: r}); err != nil {
			t.Fatal(err)
		}
	}
	if len(early.head.Ranks) == 0 || len(told.head.Ranks) > 0 {
		t.Errorf("ranks before the base rate: %v, none: %v", early.head.Ranks, told.head.Ranks)
	}
	for _, begun := range []bool{true, false} {
		start, err := readJournal(strings.NewReader(first+"\n"), mostLine)
		if err != nil || !bent(start.head.Schema) {
			t.Fatalf("%v: a head of %v", err, start)
		}
		b := train.Begun{Base: *told.base}
		if begun {
			b.Family = told.head.Family
		}
		if err := start.take(record{Line: train.Line{Begun: &b}}); err != nil {
			t.Fatal(err)
		}
		if start.take(record{Line: train.Line{Begun: &b}}) == nil {
			t.Errorf("the family named %v: a run begins twice", begun)
		}
		if start.take(record{Line: train.Line{Refined: other}}) == nil {
			t.Errorf("the family named %v: rows of another table are taken for refined ones", begun)
		}
		err = start.take(record{Line: train.Line{Refined: told.head.Schema}})
		if (err == nil) != begun || begun && start.parameters != told.head.Schema.Dim() {
			t.Errorf("a schema without curves, the family named %v: %v, %d weights", begun, err, start.parameters)
		}
	}
}
