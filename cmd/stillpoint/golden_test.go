package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
)

// golden is the folder of output folders that revision cd81e45 of the command wrote, and the
// command's output about them: fits of a table of 4,000 generated rows with a filter, with a unit,
// under add-or-remove on samples, with released curvature and measurements, with releases by
// stability, with a store of budgets, and the journal of a killed fit.
const golden = "testdata/golden"

// goldenFits are those folders in golden that have a certificate, a model and a ledger.
var goldenFits = []string{"filtered", "units", "sampled", "second", "phased", "stored", "recovered"}

// says runs the command and fails the test unless it prints the text of the given file to standard
// output.
func says(t *testing.T, file string, args ...string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(golden, file))
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	if code := run(t.Context(), args, &console{out: &out, err: &stderr, saving: func() {}}); code != 0 {
		t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
	} else if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%v: prints\n%s\nmust print %s:\n%s", args, out.String(), file, want)
	}
}

// TestGoldenFolders tests output folders that an earlier revision of the program wrote: they must
// verify, and verify and predict must print the same as then. Pages of fits that were compared with a constant must say
// that an earlier version did so.
func TestGoldenFolders(t *testing.T) {
	for _, fit := range goldenFits {
		cert, model := filepath.Join(golden, fit, "certificate.json"), filepath.Join(golden, fit, "model.json")
		says(t, fit+"/verify.txt", "verify", cert, "--model", model)
		says(t, fit+"/verify.json", "verify", cert, "--json")
		says(t, fit+"/predict.csv", "predict", model, filepath.Join(golden, "new.csv"))
		var out bytes.Buffer
		page := filepath.Join(t.TempDir(), "report.html")
		if code := run(t.Context(), []string{"report", filepath.Join(golden, fit), "--out", page},
			&console{out: &out, err: &out, saving: func() {}}); code != 0 {
			t.Errorf("report %s: exit code %d: %s", fit, code, out.String())
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		certified, err := os.ReadFile(cert)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(certified, []byte(`"compared"`)) != bytes.Contains(text, []byte("an earlier version of the program")) {
			t.Errorf("%s: the page does not say that an earlier version compared the fit with a constant", fit)
		}
	}
	says(t, "dataset.txt", "verify", filepath.Join(golden, "dataset.json"), "--run",
		filepath.Join(golden, "stored", "certificate.json"))
	says(t, "ledger.json", "ledger", golden, "--json")
}

// TestGoldenJournal tests that recovery from the journal of a fit that was killed under an earlier
// revision makes the same files as then.
func TestGoldenJournal(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden, "killed"))); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"recover", dir}, &console{out: &out, err: &out, saving: func() {}}); code != 0 {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	for _, name := range []string{"model.json", "certificate.json"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(golden, "recovered", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what it was:\n%s", name, got)
		}
	}
}

// TestGoldenCertificatesAreMadeAgain tests certificates that an earlier revision wrote: one made
// again from the contents must have the same bytes.
func TestGoldenCertificatesAreMadeAgain(t *testing.T) {
	for _, fit := range goldenFits {
		text, err := os.ReadFile(filepath.Join(golden, fit, "certificate.json"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := certificate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := remade(t.Context(), c, text)
		if err != nil {
			t.Fatalf("%s: %v", fit, err)
		}
		if !bytes.Equal(again, text) {
			t.Errorf("%s: made again it is\n%s", fit, again)
		}
	}
}

func remade(ctx context.Context, c *certificate.Certificate, text []byte) ([]byte, error) {
	var more struct {
		Claim struct {
			Epsilon, Delta, Mu float64
			Relation           account.Relation
		}
		Schedule []account.SampledSteps
	}
	if err := json.Unmarshal(text, &more); err != nil {
		return nil, err
	}
	b, err := account.NewBudget(more.Claim.Epsilon, more.Claim.Delta, more.Claim.Relation)
	if err != nil {
		return nil, err
	}
	j := account.Journal{Budget: b, Events: c.Events(), Records: account.Records{
		Count: c.Records(), Unit: c.Unit(), Filter: c.Filter(),
	}}
	if len(more.Schedule) > 0 {
		if j.Schedule, err = account.NewSchedule(ctx, b, more.Claim.Mu, more.Schedule...); err != nil {
			return nil, err
		}
	}
	p := certificate.Params{Software: c.Software(), Algorithm: c.Algorithm(), Complete: c.Complete(),
		ModelSHA256: c.ModelSHA256()}
	if r, ok := c.Budget(); ok {
		p.Reservation = &r
	}
	again, err := certificate.FromJournal(j, p)
	if err != nil {
		return nil, err
	}
	return again.Bytes()
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestUnwrittenOutputIsAFailure tests that a command whose answer cannot be written, in text or JSON, says so and fails.
func TestUnwrittenOutputIsAFailure(t *testing.T) {
	fit := filepath.Join(golden, "filtered")
	cert, model := filepath.Join(fit, "certificate.json"), filepath.Join(fit, "model.json")
	for _, args := range [][]string{{"algorithms"}, {"coefficients", fit}, {"ledger", fit}, {"verify", cert},
		{"plan", filepath.Join("..", "..", "examples", "adult", "adult.yaml")}, {"predict", model, filepath.Join(golden, "new.csv")}} {
		for _, more := range []string{"", "--json"} {
			if more != "" {
				if args[0] == "predict" || args[0] == "algorithms" {
					continue
				}
				args = append(args, more)
			}
			var stderr bytes.Buffer
			if code := run(t.Context(), args, &console{out: full{}, err: &stderr}); code == 0 || !strings.Contains(stderr.String(), "no space left") {
				t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
			}
		}
	}
}
