package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

func show(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// TestResealedAttacks edits certificates so that they claim more than their events show, and recomputes
// their checksum, as anybody can. For each edited certificate Verify must return an error that names the
// wrong field.
func TestResealedAttacks(t *testing.T) {
	claim := mustNew(t, params(t)).Claim()
	event := func(root *node, i int) *node { return root.get("events").items[i] }
	drop := func(i int, renumber bool) func(*node) {
		return func(root *node) {
			list := root.get("events")
			list.delete(i)
			for j := i; renumber && j < len(list.items); j++ {
				list.items[j].set("index", strconv.Itoa(j))
			}
		}
	}
	for _, attack := range []struct {
		name string
		do   func(root *node)
		want string // part of the error
	}{
		{"smaller epsilon", func(r *node) { r.get("claim").set("epsilon", "1.9999999") },
			"claim.epsilon = 1.9999999: must be at least"},
		{"epsilon an ulp below", func(r *node) {
			epsilon, err := mechanism.GaussianEpsilon(claim.Mu, claim.Delta)
			if err != nil {
				t.Fatal(err)
			}
			r.get("claim").set("epsilon", show(math.Nextafter(epsilon, 0)))
		}, "claim.epsilon"},
		{"tiny epsilon", func(r *node) { r.get("claim").set("epsilon", "1e-300") }, "claim.epsilon"},
		{"zero epsilon", func(r *node) { r.get("claim").set("epsilon", "0") }, "claim.epsilon = 0: must be finite and > 0"},
		{"smaller delta", func(r *node) { r.get("claim").set("delta", "9.9e-7") }, "claim.epsilon"},
		{"zero delta", func(r *node) { r.get("claim").set("delta", "0") }, "claim.delta = 0: must be > 0 and < 1"},
		{"delta 1", func(r *node) { r.get("claim").set("delta", "1") }, "claim.delta"},
		{"mu an ulp larger", func(r *node) { r.get("claim").set("mu", show(math.Nextafter(claim.Mu, 1))) }, "claim.epsilon"},
		{"mu below the charges, epsilon to match", func(r *node) { claimed(t, r, 1) }, "must be at most mu^2"},
		{"mu lowered towards the charges", func(r *node) { r.get("claim").set("mu", "0.4") },
			"claim.mu = 0.4: must be at least"},
		{"larger epsilon for the same mu", func(r *node) { r.get("claim").set("epsilon", "2.5") }, "claim.mu"},
		{"other relation", func(r *node) { r.get("claim").set("relation", `"add-or-remove"`) },
			"events[0].relation = replace-one"},
		{"other relation of an event", func(r *node) { event(r, 3).set("relation", `"add-or-remove"`) },
			"events[3].relation = add-or-remove"},
		{"cohort beyond the records", func(r *node) { event(r, 2).set("cohort", "32562") }, "events[2].cohort = 32562"},
		{"cohort of a sample", func(r *node) { event(r, 2).set("cohort", "9223372036854775809") }, "events[2].cohort"},
		{"fewer records than cohorts", func(r *node) { r.set("records", "1") },
			"events[2].cohort = 2: must be at most the number of records, 1"},
		{"no question", func(r *node) { event(r, 2).set("question", `""`) }, "events[2].question"},
		{"an empty schedule", func(r *node) { r.insert(r.at("events"), "schedule", &node{array: true}) }, "schedule"},
		{"a sampling of a gaussian event", func(r *node) { event(r, 1).insert(0, "sampling", &node{leaf: "0.5"}) },
			"sampling"},
		{"an epsilon of a gaussian event", func(r *node) { event(r, 1).insert(0, "epsilon", &node{leaf: "0.5"}) }, "epsilon"},
		{"a sampled event", func(r *node) {
			event(r, 2).set("kind", `"sampled-gaussian"`)
			event(r, 2).set("cohort", "0")
			event(r, 2).insert(0, "sampling", &node{leaf: "0.5"})
		}, "events[2].kind"},
		{"mu zero", func(r *node) { r.get("claim").set("mu", "0") }, "claim.mu"},
		{"mu negative", func(r *node) { r.get("claim").set("mu", show(-claim.Mu)) }, "claim.mu"},
		{"unknown basis", func(r *node) { r.set("basis", `"realised-charge"`) }, "basis"},
		{"no records", func(r *node) { r.set("records", "0") }, "records = 0"},
		{"records beyond float64", func(r *node) { r.set("records", "9007199254740993") }, "records"},
		{"other unit", func(r *node) { r.set("privacy_unit", `"cell"`) }, "privacy_unit"},
		{"no software", func(r *node) { r.set("software", `""`) }, "software"},
		{"no algorithm", func(r *node) { r.get("algorithm").set("name", `""`) }, "algorithm.name"},
		{"simulated coins", func(r *node) { r.set("coins", `"simulated"`) }, "coins are"},
		{"unknown coins", func(r *node) { r.set("coins", `"public"`) }, "coins"},
		{"simulated event", func(r *node) { e := event(r, 2); e.insert(0, "simulated", &node{leaf: "true"}) },
			"events[2].simulated"},
		{"sigma halved", func(r *node) { event(r, 1).set("sigma", "2") }, "event 1: charge"},
		{"sensitivity doubled", func(r *node) { event(r, 0).set("sensitivity", "4") }, "event 0: charge"},
		{"charge lowered", func(r *node) { event(r, 4).set("charge", "0.01") }, "event 4: charge"},
		{"charge lowered by an ulp", func(r *node) { event(r, 4).set("charge", show(math.Nextafter(1.0/64, 0))) },
			"event 4: charge"},
		{"negative charge", func(r *node) { event(r, 4).set("charge", "-1") }, "event 4: charge"},
		{"infinite noise", func(r *node) { event(r, 4).set("sigma", "1e308"); event(r, 4).set("charge", "0") },
			"event 4: charge"},
		{"negative sigma", func(r *node) { event(r, 4).set("sigma", "-8") }, "sigma"},
		{"zero sensitivity", func(r *node) { event(r, 4).set("sensitivity", "0"); event(r, 4).set("charge", "0") },
			"sensitivity"},
		{"unknown kind", func(r *node) { event(r, 3).set("kind", `"laplace"`) }, "kind"},
		{"event dropped", drop(2, false), "index"},
		{"first event dropped", drop(0, false), "index"},
		{"last event dropped", drop(4, true), "charged"},
		{"event dropped, renumbered", drop(1, true), "charged"},
		{"event duplicated", func(r *node) { l := r.get("events"); l.insert(1, "", l.items[1]) }, "index"},
		{"events reordered", func(r *node) { l := r.get("events").items; l[0], l[1] = l[1], l[0] }, "index"},
		{"no events", func(r *node) { r.get("events").items = nil }, "charged"},
		{"charged lowered", func(r *node) { r.set("charged", "0.01") }, "charged = 0.01: must be"},
		{"charged raised", func(r *node) { r.set("charged", "0.2") }, "charged = 0.2: must be"},
		{"cohort moved", func(r *node) { event(r, 3).set("cohort", "3") }, "charged"},
		{"digest shortened", func(r *node) { r.set("model_sha256", `"9f86"`) }, "model_sha256"},
		{"digest in capitals", func(r *node) { r.set("model_sha256", strconv.Quote(strings.ToUpper(someDigest))) },
			"model_sha256"},
		{"model removed", func(r *node) { r.set("model_sha256", `""`) }, "model_sha256"},
		{"empty assumption", func(r *node) { r.get("trusted").items[0] = &node{leaf: `""`} }, "trusted[0]"},
	} {
		root := parseNode(t, mustNew(t, params(t)).text)
		attack.do(root)
		_, err := verdict(root.sealed(t))
		if !errors.Is(err, ErrUnsound) || errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), attack.want) {
			t.Errorf("%s: got %v, want an unsound %q", attack.name, err, attack.want)
		}
	}
}

