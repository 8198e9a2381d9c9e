package train

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestTargetWarnings tests the warnings about the target that follow from the released best constant. There
// must be no warning if the noise is too large. For a quantile or a rate there must be none about a bound,
// since the best constant may be at a bound even if the target is sound.
func TestTargetWarnings(t *testing.T) {
	at := func(loss, sigma, margin float64) *optimize.Compared {
		return &optimize.Compared{Constant: loss, ConstantSigma: sigma, Margins: []float64{margin}}
	}
	for name, c := range map[string]struct {
		loss     string
		compared *optimize.Compared
		code     string
	}{
		"nothing compared":          {"logistic", nil, ""},
		"a sound target":            {"logistic", at(.5, .01, .1), ""},
		"a rare class":              {"logistic", at(.056, .01, -4), ""},
		"no target":                 {"logistic", at(.02, .01, 0), WarnTarget},
		"no target, less than none": {"logistic", at(-.02, .01, 0), WarnTarget},
		"no noise at all":           {"logistic", at(0, 0, 0), ""},
		"no target in much noise":   {"logistic", at(.02, .1, 0), ""},
		"few persons, much noise":   {"poisson-rate(3,1.5e-5)", at(.21, .13, 0), ""},
		"five classes, much noise":  {"ordered(5)", &optimize.Compared{Constant: 1.5, ConstantSigma: .57, Unresolved: true}, ""},
		"five classes, no target":   {"ordered(5)", &optimize.Compared{Constant: .01, ConstantSigma: .02, Unresolved: true}, WarnTarget},
		"numbers of a small spread": {"squared(0.5)", at(.012, .006, 0), ""},
		"a small spread in noise":   {"squared(0.5)", at(.004, .0015, 0), ""},
		"no number, squared":        {"squared(0.5)", at(.001, .0012, 0), WarnTarget},
		"no number":                 {"huber(0.1)", at(.0001, .0002, 0), WarnTarget},
		"numbers at the upper end":  {"huber(0.1)", at(.01, .0002, .99), WarnClamped},
		"numbers at the lower end":  {"absolute", at(.01, .002, -1), WarnClamped},
		"noise below a thirtieth":   {"logistic", at(.02, .0230, 0), WarnTarget}, // of ln 2
		"noise above a thirtieth":   {"logistic", at(.02, .0232, 0), ""},
		"nearly at the upper end":   {"huber(0.1)", at(.01, .0002, .969), ""},
		"just at the upper end":     {"huber(0.1)", at(.01, .0002, .971), WarnClamped},
		"just at the lower end":     {"huber(0.1)", at(.01, .0002, -.971), WarnClamped},
		"nearly at the lower end":   {"huber(0.1)", at(.01, .0002, -.969), ""},
		"numbers in the middle":     {"absolute", at(.01, .002, .9), ""},
		"people, lower end":         {"units(huber(0.1),4)", at(.01, .0002, -.99), WarnClamped},
		"a quantile":                {"pinball(0.9)", at(.01, .001, 1), ""},
		"a rate":                    {"poisson(0.5)", at(.1, .001, -3), ""},
		"a class":                   {"logistic", at(.1, .01, -3), ""},
	} {
		var codes []string
		for _, w := range targetWarnings(c.loss, c.compared) {
			codes = append(codes, w.Code)
		}
		if strings.Join(codes, " ") != c.code {
			t.Errorf("%s: %q, want %q", name, codes, c.code)
		}
	}
}

// TestUnreadTargetsAreTold fits a table whose targets match no class by an algorithm that releases no second
// moment. The fit must have the warning about the target, and a fit of a table with sound targets must not
// have it. If no target is read, the true loss of the constant is 0, and noise of three standard deviations
// or more hides the warning with probability .003. At least one of four fits must therefore have the warning.
// If targets are sound, the loss is far above its noise.
func TestUnreadTargetsAreTold(t *testing.T) {
	told := func(classes string) int {
		n := 0
		for range 4 {
			c := config(t, 3000, `classes: ["0", "1"]`, classes, "epsilon: 1,", "epsilon: 8,")
			c.Train.Algorithm = "gd"
			f, err := c.Fit(context.Background(), Options{Software: "test"})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(f.Warnings, func(w Warning) bool { return w.Code == WarnTarget }) {
				n++
			}
		}
		return n
	}
	if n := told("classes: [sound, ill]"); n == 0 {
		t.Error("no fit says that no target was read")
	}
	if n := told(`classes: ["0", "1"]`); n > 0 {
		t.Errorf("%d of 4 fits say that no target was read of a sound table", n)
	}
}

// TestRareClassToTheLetter: a class is named that has at most 3% of the rows, two deviations of the noise included.
func TestRareClassToTheLetter(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"a", "b", "c"}}})
	if err != nil {
		t.Fatal(err)
	}
	const text = `; class "b" has at most %s%% of the rows: without it in target.classes the other classes may keep their columns`
	for _, c := range []struct {
		sums  []float64
		sigma float64
		share string // "" if no class is named
	}{
		{[]float64{.6, .011, .389}, .0094, "3"}, {[]float64{.6, .011, .389}, .0096, ""}, {[]float64{.6, -.02, .42}, .0075, "1.5"},
		{[]float64{.6, .4}, .001, ""}, {nil, .001, ""},
	} {
		want := ""
		if c.share != "" {
			want = fmt.Sprintf(text, c.share)
		}
		if got := rareClass(s, &Base{Sums: c.sums, Sigma: c.sigma}); got != want {
			t.Errorf("%+v: %q: must be %q", c, got, want)
		}
	}
	if got := rareClass(s, nil); got != "" {
		t.Error(got)
	}
}

// TestSmallTablesAreToldBeforeTheFit: the size of the warning before a fit counts the rows of the rarer class, at the stated share.
func TestSmallTablesAreToldBeforeTheFit(t *testing.T) {
	for share, told := range map[float64]bool{.5: false, .01: true} {
		p, err := config(t, 3000, `classes: ["0", "1"]`, fmt.Sprintf(`classes: ["0", "1"], share: %v`, share)).Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if size := 4 * share * (1 - share) * p.Summary.Effective; told {
			want = fmt.Sprintf("(effective size N = %.2g, below 30)", size)
			if !(size < 30 && p.Summary.Effective > 30) {
				t.Fatalf("the size %v of %v shows nothing", size, p.Summary.Effective)
			}
		}
		got := ""
		for _, w := range p.Warnings() {
			if w.Code == WarnSmall {
				got = w.Text[strings.Index(w.Text, "("):]
			}
		}
		if got != want {
			t.Errorf("share %v: %q: must be %q", share, got, want)
		}
	}
}
