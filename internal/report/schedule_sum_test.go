package report

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// TestSampledFitsCostTheirSchedules tests the total epsilon of two fits on Poisson samples: it must
// be the epsilon of the composition of their schedules. The mu in their reservations states the
// same budget in another form and must not be added.
func TestSampledFitsCostTheirSchedules(t *testing.T) {
	const multiplier, sampling, steps, delta = 3., .1, 40, 1e-6
	line := `{"time":"2031-02-01T03:04:05Z","entry":"reserved","fit":N,"data":"/d/people.csv","algorithm":"dp-sgd","relation":"add-or-remove","epsilon":1,"delta":1e-6,"mu":0.2367043806634357,"schedule":[{"noise_multiplier":3,"sampling":0.1,"count":40}]}` + "\n"
	list, err := ParseLedger([]byte(strings.Replace(line, "N", "1", 1) + strings.Replace(line, "N", "2", 1)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := mechanism.NewSampledGaussian(multiplier, sampling, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mechanism.Compose(t.Context(), []mechanism.Composed{{Mechanism: m, Count: 2 * steps}}, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Epsilon(t.Context(), delta)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := together(t.Context(), list, delta)
	if !ok || !(got >= want.Lower && got <= want.Upper*1.002) {
		t.Errorf("together: epsilon %v (%v): want %v to %v", got, ok, want.Lower, want.Upper)
	}
}

// TestTrustIsCited tests that the text that the page offers for publishing a guarantee names the
// assumptions that the program does not enforce.
func TestTrustIsCited(t *testing.T) {
	f := people(t, "p", 1)
	e, err := account.StabilityEvent("stable sgd", "logistic", 1, 1, 1.0001/f.budget.Mu())
	if err != nil {
		t.Fatal(err)
	}
	e.Relation = account.ReplaceOne
	f.events = []account.Event{e}
	read, err := ReadFit(t.Context(), f.write(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{read.paragraph(), read.bibtex()} {
		has(t, text, "the loss logistic is convex and as smooth as it declares")
	}
}
