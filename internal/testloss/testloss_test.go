package testloss_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/losscheck"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/losstest"
)

// TestEveryLossConforms: every loss of the package must pass the conformance suite of losses, be found by its
// name and have the bits of every other machine. Package loss, which reads configurations and model files,
// must not know the name.
func TestEveryLossConforms(t *testing.T) {
	types := map[string]bool{}
	for name, bits := range map[string]uint64{"slow-tail": 0xe23ad0d202b22c01,
		"huber-mean": 0x562cebffb9b899a0, "saddle": 0x9ac2b57297e296d2} {
		l, err := testloss.Parse(name)
		if err != nil || l.Name() != name {
			t.Fatalf("%s: %v, %v", name, l, err)
		}
		types[reflect.TypeOf(l).Name()] = true
		t.Run(name, func(t *testing.T) { losstest.Conformance(t, l) })
		if got := losscheck.Bits(l); got != bits {
			t.Errorf("%s: %#016x, want %#016x", name, got, bits)
		}
		if _, err := loss.Parse(name); err == nil {
			t.Errorf("%s: package loss knows it", name)
		}
	}
	losscheck.EveryTypeRan(t, types, "Slopes", "Gradient")
}

// TestParse: Parse must also find the losses of package loss, and no other name.
func TestParse(t *testing.T) {
	if l, err := testloss.Parse("huber(0.5)"); err != nil || l.Name() != "huber(0.5)" {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := testloss.Parse("slow-tail(1)"); err == nil {
		t.Errorf("slow-tail(1) is %v", l)
	}
}

func TestGradientsDoNotAllocate(t *testing.T) {
	w, x, dst := make([]float64, 64), make([]float32, 64), make([]float64, 64)
	for _, l := range []loss.General{testloss.SlowTail(), testloss.HuberMean()} {
		if n := testing.AllocsPerRun(10, func() { l.Value(w, x, 0); l.Gradient(dst, w, x, 0) }); n != 0 {
			t.Errorf("%s allocates %v times", l.Name(), n)
		}
	}
}

// TestSaddleIsAnOppositeGemanMcClure tests that the saddle is minus the Geman-McClure loss at
// c = 1, y = 0.
func TestSaddleIsAnOppositeGemanMcClure(t *testing.T) {
	gm, err := loss.GemanMcClure(1)
	if err != nil {
		t.Fatal(err)
	}
	for z := -40.0; z <= 40; z += .37 {
		a, b := make([]float64, 1), make([]float64, 1)
		for i, pair := range [][2]func(dst, z, y []float64){
			{testloss.Saddle().Values, gm.Values}, {testloss.Saddle().Slopes, gm.Slopes},
			{testloss.Saddle().Curvatures, gm.Curvatures},
		} {
			pair[0](a, []float64{z}, []float64{1}) // the target is unused
			pair[1](b, []float64{z}, []float64{0})
			if !(math.Abs(a[0]+b[0]) <= 1e-15) {
				t.Errorf("method %d at %v: %v: want %v", i, z, a[0], -b[0])
			}
		}
	}
}
