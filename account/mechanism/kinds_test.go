package mechanism

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
)

// refKind returns the delta of one use, computed from the definition of a kind. It reads the
// parameters of an event file and uses none of the laws of the package.
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
		// Each member of the group joins the sample independently of the others.
		with, mirror := []component{{1, 0}}, []component{{1, 0}}
		for range group {
			var more, mirrored []component
			for i, b := range with {
				more = append(more, component{b.weight * (1 - q), b.mean}, component{b.weight * q, b.mean + 1/z})
				m := mirror[i]
				mirrored = append(mirrored, component{m.weight * (1 - q), m.mean}, component{m.weight * q, m.mean - 1/z})
			}
			with, mirror = withWeight(more), withWeight(mirrored)
		}
		return max(refHockey(mixtureLaw{with, []component{{1, 0}}}, epsilon),
			refHockey(mixtureLaw{[]component{{1, 0}}, mirror}, epsilon))
	case kindLaplace:
		return refLaplace(k/number["scale"], epsilon)
	case kindRandomizedResponse:
		return refResponses(1, k*math.Log((1-number["p"])/number["p"]), epsilon)
	case kindPure:
		return refResponses(1, k*number["epsilon"], epsilon)
	case kindBoundedRange:
		if epsilon >= k*number["epsilon"] {
			return 0
		}
		return refBoundedRange(k*number["epsilon"], epsilon)
	}
	panic(kind)
}

func withWeight(bumps []component) (out []component) {
	for _, b := range bumps {
		if b.weight > 0 {
			out = append(out, b)
		}
	}
	return out
}

// fieldsOf lists the fields in an event file of the kinds that TestEveryKindByItsDefinition draws.
var fieldsOf = map[EventKind][]string{
	Gaussian:               {"noise_multiplier"},
	SampledGaussian:        {"noise_multiplier", "sampling"},
	kindLaplace:            {"scale"},
	kindRandomizedResponse: {"p"},
	kindPure:               {"epsilon"},
	kindBoundedRange:       {"epsilon"},
}

// definedElsewhere names, for each kind that TestEveryKindByItsDefinition does not draw, the test that
// compares its delta with the definition.
var definedElsewhere = map[EventKind]func(*testing.T){
	Selection:             TestSelectionMuIsTheLeast,
	kindGaussianMixture:   TestOneUseOfAnyMixture,
	kindFixedSizeGaussian: TestFixedSizeIsAttained,
	kindDiscreteGaussian:  TestDiscreteGaussianOneUse,
	kindTree:              TestTreeSquareAgainstEverySet,
	kindToeplitz:          TestPrefixSumsAgainstEveryPattern,
	kindRepeatAndSelect:   TestRepeatAndSelectAboveTheBestOfGaussians,
}

// TestEveryKindHasADefinition tests that every kind in mechanism.go is drawn by TestEveryKindByItsDefinition
// or has a test of its own in definedElsewhere.
func TestEveryKindHasADefinition(t *testing.T) {
	source, err := os.ReadFile("mechanism.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`(?m)^\t\w+ +EventKind = "([a-z-]+)"$`).FindAllStringSubmatch(string(source), -1)
	if len(kinds) < 13 {
		t.Fatalf("%d kinds: the search for them is broken", len(kinds))
	}
	for _, m := range kinds {
		kind := EventKind(m[1])
		if _, drawn := fieldsOf[kind]; !drawn && definedElsewhere[kind] == nil {
			t.Errorf("events of kind %s are compared with their definition by no test: add them to fieldsOf or definedElsewhere",
				kind)
		}
	}
}

// TestEveryKindByItsDefinition compares delta and epsilon of event files with the definition of
// each kind, under both relations and for groups. The test fails if relations, directions or the ends of
// a bracket are exchanged, if a group is counted wrongly, or if mass is dropped or rounded to the
// wrong side.
func TestEveryKindByItsDefinition(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(53, 1))
	for range trials(120) {
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		kinds := []EventKind{Gaussian, SampledGaussian, SampledGaussian, SampledGaussian, kindLaplace, kindRandomizedResponse, kindPure,
			kindBoundedRange}
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
		plan, err := DecodeEventFile([]byte(fmt.Sprintf(`{"relation": %q, "events": [{"kind": %q, "count": 1, %s}]}`,
			relation, kind, strings.Join(fields, ", "))))
		if err != nil {
			t.Fatal(err)
		}
		group := 1
		// The reference covers neither groups of sampled Gaussians under replace-one nor groups of
		// the Laplace mechanism. See TestReplacedGroupOnCoins and TestGroupOfLaplace.
		if r.IntN(2) == 0 && (kind != SampledGaussian || relation != ReplaceOne || number["sampling"] == 1) &&
			kind != kindLaplace {
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
		if b.width() > 2e-3 {
			t.Errorf("%s: width %v", name, b.width())
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