// claimed changes the epsilon that a certificate claims, and its mu to the mu of that budget.
func claimed(t *testing.T, root *node, epsilon float64) {
	t.Helper()
	mu, err := mechanism.GaussianMu(epsilon, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	root.get("claim").set("epsilon", show(epsilon))
	root.get("claim").set("mu", show(mu))
}

// TestResealedUnchanged tests that a certificate whose checksum was recomputed without any change
// verifies. The forgeries of the other tests are therefore refused because of their changes.
func TestResealedUnchanged(t *testing.T) {
	c := mustNew(t, params(t))
	data := parseNode(t, c.text).sealed(t)
	if !bytes.Equal(data, c.text) {
		t.Errorf("got\n%s\nwant\n%s", data, c.text)
	}
	weaker := parseNode(t, c.text)
	claimed(t, weaker, 2.5)
	if _, err := verdict(weaker.sealed(t)); err != nil {
		t.Errorf("a weaker claim: %v", err)
	}
}

func TestSimulatedIsNeverVerified(t *testing.T) {
	p := params(t)
	p.Coins, p.Events = Simulated, events(t, true)
	c := mustNew(t, p)
	if _, err := c.Verify(t.Context()); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "protects nobody") {
		t.Errorf("simulated coins: %v", err)
	}
	// First the member coins alone says secret, then the events alone are no longer marked as simulated.
	root := parseNode(t, c.text)
	root.set("coins", `"secret"`)
	if _, err := verdict(root.sealed(t)); !errors.Is(err, ErrUnsound) {
		t.Errorf("coins called secret: %v", err)
	}
	root = parseNode(t, c.text)
	for _, e := range root.get("events").items {
		e.remove("simulated")
	}
	if _, err := verdict(root.sealed(t)); !errors.Is(err, ErrUnsound) {
		t.Errorf("events called real: %v", err)
	}
	root.get("events").items = nil
	root.set("charged", "0")
	if _, err := verdict(root.sealed(t)); !errors.Is(err, ErrUnsound) {
		t.Errorf("no events: %v", err)
	}
}

