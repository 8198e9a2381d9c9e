package loss_test

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/losscheck"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/losstest"
)

// weighted and networks are tested as well. They are listed separately because their parameters are
// not only numbers. A target without a weight has weight 1.
var weighted = []string{
	"weighted(logistic,1,5)", "weighted(logistic,row)", "weighted(squared(1),row)", "weighted(softmax(3),1,2,0.5,row)",
	"weighted(ordered(4),1,2,0.5,1,row)", "weighted(hinge,3,1,row)", "weighted(pinball(0.3),row)", "weighted(tanh,0.5,0.25)",
}

var networks = []string{"network(2,tanh,weighted(logistic,1,3))", "network(2,tanh,logistic)",
	"network(2-1,tanh,softmax(3),clip=0.5,seed=7)", "network(3,tanh,huber(0.3))"}

var conformingRegularizers = map[string][]string{
	"none":      {"none"},
	"l2":        {"l2(0)", "l2(0.01)", "l2(3)"},
	"nonconvex": {"nonconvex(0)", "nonconvex(0.01)", "nonconvex(3)"},
}

// TestNamesAreStable: the registered names must be those with a row, and each row must have texts.
func TestNamesAreStable(t *testing.T) {
	if want, got := slices.Sorted(maps.Keys(registered)), loss.Names(); !slices.Equal(got, want) {
		t.Errorf("Names() = %q: rows are there for %q", got, want)
	}
	for name, row := range registered {
		for _, text := range append(row.texts, row.bits) {
			if base, _, _ := strings.Cut(text, "("); base != name {
				t.Errorf("%s: %q is a text of another loss", name, text)
			}
		}
		if len(row.texts) == 0 {
			t.Errorf("%s: has no text", name)
		}
	}
	if l, err := loss.Huber(.1); err != nil || l.Name() != "huber(0.1)" {
		t.Errorf("Huber(.1) is named %v, %v", l, err)
	}
	if r, err := loss.L2(math.Copysign(0, -1)); err != nil || r.Name() != "l2(0)" {
		t.Errorf("L2(-0) is named %v, %v", r, err)
	}
}

func TestEveryLossConforms(t *testing.T) {
	types := map[string]bool{}
	for _, name := range loss.Names() {
		for _, full := range registered[name].texts {
			l, err := loss.Parse(full)
			if err != nil {
				t.Fatal(err)
			}
			types[reflect.TypeOf(l).Name()] = true
			t.Run(full, func(t *testing.T) { losstest.Conformance(t, l) })
		}
	}
	several, err := loss.Softmax(4)
	if err != nil {
		t.Fatal(err)
	}
	joint := loss.Joint(several)
	types[reflect.TypeOf(joint).Name()] = true
	t.Run("joint", func(t *testing.T) { losstest.Conformance(t, joint) })
	for _, name := range networks {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		types[reflect.TypeOf(l).Elem().Name()] = true
		t.Run(name, func(t *testing.T) { losstest.Conformance(t, l) })
	}
	for _, name := range weighted {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		types[reflect.TypeOf(l).Name()] = true
		t.Run(name, func(t *testing.T) { losstest.Conformance(t, l) })
	}
	// Records of these losses hold several rows; TestUnitsAreTheirRows tests them.
	types["unitsOfMargins"], types["unitsOfGeneral"] = true, true
	// These inherit their methods from an embedded type, smoothNetwork from network.
	types["network"] = types["smoothNetwork"]
	delete(types, "smoothNetwork")
	delete(types, "weightedKinked")
	losscheck.EveryTypeRan(t, types, "Slopes", "Gradient")
}

func TestEveryRegularizerConforms(t *testing.T) {
	types := map[string]bool{}
	for _, name := range loss.RegularizerNames() {
		if len(conformingRegularizers[name]) == 0 {
			t.Errorf("regularizer %q is registered and not run through the conformance suite", name)
		}
		for _, full := range conformingRegularizers[name] {
			r, err := loss.ParseRegularizer(full)
			if err != nil {
				t.Fatal(err)
			}
			types[reflect.TypeOf(r).Name()] = true
			t.Run(full, func(t *testing.T) { losstest.RegularizerConformance(t, r) })
		}
	}
	losscheck.EveryTypeRan(t, types, "AddGradient")
}
