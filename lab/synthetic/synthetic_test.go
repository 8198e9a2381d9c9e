package synthetic_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/losscheck"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/lab/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/losstest"
)

// TestEveryProblemConforms: every problem must pass the conformance suite of losses and be found by its
// name, and package loss, which reads configurations and model files, must not know the name.
func TestEveryProblemConforms(t *testing.T) {
	types := map[string]bool{}
	for _, name := range synthetic.Names() {
		l, err := synthetic.Parse(name)
		if err != nil || l.Name() != name {
			t.Fatalf("%s: %v, %v", name, l, err)
		}
		if own := reflect.TypeOf(l); strings.HasSuffix(own.PkgPath(), "/synthetic") { // some are of another package
			types[own.Name()] = true
		}
		t.Run(name, func(t *testing.T) { losstest.Conformance(t, l) })
		if _, err := loss.Parse(name); err == nil {
			t.Errorf("%s: package loss knows it", name)
		}
	}
	losscheck.EveryTypeRan(t, types, "Slopes", "Gradient")
}

// TestParse: Parse must also find the losses of package loss, and no other name.
func TestParse(t *testing.T) {
	if l, err := synthetic.Parse("huber(0.5)"); err != nil || l.Name() != "huber(0.5)" {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := synthetic.Parse("slow-tail(1)"); err == nil {
		t.Errorf("slow-tail(1) is %v", l)
	}
}

// TestBitsAgreeAcrossMachines compares hashes of results with stored hashes, as in package loss.
func TestBitsAgreeAcrossMachines(t *testing.T) {
	goldens := map[string]uint64{
		"slow-tail":  0xe23ad0d202b22c01,
		"huber-mean": 0x562cebffb9b899a0,
		"huber-bias": 0x9eb15ef74fd73220,
		"saddle":     0x9ac2b57297e296d2,

		"exp-tail":     0xbd4d74c2ac882ee6,
		"quartic":      0x6f88558f3aafd039,
		"three-halves": 0x1b60261ce7d25d4d,
		"phase":        0xcdb26cd47a8c5d59,
		"cosine":       0x8a1cccea59130c90,
		"tanh-net":     0xe5461cd2647e93ab,

		"matrix-sensing":    0xa2c0ac852c7343e9,
		"three-halves-fine": 0xd5225837ca3ba464,

		"autoencoder(1)":   0x2d05b7862c30cd17,
		"autoencoder(3)":   0xb826f346fb3f27ad,
		"factorization(1)": 0x4a12f60a3ff9bb39,
		"factorization(3)": 0x1a34e5b0a2a29fd7,
	}
	for _, name := range synthetic.Names() {
		l, err := synthetic.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := losscheck.Bits(l); got != goldens[name] {
			t.Errorf("%s: %#016x, want %#016x", name, got, goldens[name])
		}
	}
}

func TestGradientsDoNotAllocate(t *testing.T) {
	u, v, cells := make([]float64, 16), make([]float64, 16), make([]float32, 64)
	s := synthetic.MatrixSensing()
	if n := testing.AllocsPerRun(10, func() { s.Value(u, cells, 0); s.Gradient(v, u, cells, 0) }); n != 0 {
		t.Errorf("%s allocates %v times", s.Name(), n)
	}
	for _, name := range []string{"autoencoder(1)", "factorization(1)"} {
		l, err := synthetic.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		f, x := l.(loss.Shaped), cells[:16]
		if n := testing.AllocsPerRun(10, func() { f.Value(u, x, 0); f.Gradient(v, u, x, 0) }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	w, x, dst := make([]float64, 64), make([]float32, 64), make([]float64, 64)
	for _, l := range []loss.General{synthetic.HuberBias()} {
		if n := testing.AllocsPerRun(10, func() { l.Value(w, x, 0); l.Gradient(dst, w, x, 0) }); n != 0 {
			t.Errorf("%s allocates %v times", l.Name(), n)
		}
	}
}

func TestRanks(t *testing.T) {
	for _, rank := range []int{0, 9} {
		if _, err := synthetic.Autoencoder(rank); err == nil || !strings.Contains(err.Error(), "must be between 1 and 8") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestHardInstancesAreSolvedByMeans: the mean gradient must vanish where the proofs of the lower bounds
// have the minimum: for HuberMean at the mean of the rows, if the rows are near each other, and for
// HuberBias at minus half of the mean of the rows.
func TestHardInstancesAreSolvedByMeans(t *testing.T) {
	rows := [][]float32{{.25, 0, 0}, {-.125, .125, 0}, {0, .25, -.0625}}
	for _, c := range []struct {
		l     loss.General
		times float64
	}{{testloss.HuberMean(), 1}, {synthetic.HuberBias(), -.5}} {
		w, sum, g := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for _, x := range rows {
			for j, v := range x {
				w[j] += c.times * float64(v) / 3
			}
		}
		for _, x := range rows {
			c.l.Gradient(g, w, x, 1)
			for j, v := range g {
				sum[j] += v
			}
		}
		for _, v := range sum {
			if math.Abs(v) > 1e-15 {
				t.Errorf("%s: gradient %v at %v", c.l.Name(), sum, w)
			}
		}
	}
}
