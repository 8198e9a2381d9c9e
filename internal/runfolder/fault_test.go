package runfolder

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

var long = flag.Bool("long", false, "try faults at every moment and with every algorithm")

// A fault may occur at any time. The tests below cause a fault at every moment that a test can choose. After
// each fault the folder must meet the same requirements (scene.keeps).

// scene is the place of a test with faults: a table, its configuration and an output folder.
type scene struct {
	dir, out string
}

// newScene makes a scene of 300 records for an algorithm. The run is made short: three steps and,
// because accounting for subsampling takes long, samples of all records, if the algorithm has these
// settings; otherwise it has the settings in ownSettings.
func newScene(t *testing.T, algorithm string) scene {
	t.Helper()
	dir := t.TempDir()
	s := scene{dir, filepath.Join(dir, "out")}
	write(t, filepath.Join(dir, "people.csv"), people(300))
	yaml := peopleYAML
	if algorithm == "smoothed" { // serves losses whose slope jumps
		yaml = strings.Replace(yaml, "logistic", "hinge", 1)
	}
	for _, steps := range []string{", steps: 3, sampling: 1", ", steps: 3", ownSettings[algorithm]} {
		write(t, s.config(), yaml+"train: {algorithm: "+algorithm+steps+"}\n")
		c, err := train.ReadConfig(s.config())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Plan(context.Background()); err == nil {
			return s
		}
		if steps == ownSettings[algorithm] {
			t.Fatal(err)
		}
	}
	return s
}

// ownSettings holds settings that shorten the runs of algorithms that have no setting for the
// number of steps. The number of steps of adaptive-gd before its landing depends on answers, so
// that only the landing's number is set.
var ownSettings = map[string]string{"adaptive-gd": ", norm_charge: 0.06, landing_steps: 2", "kl-spider": ", rounds: 40",
	"second-order": ", items: 6"}

func (s scene) config() string { return filepath.Join(s.dir, "people.yaml") }

func (s scene) file(name string) string { return filepath.Join(s.out, name) }

// begin returns the configuration and the options of a fit in the scene. The fit calls released
// after every step.
func (s scene) begin(released func()) (*train.Config, options, error) {
	c, err := train.ReadConfig(s.config())
	return c, options{Software: "test", Out: s.out, Overwrite: true, Step: func(train.Step) { released() }}, err
}

