package runfolder

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

func verified(t *testing.T, f *Fitted) *certificate.Report {
	t.Helper()
	cert, err := certificate.Read(f.CertificatePath)
	if err != nil {
		t.Fatal(err)
	}
	report, err := cert.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := certificate.VerifyModel(cert, f.ModelPath); err != nil {
		t.Fatal(err)
	}
	return report
}

// kinds lists the entries of a ledger.
func kinds(t *testing.T, folder string) string {
	t.Helper()
	entries, err := readLedger(filepath.Join(folder, LedgerFile))
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, e := range entries {
		s = append(s, e.Entry)
	}
	return strings.Join(s, " ")
}

// TestFittedNumbersAreClamped: the model of a number predicts within its public bounds. The
// model of classes has no bounds and does not clamp.
func TestFittedNumbersAreClamped(t *testing.T) {
	for clamped, target := range map[bool][]string{
		true:  {`classes: ["0", "1"]`, "number: [0, 1]", "logistic", "huber(0.1)"},
		false: {},
	} {
		f, err := fit(t.Context(), config(t, 300, target...), options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.Read(f.ModelPath)
		if err != nil || m.Clamped() != clamped {
			t.Errorf("%q: clamped %v, %v: must be %v", target, m.Clamped(), err, clamped)
		}
	}
}

// TestFitComparesWithAConstant tests the comparison of a fit with the best constant. If targets follow from
// the columns, the model is called better than the constant. If targets are independent of the columns, it
// is not, and the model has a warning. The certificate has the comparison, and the plan's budget is smaller
// by the comparison's share. The comparison decides on the model's weights. With compare: off, and for a
// table too small for a comparison, nothing is compared, and the plan has the whole budget.
func TestFitComparesWithAConstant(t *testing.T) {
	coins := strings.NewReplacer("target: {column: sick", "target: {column: sex", `classes: ["0", "1"]`, "classes: [f, m]",
		"    sex: {category: [f, m]}\n", "    sick: {number: [0, 1]}\n").Replace(peopleYAML)
	for name, test := range map[string]struct {
		n       int
		changes []string
		verdict string
		share   float64
	}{
		"better":    {8000, nil, "better", train.SmallCompare},
		"coins":     {8000, []string{peopleYAML, strings.Replace(coins, "logistic", "logistic, family: lines", 1)}, "not", train.DefaultCompare},
		"off":       {8000, []string{"replace-one}", "replace-one}\ntrain: {compare: off}"}, "", 0},
		"own share": {8000, []string{"replace-one}", "replace-one}\ntrain: {compare: 0.3}"}, "better", .3},
		"too small": {200, nil, "", 0},
	} {
		var f *Fitted
		for range 6 { // a verdict on noise alone, which is better once in 50 fits
			var err error
			if f, err = fit(t.Context(), config(t, test.n, test.changes...), options{Software: "test"}); err != nil {
				t.Fatal(err)
			}
			if test.verdict != "not" || f.Compared.Verdict() != optimize.Better {
				break
			}
		}
		verified(t, f)
		m, err := model.Read(f.ModelPath)
		if err != nil {
			t.Fatal(err)
		}
		warned := slices.ContainsFunc(m.Warnings(),
			func(w train.Warning) bool { return w.Code == train.WarnNotBetter || w.Code == train.WarnWorse })
		certified := strings.Contains(read(t, f.CertificatePath), `"compared"`)
		if (test.verdict == "not") != warned || (test.verdict != "") != certified || (f.Compared != nil) != certified {
			t.Errorf("%s: compared %+v, certified %v, warnings %v", name, f.Compared, certified, m.Warnings())
		}
		if c := f.Compared; c != nil && (c.Verdict() == optimize.Better) != (test.verdict == "better") {
			t.Errorf("%s: %v: %+v", name, c.Verdict(), c)
		}
		want := f.Result.W
		if c := f.Compared; c != nil {
			constant, _ := m.Constant(c.Margins)
			want = c.Model(f.Result.W, constant)
			if v := c.Verdict(); v == optimize.Better && c.Shrunk != 0 || v == optimize.Worse && c.Shrunk != 1 {
				t.Errorf("%s: shrunk by %v: %+v", name, c.Shrunk, c)
			}
		}
		if got := m.Weights(); !slices.Equal(got, want) {
			t.Errorf("%s: weights %v: must be %v, as the comparison decides", name, got, want)
		}
		if !slices.Equal(m.Warnings(), f.Warnings) {
			t.Errorf("%s: the fit warns of %v, its file of %v", name, f.Warnings, m.Warnings())
		}
		if got := f.Charged / f.Budget.Charge(); !(got <= 1) || got < 1-1e-6 {
			t.Errorf("%s: %v of the budget charged", name, got)
		}
		plain := 1 - test.share - optimize.BaseShare
		if size := f.Records * f.Budget.Mu() *
			math.Sqrt(plain) / math.Sqrt(float64(f.Dim)); !(math.Abs(size/f.Summary.Effective-1) <= 1e-9) {
			t.Errorf("%s: effective size %v of %v of the budget: must be %v", name, f.Summary.Effective, plain, size)
		}
	}
}

func TestFit(t *testing.T) {
	c := config(t, 300, "logistic}", "logistic, regularizer: l2(0.01), radius: 5}")
	f, err := fit(context.Background(), c, options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := verified(t, f)
	if !r.Complete || r.Records != 300 || r.Epsilon > 1 || r.Delta != 1e-6 || r.Relation != account.ReplaceOne ||
		r.Events != f.Releases || r.Events <= f.Summary.Steps || f.Base == nil {
		t.Errorf("report %+v of %d steps", r, f.Summary.Steps)
	}
	if !(f.Charged <= f.Budget.Charge()) || f.Charged != r.Charged {
		t.Errorf("charged %v of %v, certified %v", f.Charged, f.Budget.Charge(), r.Charged)
	}
	m, err := model.Read(f.ModelPath)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Regularizer().Name(); got != "l2(0.01)" {
		t.Errorf("regularizer %s", got)
	}
	start, _ := m.Constant(f.Base.Margins)
	var apart float64
	for j, w := range m.Weights() {
		apart = math.Hypot(apart, w-start[j])
	}
	if apart > 5*(1+1e-12) || apart == 0 {
		t.Errorf("distance from the start %v: must be in the ball of radius 5", apart)
	}
	if f.Folder != "people-fit" || kinds(t, f.Folder) != "reserved settled" {
		t.Errorf("folder %s: %s", f.Folder, kinds(t, f.Folder))
	}
}

// TestAlgorithms tests fits with algorithm auto, which must run the plan that auto lists first, and
// fits that name an algorithm, which must run that one. Every certificate must verify.
func TestAlgorithms(t *testing.T) {
	for i, name := range train.Algorithms() {
		if testing.Short() && i%3 > 0 {
			continue
		}
		c := config(t, 300)
		c.Train.Algorithm = name
		if name == "smoothed" { // is for losses whose slope jumps
			c.Model.Loss = "hinge"
		}
		f, err := fit(context.Background(), c, options{Software: "test"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := verified(t, f); !r.Complete || r.Events < f.Result.Steps {
			t.Errorf("%s: %d steps, report %+v", name, f.Result.Steps, r)
		}
		auto := name == train.Algorithms()[0]
		if auto != (len(f.Candidates) > 0) || auto && f.Candidates[0].Summary != f.Summary ||
			!auto && f.Summary.Algorithm != name {
			t.Errorf("%s: %s of %d candidates", name, f.Summary.Algorithm, len(f.Candidates))
		}
	}
}

// TestReservedBeforeTheFirstRelease tests that no file exists when the plan is made, and that the
// ledger has the whole budget at the first answer.
func TestReservedBeforeTheFirstRelease(t *testing.T) {
	c := config(t, 300)
	var planned, first bool
	_, err := fit(context.Background(), c, options{
		Software: "test",
		Planned: func(train.Planned) {
			planned = true
			empty(t)
		},
		Step: func(s train.Step) {
			if s.Number > 1 {
				return
			}
			first = true
			entries, err := readLedger(filepath.Join("people-fit", LedgerFile))
			if err != nil || len(entries) != 1 {
				t.Fatalf("ledger %v, %v", entries, err)
			}
			mu, _ := mechanism.GaussianMu(1, 1e-6)
			if e := entries[0]; e.Entry != "reserved" || e.Mu != mu || e.Epsilon != 1 || e.Delta != 1e-6 ||
				e.Relation != account.ReplaceOne || e.Data != c.DataPath() {
				t.Errorf("entry %+v", e)
			}
			if _, err := os.Stat(filepath.Join("people-fit", ModelFile)); err == nil {
				t.Error("a model before the end")
			}
		},
	})
	if err != nil || !planned || !first {
		t.Errorf("planned %v, first %v, %v", planned, first, err)
	}
}

// TestNoReservationNoRelease: if the reservation cannot be written, no query is made.
func TestNoReservationNoRelease(t *testing.T) {
	c := config(t, 300)
	if err := os.MkdirAll(filepath.Join("out", LedgerFile), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := fit(context.Background(), c, options{
		Software: "test", Out: "out", Overwrite: true,
		Step: func(train.Step) { t.Error("a step without a reservation") },
	})
	wantError(t, err, filepath.Join("out", LedgerFile)+": must be a regular file")
}

// TestErrorAfterReservation: an error after the reservation says that the whole budget stays
// charged.
func TestErrorAfterReservation(t *testing.T) {
	c := config(t, 300)
	_, err := fit(context.Background(), c, options{
		Software: "test", Out: "out",
		Step: func(train.Step) { os.MkdirAll(filepath.Join("out", ModelFile), 0o777) },
	})
	wantError(t, err, "the whole budget stays charged in "+filepath.Join("out", LedgerFile))
	if kinds(t, "out") != "reserved" {
		t.Errorf("ledger: %s", kinds(t, "out"))
	}
}

func TestCancelledBeforeAnything(t *testing.T) {
	c := config(t, 300)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f, err := fit(ctx, c, options{Software: "test"})
	wantError(t, err, "nothing was charged")
	if f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", f, err)
	}
	empty(t)
}

func TestCancelledBeforeTheReservation(t *testing.T) {
	c := config(t, 300)
	ctx, cancel := context.WithCancel(context.Background())
	f, err := fit(ctx, c, options{Software: "test", Planned: func(train.Planned) { cancel() }})
	wantError(t, err, "nothing was charged")
	if f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", f, err)
	}
	empty(t)
}

// TestCancelledOnTheWay: if a fit is cancelled after some steps, their result is written and
// certified as incomplete, and the reservation stays.
func TestCancelledOnTheWay(t *testing.T) {
	for _, test := range [][2]string{{"gd", ""}, {"gd", "last"}, {"gd", "smallest"}, {"gd", "random"}, {"spiderboost", ""},
		{"storm", ""}} {
		for _, after := range []int{1, 70} {
			c := config(t, 300)
			c.Train = train.Train{Algorithm: test[0], Settings: train.Settings{"steps": 100}}
			if test[1] != "" {
				c.Train.Settings["output"] = test[1]
			}
			name := test[0] + " " + test[1]
			ctx, cancel := context.WithCancel(context.Background())
			f, err := fit(ctx, c, options{Software: "test", Step: func(s train.Step) {
				if s.Number == after {
					cancel()
				}
			}})
			if f == nil || !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v, %v", name, f, err)
			}
			r := verified(t, f)
			if f.Result.Complete || r.Complete || f.Result.Steps != after || r.Events != after+2 ||
				!(r.Charged < f.Budget.Charge()) {
				t.Errorf("%s: %d steps of %d, report %+v", name, f.Result.Steps, after, r)
			}
			if m, err := model.Read(f.ModelPath); err != nil || m.Complete() {
				t.Errorf("%s: the model says it is complete, or %v", name, err)
			}
			entries, err := readLedger(filepath.Join(f.Folder, LedgerFile))
			if err != nil || len(entries) != 2 || entries[0].Entry != "reserved" || entries[1].Entry != "interrupted" ||
				entries[1].Charged != r.Charged || entries[0].Mu != f.Budget.Mu() {
				t.Errorf("%s: ledger %+v, %v", name, entries, err)
			}
		}
	}
}

func TestRecordsMustMatch(t *testing.T) {
	c := config(t, 300, "replace-one", "replace-one, records: 299")
	_, err := fit(context.Background(), c, options{Software: "test"})
	wantError(t, err, "privacy.records = 299: must be the number of records, 300, or be left out")
	empty(t)
	c = config(t, 300, "replace-one", "replace-one, records: 300")
	if _, err := fit(context.Background(), c, options{Software: "test"}); err != nil {
		t.Error(err)
	}
}

// TestAddOrRemoveHidesTheNumberOfRows: under add-or-remove nothing that a fit states depends on
// the number of rows.
func TestAddOrRemoveHidesTheNumberOfRows(t *testing.T) {
	var first train.Planned
	releases := 0
	for i, n := range []int{1, 299, 301} {
		c := config(t, n, "replace-one}", "add-or-remove, records: 300}\ntrain: {base: off}")
		f, err := fit(context.Background(), c, options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		r := verified(t, f)
		if i == 0 {
			first, releases = f.Planned, r.Events
		}
		if f.Summary != first.Summary || f.Records != first.Records || f.Budget != first.Budget || r.Records != 300 ||
			r.Relation != account.AddOrRemove || r.Events != releases {
			t.Errorf("%d rows: %+v, certified %+v", n, f.Planned, r)
		}
		if text := read(t, f.CertificatePath) + read(t, f.ModelPath); n != 1 &&
			(strings.Contains(text, ": 299,") || strings.Contains(text, ": 301,")) {
			t.Errorf("%d rows: the files show it", n)
		}
	}
}

func TestOneRecord(t *testing.T) {
	c := config(t, 1)
	c.Train.Algorithm, c.Train.Settings = "gd", train.Settings{"steps": 2}
	f, err := fit(context.Background(), c, options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if r := verified(t, f); r.Records != 1 || !(f.Summary.Effective < 30) {
		t.Errorf("%+v, N %v", r, f.Summary.Effective)
	}
}

// TestSum tests that k fits with equal budgets together have sqrt(k) times the mu of one fit.
func TestSum(t *testing.T) {
	c := config(t, 300)
	var f *Fitted
	for k := 1; k <= 4; k++ {
		var err error
		if f, err = fit(context.Background(), c, options{Software: "test"}); err != nil {
			t.Fatal(err)
		}
		mu := f.Budget.Mu() * math.Sqrt(float64(k))
		want, err := mechanism.GaussianEpsilon(mu, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Sum(t.Context()); !ok || !(math.Abs(got-want) <= 1e-9*want) || len(f.Earlier) != k-1 {
			t.Errorf("fit %d: epsilon %v, %v, %d earlier: must be %v", k, got, ok, len(f.Earlier), want)
		}
	}
	if f.Folder != "people-fit-4" {
		t.Errorf("folder %s", f.Folder)
	}
	f.Earlier[0].Relation = account.AddOrRemove
	if _, ok := f.Sum(t.Context()); ok {
		t.Error("a sum over two relations")
	}
}

func TestOverwriteKeepsTheCharge(t *testing.T) {
	c := config(t, 300)
	fit := func(overwrite bool) (*Fitted, error) {
		return fit(context.Background(), c, options{Software: "test", Out: "out", Overwrite: overwrite})
	}
	if _, err := fit(false); err != nil {
		t.Fatal(err)
	}
	before := read(t, filepath.Join("out", LedgerFile))
	for _, file := range []string{ModelFile, CertificateFile, LedgerFile} {
		keep := filepath.Join(t.TempDir(), file)
		for _, other := range []string{ModelFile, CertificateFile, LedgerFile} {
			if other != file {
				os.Rename(filepath.Join("out", other), keep+other)
			}
		}
		_, err := fit(false)
		wantError(t, err, "holds an earlier fit ("+file+")")
		for _, other := range []string{ModelFile, CertificateFile, LedgerFile} {
			if other != file {
				os.Rename(keep+other, filepath.Join("out", other))
			}
		}
	}
	f, err := fit(true)
	if err != nil {
		t.Fatal(err)
	}
	after := read(t, filepath.Join("out", LedgerFile))
	if !strings.HasPrefix(after, before) || kinds(t, "out") != "reserved settled reserved settled" {
		t.Errorf("ledger:\n%s", after)
	}
	if len(f.Earlier) != 1 || f.Earlier[0].Fit != 1 {
		t.Errorf("earlier %+v", f.Earlier)
	}
	entries, _ := readLedger(filepath.Join("out", LedgerFile))
	if entries[2].Fit != 2 || entries[3].Fit != 2 {
		t.Errorf("fits are not numbered: %+v", entries)
	}
	verified(t, f)
}
