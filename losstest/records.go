package losstest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// perRecord is a method of a loss of several margins that writes width numbers for each record.
type perRecord struct {
	name  string
	width int
	run   func(dst, z, y []float64)
}

// checkRecords compares the results of the methods of a loss of several margins for blocks of records with
// their results for single records. It also tests that NaN and invalid targets give NaN, that arguments stay
// unchanged, and that wrong lengths panic.
func checkRecords(fs *findings, l loss.Margins) {
	const n = 37
	rng := rand.New(rand.NewPCG(0x5eed, 5))
	k, targets := l.K(), targetsOf(l)
	z, y := make([]float64, n*k), make([]float64, n)
	for i := range y {
		y[i] = targets[rng.IntN(len(targets))]
		for j := range k {
			z[i*k+j] = rng.NormFloat64() * math.Pow(10, 4*rng.Float64()-2)
		}
	}
	// Some records are malformed: each of the K margins is NaN in one record, and some targets are invalid.
	for j := range k {
		z[(j%n)*k+j] = math.NaN()
	}
	y[n-2] = math.NaN()
	if l.Target() == loss.Classes {
		y[n-3], y[n-4], y[n-5] = -1, float64(k), .5
	}
	z0, y0 := slices.Clone(z), slices.Clone(y)
	along := func(dst, z, y []float64) {
		u := make([]float64, len(z))
		for i := range u {
			u[i] = .5 + float64(i%k)
		}
		l.CurvaturesAlong(dst, z, u, y)
	}
	for _, m := range []perRecord{{"Values", 1, l.Values}, {"Slopes", k, l.Slopes}, {"CurvaturesAlong", k, along}} {
		var want []float64
		for i := range n {
			one := slices.Repeat([]float64{math.NaN()}, m.width)
			m.run(one, z[i*k:(i+1)*k], y[i:i+1])
			none := slices.ContainsFunc(z[i*k:(i+1)*k], math.IsNaN) ||
				!slices.Contains(targets, y[i]) && l.Target() != loss.Real || math.IsNaN(y[i])
			if found := slices.ContainsFunc(one, math.IsNaN); found != none {
				fs.add(ruleNaN, "%s gives %v for margins %v, target %v", m.name, one, z[i*k:(i+1)*k], y[i])
			}
			want = append(want, one...)
		}
		for from := range 5 {
			for to := from; to <= n; to += 1 + to/4 {
				dst := slices.Repeat([]float64{math.NaN()}, (to-from)*m.width)
				m.run(dst, z[from*k:to*k], y[from:to])
				if !slices.EqualFunc(dst, want[from*m.width:to*m.width], same) {
					fs.add(ruleBlock, "%s on records %d to %d differs", m.name, from, to)
				}
			}
		}
		if !slices.EqualFunc(z, z0, same) || !slices.EqualFunc(y, y0, same) {
			fs.add(ruleSideEffects, "%s writes to z or y", m.name)
			copy(z, z0)
			copy(y, y0)
		}
		w := m.width
		for _, lengths := range [][3]int{{3 * w, 3*k - 1, 3}, {3 * w, 3 * k, 2}, {3*w - 1, 3 * k, 3}, {3*w + 1, 3 * k, 3},
			{3 * w, 3 * k, 4}, {3 * w, 4 * k, 3}} {
			d, z, y := make([]float64, lengths[0]), make([]float64, lengths[1]), make([]float64, lengths[2])
			if !panics(func() { m.run(d, z, y) }) {
				fs.add(ruleLengths, "%s with lengths %v does not panic", m.name, lengths)
			}
		}
	}
}
