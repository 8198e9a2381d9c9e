package runfolder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// told are the facts that the files of a folder state.
type told struct {
	cert    *certificate.Certificate
	run     runrecord.Run
	weights []float64
}

func toldBy(t *testing.T, d *durabletest.Disk) (f told) {
	t.Helper()
	s := diskState(d)
	wholeFiles(t, s)
	var err error
	if f.cert, err = certificate.Parse(s.certificate); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(f.cert.Algorithm().Plan, &f.run); err != nil {
		t.Fatal(err)
	}
	if s.model != nil {
		m, err := model.Parse(s.model)
		if err != nil {
			t.Fatal(err)
		}
		f.weights = m.Weights()
	}
	return f
}

// TestRecoveredFactsAreTheRuns kills a fit after each of its steps. The recovered model must have the weights of the
// last step, and the certificate the norms and events of the steps until then, as those of the whole run.
func TestRecoveredFactsAreTheRuns(t *testing.T) {
	const steps = 4
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, steps)
	config, o, err := s.begin(nil)
	if err != nil {
		t.Fatal(err)
	}
	var marks []int
	var weights [][]float64
	var norms []float64
	o.Out, o.disk, o.Stores = diskOut, d, c.open
	o.Step = func(s train.Step) {
		norm, ok := train.KeptNorm(s)
		if !ok {
			t.Errorf("step %d: its norm is not kept", s.Number)
		}
		marks, weights, norms = append(marks, len(d.Ops())), append(weights, slices.Clone(s.W)), append(norms, norm)
	}
	f, err := fit(t.Context(), config, o)
	if err != nil || len(marks) != steps {
		t.Fatal(len(marks), err)
	}
	whole := toldBy(t, d)
	if !slices.Equal(whole.run.GradientNorms, norms) || whole.run.Recovered != nil || len(whole.cert.Events()) < steps {
		t.Fatalf("the run itself: %+v, %d events", whole.run, len(whole.cert.Events()))
	}
	damage := func(n int) string {
		return fmt.Sprintf(" Line %d of the journal was damaged or cut off after it was written: the releases after it are "+
			"not known.", n)
	}
	for i, mark := range marks {
		for _, damaged := range []bool{false, true} {
			left := d.Crash(mark, durabletest.Kept{})
			note, line := recoveredNote, 0
			if damaged {
				journal, _ := left.Text("out/journal-1.jsonl")
				text := strings.TrimRight(journal, "\x00")
				line = strings.Count(text, "\n") + 1
				note += damage(line)
				left.Put("out/journal-1.jsonl", text+"x\n"+strings.Repeat("\x00", 99))
			}
			r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Stores: c.until(mark).at(2, left).open})
			if err != nil {
				t.Fatal(err)
			}
			got, n := toldBy(t, left), i+1
			events := got.cert.Events()
			if !slices.Equal(got.weights, weights[i]) || !slices.Equal(got.run.GradientNorms, norms[:n]) {
				t.Errorf("step %d, damaged %v: weights %v, norms %v: must be %v, %v", n, damaged, got.weights, got.run.GradientNorms,
					weights[i], norms[:n])
			}
			if !reflect.DeepEqual(events, whole.cert.Events()[:len(events)]) || got.cert.Complete() || len(events) < n ||
				len(events) > len(whole.cert.Events()) {
				t.Errorf("step %d: %d events, complete %v", n, len(events), got.cert.Complete())
			}
			if want := (&runrecord.Rebuilt{Step: n, Note: note}); !reflect.DeepEqual(got.run.Recovered, want) {
				t.Errorf("step %d, damaged %v: %+v: must be %+v", n, damaged, got.run.Recovered, want)
			}
			if r.Fit != 1 || r.Step != n || r.Steps != steps || r.Releases != len(events) || r.Charged != got.cert.Charged() ||
				r.Complete || !r.Files || r.Damaged != line || r.Folder != diskOut || r.ModelPath != "out/model.json" ||
				r.CertificatePath != "out/certificate.json" || r.Budget.Charge() != f.Budget.Charge() || r.unproven != damaged {
				t.Errorf("step %d, damaged %v: %+v", n, damaged, r)
			}
		}
	}
}

// TestAJournalGoesOn cuts a journal at each byte of its last two lines, as a kill does that stops a write, and goes on
// with it. The whole lines and the next one must then be read, whether the next line is shorter or longer than the
// beginning that was left.
func TestAJournalGoesOn(t *testing.T) {
	_, _, _, _, journal := killedWithStore(t)
	size := len(strings.TrimRight(journal, "\x00"))
	first := size
	for range 3 {
		first = strings.LastIndexByte(journal[:first], '\n')
	}
	for n := first + 1; n <= size; n++ {
		for _, next := range []ready{{Certificate: "c", Charged: .25}, {Model: strings.Repeat("m", 300), Certificate: "d"}} {
			d := durabletest.New()
			d.Put("out/journal-1.jsonl", journal[:n]+strings.Repeat("\x00", 400))
			f := &folder{disk: d, path: diskOut, fit: 1}
			before, err := f.tells()
			if err != nil || !before.proves() {
				t.Fatalf("byte %d: %+v, %v", n, before, err)
			}
			j, err := f.resume(before)
			if err == nil {
				err = j.ready(next)
			}
			if err != nil {
				t.Fatal(err)
			}
			after, err := f.tells()
			if err != nil || !after.proves() || after.ready == nil || *after.ready != next || after.lines != before.lines+1 ||
				!reflect.DeepEqual(after.events, before.events) || !slices.Equal(after.weights, before.weights) ||
				!slices.Equal(after.norms, before.norms) {
				t.Fatalf("byte %d: %d lines after %d, ready %+v, damage in line %d, %v", n, after.lines, before.lines, after.ready,
					after.damaged, err)
			}
			synced := false
			for _, op := range d.Ops() {
				synced = op.String() == "sync out/journal-1.jsonl"
			}
			if !synced {
				t.Fatalf("byte %d: the last operation is no sync: %v", n, d.Ops())
			}
		}
	}
}

