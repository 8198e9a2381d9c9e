package losstest

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
)

type gradient = func(dst, w []float64, x []float32, y float64)

type generalMutant struct {
	loss.General
	constants func(*loss.Constants)
	value     float64 // factor on the value; 0 means 1
	gradient  func(gradient) gradient
}

func (m generalMutant) Name() string { return "mutant-" + m.General.Name() }

func (m generalMutant) Constants() loss.Constants {
	c := m.General.Constants()
	if m.constants != nil {
		m.constants(&c)
	}
	return c
}

func (m generalMutant) Value(w []float64, x []float32, y float64) float64 {
	v := m.General.Value(w, x, y)
	if m.value != 0 {
		v *= m.value
	}
	return v
}

func (m generalMutant) Gradient(dst, w []float64, x []float32, y float64) {
	if m.gradient == nil {
		m.General.Gradient(dst, w, x, y)
		return
	}
	m.gradient(m.General.Gradient)(dst, w, x, y)
}

func TestWrongGeneralConstantsAreCaught(t *testing.T) {
	for _, l := range []loss.General{testloss.SlowTail(), written{}} {
		for _, m := range scaledConstants(l.Constants()) {
			if l.Constants().Clipped && m.name == "Lipschitz x 0.95" {
				m.rule = ruleLipschitz
			}
			requireCaught(t, l.Name()+", "+m.name, checkLoss(generalMutant{General: l, constants: m.change}), m.rule)
		}
	}
	requireCaught(t, "slow tail without mean zero", checkLoss(generalMutant{
		General: testloss.SlowTail(), constants: func(c *loss.Constants) { c.ZeroMean = false },
	}), ruleInitialGap)
	requireCaught(t, "slow tail without clip", checkLoss(generalMutant{
		General: testloss.SlowTail(), constants: func(c *loss.Constants) { c.Clipped = false },
	}), ruleSlope)
}

func TestWrongGeneralMethodsAreCaught(t *testing.T) {
	times := func(by float64) func(gradient) gradient {
		return func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				g(dst, w, x, y)
				for j := range dst {
					dst[j] *= by
				}
			}
		}
	}
	for _, m := range []struct {
		name, rule string
		mutant     generalMutant
	}{
		{"value x 1.05", ruleSlope, generalMutant{value: 1.05}},
		{"gradient x 1.05", ruleSlope, generalMutant{gradient: times(1.05)}},
		{"gradient x -1", ruleSlope, generalMutant{gradient: times(-1)}},
		{"row with the wrong sign", ruleSlope, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				minus := make([]float32, len(x))
				for j := range x {
					minus[j] = -x[j]
				}
				g(dst, w, minus, y)
			}
		}}},
		{"last coordinate left out", ruleSlope, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				g(dst, w, x, y)
				dst[len(dst)-1] = 0
			}
		}}},
		{"last coordinate not written", ruleSlope, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				keep := dst[len(dst)-1]
				g(dst, w, x, y)
				dst[len(dst)-1] = keep
			}
		}}},
		{"adds to dst", ruleSlope, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				own := make([]float64, len(dst))
				g(own, w, x, y)
				for j := range dst {
					dst[j] += own[j]
				}
			}
		}}},
		{"writes to w", ruleSideEffects, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				g(dst, w, x, y)
				w[0]++
			}
		}}},
		{"NaN label is 1", ruleNaN, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				if y != y {
					y = 1
				}
				g(dst, w, x, y)
			}
		}}},
		{"NaN is 0", ruleNaN, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				g(dst, w, x, y)
				for j := range dst {
					if dst[j] != dst[j] {
						dst[j] = 0
					}
				}
			}
		}}},
		{"lengths unchecked", ruleLengths, generalMutant{gradient: func(g gradient) gradient {
			return func(dst, w []float64, x []float32, y float64) {
				n := min(len(dst), len(w), len(x))
				g(dst[:n], w[:n], x[:n], y)
			}
		}}},
	} {
		for _, l := range []loss.General{testloss.SlowTail(), written{}} {
			m.mutant.General = l
			requireCaught(t, l.Name()+", "+m.name, checkLoss(m.mutant), m.rule)
		}
	}
}

type regularizerMutant struct {
	loss.Regularizer
	smooth, convex, gradient, value float64 // factors on the results; 0 means 1
	name                            string
	overwrite, unchecked            bool
}

func or1(by float64) float64 {
	if by == 0 {
		return 1
	}
	return by
}

func (m regularizerMutant) Name() string {
	if m.name != "" {
		return m.name
	}
	return "mutant-" + m.Regularizer.Name()
}
func (m regularizerMutant) Smoothness() float64 { return or1(m.smooth) * m.Regularizer.Smoothness() }
func (m regularizerMutant) Convexity() float64  { return or1(m.convex) * m.Regularizer.Convexity() }
func (m regularizerMutant) Value(w []float64) float64 {
	return or1(m.value) * m.Regularizer.Value(w)
}
func (m regularizerMutant) AddGradient(dst, w []float64) {
	if m.unchecked {
		n := min(len(dst), len(w))
		dst, w = dst[:n], w[:n]
	}
	own := make([]float64, len(dst))
	m.Regularizer.AddGradient(own, w)
	for j := range dst {
		if m.overwrite {
			dst[j] = 0
		}
		dst[j] += or1(m.gradient) * own[j]
	}
}

func TestWrongRegularizersAreCaught(t *testing.T) {
	// A wrong end of the curvature interval breaks one of several rules: the interval is too
	// narrow, too wide, or exceeds Smoothness.
	const ends = ruleConstants + "," + ruleInterval + "," + ruleInterval + ruleTight
	for _, name := range []string{"l2(0.01)", "nonconvex(0.01)"} {
		for _, m := range []struct {
			name, rule string
			mutant     regularizerMutant
		}{
			{"gradient x 1.05", ruleSlope, regularizerMutant{gradient: 1.05}},
			{"gradient x 1/2", ruleSlope, regularizerMutant{gradient: .5}},
			{"gradient x -1", ruleSlope, regularizerMutant{gradient: -1}},
			{"value x 1.05", ruleSlope, regularizerMutant{value: 1.05}},
			{"smoothness x .95", ruleConstants + ",Smoothness", regularizerMutant{smooth: .95}},
			{"smoothness x 1.05", "Smoothness" + ruleTight, regularizerMutant{smooth: 1.05}},
			{"convexity x .95", ends, regularizerMutant{convex: .95}},
			{"convexity x 1.05", ends, regularizerMutant{convex: 1.05}},
			{"convexity x -1", ends, regularizerMutant{convex: -1}},
			{"overwrites", ruleAdds, regularizerMutant{overwrite: true}},
			{"lengths unchecked", ruleLengths, regularizerMutant{unchecked: true}},
			{"name with a space", ruleName, regularizerMutant{name: "l2 (1)"}},
			{"name of another", ruleName, regularizerMutant{name: "l2(2)"}},
		} {
			r, err := loss.ParseRegularizer(name)
			if err != nil {
				t.Fatal(err)
			}
			m.mutant.Regularizer = r
			requireCaught(t, name+", "+m.name, checkRegularizer(m.mutant), strings.Split(m.rule, ",")...)
		}
	}
}
