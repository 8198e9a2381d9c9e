package account

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// refKind returns the delta of one use from the definition of a kind. It uses the numbers of an
// event file and not its laws.
func refKind(kind EventKind, number map[string]float64, r Relation, group int, epsilon float64) float64 {
	k := float64(group)
	gaussian := func(mu float64) float64 {
		return refNormal(mu/2-epsilon/mu) - math.Exp(epsilon)*refNormal(-mu/2-epsilon/mu)
	}
	z, q := number["noise_multiplier"], number["sampling"]
	switch kind {
	case Gaussian:
		return gaussian(k / z)
	case SampledGaussian:
		if q == 1 && r == ReplaceOne {
			return gaussian(2 * k / z)
		}
		if r == ReplaceOne {
			return refHockey(refSampled(z, q, r)[0], epsilon)
		}
		// Each member of the group joins independently.
		with, mirror := []bump{{1, 0}}, []bump{{1, 0}}
		for range group {
			var more, mirrored []bump
			for i, b := range with {
				more = append(more, bump{b.weight * (1 - q), b.mean}, bump{b.weight * q, b.mean + 1/z})
				m := mirror[i]
				mirrored = append(mirrored, bump{m.weight * (1 - q), m.mean}, bump{m.weight * q, m.mean - 1/z})
			}
			with, mirror = withWeight(more), withWeight(mirrored)
		}
		return max(refHockey(mixtureLaw{with, []bump{{1, 0}}}, epsilon), refHockey(mixtureLaw{[]bump{{1, 0}}, mirror}, epsilon))
	case Laplace:
		return refLaplace(k/number["scale"], epsilon)
	case RandomizedResponse:
		return refResponses(1, k*math.Log((1-number["p"])/number["p"]), epsilon)
	case Pure:
		return refResponses(1, k*number["epsilon"], epsilon)
	case BoundedRange:
		if epsilon >= k*number["epsilon"] {
			return 0
		}
		return refBoundedRange(k*number["epsilon"], epsilon)
	}
	panic(kind)
}

func withWeight(bumps []bump) (out []bump) {
	for _, b := range bumps {
		if b.weight > 0 {
			out = append(out, b)
		}
	}
	return out
}

// fieldsOf lists the fields in an event file of the kinds that TestEveryKindByItsDefinition draws.
var fieldsOf = map[EventKind][]string{
	Gaussian:           {"noise_multiplier"},
	SampledGaussian:    {"noise_multiplier", "sampling"},
	Laplace:            {"scale"},
	RandomizedResponse: {"p"},
	Pure:               {"epsilon"},
	BoundedRange:       {"epsilon"},
}

// TestEveryKindByItsDefinition computes delta and epsilon for an event file, under both relations
// and for groups. It fails if relations, directions or the ends of a bracket are exchanged, if a
// group is counted wrongly, or if mass is dropped or rounded to the wrong side.
func TestEveryKindByItsDefinition(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(53, 1))
	for range trials(120) {
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		kinds := []EventKind{Gaussian, SampledGaussian, SampledGaussian, SampledGaussian, Laplace, RandomizedResponse, Pure, BoundedRange}
		kind := kinds[r.IntN(len(kinds))]
		number := make(map[string]float64)
		var fields []string
		for _, name := range fieldsOf[kind] {
			v := logUniform(r, .3, 5)
			switch name {
			case "p":
				v = logUniform(r, .05, .45)
			case "sampling":
				v = min(1, logUniform(r, .01, 1.3))
			}
			number[name] = v
			fields = append(fields, fmt.Sprintf("%q: %v", name, v))
		}
		plan, err := DecodeEventFile([]byte(fmt.Sprintf(`{"relation": %q, "events": [{"kind": %q, "count": 1, %s}]}`, relation, kind, strings.Join(fields, ", "))))
		if err != nil {
			t.Fatal(err)
		}
		group := 1
		// The reference covers neither groups of sampled Gaussians under replace-one nor groups of
		// the Laplace mechanism. See TestReplacedGroupOnCoins and TestGroupOfLaplace.
		if r.IntN(2) == 0 && (kind != SampledGaussian || relation != ReplaceOne || number["sampling"] == 1) && kind != Laplace {
			group = 2 + r.IntN(3)
		}
		m, err := Group(plan.Events[0].Mechanism, group)
		if err != nil {
			t.Fatal(err)
		}
		epsilon := logUniform(r, 1e-2, 3)
		want := refKind(kind, number, relation, group, epsilon)
		if want < 1e-9 || want > .999 {
			continue
		}
		name := fmt.Sprintf("%v of %d, %v, %v, epsilon %v", kind, group, number, relation, epsilon)
		c := compose(t, 1e-3, Composed{m, 1})
		b, err := c.Delta(t.Context(), epsilon)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, name, b, want, 1e-6)
		if b.Width() > 2e-3 {
			t.Errorf("%s: width %v", name, b.Width())
		}
		at, err := c.Epsilon(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		if at.Lower > epsilon*(1+1e-5) || at.Upper < epsilon*(1-1e-5) {
			t.Errorf("%s: epsilon in %v at delta %v", name, at, want)
		}
	}
}

// TestFollowWantsItsOwnBudget: a ledger refuses a schedule whose budget differs in epsilon, delta
// or relation alone.
func TestFollowWantsItsOwnBudget(t *testing.T) {
	const epsilon, delta = 1., 1e-6
	b, err := NewBudget(epsilon, delta, AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		epsilon, delta float64
		relation       Relation
		ok             bool
	}{
		{epsilon, delta, AddOrRemove, true},
		{epsilon * 1.01, delta, AddOrRemove, false},
		{epsilon * .99, delta, AddOrRemove, false},
		{epsilon, delta * 1.01, AddOrRemove, false},
		{epsilon, delta * .99, AddOrRemove, false},
		{epsilon, delta, ReplaceOne, false},
	} {
		other, err := NewBudget(c.epsilon, c.delta, c.relation)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSchedule(t.Context(), other, 0, SampledSteps{30, .1, 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := NewLedger(b).Follow(s); (err == nil) != c.ok {
			t.Errorf("schedule for %v under a budget of %v: %v", other, b, err)
		}
	}
}