// TestReadyFilesThatAreLost tests a fit that was killed after its journal said that its files are ready. If one of the
// files is lost or altered since, both are made from the journal; otherwise they get their final names as they are.
func TestReadyFilesThatAreLost(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	f, _, err := s.fitOn(t, t.Context(), d)
	if err != nil || f.ModelPath == "" {
		t.Fatal(err)
	}
	const partModel, partCert = "out/.model.json-1", "out/.certificate.json-1"
	shown := slices.IndexFunc(d.Ops(), func(o durabletest.Op) bool { return o.Kind == "rename" && o.Path == partCert })
	whole := diskState(d)
	alter := func(path string) func(*durabletest.Disk) {
		return func(d *durabletest.Disk) {
			text, _ := d.Text(path)
			d.Put(path, text[:len(text)-1]+" ")
		}
	}
	lose := func(path string) func(*durabletest.Disk) { return func(d *durabletest.Disk) { _ = d.Remove(path) } }
	for name, c := range map[string]struct {
		after  int
		do     func(*durabletest.Disk)
		remade bool
	}{
		"as they are":           {0, func(*durabletest.Disk) {}, false},
		"a named certificate":   {1, func(*durabletest.Disk) {}, false},
		"no model":              {0, lose(partModel), true},
		"no certificate":        {0, lose(partCert), true},
		"another model":         {0, alter(partModel), true},
		"another certificate":   {0, alter(partCert), true},
		"no named certificate":  {1, lose("out/certificate.json"), true},
		"no model beside it":    {1, lose(partModel), true},
		"another model, named":  {1, alter(partModel), true},
		"another, and it named": {1, alter("out/certificate.json"), true},
	} {
		left := d.Crash(shown+c.after, durabletest.Kept{})
		c.do(left)
		r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Overwrite: true})
		if err != nil || !r.Files || r.Complete == c.remade || (r.Step > 0) != c.remade {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		got, after := toldBy(t, left), diskState(left)
		if (got.run.Recovered != nil) != c.remade || got.weights == nil {
			t.Errorf("%s: recovered from the journal: %+v", name, got.run.Recovered)
		}
		if same := string(after.model) == string(whole.model) && string(after.certificate) == string(whole.certificate); same == c.remade {
			t.Errorf("%s: the files are those of the fit: %v", name, same)
		}
	}
}

// unable is a disk on which a file may not be replaced.
type unable struct {
	*durabletest.Disk
	name string
}

func (u unable) MayReplace(path string) error {
	if path == u.name {
		return fs.ErrPermission
	}
	return u.Disk.MayReplace(path)
}

// TestNamesThatMayNotBeReplaced tests that a recovery which may not replace a file says so, and loses nothing.
func TestNamesThatMayNotBeReplaced(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	_, marks, err := s.fitOn(t, t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out/model.json", "out/certificate.json"} {
		left := d.Crash(marks[len(marks)-1], durabletest.Kept{})
		if _, err := recoverIn(t.Context(), unable{left, name}, diskOut, RecoverOptions{}); err == nil ||
			!strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := left.Text(name); ok {
			t.Errorf("%s was replaced", name)
		}
		if r, err := recoverIn(t.Context(), left, diskOut, RecoverOptions{Overwrite: true}); err != nil || !r.Files {
			t.Errorf("%s: recovered later: %+v, %v", name, r, err)
		}
		wholeFiles(t, diskState(left))
	}
}

// TestAFitWithoutAModel stops a fit before its first step: the folder keeps the ledger, with the charge and the end,
// and the journal, and none of the files that space was reserved for.
func TestAFitWithoutAModel(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	config, o, err := s.begin(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Out, o.disk, o.Step = diskOut, d, func(train.Step) {}
	lines, reserved := 0, 0
	d.Fail = func(op durabletest.Op) error {
		if op.Kind == "write" && strings.Contains(op.Path, "journal") {
			if lines++; lines == 2 {
				cancel()
			}
		}
		if op.Kind == "reserve" && strings.HasPrefix(op.Path, "out/.") {
			reserved++
		}
		return nil
	}
	f, err := fit(ctx, config, o)
	if d.Fail = nil; f != nil || !errors.Is(err, context.Canceled) || reserved != 2 {
		t.Fatalf("%+v, %v: space was reserved for %d files", f, err, reserved)
	}
	if got, want := (&world{disk: d}).files(diskOut), []string{lockFile, "journal-1.jsonl", LedgerFile}; !slices.Equal(got, want) {
		t.Errorf("files %q: must be %q", got, want)
	}
	entries, err := ledgerfile.Parse([]byte(ledgerText(d)))
	if err != nil || len(entries) != 2 || entries[1].Entry != ledgerfile.Interrupted || !(entries[1].Charged > 0) {
		t.Errorf("%+v, %v", entries, err)
	}
}
