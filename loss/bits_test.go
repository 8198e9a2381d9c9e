package loss_test

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/losscheck"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestBitsAgreeAcrossMachines compares hashes of each loss's results with golden values, so that
// results have the same bits on every machine. The goldens were computed by this code on amd64.
// They were the same without the processor's fused multiply-add (GODEBUG=cpu.fma=off) and as a
// 32-bit program (GOARCH=386). Every loss has a golden. A machine on which this test fails would
// compute other contributions from the same rows: correct the code, not the goldens.
func TestBitsAgreeAcrossMachines(t *testing.T) {
	goldens := map[string]uint64{
		"logistic":                 0xdc9ac071ded93081,
		"tanh":                     0xf9bfe45803c81b88,
		"sigmoid":                  0xe08d8a16d9f18fc4,
		"smoothed-hinge(0.3)":      0x1fcf87101dadb69b,
		"huber(0.3)":               0x8e6832e727aa47b0,
		"squared(0.3)":             0x4911899526309363,
		"welsch(0.3)":              0x65e8e0165a854515,
		"geman-mcclure(0.3)":       0xe3934fff67d2f137,
		"tukey(2.3)":               0xb054205ae72b77b6,
		"softmax(3)":               0xe7165253af4ac8ab,
		"softmax(7)":               0x474177ac643de421,
		"poisson(0.3)":             0xe7fe746fea545794,
		"absolute":                 0xbea7b4c1b31437c2,
		"pinball(0.3)":             0xd44f0cf5ed0cdc6c,
		"epsilon-insensitive(0.3)": 0xeb231614feb138f3,
		"hinge":                    0x1b76572cfebcf558,
		"capped-absolute(0.3)":     0x4e8c6c02200d117e,
		"ramp":                     0xa2e8a77e2baeb7f9,

		"poisson-rate(0.3,0.5)":                 0xe7fe746fea545794,
		"weighted(hinge,0.3,2)":                 0xce3802fdd247133b,
		"weighted(softmax(3),1,2,0.3)":          0x75e2008164aa9f79,
		"network(3,tanh,logistic)":              0x3688339edbac8d3d,
		"network(4-3,relu,softmax(3),clip=0.5)": 0x07805f82787b8d5b,
	}
	hashed := map[string]bool{}
	for name, want := range goldens {
		base, _, _ := strings.Cut(name, "(")
		hashed[base] = true
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := losscheck.Bits(l); got != want {
			t.Errorf("%s: %#016x, want %#016x", name, got, want)
		}
	}
	for _, name := range loss.Names() {
		if !hashed[name] {
			t.Errorf("%s: has no golden", name)
		}
	}
}
