package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

var outline = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>`)

// TestPagesAreWhatTheyWere compares whole pages, pictures and their tables included, with testdata/pages.golden, which
// is written by go test ./internal/report -run PagesAreWhatTheyWere -update. Other tests work out the numbers by other
// ways; this one sees whatever else changes. A change on purpose is read in the difference of the file.
func TestPagesAreWhatTheyWere(t *testing.T) {
	short := people(t, "p", 50)
	short.events, short.complete = short.events[:20], false
	short.ledger = entries(short.budget, "x.csv", "x.csv", "y.csv")
	added := people(t, "q", 4)
	added.budget = budget(t, account.AddOrRemove)
	added.events, added.noModel, added.complete = gradients(t, 4, added.budget), true, false
	linear := withIntervals(t, .04, .01, 3)
	linear.name, linear.loss = "p", "huber(0.5)"
	linear.schema.Target = dataset.Target{Column: "p5", Kind: dataset.Number, Low: -20, High: 300}
	bowl, curved := newBowl(t, .01), curvedBowl(t)
	weights, law := bowl.fit(rand.New(rand.NewPCG(3, 1)))
	weights2, law2 := curved.fit(rand.New(rand.NewPCG(4, 1)))
	run := func(f *Fit) *Fit { // the model and steps of f, with the certificate of people
		of := read(t, people(t, "p", 4))
		of.Model, of.plan = f.Model, f.plan
		return of
	}
	var got bytes.Buffer
	for _, c := range []struct {
		name string
		fit  *Fit
	}{
		{"people", read(t, people(t, "p", 4))}, {"stopped early", read(t, short)}, {"without a model", read(t, added)},
		{"intervals", read(t, withIntervals(t, .04, .01, 3))}, {"intervals of a number", read(t, linear)},
		{"knots", read(t, knots(t, -1))}, {"knots, one left out", read(t, knots(t, 1))},
		{"second moment", run(bowl.fitted(t, weights, law))}, {"curves", run(curved.fitted(t, weights2, law2))},
	} {
		page, err := c.fit.Page(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var html bytes.Buffer
		if err := page.Render(&html); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		fmt.Fprintf(&got, "== %s\n%s\n", c.name, strings.ReplaceAll(outline.ReplaceAllString(html.String(), ""), "><", ">\n<"))
		if !strings.HasPrefix(c.name, "intervals") {
			continue
		}
		if list, err := c.fit.Coefficients(); err != nil {
			t.Error(err)
		} else {
			fmt.Fprintf(&got, "%s\n", CoefficientText(list.Intervals))
		}
	}
	recordedtest.Compare(t, "testdata/pages.golden", got.String())
}

// TestRedrawnScoresAreWhatTheyWere compares the mean square by which redrawn scores differ from the published ones with
// what it was, with noise in both stages and in the second moment: little, and so much that the scale of effects is at its
// least. TestScoresAreRedrawn works out the parts that can be worked out by another way.
func TestRedrawnScoresAreWhatTheyWere(t *testing.T) {
	for sigma, was := range map[float64]float64{.01: 0.00273729093, .5: 0.00230542516} {
		steps := runrecord.Trace{Noise: []float64{.02, .02}, StepSizes: []float64{.8}, Momentum: []float64{0, .3}}
		f, _ := staged(t, steps, steps)
		f.plan.Effects.Synthetic.Moment.Sigma = sigma
		if square, _, _ := squareOf(t, f, 1, 3); !(math.Abs(square/was-1) <= 1e-6) {
			t.Errorf("noise of %v in the moment: a mean square of %.9g, which was %.9g", sigma, square, was)
		}
	}
}
