package loss_test

import (
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/losscheck"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/losstest"
)

// conforming lists, for each registered loss, the names to run. A registered loss
// that is missing here fails the test.
var conforming = map[string][]string{
	"logistic":       {"logistic"},
	"tanh":           {"tanh"},
	"sigmoid":        {"sigmoid"},
	"smoothed-hinge": {"smoothed-hinge(0.01)", "smoothed-hinge(0.5)", "smoothed-hinge(1)", "smoothed-hinge(3)"},
	"huber":          {"huber(0.001)", "huber(0.1)", "huber(1)", "huber(20)"},
	"squared":        {"squared(0.05)", "squared(1)", "squared(4)"},
	"poisson":        {"poisson(0.05)", "poisson(0.6)", "poisson(1)", "poisson(4)"},
	"poisson-rate":   {"poisson-rate(0.6,0.01)", "poisson-rate(1,0.5)"},
	"welsch":         {"welsch(1e-06)", "welsch(0.01)", "welsch(0.7)", "welsch(1)", "welsch(50)"},
	"geman-mcclure":  {"geman-mcclure(0.01)", "geman-mcclure(0.7)", "geman-mcclure(1)", "geman-mcclure(50)"},
	"tukey":          {"tukey(0.01)", "tukey(0.7)", "tukey(1)", "tukey(4.685)", "tukey(50)", "tukey(1e+06)"},
	"softmax":        {"softmax(3)", "softmax(7)"},

	"absolute":            {"absolute"},
	"pinball":             {"pinball(0.001)", "pinball(0.5)", "pinball(0.9)"},
	"epsilon-insensitive": {"epsilon-insensitive(1e-06)", "epsilon-insensitive(0.1)", "epsilon-insensitive(0.9)"},
	"hinge":               {"hinge"},
	"capped-absolute":     {"capped-absolute(0.01)", "capped-absolute(0.7)", "capped-absolute(50)"},
	"ramp":                {"ramp"},
}

// weighted and networks are tested as well. They are listed separately because their parameters are
// not only numbers. A target without a weight has weight 1.
var weighted = []string{
	"weighted(logistic,1,5)", "weighted(logistic,row)", "weighted(squared(1),row)", "weighted(softmax(3),1,2,0.5,row)",
	"weighted(hinge,3,1,row)", "weighted(pinball(0.3),row)", "weighted(tanh,0.5,0.25)",
}

var networks = []string{"network(2,tanh,weighted(logistic,1,3))", "network(2,tanh,logistic)",
	"network(2-1,tanh,softmax(3),clip=0.5,seed=7)", "network(3,tanh,huber(0.3))"}

var conformingRegularizers = map[string][]string{
	"none":      {"none"},
	"l2":        {"l2(0)", "l2(0.01)", "l2(3)"},
	"nonconvex": {"nonconvex(0)", "nonconvex(0.01)", "nonconvex(3)"},
}

func TestEveryLossConforms(t *testing.T) {
	types := map[string]bool{}
	for _, name := range loss.Names() {
		if len(conforming[name]) == 0 {
			t.Errorf("loss %q is registered and not run through the conformance suite", name)
		}
		for _, full := range conforming[name] {
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
