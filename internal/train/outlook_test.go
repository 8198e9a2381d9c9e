package train

import (
	"errors"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// measuredFit matches a line of TestOutlook in lab/results.
var measuredFit = regexp.MustCompile(` M ([^ ]+) gain .* lost ([^ ]+)$`)

// TestOutlookIsWhatWasMeasured tests the forecast of accuracy against the benchmarks of lab/results/outlook.txt. Of
// the fits there with a similar effective size M, half must have lost at most Outlook.Lost to noise, and nine in ten
// at most Outlook.Most if it is below 1. The test fails if the outlook promises more than the benchmarks showed.
func TestOutlookIsWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile("../../lab/results/outlook.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, half, most := make([]int, len(measuredLost)), make([]int, len(measuredLost)), make([]int, len(measuredLost))
	for line := range strings.Lines(string(text)) {
		found := measuredFit.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		size, err := strconv.ParseFloat(found[1], 64)
		lost, not := strconv.ParseFloat(found[2], 64)
		if err != nil || not != nil {
			t.Fatal(line)
		}
		for i, m := range measuredLost {
			if size >= m.size {
				all[i]++
				if lost <= m.half {
					half[i]++
				}
				if lost <= m.most {
					most[i]++
				}
				break
			}
		}
	}
	sum := 0
	for i, m := range measuredLost {
		sum += all[i]
		if 2*half[i] < all[i] {
			t.Errorf("from an effective size of %v on %d of %d lost at most %v: want half", m.size, half[i], all[i], m.half)
		}
		if m.most < 1 && 10*most[i] < 9*all[i] {
			t.Errorf("from an effective size of %v on %d of %d lost at most %v: want nine in ten", m.size, most[i], all[i],
				m.most)
		}
	}
	if sum < 500 {
		t.Errorf("%d fits: the test shows nothing", sum)
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
	const beat = " beat a constant prediction, if the columns predict the target"
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
		{10, "will probably be no better than a constant prediction", 60}, {20, "may be no better than a constant prediction", 60},
		{40, "may be no better than a constant prediction", 60}, {70, "will probably" + beat, 100}, {150, "will" + beat, 200},
		{300, "will" + beat, 800}, {500, "will" + beat, 800}, {5000, "will" + beat, 0},
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
		if err != nil || !(math.Abs(larger.Mu()/budget.Mu()*c.size/c.halves-1) <= 1e-6) {
			t.Errorf("size %v: epsilon %v halves the loss, whose mu is %v times the present: %v", c.size, o.HalveEpsilon,
				larger.Mu()/budget.Mu(), err)
		}
	}
}

// TestOutlookKnowsTheBaseRate tests that a stated base rate decides the effective size of an outlook, and that an
// outlook says what it assumes if none is stated. Two classes of shares p and 1-p count as 4 p (1-p), classes by the
// largest eigenvalue of diag(p) - p p' (.24 for .1, .1 and .8, whose other eigenvalues are .1 and 0), counts by
// four times the mean count, numbers by 1, and relative residuals with a cap c above 5 by (5/c)^2.
func TestOutlookKnowsTheBaseRate(t *testing.T) {
	const two, losses = `classes: ["0", "1"]`, "loss: logistic"
	halved := map[float64]bool{} // ratios of fits with advice
	for _, c := range []struct {
		target, loss string
		ratio        float64
		assumed      string
	}{
		{two, losses, 1, "equally common classes"},
		{two + ", share: .02", losses, 4 * .02 * .98, ""},
		{two + ", share: .5", losses, 1, ""},
		{`classes: ["0", "1", "2"], share: [.1, .1, .8]`, "loss: softmax", 2 * .24, ""},
		{`classes: ["0", "1", "2"]`, "loss: softmax", 1, "equally common classes"},
		{"number: [0, 20]", "loss: poisson(1)", 1, "a mean count of a quarter of the largest or more"},
		{"number: [0, 20], share: 1", "loss: poisson(1)", .2, ""},
		{"number: [0, 20], share: 9", "loss: poisson(1)", 1, ""},
		{"number: [0, 20]", "loss: huber(0.1)", 1, ""},
		{"number: [0, 20], share: 1", "loss: huber(0.1)", 1, ""},
		{"number: [0, 20]", "loss: huber(10)", 1, ""},
		{"number: [0, 20]", "loss: 'tweedie(1.5,5,2)'", 1, ""},
		{"number: [0, 20]", "loss: 'tweedie(1.5,50,2)'", .01, ""},
		{"number: [1, 20]", "loss: gamma(10)", .25, ""},
	} {
		p, err := config(t, 20_000, two, c.target, losses, c.loss).Plan(t.Context())
		if err != nil {
			t.Fatal(c.target, err)
		}
		o := p.Outlook()
		if half := sizeOfHalf(o.Lost); half > o.Size { // from the size with the base rate
			factor := half / (c.ratio * p.Summary.Effective)
			epsilon, err := mechanism.GaussianEpsilon(factor*p.Budget.Mu(), p.Budget.Delta())
			if err != nil || !(math.Abs(o.HalveRecords-factor*p.Records) <= 1+1e-6*o.HalveRecords) || !(math.Abs(o.HalveEpsilon/epsilon-1) <= 1e-6) {
				t.Errorf("%s, %s: %v records or epsilon %v halve the loss: must be %v or %v", c.target, c.loss, o.HalveRecords, o.HalveEpsilon,
					factor*p.Records, epsilon)
			}
			halved[c.ratio] = true
		}
		if want := c.ratio * p.Summary.Effective; !(math.Abs(o.Size-want) <= 1e-6*want) {
			t.Errorf("%s, %s: size %v of %v: want %v", c.target, c.loss, o.Size, p.Summary.Effective, want)
		}
		if o.Assumed != c.assumed || strings.Contains(o.String(), "Assumes") != (c.assumed != "") {
			t.Errorf("%s, %s: %v: want to assume %q", c.target, c.loss, o, c.assumed)
		}
	}
	if len(halved) < 3 {
		t.Errorf("only fits with the ratios %v are advised", halved)
	}
}

// TestAdvisedWeights compares the advised number of weights with what follows by hand: the effective size is as
// one over the root of the number of weights, so a share r of the size that is needed leaves the share r^2 of them.
func TestAdvisedWeights(t *testing.T) {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		share   float64
		weights int
	}{{.5, 25}, {.25, 6}, {.75, 56}, {.125, 0}, {1, -1}} {
		p := Planned{Budget: budget, Records: 100, Dim: 100}
		p.Summary.Effective = c.share * optimize.SmallSize
		small, ok := p.Small().(*SmallError)
		if ok != (c.weights >= 0) || ok && (small.Weights != c.weights || small.Present != 100) {
			t.Errorf("a share %v of the size: %+v, want %d weights", c.share, small, c.weights)
		}
	}
}

