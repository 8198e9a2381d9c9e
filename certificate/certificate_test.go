package certificate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
)

func TestRoundTrip(t *testing.T) {
	p := params(t)
	path := filepath.Join(t.TempDir(), "certificate.json")
	c := mustNew(t, p)
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got, cmp.AllowUnexported(Certificate{}, document{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(p.Events, got.Events()); diff != "" {
		t.Error(diff)
	}
	claim := account.Guarantee{Epsilon: 2, Delta: 1e-6, Mu: p.Budget.Mu(), Relation: account.ReplaceOne}
	if got.Claim() != claim {
		t.Errorf("claim %+v", got.Claim())
	}
	report, err := got.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &Report{
		Guarantee: claim, Recomputed: report.Recomputed, Basis: BasisGaussianFilter,
		// 1/16 + 1/64 is charged to every record, and 2/64 to cohort 1.
		Charged: 7.0 / 64, Records: 32561, Neighbour: "a table with one row replaced by any other", Events: 5, Cohorts: 2,
		Complete: true, Trusted: p.Trusted,
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
	if !(report.Recomputed <= 2 && report.Recomputed > 2-1e-12) {
		t.Errorf("recomputed epsilon %v", report.Recomputed)
	}
}

// TestChecksumRecipe follows, step by step, the shell command in the package comment.
func TestChecksumRecipe(t *testing.T) {
	c := mustNew(t, params(t))
	h := sha256.New()
	for line := range strings.Lines(string(c.text)) {
		if !strings.HasPrefix(line, `  "checksum":`) {
			h.Write([]byte(line))
		}
	}
	if want := "sha256:" + hex.EncodeToString(h.Sum(nil)); c.checksum != want {
		t.Errorf("got %s, want %s", c.checksum, want)
	}
}

func TestFileLayout(t *testing.T) {
	text := string(mustNew(t, params(t)).text)
	if !strings.HasSuffix(text, "\"\n}\n") || strings.HasSuffix(text, "\n\n") {
		t.Errorf("ends in %q", text[len(text)-10:])
	}
	var got []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `  "`) {
			key, _, _ := strings.Cut(line[3:], `"`)
			got = append(got, key)
		}
	}
	_, keys, _ := strictjson.Members(reflect.TypeFor[file](), needed)
	want := slices.DeleteFunc(keys,
		func(key string) bool { return key == "schedule" || key == "filter" || key == "unit" || key == "budget" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(text, `"note": "a<b"`) {
		t.Error("text is escaped for HTML")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*stated)
		want   string
	}{
		{"zero budget", func(p *stated) { p.Budget = account.Budget{} }, "relation = relation(0): must be"},
		{"no software", func(p *stated) { p.Software = "" }, "software"},
		{"no records", func(p *stated) { p.Records = 0 }, "records = 0: must be between 1 and 2^53"},
		{"no algorithm", func(p *stated) { p.Algorithm.Name = "" }, "algorithm.name"},
		{"plan not JSON", func(p *stated) { p.Algorithm.Plan = json.RawMessage("{") }, "algorithm.plan"},
		{"plan not an object", func(p *stated) { p.Algorithm.Plan = json.RawMessage("[1]") }, `algorithm.plan = [\n`},
		{"plan with a key twice", func(p *stated) { p.Algorithm.Plan = json.RawMessage(`{"a":{"b":1,"b":2}}`) },
			"algorithm.plan.a.b: is given twice"},
		{"simulated event under secret coins", func(p *stated) { p.Events[1].Simulated = true },
			"event 1: account: event: simulated = true"},
		{"real event under simulated coins", func(p *stated) { p.Coins = Simulated },
			"event 0: account: event: simulated = false"},
		{"an event without a relation", func(p *stated) { p.Events[2].Relation = 0 },
			"event 2: relation = relation(0): must be stated"},
		{"an event of the other relation", func(p *stated) { p.Events[2].Relation = account.AddOrRemove },
			"event 2: account: event: relation"},
		{"no model", func(p *stated) { p.ModelSHA256 = "" }, "model_sha256"},
		{"bad digest", func(p *stated) { p.ModelSHA256 = someDigest[1:] }, "model_sha256"},
		{"gap in the events", func(p *stated) { p.Events = p.Events[1:] }, "index"},
		{"charge too low", func(p *stated) { p.Events[0].Charge /= 2 }, "event 0: charge"},
		{"over budget", func(p *stated) {
			budget, err := account.NewBudget(0.01, 1e-6, account.ReplaceOne)
			if err != nil {
				t.Fatal(err)
			}
			p.Budget = budget
		}, "event 0: account: over budget"},
		{"empty assumption", func(p *stated) { p.Trusted = []string{""} }, "trusted[0]"},
	} {
		p := params(t)
		test.change(&p)
		_, err := p.certificate()
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "certificate: ") {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
			continue
		}
		kindOf(t, err)
	}
}

// TestNewVerifies: a certificate that New makes verifies for every budget. mu is rounded down
// and epsilon is rounded up, so that no tolerance is needed.
func TestNewVerifies(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(math.Log(1e-3), math.Log(50)).Draw(r, "log epsilon"))
		delta := math.Exp(rapid.Float64Range(math.Log(1e-12), math.Log(0.1)).Draw(r, "log delta"))
		relation := rapid.SampledFrom([]account.Relation{account.ReplaceOne, account.AddOrRemove}).Draw(r, "relation")
		budget, err := account.NewBudget(epsilon, delta, relation)
		if err != nil {
			r.Fatal(err)
		}
		ledger, err := account.OpenLedger(budget, account.Records{Count: 3})
		if err != nil {
			r.Fatal(err)
		}
		n := rapid.IntRange(0, 20).Draw(r, "events")
		for range n {
			share := rapid.Float64Range(0.01, 0.9).Draw(r, "share")
			cohort := rapid.Uint64Range(0, 3).Draw(r, "cohort")
			e, err := account.GaussianEvent("gradient", cohort, budget.Mu()*share, 1)
			if err != nil {
				r.Fatal(err)
			}
			ledger.Reserve(e) // some events exceed the budget and are refused
		}
		ledger.End()
		c, err := New(session{ledger}, Params{Software: "stillpoint devel", Algorithm: Algorithm{Name: "any"}})
		if err != nil {
			r.Fatal(err)
		}
		report, err := c.Verify(t.Context())
		if err != nil {
			r.Fatal(err)
		}
		if report.Charged != ledger.Charged() || report.Epsilon != epsilon || report.Recomputed > epsilon || report.Complete {
			r.Fatalf("%+v for a ledger at %v", report, ledger.Charged())
		}
	})
}

