package train

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestRatioOfHazardsByHand tests the two numbers whose ratio is the baseline hazard of the second interval, with .2 events,
// a time at risk of .5 and a hazard of .4 so far, by each link. With logit hazards .35 events are expected of .7 at risk,
// the odds of which are .35/(.7 - .35); neither part is below the noise, or below one record of a thousand.
func TestRatioOfHazardsByHand(t *testing.T) {
	missed := .4 / math.Expm1(.4)
	for name, c := range map[string]struct {
		link             string
		expected, sigma  float64
		events, observed float64
	}{
		"times":            {"", .15, .05, .2, .15 / .4},
		"cloglog":          {cloglog, .15, .05, .2 * missed * (missed + .4), .15 / .4},
		"logit":            {targetpair.Logit, .15, .05, .2, .5 * .35 / (.35 * .4)},
		"logit, more":      {targetpair.Logit, 1, .05, .2, .5 * 1.2 / (.05 * .4)},
		"logit, none":      {targetpair.Logit, -.3, .05, .2, .5 * .05 / (.65 * .4)},
		"logit, no noise":  {targetpair.Logit, -.3, 0, .2, .5 * .001 / (.699 * .4)},
		"logit, few noise": {targetpair.Logit, -.3, .0001, .2, .5 * .001 / (.699 * .4)},
	} {
		r := &hazardRelease{link: c.link, events: []float64{9, .2}, observed: []float64{7, .5}, hazards: []float64{.6, .4},
			problem: optimize.Problem{Records: 1000}}
		events, observed := r.ratio(1, c.expected, c.sigma)
		if !(math.Abs(events-c.events) <= 1e-12) || !(math.Abs(observed-c.observed) <= 1e-9) {
			t.Errorf("%s: %v, %v: must be %v, %v", name, events, observed, c.events, c.observed)
		}
	}
}

// TestPilotFitsByHand tests that there are two pilot fits where more than .45 of the records have the event, and no
// interval has a hazard from 1.5 on.
func TestPilotFitsByHand(t *testing.T) {
	for _, c := range []struct {
		events, observed []float64
		sigma, want      float64
	}{
		{[]float64{.2, .26}, []float64{.5, .5}, .01, 2}, {[]float64{.2, .25}, []float64{.5, .5}, .01, 1},
		{[]float64{.2, .46}, []float64{.5, .3}, .01, 1}, {[]float64{.2, .44}, []float64{.5, .3}, .01, 2},
		{[]float64{.2, .44}, []float64{.5, -.1}, .3, 2}, {[]float64{.2, .44}, []float64{.5, -.1}, .01, 1},
	} {
		r := &hazardRelease{events: c.events, observed: c.observed, sigma: c.sigma, all: c.events[0] + c.events[1]}
		if got := r.pilotFits(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// timedConfig is the configuration of a target with two intervals of the time to an event.
func timedConfig(t *testing.T) *Config {
	t.Helper()
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, Low: -1, High: 1}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 10, Event: "died", Cuts: []float64{4, 10}}})
	if err != nil {
		t.Fatal(err)
	}
	return &Config{Schema: schema}
}

// TestEachIntervalAlone tests that the rows are refined to one interval after the other before each question, and that an
// error of either ends the release.
func TestEachIntervalAlone(t *testing.T) {
	c := timedConfig(t)
	broken := errors.New("broken")
	for _, fails := range []string{"", "refine", "ask"} {
		var told []float64
		err := c.each(func(s *dataset.Schema) error {
			told = append(told, s.Target().Hazards...)
			if fails == "refine" {
				return broken
			}
			return nil
		}, func(j int) error {
			told = append(told, float64(10+j))
			if fails == "ask" {
				return broken
			}
			return nil
		})
		want := map[string][]float64{"": {1, 0, 10, 0, 1, 11}, "refine": {1, 0}, "ask": {1, 0, 10}}[fails]
		if (err == broken) != (fails != "") || !slices.Equal(told, want) {
			t.Errorf("%q fails: %v, %v: must be %v", fails, told, err, want)
		}
	}
}

// TestAReleaseEndsWithItsError tests that no hazards are released where the rows cannot be refined, at the first release or
// at the second.
func TestAReleaseEndsWithItsError(t *testing.T) {
	c := timedConfig(t)
	broken := errors.New("broken")
	refine := func(*dataset.Schema) error { return broken }
	if s, err := c.released(t.Context(), nil, Hazards{}, optimize.Problem{}, nil, refine); s != nil || err != broken {
		t.Errorf("the first: %v, %v", s, err)
	}
	r := &hazardRelease{Config: c, refine: refine, hazards: []float64{.5, .5}, events: []float64{.1, .1}, observed: []float64{.5, .5}}
	if s, err := r.ofBaseline(t.Context(), make([]float64, 2), 1); s != nil || err != broken {
		t.Errorf("the second: %v, %v", s, err)
	}
}

// TestBeginsEarlyByHand tests that the base rate comes before the ranks only in fits of two classes that release both.
func TestBeginsEarlyByHand(t *testing.T) {
	c := config(t, 300)
	two, err := c.loss()
	if err != nil {
		t.Fatal(err)
	}
	counts, err := loss.Parse("poisson(3)")
	if err != nil {
		t.Fatal(err)
	}
	base, ranks := new(optimize.BaseRate), new(Ranks)
	for _, x := range []struct {
		p    Planned
		two  bool
		want bool
	}{{Planned{Base: base, Ranks: ranks}, true, true}, {Planned{Base: base, Ranks: ranks}, false, false},
		{Planned{Base: base}, true, false}, {Planned{Ranks: ranks}, true, false}, {Planned{}, true, false}} {
		l := two
		if !x.two {
			l = counts
		}
		if got := x.p.BeginsEarly(l); got != x.want {
			t.Errorf("base rate %v, ranks %v, two classes %v: %v", x.p.Base != nil, x.p.Ranks != nil, x.two, got)
		}
	}
}
