package certificate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// kinds returns certificates that together have every basis, every relation and every kind of
// event.
func kinds(t testing.TB) map[string]*Certificate {
	t.Helper()
	stable := stableParams(t)
	chosen := params(t)
	e, err := account.SelectionEvent("selection by value", account.Everyone, .25)
	if err != nil {
		t.Fatal(err)
	}
	e.Index, e.Relation = len(chosen.Events), account.ReplaceOne
	chosen.Events = append(chosen.Events, e)
	coins := params(t)
	if coins.Budget, err = account.NewBudget(2, 1e-6, account.AddOrRemove); err != nil {
		t.Fatal(err)
	}
	for i := range coins.Events {
		coins.Events[i].Relation = account.AddOrRemove
	}
	cut := params(t)
	cut.Complete, cut.ModelSHA256, cut.Events = false, "", cut.Events[:1]
	filtered := params(t)
	filtered.Filter = account.Filter{Column: "split", Value: "train"}
	none := params(t)
	none.Events = nil
	return map[string]*Certificate{
		"cohorts": mustNew(t, params(t)), "stability": mustNew(t, stable), "selection": mustNew(t, chosen),
		"add-or-remove": mustNew(t, coins), "interrupted": mustNew(t, cut), "nothing asked": mustNew(t, none),
		"filtered": mustNew(t, filtered),
		"schedule": scheduled(t),
	}
}

// TestEveryForgeryIsRefusedOrNoStronger changes a certificate in one place at a time and
// recomputes its checksum, as anybody can. Verify refuses the file, or the guarantee that the
// file states also held for the original run.
func TestEveryForgeryIsRefusedOrNoStronger(t *testing.T) {
	for name, c := range kinds(t) {
		root := parseNode(t, c.text)
		refused := 0
		list := some(root.alterations(""))
		for _, a := range list {
			if name == "schedule" && !ofSchedules(a.name) {
				continue // these members are tested for the other bases; here each change needs a composition
			}
			a.do()
			data := root.sealed(t)
			a.undo()
			if !noStronger(t, name+a.name, c, data) {
				refused++
			}
		}
		if refused < len(list)/15 {
			t.Errorf("%s: only %d forgeries refused", name, refused)
		}
	}
}

// ofSchedules reports whether an alteration, given by its name, changes a member on which a
// schedule's guarantee depends. It leaves out one alteration that takes more than a second to
// compose.
func ofSchedules(name string) bool {
	if name == ".claim.delta: becomes 5e-324" {
		return false
	}
	for _, path := range []string{".claim", ".schedule", ".basis", ".charged", ".events[0]", ".events[4]", ".events:"} {
		if strings.HasPrefix(name, path) {
			return true
		}
	}
	return false
}

// TestForgeriesInPairs does as TestEveryForgeryIsRefusedOrNoStronger, with two changes at once,
// drawn at random with a fixed seed.
func TestForgeriesInPairs(t *testing.T) {
	coins := rand.New(rand.NewPCG(1, 2))
	all := kinds(t)
	for _, name := range []string{"cohorts", "stability", "selection", "add-or-remove", "interrupted"} {
		root := parseNode(t, all[name].text)
		list := slices.DeleteFunc(root.alterations(""), func(a alteration) bool {
			return strings.HasPrefix(a.name, ".algorithm") || strings.HasPrefix(a.name, ".trusted")
		})
		for range len(some(make([]int, 1000))) {
			a, b := list[coins.IntN(len(list))], list[coins.IntN(len(list))]
			x, _, _ := strings.Cut(a.name, ":")
			y, _, _ := strings.Cut(b.name, ":")
			if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
				continue // one node contains the other
			}
			a.do()
			b.do()
			noStronger(t, name+a.name+" and "+b.name, all[name], root.sealed(t))
			b.undo()
			a.undo()
		}
	}
}

// noStronger reports whether the file verifies. It fails the test if the file verifies but
// states a guarantee that follows neither from the original's guarantee nor from the file's own
// events, both recomputed here.
func noStronger(t *testing.T, name string, original *Certificate, data []byte) (verified bool) {
	t.Helper()
	r, err := verdict(data)
	if err != nil {
		kindOf(t, err)
		return false
	}
	truth, claim := original.doc, r
	switch {
	case claim.Relation != truth.Claim.Relation:
		t.Errorf("%s: relation becomes %v", name, claim.Relation)
	case claim.Basis != truth.Basis:
		t.Errorf("%s: basis becomes %v", name, claim.Basis)
	case claim.Basis == BasisGaussianFilter && claim.Mu < truth.Claim.Mu*(1-1e-11):
		t.Errorf("%s: mu becomes %v, from %v", name, claim.Mu, truth.Claim.Mu)
	case claim.Basis == BasisGaussianFilter && gaussian(truth.Claim.Mu, claim.Epsilon) > claim.Delta*(1+1e-9):
		t.Errorf("%s: (%v, %v) does not follow from mu = %v", name, claim.Epsilon, claim.Delta, truth.Claim.Mu)
	case claim.Basis == BasisSchedule && claim.Epsilon < sampledEpsilon(t, original, claim.Delta):
		t.Errorf("%s: (%v, %v) does not follow from the schedule", name, claim.Epsilon, claim.Delta)
	}
	recount(t, name, data, r)
	return true
}

