package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestFitSaysWhatWasReleased tests that the page of a fit has every section, with the facts of the
// certificate, the model and the ledger. It must not name the folders on the trainer's machine.
func TestFitSaysWhatWasReleased(t *testing.T) {
	f := people(t, "p", 50)
	f.ledger = entries(f.budget, "/home/q7r/secret-project/people.csv")
	text, nodes := fitPage(t, f.write(t))
	want := []string{"What the model says", "The cost to people", "What was asked", "Noise and signal",
		"For the methods section of a paper", "How to recheck the guarantee"}
	if got := texts(nodes, "h2"); !slices.Equal(got, want) {
		t.Errorf("sections %q", got)
	}
	has(t, text, "A private model of p5", "10,000 rows", "δ = 10⁻⁶", "54.8 %", "μ = 0.23671", "of μ² = 0.056029",
		"“pd” against “pc”", "people.csv", "rows with p4 = pe",
		"2031-02-01 03:04:05", "settled (this one)", "number, as log(1 + x)", "10 to 90", "0 to 1,000,000",
		"2 values: pa, pb", "public for every row, no feature",
		"stillpoint verify certificate.json --model model.json", "year  = {2031}", "each doubling of 1 + x",
		"log-odds of “pd”", "every step alike")
	if strings.Contains(text, "q7r") || strings.Contains(text, "secret-project") {
		t.Error("the page names the folders of whoever trained")
	}
	if n := len(texts(nodes, "svg")); n != 4 {
		t.Errorf("%d plots: want the attack curve, charges, noise, coefficients", n)
	}
}

// TestFitIsInert tests that a fit with hostile names in every place gives a harmless page. Names
// that no schema accepts are tested in TestTextIsInert.
func TestFitIsInert(t *testing.T) {
	for _, name := range hostile {
		if name != strings.TrimSpace(name) || strings.Contains(name, "=") || !utf8.ValidString(name) || name == "" {
			continue // no schema accepts these names
		}
		f := people(t, name, 3)
		f.software = name
		f.algorithm.Plan, _ = json.Marshal(map[string]any{"steps": 3, "step_size": 1, "output": "last", "citation": name,
			"charges": name})
		data := "/a/" + name
		f.ledger = entries(f.budget, data)
		_, nodes := fitPage(t, f.write(t))
		if got := texts(nodes, "h1"); len(got) != 1 || got[0] != "A private model of "+oneLine(name+"5") {
			t.Errorf("%.40q: heading %.80q", name, got)
		}
	}
}

// TestPlanIsFreeInForm tests certificates with unusual plans. If the plan lacks a member, or has it
// with another type or an impossible value, the page must say that the facts that follow from it
// are not stated, and must show all other facts.
func TestPlanIsFreeInForm(t *testing.T) {
	for _, plan := range []string{`{}`, `{"steps":"many"}`, `{"steps":-1,"step_size":-4,"floor":-1,"output":7}`,
		`{"steps":4,"step_size":1e308,"output":"last","floor":1e308}`} {
		f := people(t, "p", 4)
		f.algorithm = certificate.Algorithm{Name: "another", Plan: json.RawMessage(plan)}
		text, _ := fitPage(t, f.write(t))
		has(t, text, "What the model says", "is not stated here", "the certificate does not state how releases became steps",
			"Noise multiplier, release by release")
		f.algorithm.Name = "gd"
		text, _ = fitPage(t, f.write(t))
		has(t, text, "is not stated here")
	}
}

// TestExtremeWeights tests that a page is made even if the model's weights are too large, too small
// or too equal for a plot.
func TestExtremeWeights(t *testing.T) {
	f := people(t, "p", 4)
	f.weights = func(j int) float64 { return []float64{1e307, -1e307, 1e-320, 0}[j%4] }
	text, _ := fitPage(t, f.write(t))
	has(t, text, "What the model says", "infinite")
	f.weights = func(int) float64 { return 0 }
	fitPage(t, f.write(t))
}

// TestInterruptedFit tests the pages of runs that were interrupted. Without a model, the page must
// say so and show the charges. With a model, it must say that the model is the state that the run
// had reached.
func TestInterruptedFit(t *testing.T) {
	f := people(t, "p", 50)
	f.events, f.complete, f.noModel = f.events[:7], false, true
	text, _ := fitPage(t, f.write(t))
	has(t, text, "A private run without a model", "interrupted before there was a model",
		"does not hold this fit’s reservation")
	f.noModel = false
	text, _ = fitPage(t, f.write(t))
	has(t, text, "this is the model of its steps so far", "Noise (sd)")
	f.events, f.algorithm = nil, gdPlan(0)
	text, _ = fitPage(t, f.write(t))
	has(t, text, "which no release has changed")
}

