package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// toldOracle is an oracle that gives stated answers, one after the other, and keeps the questions.
type toldOracle struct {
	optimize.Oracle
	answers []query.Release
	asked   []query.Question
}

func (o *toldOracle) All() query.Cohort { return query.NewCohort(account.Everyone, 1000) }

func (o *toldOracle) Ask(_ context.Context, q query.Question) (query.Release, error) {
	o.asked = append(o.asked, q)
	a := o.answers[0]
	if len(o.answers) > 1 {
		o.answers = o.answers[1:]
	}
	return a, nil
}

// TestHazardNumbersByHand works out hazards, with events of two deviations of the noise more in each interval at the mean hazard, and
// the standard errors of their logarithms. Negative numbers count as none, and without any number all hazards are alike.
func TestHazardNumbersByHand(t *testing.T) {
	for _, c := range []struct {
		events, observed []float64
		sigma            float64
	}{{[]float64{.1, .2}, []float64{.8, .5}, 0}, {[]float64{.1, .2}, []float64{.8, .5}, .02}, {[]float64{-.01, .2}, []float64{.8, -.05}, .02},
		{[]float64{-.1, .05}, []float64{.01, -.05}, .03}} {
		all, time := max(c.events[0]+c.events[1], c.sigma), max(c.observed[0]+c.observed[1], c.sigma)
		var want []float64
		for j, e := range c.events {
			want = append(want, (max(e, 0)+2*c.sigma)/(max(c.observed[j], 0)+2*c.sigma*time/all))
		}
		sum := want[0] + want[1]
		for j, got := range increments(c.events, c.observed, c.sigma) {
			if !(math.Abs(got-want[j]/sum) <= 1e-12) {
				t.Errorf("%+v: hazard %d: %v: must be %v", c, j, got, want[j]/sum)
			}
		}
	}
	if got := increments([]float64{0, 0, 0}, []float64{.5, .4, .1}, 0); !slices.Equal(got, []float64{1. / 3, 1. / 3, 1. / 3}) {
		t.Errorf("no events: %v", got)
	}
	const records, sigma = 1000., .02
	c := timedConfig(t)
	got := c.errors(optimize.Problem{Records: records}, []float64{.1, .2, .001}, []float64{.8, .01, .5}, sigma)
	for j, x := range [][2]float64{{.1, .8}, {.2, .02}, {.02, .5}} { // below the noise as the noise
		want := math.Sqrt(1/(x[0]*records) + sigma*sigma/(x[0]*x[0]) + sigma*sigma/(x[1]*x[1]))
		if !(math.Abs(got[j]-want) <= 1e-12) {
			t.Errorf("error %d: %v: must be %v", j, got[j], want)
		}
	}
	if got := c.errors(optimize.Problem{Records: records}, []float64{0}, []float64{.5}, 0); got[0] != 1 {
		t.Errorf("the error of one event of a thousand records is %v", got)
	}
	// Of two levels each has hazards with the sum 1, and the mean hazard of its own.
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "arm", Kind: dataset.Category, Categories: []string{"a", "b"}}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 10, Event: "died", Cuts: []float64{4, 10}, Changing: "arm"}})
	if err != nil {
		t.Fatal(err)
	}
	of := &Config{Schema: s}
	if of.cells() != 4 || c.cells() != 2 {
		t.Errorf("%d and %d hazards", of.cells(), c.cells())
	}
	events, observed := []float64{.1, .2, .05, .01}, []float64{.8, .5, .3, .2}
	want := slices.Concat(increments(events[:2], observed[:2], sigma), increments(events[2:], observed[2:], sigma))
	if got := of.increments(events, observed, sigma); !slices.Equal(got, want) {
		t.Errorf("%v: must be %v", got, want)
	}
	changed, err := withHazards(c.Schema, []float64{2, 6}, []float64{.3, .4})
	if err != nil || !slices.Equal(changed.Target().Hazards, []float64{.25, .75}) || !slices.Equal(changed.Target().HazardErrors, []float64{.3, .4}) {
		t.Errorf("%+v, %v", changed.Target(), err)
	}
}

