package train

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// TestOutlookInNumbers tests the size that an outlook shows, and what fits of this size lost in benchmarks: half of them
// at most Lost, nine in ten at most Most.
func TestOutlookInNumbers(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[float64][2]float64{70: {.2, 1}, 250: {.03, .15}, 100: {.08, .25}, 9: {1.1, 1}, 5000: {.01, .05}} {
		p := Planned{Budget: b, Records: 3210}
		p.Summary.Effective = size
		if o := p.Outlook(); o.Size != size || o.Lost != want[0] || o.Most != want[1] {
			t.Errorf("size %v: %+v: must be %v", size, o, want)
		}
	}
}

// TestHeadsSayWhatWasPlanned tests the head of a fit: its number, its coins, its schedule, and the guarantee of the model
// that is made from it. Effects that were found must be those of the fit's coins.
func TestHeadsSayWhatWasPlanned(t *testing.T) {
	c := config(t, 900, "model: {loss: logistic}", "model: {loss: logistic, features: 'effects(2,40)'}")
	p, err := c.prepare(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.planned.Seed = 0x1234567890abcdef
	schedule, err := account.NewSchedule(t.Context(), p.planned.Budget, .125,
		account.SampledSteps{Sampling: .001, NoiseMultiplier: 30, Count: 5})
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.head("test v1", 7, p.planned, p.loss, schedule)
	if err != nil {
		t.Fatal(err)
	}
	if h.Fit != 7 || h.Seed != "1234567890abcdef" || h.ScheduleMu != schedule.Mu() || h.Features != "effects(2,40)" ||
		len(h.Schedule) != 1 {
		t.Errorf("%+v", h)
	}
	e := dataset.Effects{Seed: 0x1234567890abcdef, Features: 40, Weight: 2, Scale: 1, Centres: make([]float64, len(c.Schema.Ranges())),
		Weights: make([]float64, c.Schema.Dim())}
	if _, err := h.Found(e); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*dataset.Effects){"coins": func(e *dataset.Effects) { e.Seed++ },
		"features": func(e *dataset.Effects) { e.Features++ }, "weight": func(e *dataset.Effects) { e.Weight = 3 }} {
		other := e
		change(&other)
		if _, err := h.Found(other); err == nil {
			t.Errorf("effects with other %s were taken for those of the fit", name)
		}
	}
	plain := config(t, 300)
	q, err := plain.prepare(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.close()
	if h, err = plain.head("test v1", 3, q.planned, q.loss, nil); err != nil {
		t.Fatal(err)
	}
	h.Epsilon, h.Delta = .625, 3e-7
	m, err := h.model(Released{Complete: true, Weights: make([]float64, plain.Schema.Dim()), Run: runrecord.Run{}})
	if err != nil {
		t.Fatal(err)
	}
	if g := m.Privacy().Guarantee; g.Epsilon != .625 || g.Delta != 3e-7 || g.Relation != h.Relation {
		t.Errorf("%+v: must be epsilon .625, delta 3e-7", g)
	}
}