// TestScheduledFit tests the page of a fit on Poisson samples: it must show the schedule of the
// samples instead of charges, and the attack curve of the schedule's composition.
func TestScheduledFit(t *testing.T) {
	f := people(t, "p", 4)
	steps := account.SampledSteps{NoiseMultiplier: 3, Sampling: .1, Count: 4}
	f.budget = budget(t, account.AddOrRemove)
	schedule, err := account.NewSchedule(t.Context(), f.budget, 0, steps)
	if err != nil {
		t.Fatal(err)
	}
	f.schedule, f.events = schedule, nil
	for i := range 4 {
		e, err := account.SampledEvent("gradient", .1, 1, 3)
		if err != nil {
			t.Fatal(err)
		}
		e.Index, e.Relation = i, account.AddOrRemove
		f.events = append(f.events, e)
	}
	f.algorithm.Name = "dp-sgd"
	dir := f.write(t)
	read, err := ReadFit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := read.attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	best := 0.0
	for i, alarm := range a.alarms {
		best = max(best, a.detected[i]-alarm)
	}
	if got := 2*a.right - 1; !(math.Abs(got-best) <= .01*best) {
		t.Errorf("a guess gains %v, the curve %v", got, best)
	}
	text, _ := fitPage(t, dir)
	has(t, text, "a schedule", "Poisson samples", "Noise multiplier", "whether a given person’s row was in the table",
		"more or less; the number of rows is secret", "subsampled Gaussian releases", "leave out the randomness of the samples")
	if strings.Contains(text, "running total") {
		t.Error("a schedule has no running total")
	}
}

// TestEarlierFits tests the total privacy loss of the fits in a ledger. The page must compose the
// reservations of the same table, and leave out reservations of other tables. Two equal Gaussian budgets
// compose to sqrt 2 times their mu.
func TestEarlierFits(t *testing.T) {
	f := people(t, "p", 50)
	f.ledger = entries(f.budget, "/d/people.csv", "/d/other.csv", "/d/people.csv")
	text, _ := fitPage(t, f.write(t))
	// 1.4549 is the epsilon of mu = 0.2367 sqrt 2 at delta 1e-6, by bisection of
	// Balle and Wang's (2018) formula.
	has(t, text, "All 2 fits of this table together cost ε = 1.455", "1 reservation of another table is left out",
		"2031-02-03 03:04:05")
	if strings.Contains(text, "2031-02-02") {
		t.Error("another table's reservation is listed")
	}
	f.ledger += strings.Replace(entries(budget(t, account.AddOrRemove), "/d/people.csv"), `"fit":1`, `"fit":4`, 2)
	text, _ = fitPage(t, f.write(t))
	has(t, text, "fitted 3 times. The total privacy loss is not stated")
}

// TestRefusesWhatDoesNotVerify: ReadFit returns an error for an altered certificate, for a
// model that is not the certified one, for a ledger with an invalid line, and if certificate or
// model is missing.
func TestRefusesWhatDoesNotVerify(t *testing.T) {
	alter := func(dir, file, before, after string) {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(before)) {
			t.Fatalf("%s has no %q", file, before)
		}
		writeTo(t, path, bytes.Replace(text, []byte(before), []byte(after), 1))
	}
	f := people(t, "p", 5)
	f.ledger = entries(f.budget, "d")
	for _, c := range []struct {
		file, before, after string
		want                error
	}{
		{runrecord.CertificateFile, `"epsilon": 1,`, `"epsilon": 0.5,`, certificate.ErrAltered},
		{runrecord.CertificateFile, `"sigma"`, `"sigmas"`, certificate.ErrMalformed},
		{runrecord.ModelFile, `"complete":true`, `"complete":false`, certificate.ErrModel},
		{runrecord.LedgerFile, `"reserved"`, `"opened"`, nil},
		{runrecord.LedgerFile, `"mu":`, `"mu":-`, nil},
		{runrecord.LedgerFile, `"mu":`, `"mu":9,"mu":`, nil},
		{runrecord.LedgerFile, `"fit":1`, `"fit":2`, nil},
		{runrecord.LedgerFile, `{"time"`, `time`, nil},
	} {
		dir := f.write(t)
		alter(dir, c.file, c.before, c.after)
		if _, err := ReadFit(t.Context(), dir); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s with %s: %v", c.file, c.after, err)
		}
	}
	for _, file := range []string{runrecord.CertificateFile, runrecord.ModelFile} {
		dir := f.write(t)
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFit(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %s: %v", file, err)
		}
	}
	if _, err := new(Fit).Page(t.Context()); err == nil {
		t.Error("the zero Fit has a page")
	}
}

