package certificate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// scheduled returns the certificate of a run with releases on Poisson samples and Gaussian
// releases beside them, interrupted before its last sample.
func scheduled(t testing.TB) *Certificate {
	t.Helper()
	p := params(t)
	schedule, err := account.NewSchedule(t.Context(), p.Budget, .05,
		account.SampledSteps{NoiseMultiplier: 4, Sampling: .25, Count: 2},
		account.SampledSteps{NoiseMultiplier: 8, Sampling: .5, Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	p.Schedule, p.Complete, p.Events = schedule, false, nil
	for i, s := range []struct{ sampling, sigma float64 }{{.25, 2}, {.25, 2}, {.5, 4}, {.5, 4}} {
		e, err := account.SampledEvent("gradient", s.sampling, .5, s.sigma)
		if err != nil {
			t.Fatal(err)
		}
		e.Index, e.Relation = i, account.ReplaceOne
		p.Events = append(p.Events, e)
	}
	g, err := account.GaussianEvent("value", account.Everyone, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	g.Index, g.Relation = len(p.Events), account.ReplaceOne
	p.Events = append(p.Events, g)
	return mustNew(t, p)
}

func TestScheduleVerifies(t *testing.T) {
	r, err := scheduled(t).Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Basis != BasisSchedule || r.Mu != .05 || !(r.Epsilon > 0 && r.Epsilon <= 2) || r.Events != 5 {
		t.Errorf("report: %+v", r)
	}
	for _, want := range []string{"sampled-gaussian-schedule", "drawn by a schedule"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("no %q in\n%s", want, r)
		}
	}
}

func TestEveryAlterationOfAScheduleIsRefused(t *testing.T) {
	c := scheduled(t)
	root := parseNode(t, c.text)
	for _, a := range some(root.alterations("")) {
		a.do()
		data := root.file(t)
		a.undo()
		if _, err := verdict(data); err == nil && !bytes.Equal(data, c.text) {
			t.Errorf("%s: accepted", a.name)
		}
	}
}

// TestResealedSchedules: files are edited and their checksum is recomputed, as anybody can.
// Verify refuses a claim that is stronger than the schedule gives, and events that the schedule
// does not cover.
func TestResealedSchedules(t *testing.T) {
	step := func(root *node, i int) *node { return root.get("schedule").items[i] }
	event := func(root *node, i int) *node { return root.get("events").items[i] }
	for _, attack := range []struct {
		name string
		do   func(root *node)
	}{
		{"epsilon below the schedule's", func(r *node) { r.get("claim").set("epsilon", "0.3") }},
		{"delta lowered", func(r *node) { r.get("claim").set("delta", "1e-60") }},
		{"other relation", func(r *node) {
			r.get("claim").set("relation", `"replace-one"`)
			step(r, 0).set("noise_multiplier", "0.5")
		}},
		{"multiplier of the schedule lowered", func(r *node) { step(r, 0).set("noise_multiplier", "0.4") }},
		{"multiplier of the schedule raised beyond the events'", func(r *node) { step(r, 1).set("noise_multiplier", "8.5") }},
		{"sampling of the schedule lowered below the events'", func(r *node) { step(r, 1).set("sampling", "0.4") }},
		{"fewer steps than events", func(r *node) { step(r, 1).set("count", "1") }},
		{"no schedule", func(r *node) { r.remove("schedule") }},
		{"basis of a filter", func(r *node) { r.set("basis", `"gaussian-dp-filter"`) }},
		{"basis of a filter, no schedule", func(r *node) {
			r.set("basis", `"gaussian-dp-filter"`)
			r.remove("schedule")
			r.get("claim").set("mu", "0.3")
		}},
		{"sigma of an event halved", func(r *node) { event(r, 2).set("sigma", "2") }},
		{"sensitivity of an event doubled", func(r *node) { event(r, 2).set("sensitivity", "1") }},
		{"event sampled more often", func(r *node) { event(r, 0).set("sampling", "0.5") }},
		{"event on a cohort", func(r *node) { event(r, 0).set("cohort", "1") }},
		{"sampled event called gaussian", func(r *node) { event(r, 0).set("kind", `"gaussian"`) }},
		{"gaussian event called sampled", func(r *node) { event(r, 4).set("kind", `"sampled-gaussian"`) }},
		{"gaussian event beyond mu", func(r *node) { event(r, 4).set("sigma", "8"); event(r, 4).set("charge", "0.015625") }},
		{"mu lowered below the gaussian event", func(r *node) { r.get("claim").set("mu", "0.01") }},
		{"mu raised", func(r *node) { r.get("claim").set("mu", "3") }},
	} {
		root := parseNode(t, scheduled(t).text)
		attack.do(root)
		data := root.sealed(t)
		if _, err := verdict(data); err == nil {
			t.Errorf("%s: accepted", attack.name)
		} else if kindOf(t, err) != ErrUnsound && kindOf(t, err) != ErrMalformed {
			t.Errorf("%s: %v: must be unsound, the checksum was recomputed", attack.name, err)
		}
	}
}
