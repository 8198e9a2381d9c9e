package curator_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

const peopleSchema = `
columns:
  age: {number: [0, 100]}
  job: {category: [nurse, clerk]}
target: {column: ill, classes: ["no", "yes"]}
`

const people = "age,job,ill\n31.25,nurse,no\n77.125,clerk,yes\n12.5,sailor,no\n"

func schema(t testing.TB, text string) *dataset.Schema {
	t.Helper()
	s := new(dataset.Schema)
	if err := yaml.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func config(t testing.TB, path string) curator.Config {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	return curator.Config{Path: path, Schema: schema(t, peopleSchema), Loss: l, Budget: b}
}

func open(t testing.TB, path string) *curator.Session {
	t.Helper()
	s, err := curator.Open(context.Background(), config(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAskARealTable(t *testing.T) {
	s := open(t, write(t, "people.csv", people))
	if s.All().Size() != 3 || s.Dim() != 5 {
		t.Fatalf("%v records, %d features: want 3 and 5", s.All().Size(), s.Dim())
	}
	q, err := query.New(s.Ledger().Budget().Charge()/2, query.GradientAt(s.All(), make([]float64, 5), 1))
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if a.Mean[0] == again.Mean[0] {
		t.Error("two answers have the same noise")
	}
	if events := s.Ledger().Events(); len(events) != 2 || events[0].Simulated {
		t.Errorf("ledger: %+v", events)
	}
	if s.Close() != nil {
		t.Error("close failed")
	}
	if _, err := s.Ask(context.Background(), q); !errors.Is(err, curator.ErrClosed) {
		t.Errorf("asked a closed session: %v", err)
	}
}

// TestSessionShowsNothing prints a session in every way of the standard library, also inside other
// values, and looks for anything from the table.
func TestSessionShowsNothing(t *testing.T) {
	s := open(t, write(t, "people.csv", people))
	if _, err := s.Draw(2); err != nil { // makes a secret order of records
		t.Fatal(err)
	}
	type outer struct {
		S *curator.Session
		V curator.Session
		p *curator.Session
		v curator.Session
	}
	o := outer{S: s, V: *s, p: s, v: *s}
	var texts []string
	for _, v := range []any{s, *s, o, &o, []any{s}, map[string]any{"s": *s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%t", "%e", "%c", "%U", "%!"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(j))
		var b strings.Builder
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v)
		texts = append(texts, b.String())
	}
	_, _ = o.p, o.v
	for _, text := range texts {
		for _, secret := range []string{"31.25", "77.125", "nurse", "0.375", "Rows:", "Targets", "session.Session{", "[]float",
			"[0 1 2]", "[1 ", "false", "{3 "} {
			if strings.Contains(text, secret) {
				t.Errorf("%q shows %q", text, secret)
			}
		}
	}
}

// TestFileErrorsSayNothingOfRecords: an error about a data file has the same text whatever the
// records.
func TestFileErrorsSayNothingOfRecords(t *testing.T) {
	gzipped := func(text string, cut int) string {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		fmt.Fprint(z, text)
		z.Close()
		return b.String()[:b.Len()-cut]
	}
	many := "age,job,ill\n" + strings.Repeat("44,clerk,yes\n", 5000)
	for name, c := range map[string]struct{ a, b, want string }{
		"truncated gzip": {gzipped(people, 5), gzipped(many, 9), "damaged"},
		"empty":          {"", "", "empty"},
		"no rows":        {"age,job,ill\n", "age,job,ill\n", "no row"},
		"wrong column":   {"age,work,ill\n1,nurse,no\n", "age,work,ill\n2,clerk,yes\n3,x,y\n", "job"},
		"extra column":   {"age,job,ill,name\n1,nurse,no,Ann\n", "age,job,ill,name\n", "name"},
	} {
		var texts [2]string
		for i, text := range []string{c.a, c.b} {
			path := write(t, "t.csv", text)
			_, err := curator.Open(context.Background(), config(t, path))
			if err == nil {
				t.Fatalf("%s: opened", name)
			}
			texts[i] = strings.ReplaceAll(err.Error(), path, "FILE")
		}
		if texts[0] != texts[1] || !strings.Contains(texts[0], c.want) || !strings.Contains(texts[0], "FILE") {
			t.Errorf("%s: errors %q and %q: want the same, naming the file and %q", name, texts[0], texts[1], c.want)
		}
	}
}

// TestFaultyRecordsAreSilent: malformed rows count, contribute zero and are not reported.
func TestFaultyRecordsAreSilent(t *testing.T) {
	text := people + "x\n1,2,3,4,5\n50,nurse,perhaps\n\"broken,nurse,no\n"
	s := open(t, write(t, "people.csv", text))
	if got := s.All().Size(); got < 6 {
		t.Errorf("%v records: faulty ones must count", got)
	}
	n, err := curator.Count(context.Background(),
		curator.Config{Path: write(t, "people.csv", text), Schema: schema(t, peopleSchema)})
	if err != nil || float64(n) != s.All().Size() {
		t.Errorf("Count = %d (%v), session has %v", n, err, s.All().Size())
	}
}

func TestOpenRules(t *testing.T) {
	path := write(t, "people.csv", people)
	real, err := loss.Parse("huber(0.5)")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*curator.Config)
		want   string
	}{
		"schema":   {func(c *curator.Config) { c.Schema = nil }, "schema"},
		"loss":     {func(c *curator.Config) { c.Loss = nil }, "loss"},
		"target":   {func(c *curator.Config) { c.Loss = real }, "target"},
		"budget":   {func(c *curator.Config) { c.Budget = account.Budget{} }, "relation"},
		"declared": {func(c *curator.Config) { c.Declared = 5 }, "declared"},
		"nan":      {func(c *curator.Config) { c.Declared = math.NaN() }, "declared"},
		"workers":  {func(c *curator.Config) { c.Workers = -1 }, "workers"},
		"block":    {func(c *curator.Config) { c.BlockRows = -1 }, "block"},
		"path":     {func(c *curator.Config) { c.Path = "nowhere.csv" }, "nowhere.csv"},
	} {
		cfg := config(t, path)
		c.change(&cfg)
		if _, err := curator.Open(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one about %q", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := curator.Open(ctx, config(t, path)); !errors.Is(err, context.Canceled) {
		t.Errorf("opened under a cancelled context: %v", err)
	}
}
