package loss

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// TestBitsAgreeAcrossMachines hashes slopes, curvatures, gradients and constants.
// The goldens were computed by this code on amd64, and came out the same with the
// processor's fused multiply-add switched off (GODEBUG=cpu.fma=off) and as a
// 32-bit program (GOARCH=386). A machine on which this fails would compute other
// contributions from the same rows: mend the code before the goldens.
func TestBitsAgreeAcrossMachines(t *testing.T) {
	for name, want := range map[string]uint64{
		"logistic":            0xdc9ac071ded93081,
		"tanh":                0xf9bfe45803c81b88,
		"sigmoid":             0xe08d8a16d9f18fc4,
		"smoothed-hinge(0.3)": 0x1fcf87101dadb69b,
		"huber(0.3)":          0x8e6832e727aa47b0,
		"squared(0.3)":        0x4911899526309363,
		"welsch(0.3)":         0x65e8e0165a854515,
		"geman-mcclure(0.3)":  0xe3934fff67d2f137,
		"tukey(2.3)":          0xb054205ae72b77b6,
		"slow-tail":           0xe23ad0d202b22c01,
		"huber-mean":          0x562cebffb9b899a0,
		"huber-bias":          0x9eb15ef74fd73220,
		"saddle":              0x9ac2b57297e296d2,
	} {
		l := must(Parse(name))
		h := fnv.New64a()
		add := func(vs ...float64) {
			for _, v := range vs {
				b := math.Float64bits(v)
				for range 8 {
					h.Write([]byte{byte(b)})
					b >>= 8
				}
			}
		}
		c := l.Constants()
		add(c.Lipschitz, c.Curvature.Lo, c.Curvature.Hi, c.HessianLipschitz, c.InitialGap)

		const n = 4096
		rng := rand.New(rand.NewPCG(9, 10))
		for range n / 64 {
			z, y, dst := make([]float64, 64), make([]float64, 64), make([]float64, 64)
			x := make([]float32, 64)
			for i := range z {
				// Sums of few bits and divisions by powers of 2: no library function.
				z[i] = (rng.Float64() - .5) * float64(int64(1)<<rng.IntN(10)) / 8
				y[i] = float64(2*rng.IntN(2) - 1)
				if l.Target() == Real {
					y[i] = float64(2*rng.Float64()) - 1
				}
				x[i] = float32(y[i] / 8)
			}
			switch l := l.(type) {
			case RankOne:
				l.Slopes(dst, z, y)
				add(dst...)
				l.Curvatures(dst, z, y)
				add(dst...)
			case General:
				z[1] /= 1024
				l.Gradient(dst, z, x, 1) // clipped
				add(dst...)
				l.Gradient(dst[:2], z[:2], x[:2], 1)
				add(dst...)
			}
		}
		if got := h.Sum64(); got != want {
			t.Errorf("%s: %#016x, want %#016x", name, got, want)
		}
	}
}