// TestAdviceWorks follows the advice of errors about tables that are too small: a fit with the advised number of
// records, and one with the advised epsilon, must not be refused, and the epsilon must be above the present one and at
// most 10. A rare class that the schema states must be refused where a common one is not, and ask for more.
func TestAdviceWorks(t *testing.T) {
	advised := map[string]int{}
	for _, changes := range [][]string{
		{}, {"epsilon: 1,", "epsilon: 0.1,"}, {"epsilon: 1,", "epsilon: 8,"}, {"note: ignore", "note: {hash: 50}"},
		{`["0", "1"]`, `["0", "1"], share: .03`}, {"replace-one}", "replace-one}\ntrain: {algorithm: gd}"},
		{"number: [0, 100]", "number: [0, 100], curve: auto"},
	} {
		for _, n := range []int{2, 40, 150} {
			planned := func(n, epsilon float64) Planned {
				c := config(t, int(n), changes...)
				if epsilon > 0 {
					c.Privacy.Epsilon = &epsilon
				}
				p, err := c.Plan(t.Context())
				if err != nil {
					t.Fatal(changes, n, err)
				}
				return p
			}
			p := planned(float64(n), 0)
			err := p.Useless()
			if err == nil {
				err = p.Small()
			}
			if err == nil {
				continue
			}
			if !strings.HasPrefix(err.Error(), "train: too few rows for this budget") {
				t.Errorf("%v: %v", changes, err)
			}
			records, epsilon := p.enough()
			for what, p := range map[string]Planned{"records": planned(max(records, 1), 0), "epsilon": planned(float64(n), epsilon)} {
				if what == "epsilon" && epsilon == 0 || what == "records" && records == 0 {
					continue
				}
				advised[what]++
				if err := errors.Join(p.Useless(), p.Small()); err != nil {
					t.Errorf("%v, %d records: advised %s, which is refused: %v", changes, n, what, err)
				}
			}
			if epsilon > 0 && !(epsilon > p.Budget.Epsilon() && epsilon <= LargestAdvised) {
				t.Errorf("%v, %d records: advises epsilon %v in place of %v", changes, n, epsilon, p.Budget.Epsilon())
			}
		}
	}
	if advised["records"] < 5 || advised["epsilon"] < 5 {
		t.Errorf("advised %v: the test shows little", advised)
	}
}

// TestOutlookIsOfTheAlgorithm: the outlook of a plan has figures of benchmarks with the default algorithm alone. With
// any other that a configuration may state it says that it is unknown, and states no number that would halve a loss.
func TestOutlookIsOfTheAlgorithm(t *testing.T) {
	others := 0
	for _, name := range Algorithms() {
		c := config(t, 20_000)
		c.Train = Train{Algorithm: name}
		p, err := c.Plan(t.Context())
		if err != nil {
			continue // such as one that needs a setting
		}
		o := p.Outlook()
		if name == "auto" || name == "preconditioned" {
			if o.Unmeasured != "" || !(o.Lost > 0) || !strings.Contains(o.String(), "benchmarks") {
				t.Errorf("%s: %+v: must have figures", name, o)
			}
			continue
		}
		others++
		if text := o.String(); o.Unmeasured != name || o.Lost != 0 || o.Halve() != "" || !(o.Size > 0) ||
			!strings.HasPrefix(text, "unknown: ") || strings.Contains(text, "%") || !strings.Contains(text, name) {
			t.Errorf("%s: %+v, %q: must have no figures", name, o, text)
		}
	}
	if others < 5 {
		t.Errorf("%d other algorithms: the test shows little", others)
	}
}