// TestExpectedEventsAreAsked works out the questions for the expected number of events at the weights of a pilot fit: the second
// derivative along the intercept, clipped to one event, around 0 under add-or-remove; with logit hazards the change of the loss
// between an eighth below and above the margin. Each interval is asked about at its hazard, and the noise is the largest.
func TestExpectedEventsAreAsked(t *testing.T) {
	const intercept, charge = .5, .01
	for _, c := range []struct {
		grouped        string
		relation       account.Relation
		unit           float64
		centre, radius float64
	}{{"", account.ReplaceOne, .25, .125, .125}, {"", account.AddOrRemove, .25, 0, .25}, {targetpair.Logit, account.ReplaceOne, .25, 0, .25}} {
		timed := timedConfig(t)
		target := timed.Schema.Target()
		target.Grouped = c.grouped
		schema, err := dataset.New(definition(timed.Schema, timed.Schema.Columns(), target))
		if err != nil {
			t.Fatal(err)
		}
		of := &Config{Schema: schema}
		o := &toldOracle{answers: []query.Release{{Mean: []float64{.05}, Sigma: .01}}}
		w := []float64{.3, -.8}
		mean, sigma, err := of.expected(t.Context(), o, optimize.Problem{Relation: c.relation}, slices.Clone(w), charge, intercept)
		if err != nil || !(math.Abs(mean-.05/c.unit) <= 1e-12) || !(math.Abs(sigma-.01/c.unit) <= 1e-12) {
			t.Errorf("%+v: %v with noise %v, %v", c, mean, sigma, err)
		}
		q := o.asked[0]
		k := q.First()
		if b := k.Ball(); q.Charge() != charge || !(math.Abs(b.Centre-c.centre) <= 1e-12) || !(math.Abs(b.Radius-c.radius) <= 1e-12) {
			t.Errorf("%+v: asked for %v with the ball %+v", c, q.Charge(), b)
		}
		if c.grouped == "" {
			if k.Kind() != query.CurvatureAlong || !slices.Equal(k.Point(), w) || !slices.Equal(k.Along(), []float64{0, 1}) {
				t.Errorf("asks for %v at %v along %v", k.Kind(), k.Point(), k.Along())
			}
		} else if k.Kind() != query.ValueChange || !slices.Equal(k.Point(), []float64{.3, -.8 + .25}) || !slices.Equal(k.Previous(), []float64{.3, -.8 - .25}) {
			t.Errorf("asks for %v from %v to %v", k.Kind(), k.Previous(), k.Point())
		}
	}
	of := timedConfig(t)
	o := &toldOracle{answers: []query.Release{{Mean: []float64{.25 * .1}, Sigma: .25 * .03}, {Mean: []float64{.25 * .2}, Sigma: .25 * .01}}}
	r := &hazardRelease{Config: of, oracle: o, problem: optimize.Problem{Relation: account.ReplaceOne, Records: 1000}, refine: func(*dataset.Schema) error { return nil },
		hazards: []float64{.4, .6}, events: []float64{.1, .3}, observed: []float64{.8, .5}, sigma: .02}
	r.marginal.Intercept = intercept
	schema, err := r.ofBaseline(t.Context(), []float64{.3, -.8}, charge)
	if err != nil {
		t.Fatal(err)
	}
	for j, h := range []float64{.4, .6} {
		if at := o.asked[j].First().Point(); !(math.Abs(at[1]-(-.8+math.Log(h)/intercept)) <= 1e-12) {
			t.Errorf("interval %d is asked about at %v", j, at)
		}
	}
	want := increments([]float64{.1, .3}, []float64{.1 / .4, .2 / .6}, .03)
	errs := of.errors(r.problem, []float64{.1, .3}, []float64{.1 / .4, .2 / .6}, .03)
	for j := range want {
		if got := schema.Target(); !(math.Abs(got.Hazards[j]-want[j]) <= 1e-12) || !(math.Abs(got.HazardErrors[j]-errs[j]) <= 1e-12) {
			t.Errorf("hazards %v with errors %v: must be %v and %v", got.Hazards, got.HazardErrors, want, errs)
		}
	}
}

// TestHazardsHaveTheirShares: a fit of the time to an event has a pilot fit from 200 records times mu for each weight on, and what is
// left of the budget is that of the other releases. Questions are counted for each interval.
func TestHazardsHaveTheirShares(t *testing.T) {
	c := timedConfig(t)
	l, err := loss.Parse("poisson-rate(3,1.52587890625e-05)")
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Schema.Dim()
	for factor, pilot := range map[float64]bool{.999: false, 1.001: true} {
		p := optimize.Problem{Records: factor * 200 * float64(d) / b.Mu(), Mu: b.Mu(), Budget: b, Relation: account.ReplaceOne,
			Shape: optimize.Shape{Features: d, Margins: 1}, Start: make([]float64, d)}
		h, left, err := c.hazards(p, l)
		if err != nil {
			t.Fatal(err)
		}
		share := .05
		if pilot {
			share = .05 + .13 + .02
		}
		charge := b.Charge()
		if (h.Pilot > 0) != pilot || !(math.Abs(h.Charge/charge-share) <= 1e-12) || !(math.Abs(left.Mu*left.Mu/charge-(1-share)) <= 1e-9) ||
			!(math.Abs(h.marginal.Charge/charge-.05) <= 1e-12) || pilot && (!(math.Abs(h.Pilot/charge-.13) <= 1e-12) || !(math.Abs(h.baseline/charge-.02) <= 1e-12)) {
			t.Errorf("%v of the least size: %+v of %v, mu left %v", factor, h, charge, left.Mu)
		}
		want := optimize.Workload{}
		for range 3 {
			want = want.Plus(h.marginal.Workload(p.Relation))
		}
		if pilot {
			want = want.Count(query.CurvatureAlong, 3, 1)
		}
		got := h.Workload(p, 3)
		if got.Kinds[query.CurvatureAlong] != want.Kinds[query.CurvatureAlong] || got.Kinds[query.ValueChange] != want.Kinds[query.ValueChange] || len(got.Kinds) != len(want.Kinds) {
			t.Errorf("%+v: must be %+v", got.Kinds, want.Kinds)
		}
	}
}
