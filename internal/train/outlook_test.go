package train

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestOutlookIsWhatWasMeasured tests the forecast of accuracy against the benchmarks of
// lab/results/outcome.md. Of the settings there with a similar effective size (n mu/sqrt(d) for n
// records and d weights), half must have lost at most Outlook.Lost to noise, and nine in ten at
// most Outlook.Most if it is below 1. One exception in each class of sizes is allowed, for
// rounding. The test fails if the outlook promises more than the benchmarks showed.
func TestOutlookIsWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile("../../lab/results/outcome.md")
	if err != nil {
		t.Fatal(err)
	}
	all, half, most := make([]int, len(measuredLost)), make([]int, len(measuredLost)), make([]int, len(measuredLost))
	for line := range strings.Lines(string(text)) {
		c := strings.Split(line, "|")
		if len(c) != 16 { // only the table about the default settings has 14 columns
			continue
		}
		size, err := strconv.ParseFloat(strings.TrimSpace(c[3]), 64)
		saved, not := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(c[10]), "%"), 64)
		if err != nil || not != nil {
			continue
		}
		for i, m := range measuredLost {
			if size >= m.size {
				all[i]++
				if lost := 1 - saved/100; lost <= m.half+1e-9 {
					half[i]++
					most[i]++
				} else if lost <= m.most+1e-9 {
					most[i]++
				}
				break
			}
		}
	}
	sum := 0
	for i, m := range measuredLost {
		sum += all[i]
		if 2*(half[i]+1) < all[i] {
			t.Errorf("from an effective size of %v on %d of %d lost at most %v: want half", m.size, half[i], all[i], m.half)
		}
		if m.most < 1 && 10*(most[i]+1) < 9*all[i] {
			t.Errorf("from an effective size of %v on %d of %d lost at most %v: want nine in ten", m.size, most[i], all[i],
				m.most)
		}
	}
	if sum < 100 {
		t.Errorf("%d settings: the test shows nothing", sum)
	}
}

// TestOutlookHalves tests the number of records at which the outlook says that noise costs half as much. At
// this size the share lost must be at most half, and at a size slightly below it must be more. At the largest
// sizes of the benchmarks the outlook must state no number. The verdict must follow from the shares.
func TestOutlookHalves(t *testing.T) {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	const beat = " beat a constant, if the columns tell of the target"
	of := func(size, records float64) Planned {
		p := Planned{Budget: budget, Records: records}
		p.Summary.Effective = size
		return p
	}
	for _, c := range []struct {
		size    float64
		verdict string
		halves  float64 // the effective size at which half of the loss is left
	}{
		{20, "will probably be no better than a constant", 60}, {40, "may be no better than a constant", 100},
		{70, "will probably" + beat, 200}, {150, "will probably" + beat, 200},
		{300, "will probably" + beat, 400}, {500, "will" + beat, 0}, {5000, "will" + beat, 0},
	} {
		o := of(c.size, 1000).Outlook()
		if o.Verdict() != c.verdict || !strings.HasPrefix(o.String(), c.verdict) {
			t.Errorf("size %v: %v: want %q", c.size, o, c.verdict)
		}
		if want := math.Ceil(1000 * c.halves / c.size); o.HalveRecords != want || (o.Halve() == "") != (want == 0) {
			t.Errorf("size %v: %v records halve the loss (%q): want %v", c.size, o.HalveRecords, o.Halve(), want)
		}
		if c.halves == 0 {
			continue
		}
		if more := of(c.halves, 1000).Outlook(); 2*more.Lost > o.Lost {
			t.Errorf("size %v loses %v, size %v %v", c.size, o.Lost, c.halves, more.Lost)
		}
		if less := of(c.halves-1e-6, 1000).Outlook(); 2*less.Lost <= o.Lost {
			t.Errorf("size %v loses %v, and less than size %v is enough for half", c.size, o.Lost, c.halves)
		}
		larger, err := account.NewBudget(o.HalveEpsilon, 1e-6, account.ReplaceOne)
		if err != nil || math.Abs(larger.Mu()/budget.Mu()*c.size/c.halves-1) > 1e-6 {
			t.Errorf("size %v: epsilon %v halves the loss, whose mu is %v times the present: %v", c.size, o.HalveEpsilon,
				larger.Mu()/budget.Mu(), err)
		}
	}
}

// TestLinearOutlook tests the outlook of a fit without its curves: it must be that of a fit with as many
// weights as the features without hats, and a fit without curves must have none.
func TestLinearOutlook(t *testing.T) {
	plan := func(age string) Planned {
		t.Helper()
		p, err := config(t, 30_000, "number: [0, 100]", age,
			"  columns:", "  interactions: [[age, sex]]\n  columns:").Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	curved := plan("number: [0, 100], curve: 60")
	straight, n, ok := curved.Linear()
	if !ok {
		t.Fatal("a fit with curves has no outlook without them")
	}
	// The number has an indicator with and without its curve of 60 hats, since it is in an interaction.
	linear := plan("number: [0, 100]")
	if curved.Features != linear.Features+60 {
		t.Fatalf("%d features with a curve, %d without", curved.Features, linear.Features)
	}
	size := curved.Summary.Effective * math.Sqrt(float64(curved.Features)/float64(linear.Features))
	if want := curved.outlookAt(size); straight != want || math.Abs(n-size) > 1e-9*size {
		t.Errorf("got %+v at %v, want %+v at %v", straight, n, want, size)
	}
	if _, _, ok := linear.Linear(); ok {
		t.Error("a fit without curves has an outlook without them")
	}
}