func TestImmutable(t *testing.T) {
	p := params(t)
	c := mustNew(t, p)
	p.Events[0].Sigma, p.Trusted[0] = 1, "x"
	copy(p.Algorithm.Plan, "[[[[")
	c.Events()[0].Sigma, c.Trusted()[0] = 1, "x"
	copy(c.Algorithm().Plan, "[[[[")
	again := mustNew(t, params(t))
	if diff := cmp.Diff(again, c, cmp.AllowUnexported(Certificate{}, document{})); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestZeroCertificate(t *testing.T) {
	var c Certificate
	if _, err := c.Verify(t.Context()); !errors.Is(err, ErrAltered) {
		t.Errorf("verifies: %v", err)
	}
	if err := c.Write(filepath.Join(t.TempDir(), "c")); err == nil {
		t.Error("is written")
	}
	if err := VerifyModel(&c, "x"); !errors.Is(err, ErrModel) {
		t.Errorf("has a model: %v", err)
	}
}

func TestWriteReplacesAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "certificate.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mustNew(t, params(t)).Write(path); err != nil {
		t.Fatal(err)
	}
	// A directory at the path: the rename must fail and the temporary file must be removed.
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mustNew(t, params(t)).Write(filepath.Join(dir, "taken")); err == nil {
		t.Error("replaced a directory")
	}
	if err := mustNew(t, params(t)).Write(filepath.Join(dir, "none", "c.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("left %v", entries)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestVerifyModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.json")
	if err := os.WriteFile(path, []byte("test"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustNew(t, params(t)) // someDigest is SHA-256("test"), FIPS 180 implementations agree
	if err := VerifyModel(c, path); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := VerifyModel(c, path); !errors.Is(err, ErrModel) {
		t.Errorf("another model: %v", err)
	}
	// Every digit of the digest must be compared.
	if err := os.WriteFile(path, []byte("test"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range someDigest {
		p := params(t)
		digit := byte('0')
		if someDigest[i] == digit {
			digit = '1'
		}
		p.ModelSHA256 = someDigest[:i] + string(digit) + someDigest[i+1:]
		if err := VerifyModel(mustNew(t, p), path); !errors.Is(err, ErrModel) {
			t.Errorf("digit %d differs: %v", i, err)
		}
	}
	if err := VerifyModel(c, path+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no model: %v", err)
	}
}