// fit runs the scene's fit without a fault.
func (s scene) fit(t *testing.T) *Fitted {
	t.Helper()
	c, o, err := s.begin(func() {})
	if err != nil {
		t.Fatal(err)
	}
	f, err := fit(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// state holds the contents of an output folder's files at one moment.
type state struct {
	ledger             []byte
	model, certificate []byte
}

func (s scene) state(t *testing.T) state {
	t.Helper()
	file := func(name string) []byte {
		text, err := os.ReadFile(s.file(name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return text
	}
	return state{file(LedgerFile), file(ModelFile), file(CertificateFile)}
}

// keeps fails the test unless the folder is as it must be after any fault. before is the
// folder's state before the fit, and answers the number of answers that the fit returned:
//
//   - if it returned any, its whole budget is reserved;
//   - the ledger still has every entry it had before;
//   - each file is whole; a model is there only together with its certificate, and the
//     certificate verifies;
//   - everything that the fit released can be recovered;
//   - the next fit runs, sees all reservations, and leaves no other file.
func (s scene) keeps(t *testing.T, before state, answers int) {
	t.Helper()
	after := s.state(t)
	if !bytes.HasPrefix(after.ledger, before.ledger) {
		t.Errorf("the ledger has lost\n%s", before.ledger)
	}
	earlier, whole := reservations(t, before.ledger), reservations(t, after.ledger)
	switch n := len(whole) - len(earlier); {
	case n < 0 || n > 1:
		t.Errorf("%d reservations by one fit", n)
	case n == 0 && answers > 0:
		t.Errorf("%d answers without a reservation", answers)
	case n == 0 && (!bytes.Equal(before.model, after.model) || !bytes.Equal(before.certificate, after.certificate)):
		t.Error("a file was written without a reservation")
	case n == 1:
		mu, err := mechanism.GaussianMu(1, 1e-6)
		if e := whole[len(whole)-1]; err != nil || e.Mu != mu || e.Epsilon != 1 || e.Delta != 1e-6 ||
			e.Relation != account.ReplaceOne {
			t.Errorf("reserved %+v: must be the whole budget, mu = %v", e, mu)
		}
	}
	wholeFiles(t, after)
	if len(whole) > len(earlier) {
		s.recovers(t, answers)
	}
	if later := s.fit(t); len(later.Earlier) != len(whole) {
		t.Errorf("the next fit sees %d earlier reservations: must see %d", len(later.Earlier), len(whole))
	} else {
		verified(t, later)
	}
	s.nothingElse(t)
}

// recovers fails the test unless Recover makes the files of the last fit, with at least answers
// releases. If the fit has no journal, because it ended with its files, there must be nothing
// to recover.
func (s scene) recovers(t *testing.T, answers int) {
	t.Helper()
	journals, err := filepath.Glob(s.file("journal-*"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Recover(context.Background(), s.out, RecoverOptions{Overwrite: true})
	if len(journals) == 0 {
		wantError(t, err, "nothing to recover")
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	after := s.state(t)
	wholeFiles(t, after)
	if after.certificate == nil || r.Releases < answers || (after.model == nil) != (r.ModelPath == "") ||
		after.model == nil && answers > 0 {
		t.Errorf("recovered %+v of %d answers", r, answers)
	}
	if entries, err := ledgerfile.Parse(after.ledger); err != nil ||
		entries[len(entries)-1].Entry == ledgerfile.Reserved || !bytes.HasSuffix(after.ledger, newline) {
		t.Errorf("recovered, and not settled: %v", err)
	}
	s.nothingElse(t)
}

// reservations returns the reservations for the scene's table in the text of a ledger.
func reservations(t *testing.T, text []byte) []Entry {
	t.Helper()
	entries, err := readLedger(write(t, filepath.Join(t.TempDir(), LedgerFile), string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Entry != "reserved" || filepath.Base(e.Data) != "people.csv"
	})
}

// wholeFiles fails the test unless each file is valid, the certificate verifies, and the model
// is the certificate's.
func wholeFiles(t *testing.T, s state) {
	t.Helper()
	if s.certificate == nil {
		if s.model != nil {
			t.Error("a model without a certificate")
		}
		return
	}
	c, err := certificate.Parse(s.certificate)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Verify(t.Context()); err != nil {
		t.Errorf("certificate: %v", err)
	}
	if s.model == nil {
		return
	}
	if _, err := model.Parse(s.model); err != nil {
		t.Errorf("model: %v", err)
	}
	if c.ModelSHA256() != sha(s.model) {
		t.Error("the model is not the certificate's")
	}
}

func (s scene) nothingElse(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(s.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{ModelFile, CertificateFile, LedgerFile, lockFile}, e.Name()) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

// looks is a context that counts the calls of Err. A fit calls Err before it reads, before it
// reserves, and before and after every charge. At call number at, looks calls strike.
type looks struct {
	context.Context
	n, at  int
	strike func() error
}

func (l *looks) Err() error {
	l.n++
	if l.n == l.at {
		if err := l.strike(); err != nil {
			return err
		}
	}
	return l.Context.Err()
}

// moments returns the numbers of the calls (see looks) at which faults are caused: at most the
// given number of them, evenly spaced, with the first and the last.
func (s scene) moments(t *testing.T, most int) []int {
	t.Helper()
	l := &looks{Context: context.Background()}
	c, o, err := s.begin(func() {})
	if err != nil {
		t.Fatal(err)
	}
	o.Out += "-counted"
	if _, err := fit(l, c, o); err != nil {
		t.Fatal(err)
	}
	var at []int
	for i := range min(most, l.n) {
		at = append(at, 1+i*(l.n-1)/max(1, min(most, l.n)-1))
	}
	return at
}

var errStruck = errors.New("struck")

// faults are the functions, by name, that cause a fault of a fit from within its process.
var faults = map[string]func(cancel context.CancelFunc) error{
	"cancelled": func(cancel context.CancelFunc) error { cancel(); return nil },
	"failing":   func(context.CancelFunc) error { return errStruck },
	"panicking": func(context.CancelFunc) error { panic(errStruck) },
}

// TestFaultsWithinAProcess runs fits of every algorithm that are cancelled, get an error from their
// context, or panic, at several calls of Err (see looks). The folder is empty before or has an
// earlier fit.
func TestFaultsWithinAProcess(t *testing.T) {
	most := 5
	switch {
	case *long:
		most = 12
	case testing.Short():
		most = 2
	}
	for i, algorithm := range train.Algorithms() {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, algorithm)
			for k, at := range s.moments(t, most) {
				for f, name := range slices.Sorted(maps.Keys(faults)) {
					if turn := (i + k + f) % 3; testing.Short() && turn > 0 || turn == 2 && !*long {
						continue // by turns: in short runs one fault at each moment, without -long two
					}
					strike := faults[name]
					if before := s.state(t); at%2 == 0 {
						os.RemoveAll(s.out)
					} else if before.model == nil {
						s.fit(t)
					}
					before := s.state(t)
					answers := s.struck(t, at, strike)
					s.keeps(t, before, answers)
					if t.Failed() {
						t.Fatalf("%s at look %d", name, at)
					}
				}
			}
		})
	}
}

// struck runs a fit with a fault at the given call of the context's method Err. It returns the
// number of answers before the fault.
func (s scene) struck(t *testing.T, at int, strike func(context.CancelFunc) error) (answers int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, o, err := s.begin(func() { answers++ })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if v := recover(); v != nil && v != errStruck {
			t.Errorf("panic: %v", v)
		}
	}()
	f, err := fit(&looks{Context: ctx, at: at, strike: func() error { return strike(cancel) }}, c, o)
	switch {
	case errors.Is(err, errStruck), errors.Is(err, context.Canceled) && f == nil:
		if answers > 0 && !strings.Contains(err.Error(), "the whole budget stays charged") {
			t.Errorf("error %v: must say that the budget is gone", err)
		}
		entries, damaged := ledgerfile.Parse(s.state(t).ledger)
		if charged := (*ChargedError)(nil); damaged != nil ||
			errors.As(err, &charged) && entries[len(entries)-1].Entry == ledgerfile.Settled {
			t.Errorf("a fit that failed is settled as complete: %v", damaged)
		}
	case errors.Is(err, context.Canceled):
		if verified(t, f).Complete && f.Result.Complete != true {
			t.Error("certified as complete, and is not")
		}
	case err != nil:
		t.Errorf("error %v: must be the fault's", err)
	}
	return answers
}