// TestUnfinishedLedgerLine tests that an incomplete last line of a ledger is ignored, since nothing
// was released under it.
func TestUnfinishedLedgerLine(t *testing.T) {
	text := entries(budget(t, account.ReplaceOne), "d")
	list, err := ParseLedger([]byte(text + `{"time":"2031-`))
	if err != nil || len(list) != 1 || list[0].Outcome != "settled" {
		t.Errorf("%v, %v", list, err)
	}
	list, err = ParseLedger([]byte(text[:strings.Index(text, "\n")+1]))
	if err != nil || len(list) != 1 || list[0].Outcome != "" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestGradientNormsAreDrawn tests that the norms of the gradients are drawn beside the noise if the
// certificate has them.
func TestGradientNormsAreDrawn(t *testing.T) {
	kept := people(t, "p", 3)
	kept.algorithm.Plan = bytes.Replace(kept.algorithm.Plan, []byte("{"),
		[]byte(`{"gradient_norms":[0.3,0.1,0.05],"measured":{"loss":0.4321,"loss_sigma":0.01,"gradient_norm":0.0123,"gradient_sigma":0.002},`), 1)
	f, err := ReadFit(t.Context(), kept.write(t))
	if err != nil {
		t.Fatal(err)
	}
	page, err := f.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(render(t, page)), "released gradient", "Gradient norm measured", "0.0123", "0.432")
	if !slices.Equal(f.GradientNorms, []float64{.3, .1, .05}) {
		t.Errorf("%v: must be those of the certificate", f.GradientNorms)
	}
}

// TestLargeFit tests that the page of a fit with a hundred thousand releases and two thousand
// features is smaller than a megabyte.
func TestLargeFit(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a certificate of 20 MB")
	}
	const steps = 100_000
	f := people(t, "p", steps)
	for i := range 40 {
		c := dataset.Column{Name: strings.Repeat("name", i+1), Kind: dataset.Category}
		for k := range 50 {
			c.Categories = append(c.Categories, strings.Repeat(string(rune('a'+k%26)), 10+k))
		}
		f.schema.Columns = append(f.schema.Columns, c)
	}
	read, err := ReadFit(t.Context(), f.write(t))
	if err != nil {
		t.Fatal(err)
	}
	page, err := read.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := render(t, page)
	if len(text) > 1<<20 || len(text) < 50_000 {
		t.Errorf("%d bytes", len(text))
	}
	has(t, inert(t, text)[0].text, "The largest of 2005 are shown", " more")
}

// TestResultsComeFirst: a page of a fit with a comparison must begin with the verdict in words, and must show the model
// and its quality before the cost, with the loss of the model drawn beside the constant's. The text for a paper must say
// the same.
func TestResultsComeFirst(t *testing.T) {
	f := people(t, "p", 50)
	f.algorithm.Plan = json.RawMessage(`{"compared":{"difference":-0.2,"sigma":0.004,"least":-2,"most":2,"constant":0.5,` +
		`"constant_sigma":0.003}}`)
	text, nodes := fitPage(t, f.write(t))
	want := []string{"What the model says", "How good it is", "The cost to people"}
	if got := texts(nodes, "h2"); len(got) < 3 || !slices.Equal(got[:3], want) {
		t.Errorf("sections %q", got)
	}
	// .2/.5 = 40 %; 1.96 hypot(.004, .4 .003)/.5 = 1.64 %
	has(t, text, "it saves 40 % of the constant’s loss (95 % interval: 38 % to 42 %). Trained on",
		"The model beside the best constant", "best constant 0.5; this model 0.3.",
		"Beside the best constant, compared by numbers released within the budget, the model is judged as follows: better",
		"(replace-one)")
	f.algorithm.Plan = json.RawMessage(`{"compared":{"difference":0.2,"sigma":0.004,"least":-2,"most":2,"constant":0.5,` +
		`"constant_sigma":0.003,"shrunk":1}}`)
	text, _ = fitPage(t, f.write(t))
	has(t, text, "The fit is WORSE than a constant. The published model is the constant. Trained on")
	if strings.Contains(text, "The model beside the best constant") {
		t.Error("a model that is the constant is drawn beside it")
	}
}

// TestTelephonesShowWholeCharts: no chart may be wider than a telephone's column of text, nor have text that is less than
// 8 pixels high where that column has 350 pixels.
func TestTelephonesShowWholeCharts(t *testing.T) {
	page, err := read(t, people(t, "p", 50)).Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := string(render(t, page))
	boxes := regexp.MustCompile(`viewBox="0 0 ([0-9.]+) `).FindAllStringSubmatch(text, -1)
	if len(boxes) < 4 {
		t.Fatalf("%d charts", len(boxes))
	}
	for _, box := range boxes {
		if width, err := strconv.ParseFloat(box[1], 64); err != nil || 350/width*labelSize < 8 {
			t.Errorf("a chart of width %s: %v", box[1], err)
		}
	}
	if style, _, _ := strings.Cut(text, "</style>"); regexp.MustCompile(`svg[^}]*min-width`).MatchString(style) {
		t.Error("charts have a least width")
	}
	if regexp.MustCompile(`<div class="scroll">\s*<svg`).MatchString(text) {
		t.Error("charts scroll")
	}
}
