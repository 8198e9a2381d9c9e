// Package losscheck holds checks of the losses of this module: that their bits are those of other machines, and that
// every type of loss is tested.
package losscheck

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// Bits returns a hash by which two machines can check that a loss gives the same bits on both. It hashes the loss's
// constants and what the loss computes on generated records. These are slopes and curvatures if the loss is a function
// of linear margins, and gradients otherwise. For a [loss.Kinked] loss they include smoothed slopes.
func Bits(l loss.Loss) uint64 {
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
		x, long := make([]float32, 64), make([]float64, 64)
		for i := range z {
			// Sums of few bits and divisions by powers of 2 need no library function, so all
			// machines generate the same records.
			z[i] = (rng.Float64() - .5) * float64(int64(1)<<rng.IntN(10)) / 8
			y[i] = float64(2*rng.IntN(2) - 1)
			if l.Target() == loss.Real {
				y[i] = float64(2*rng.Float64()) - 1
			}
			x[i] = float32(y[i] / 8)
			long[i] = float64(i) / 63
		}
		switch l := l.(type) {
		case loss.Composed:
			w := l.Start(5)
			for j := range w {
				w[j] += z[j%64]
			}
			l.Gradient(w, slices.Clone(w), x[:5], max(y[0], 0))
			add(w...)
		case loss.Margins:
			k := l.K()
			n := 64 / k
			for i := range y {
				y[i] = float64(i % k)
			}
			l.Slopes(dst[:n*k], z[:n*k], y[:n])
			add(dst[:n*k]...)
			l.CurvaturesAlong(dst[:n*k], z[:n*k], z[64-n*k:], y[:n])
			add(dst[:n*k]...)
		case loss.RankOne:
			l.Slopes(dst, z, y)
			add(dst...)
			l.Curvatures(dst, z, y)
			add(dst...)
			if k, ok := l.(loss.Kinked); ok {
				for _, s := range Smoothings() {
					k.SmoothedSlopes(dst, z, y, long, s)
					add(dst...)
				}
			}
		case loss.Shaped:
			p := l.Parameters(len(x))
			for p > len(dst) {
				x = x[:len(x)/2]
				p = l.Parameters(len(x))
			}
			l.Gradient(dst[:p], z[:p], x, y[0])
			add(dst[:p]...)
		case loss.General:
			z[1] /= 1024
			l.Gradient(dst, z, x, 1) // the gradient is long enough to be clipped
			add(dst...)
			l.Gradient(dst[:2], z[:2], x[:2], 1)
			add(dst...)
		}
	}
	return h.Sum64()
}

// Smoothings returns the Smoothings that suites try: the mean over a ball, for seven numbers of
// dimensions from 1 to 100,000, even and odd, and the Lasry-Lions envelope.
func Smoothings() []loss.Smoothing {
	var list []loss.Smoothing
	for _, dim := range []int{1, 2, 3, 4, 11, 100, 100_000} {
		list = append(list, must(loss.OverBall(dim, .4)))
	}
	return append(list, must(loss.LasryLions(.1)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