// TestChargedUpToExactlyMuSquared: a total charge of exactly mu^2 verifies and the next larger total does
// not, although mu^2 is not a float64.
func TestChargedUpToExactlyMuSquared(t *testing.T) {
	budget, err := account.NewBudget(1, 1e-5, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	p := params(t)
	p.Budget, p.Algorithm.Plan = budget, json.RawMessage(`{}`)
	for _, test := range []struct {
		charge float64
		fits   bool
	}{
		{budget.Charge(), true},
		{math.Nextafter(budget.Charge(), 1), false},
	} {
		// Because of rounding, the charge of this event may miss the wanted charge by a few
		// ulp. A file may state a larger charge, but Verify recomputes the total. So the loop
		// changes the sensitivity by single ulp until the event is just within, or just beyond,
		// the budget.
		sigma := 1.0
		sensitivity := math.Sqrt(test.charge)
		e, err := account.GaussianEvent("gradient", account.Everyone, sensitivity, sigma)
		if err != nil {
			t.Fatal(err)
		}
		for steps := 0; e.Charge > budget.Charge() && test.fits || e.Charge <= budget.Charge() && !test.fits; steps++ {
			if steps > 8 {
				t.Fatal("no event near mu^2")
			}
			toward := 0.0
			if !test.fits {
				toward = 1
			}
			sensitivity = math.Nextafter(sensitivity, toward)
			if e, err = account.GaussianEvent("gradient", account.Everyone, sensitivity, sigma); err != nil {
				t.Fatal(err)
			}
		}
		e.Relation = account.AddOrRemove
		p.Events = []account.Event{e}
		if _, err := p.certificate(); (err == nil) != test.fits {
			t.Errorf("charge %v of %v: %v", e.Charge, budget.Charge(), err)
		}
	}
}
