package stillpoint_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// short is a specification of a fit with few steps.
func short() stillpoint.Spec {
	s := example()
	s.Train = stillpoint.Train{Algorithm: "gd", Settings: map[string]any{"steps": 4}}
	return s
}

// listed returns the names of all files below a folder.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names[1:]
}

// TestFitWritesNothing: neither a fit nor the methods of its result may write a file before Save is called.
func TestFitWritesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	r, err := stillpoint.Fit(t.Context(), short())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Report(io.Discard); err != nil || r.Summary() == "" {
		t.Error(err)
	}
	if names := listed(t, dir); len(names) != 1 {
		t.Errorf("there are files: %q", names)
	}
	if r.Folder != "" || !r.Ledger.Ended() || r.Ledger.Len() == 0 {
		t.Errorf("folder %q, %d releases", r.Folder, r.Ledger.Len())
	}
}

// TestSavedIsAsKept: Save must write the same files as a fit in a folder. They must verify, and must work
// with report, predict and the ledger's sums. Save must not replace an earlier fit.
func TestSavedIsAsKept(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	saved, kept := filepath.Join(dir, "saved"), filepath.Join(dir, "kept")
	s := short()
	s.Table = s.Table.Named("patients")
	r, err := stillpoint.Fit(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Save(saved); err != nil {
		t.Fatal(err)
	}
	s.Folder = &stillpoint.Folder{Path: kept}
	k, err := stillpoint.Fit(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	names := func(dir string) (list []string) {
		for _, path := range listed(t, dir) {
			list = append(list, filepath.Base(path))
		}
		return list
	}
	if a, b := names(saved), names(kept); !slices.Equal(a, b) || len(a) != 4 {
		t.Errorf("saved %q, kept %q", a, b)
	}
	for dir, result := range map[string]*stillpoint.Result{saved: r, kept: k} {
		if _, err := stillpoint.Verify(ctx, dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		m, err := stillpoint.ReadModel(filepath.Join(dir, runfolder.ModelFile))
		if err != nil || !slices.Equal(m.Weights(), result.Model.Weights()) {
			t.Errorf("%s: %v, %v", dir, m, err)
		}
		f, err := report.ReadFit(ctx, dir)
		if err != nil || len(f.Reservations) != 1 || f.Reservations[0].Outcome != "settled" ||
			f.Reservations[0].Charged != result.Ledger.Charged() {
			t.Errorf("%s: %+v, %v", dir, f, err)
		}
		if err := result.Save(dir); err == nil || !strings.Contains(err.Error(), "holds an earlier fit") {
			t.Errorf("%s: saved over a fit: %v", dir, err)
		}
	}
	totals, err := runfolder.Totals(ctx, []string{dir}, 0)
	if err != nil || len(totals) != 1 || totals[0].Fits != 2 || totals[0].Table != "table patients" ||
		!(totals[0].Epsilon > 1.2) {
		t.Errorf("%+v, %v", totals, err)
	}
	text, err := os.ReadFile(filepath.Join(saved, runfolder.ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(saved, runfolder.ModelFile), append(text, ' '), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := stillpoint.Verify(ctx, saved); !errors.Is(err, certificate.ErrModel) {
		t.Errorf("another model: %v", err)
	}
	if err := r.Save(""); err == nil {
		t.Error("saved to a folder without a name")
	}
}

// registered returns a specification whose fits are charged to a dataset, and the store. The dataset's cap
// covers one and a half fits.
func registered(t *testing.T) (stillpoint.Spec, *budget.Book) {
	t.Helper()
	address := "sqlite:" + filepath.Join(t.TempDir(), "budgets.db")
	book, err := stores.Make(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	limit, err := budget.NewCap(1.25, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Create(t.Context(), "people", limit); err != nil {
		t.Fatal(err)
	}
	s := short()
	s.Budget.Dataset, s.Stores = &stillpoint.Dataset{Store: address, Name: "people"}, stores.Open
	return s, book
}

func runs(t *testing.T, book *budget.Book) []budget.RunState {
	t.Helper()
	d, err := book.Dataset(t.Context(), "people")
	if err != nil {
		t.Fatal(err)
	}
	return d.Runs
}

// TestChargedBeforeReleased: when the first released number is seen, the dataset must have been charged the
// whole budget. The unused part must be free only after the fit. A second fit that the cap does not cover
// must be refused before any cell is read.
func TestChargedBeforeReleased(t *testing.T) {
	s, book := registered(t)
	looked := 0
	s.Table = stillpoint.Rows(patients,
		stillpoint.Number("age", func(p Patient) float64 { looked++; return p.Age }),
		stillpoint.Text("returned", func(p Patient) string { return p.Returned }))
	steps := 0
	s.Planned = func(p stillpoint.Planned) {
		if list := runs(t, book); len(list) != 0 {
			t.Errorf("charged before the plan was shown: %+v", list)
		}
	}
	s.Step = func(step stillpoint.Step) {
		if steps++; steps > 1 {
			return
		}
		if list := runs(t, book); len(list) != 1 || list[0].Settled || list[0].Reserved.Charge != whole(t).Charge() {
			t.Errorf("at the first step the dataset has %+v", list)
		}
	}
	r, err := stillpoint.Fit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if list := runs(t, book); steps != 4 || len(list) != 1 || !list[0].Settled {
		t.Errorf("%d steps, %+v", steps, list)
	}
	if at, ok := r.Certificate.Budget(); !ok || at.Dataset != "people" || looked != len(patients) {
		t.Errorf("%+v, %v, %d cells looked at", at, ok, looked)
	}
	looked = 0
	s.Planned, s.Step = nil, nil
	over := (*account.BudgetError)(nil)
	if r, err := stillpoint.Fit(t.Context(), s); r != nil || !errors.As(err, &over) {
		t.Errorf("over the cap: %v, %v", r, err)
	}
	if list := runs(t, book); looked != 0 || len(list) != 1 {
		t.Errorf("%d cells looked at, %+v", looked, list)
	}
}

// whole returns the budget of the examples as package account represents it.
func whole(t *testing.T) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCancelLosesNothing: a context cancelled before the first release must cost nothing. If it is
// cancelled later, Fit must return the result of the steps so far, certified as incomplete, and the dataset
// must get the unused part of the budget back.
func TestCancelLosesNothing(t *testing.T) {
	s, book := registered(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Planned = func(stillpoint.Planned) { cancel() }
	if r, err := stillpoint.Fit(ctx, s); r != nil || !errors.Is(err, context.Canceled) || len(runs(t, book)) != 0 {
		t.Errorf("before the first release: %v, %v, %+v", r, err, runs(t, book))
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	s.Planned = nil
	s.Step = func(step stillpoint.Step) {
		if step.Number == 2 {
			cancel()
		}
	}
	r, err := stillpoint.Fit(ctx, s)
	if r == nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, %v", r, err)
	}
	if r.Model == nil || r.Model.Complete() || r.Certificate.Complete() || r.Steps != 2 {
		t.Errorf("reached %d steps", r.Steps)
	}
	if _, err := r.Certificate.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	list := runs(t, book)
	if len(list) != 1 || !list[0].Settled || !(r.Ledger.Charged() < whole(t).Charge()) ||
		!(math.Abs(list[0].Charged.Charge/r.Ledger.Charged()-1) <= 1e-9) {
		t.Errorf("charged %v of %v: %+v", r.Ledger.Charged(), whole(t).Charge(), list)
	}
	dir := filepath.Join(t.TempDir(), "part")
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	if f, err := report.ReadFit(t.Context(), dir); err != nil || f.Reservations[0].Outcome != "interrupted" {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestSpecsAreChecked: the error of an invalid specification must name field, value and rule, and the table
// must not have been read.
func TestSpecsAreChecked(t *testing.T) {
	own := &struct{ loss.Loss }{loss.Logistic()}
	for want, change := range map[string]func(*stillpoint.Spec){
		"table: must be given":  func(s *stillpoint.Spec) { s.Table = stillpoint.Table{} },
		"schema: must be given": func(s *stillpoint.Spec) { s.Schema = nil },
		"loss: must be given":   func(s *stillpoint.Spec) { s.Loss = nil },
		`loss = "logistic": must be one that package loss makes`:   func(s *stillpoint.Spec) { s.Loss = own },
		"budget.epsilon = 0: must be finite and > 0":               func(s *stillpoint.Spec) { s.Budget.Epsilon = 0 },
		"budget.epsilon = +Inf: must be finite and > 0":            func(s *stillpoint.Spec) { s.Budget.Epsilon = math.Inf(1) },
		"budget.delta = 0.5: must be > 0 and below 0.5":            func(s *stillpoint.Spec) { s.Budget.Delta = .5 },
		"budget.delta = NaN: must be":                              func(s *stillpoint.Spec) { s.Budget.Delta = math.NaN() },
		"must be ReplaceOne or AddOrRemove":                        func(s *stillpoint.Spec) { s.Budget.Relation = 0 },
		"budget.records = -1: must be >= 1":                        func(s *stillpoint.Spec) { s.Budget.Records = -1 },
		"budget.records = 0: must be >= 1: the public number":      func(s *stillpoint.Spec) { s.Budget.Relation = stillpoint.AddOrRemove },
		"privacy.records = 4: must be the number of records, 5000": func(s *stillpoint.Spec) { s.Budget.Records = 4 },
		`budget.dataset.name = "": must be`:                        func(s *stillpoint.Spec) { s.Budget.Dataset = &stillpoint.Dataset{Store: "sqlite:x"} },
		"budget.dataset.store = x: must be":                        func(s *stillpoint.Spec) { s.Budget.Dataset = &stillpoint.Dataset{Store: "x", Name: "y"} },
		"this program opens none: nothing was charged":             func(s *stillpoint.Spec) { s.Budget.Dataset = &stillpoint.Dataset{Store: "sqlite:x", Name: "y"} },
		`table = "a ": must not begin or end with white space`:     func(s *stillpoint.Spec) { s.Table = s.Table.Named("a ") },
		"radius = -1: must be":                                     func(s *stillpoint.Spec) { s.Radius = -1 },
		"train.steps: auto settles it itself":                      func(s *stillpoint.Spec) { s.Train.Algorithm = "" },
		`train.algorithm = "sgd": must be one of`:                  func(s *stillpoint.Spec) { s.Train.Algorithm = "sgd" },
		"memory.gigabytes = -1: must be":                           func(s *stillpoint.Spec) { s.Memory.Gigabytes = -1 },
		"loss: must be left out beside config":                     func(s *stillpoint.Spec) { *s = stillpoint.Spec{Config: new(stillpoint.Config), Loss: loss.Logistic()} },
		"table: must be left out beside config":                    func(s *stillpoint.Spec) { *s = stillpoint.Spec{Config: new(stillpoint.Config), Table: s.Table} },
		"inference: must be left out beside config": func(s *stillpoint.Spec) {
			*s = stillpoint.Spec{Config: new(stillpoint.Config), Inference: &stillpoint.Inference{}}
		},
		"budget: must be left out beside config":                   func(s *stillpoint.Spec) { *s = stillpoint.Spec{Config: new(stillpoint.Config), Budget: s.Budget} },
		"go.mod: is no Parquet file: must be given as CSV or File": func(s *stillpoint.Spec) { s.Table = stillpoint.Parquet("go.mod") },
		"must give the table a public name":                        func(s *stillpoint.Spec) { s.Table = stillpoint.CSV("a.csv", "b.csv") },
		"no such file":                                             func(s *stillpoint.Spec) { s.Table = stillpoint.CSV("absent.csv") },
		"too few rows for this budget, the model would be noise":   func(s *stillpoint.Spec) { s.Budget.Epsilon = .01 },
	} {
		s := short()
		change(&s)
		if r, err := stillpoint.Fit(t.Context(), s); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: must contain %q", err, want)
		}
	}
	s := short()
	s.Budget.Epsilon = .01
	if _, err := stillpoint.Fit(t.Context(), s); err == nil ||
		!strings.HasSuffix(err.Error(), "nothing was charged; Anyway fits all the same") {
		t.Errorf("too small a table: %v", err)
	}
	s.Anyway = true
	r, err := stillpoint.Fit(t.Context(), s)
	if err != nil || !slices.ContainsFunc(r.Warnings(),
		func(w stillpoint.Warning) bool { return w.Code == "table-small" }) {
		t.Errorf("anyway: %+v, %v", r, err)
	}
}

// tables returns the same rows as a table of each kind.
func tables(t *testing.T) map[string]stillpoint.Table {
	t.Helper()
	var text, german strings.Builder
	w := csv.NewWriter(&text)
	w.Write([]string{"age", "returned"})
	german.WriteString("age;returned\n")
	for _, p := range patients {
		w.Write([]string{strconv.FormatFloat(p.Age, 'g', -1, 64), p.Returned})
		fmt.Fprintf(&german, "%s,0;%s\n", strconv.FormatFloat(p.Age, 'g', -1, 64), p.Returned)
	}
	w.Flush()
	path := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	as := dataset.CSV{Delimiter: ";", Decimal: ","}
	return map[string]stillpoint.Table{
		"rows": example().Table, "csv": stillpoint.CSV(path), "file": stillpoint.File(path),
		"reader": stillpoint.Reader(strings.NewReader(text.String())),
		"german": stillpoint.Reader(strings.NewReader(german.String())).Written(as),
	}
}

// TestTablesAreAlike: the same rows must give the same records and the same predictions from every kind of
// table.
func TestTablesAreAlike(t *testing.T) {
	var m *stillpoint.Model
	for name, table := range tables(t) {
		s := short()
		s.Table = table
		r, err := stillpoint.Fit(t.Context(), s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Planned.Records != 5000 || r.Planned.Steps != 4 || r.Verdict == "" {
			t.Errorf("%s: %+v", name, r.Planned)
		}
		if name == "rows" { // rows in memory have no text format
			m = r.Model
		}
	}
	want := ""
	for name, table := range tables(t) {
		var out bytes.Buffer
		if err := stillpoint.Predict(t.Context(), m, table, &out, stillpoint.PredictOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want == "" {
			want = out.String()
		} else if out.String() != want {
			t.Errorf("%s: predictions differ", name)
		}
	}
	lines := strings.Split(strings.TrimSpace(want), "\n")[1:]
	i := 0
	for p, err := range stillpoint.Predictions(t.Context(), m, tables(t)["rows"]) {
		if err != nil {
			t.Fatal(err)
		}
		if line := strconv.FormatFloat(p.Probabilities[1], 'g', -1, 64) + "," + p.Class; !p.OK || line != lines[i] {
			t.Fatalf("row %d: %q, in the file %q", i, line, lines[i])
		}
		i++
	}
	if i != 5000 {
		t.Errorf("%d predictions", i)
	}
}

// secretWord is the content of a record that must not be shown.
const secretWord = "Quokka"

// leaky is a reader that fails with an error, or panics with a value, that contains the secret
// word.
type leaky struct{ panics bool }

func (l leaky) Read(p []byte) (int, error) {
	if l.panics {
		panic(secretWord)
	}
	return 0, errors.New(secretWord)
}

// TestReadersAreNotQuoted: the text of a reader's error must not be shown, but the caller must find the
// error with errors.Is.
func TestReadersAreNotQuoted(t *testing.T) {
	for _, panics := range []bool{false, true} {
		s := short()
		s.Table = stillpoint.Reader(io.MultiReader(strings.NewReader("age,returned\n20,yes\n"), leaky{panics}))
		r, err := stillpoint.Fit(t.Context(), s)
		if r != nil || err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secretWord) {
			t.Errorf("panics %v: %v, %#v", panics, r, err)
		}
		if _, err := stillpoint.Plan(t.Context(), s); err == nil || !strings.Contains(err.Error(), "read once") {
			t.Errorf("counted a reader: %v", err)
		}
	}
}

// TestConfigurationsAreSpecs: a configuration file and the same specification in Go must give the same fit.
func TestConfigurationsAreSpecs(t *testing.T) {
	dir := t.TempDir()
	table := tables(t)["csv"]
	path := filepath.Join(dir, "people.yaml")
	if err := os.WriteFile(path, []byte(`
data: people.csv
schema:
  columns: {age: {number: [18, 100]}}
  target: {column: returned, classes: ["no", "yes"]}
model: {loss: logistic, regularizer: l2(0.001), radius: 9, weights: {"yes": 2}}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one, records: 5000}
train: {measure: 0.1}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := stillpoint.ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := stillpoint.Plan(t.Context(), stillpoint.Spec{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	s := example()
	s.Table, s.Radius, s.Weights, s.Train.Measure, s.Budget.Records = table, 9, map[string]float64{"yes": 2}, .1, 5000
	if s.Regularizer, err = loss.ParseRegularizer("l2(0.001)"); err != nil {
		t.Fatal(err)
	}
	got, err := stillpoint.Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b account.Budget) bool { return a == b })); diff != "" {
		t.Errorf("in the file (-) and in Go (+):\n%s", diff)
	}
}