// gaussian returns the delta of mu-GDP at epsilon (Balle & Wang 2018, theorem 8).
func gaussian(mu, epsilon float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(mu/2-epsilon/mu) - math.Exp(epsilon)*phi(-mu/2-epsilon/mu)
}

// sampledEpsilon returns a lower bound on the epsilon of the original's schedule: the lower end
// of a bracket. The certificate claims the upper end of a bracket of another width.
func sampledEpsilon(t *testing.T, c *Certificate, delta float64) float64 {
	t.Helper()
	var list []mechanism.Composed
	for _, s := range c.doc.Schedule {
		m, err := mechanism.NewSampledGaussian(s.NoiseMultiplier, s.Sampling, c.doc.Claim.Relation)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, mechanism.Composed{Mechanism: m, Count: s.Count})
	}
	m, err := mechanism.NewGaussian(1 / c.doc.Claim.Mu)
	if err != nil {
		t.Fatal(err)
	}
	composed, err := mechanism.Compose(t.Context(), append(list, mechanism.Composed{Mechanism: m, Count: 1}), 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	bracket, err := composed.Epsilon(t.Context(), delta)
	if err != nil {
		t.Fatal(err)
	}
	return bracket.Lower
}

// recount decodes a verified file without this package. It fails the test unless the events add
// up to the report's total.
func recount(t *testing.T, name string, data []byte, r *Report) {
	t.Helper()
	var file struct {
		Coins   string
		Records float64
		Charged float64
		Trusted []string
		Claim   struct{ Mu float64 }
		Events  []struct {
			Index, Cohort, Sensitivity, Sigma, Charge, Sampling, Epsilon float64
			Kind, Relation, Basis, Loss                                  string
			Simulated                                                    bool
		}
		Schedule []json.RawMessage
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	fail := func(format string, args ...any) { t.Helper(); t.Errorf(name+": "+format, args...) }
	everyone, own := 0.0, map[float64]float64{}
	for i, e := range file.Events {
		charge := e.Sensitivity * e.Sensitivity / e.Sigma / e.Sigma
		switch e.Kind {
		case "gaussian":
			if !(e.Sensitivity > 0 && e.Sigma > 0) || e.Sampling != 0 || e.Epsilon != 0 {
				fail("event %d: %+v", i, e)
			}
		case "selection":
			// A selection's charge, (2 Phi^-1(1/(1 + e^(-epsilon/2))))^2.
			charge = math.Pow(2*math.Sqrt2*math.Erfinv(math.Tanh(e.Epsilon/4)), 2)
			if !(e.Epsilon > 0) || e.Sensitivity != 0 || e.Sigma != 0 || e.Sampling != 0 {
				fail("event %d: %+v", i, e)
			}
		case "sampled-gaussian":
			charge = 0
			if r.Basis != BasisSchedule || !(e.Sampling > 0 && e.Sampling <= 1) || e.Cohort != 0 {
				fail("event %d: %+v", i, e)
			}
		default:
			fail("event %d: kind %q", i, e.Kind)
		}
		switch {
		case e.Index != float64(i) || e.Relation != r.Relation.String() || e.Simulated:
			fail("event %d: %+v", i, e)
		case !(e.Charge >= charge*(1-1e-12)):
			fail("event %d: charge %v: its law has %v", i, e.Charge, charge)
		case !(e.Cohort >= 0 && e.Cohort <= file.Records):
			fail("event %d: cohort %v of %v records", i, e.Cohort, file.Records)
		case e.Basis == "stability" && (e.Relation != "replace-one" ||
			!slices.Contains(file.Trusted, stabilityAssumption(e.Loss))):
			fail("event %d: stability under %s, trusted: %q", i, e.Relation, file.Trusted)
		}
		if e.Cohort == 0 {
			everyone += charge
		} else {
			own[e.Cohort] += charge
		}
	}
	total := everyone
	for _, x := range own {
		total = max(total, everyone+x)
	}
	if !(math.Abs(total-file.Charged) <= 1e-12*total) || !(total <= file.Claim.Mu*file.Claim.Mu*(1+1e-12)) {
		fail("charged %v, mu %v: the events come to %v", file.Charged, file.Claim.Mu, total)
	}
	if file.Coins != "secret" || !(file.Records >= 1) || (r.Basis == BasisSchedule) != (file.Schedule != nil) {
		fail("coins %q, %v records, %d runs of steps", file.Coins, file.Records, len(file.Schedule))
	}
}
