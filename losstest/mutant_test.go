package losstest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// requireCaught fails unless one of the given rules is among the findings. A finding of another
// rule does not count.
func requireCaught(t *testing.T, mutant string, fs findings, rules ...string) {
	t.Helper()
	for _, f := range fs {
		if slices.Contains(rules, f.check) {
			return
		}
	}
	t.Errorf("%s: none of %q notices; findings: %v", mutant, rules, fs)
}

func parse(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type batch = func(dst, z, y []float64)

// rankOneMutant is a loss with some methods or constants replaced by wrong ones, which the suite
// must find. Its name is changed too, so that the test of names does not report it.
type rankOneMutant struct {
	loss.RankOne
	constants                  func(*loss.Constants)
	values, slopes, curvatures func(batch) batch
}

func (m rankOneMutant) Name() string { return "mutant-" + m.RankOne.Name() }

func (m rankOneMutant) Constants() loss.Constants {
	c := m.RankOne.Constants()
	if m.constants != nil {
		m.constants(&c)
	}
	return c
}

func through(f func(batch) batch, b batch) batch {
	if f == nil {
		return b
	}
	return f(b)
}

func (m rankOneMutant) Values(dst, z, y []float64) { through(m.values, m.RankOne.Values)(dst, z, y) }
func (m rankOneMutant) Slopes(dst, z, y []float64) { through(m.slopes, m.RankOne.Slopes)(dst, z, y) }
func (m rankOneMutant) Curvatures(dst, z, y []float64) {
	through(m.curvatures, m.RankOne.Curvatures)(dst, z, y)
}

// after returns a function that wraps a method of a loss: it changes each of the method's results
// by f.
func after(f func(result, z, y float64) float64) func(batch) batch {
	return func(b batch) batch {
		return func(dst, z, y []float64) {
			out := make([]float64, len(dst))
			b(out, z, y)
			for i := range dst {
				dst[i] = f(out[i], z[i], y[i])
			}
		}
	}
}

func scaled(by float64) func(batch) batch {
	return after(func(r, _, _ float64) float64 { return r * by })
}

// scaledConstants lists wrong constants, each with the rule that must report it.
func scaledConstants(has loss.Constants) []struct {
	name, rule string
	change     func(*loss.Constants)
} {
	type change = struct {
		name, rule string
		change     func(*loss.Constants)
	}
	var changes []change
	for _, by := range []float64{.95, 1.05} {
		suffix, name := "", " x 0.95"
		if by > 1 {
			suffix, name = ruleTight, " x 1.05"
		}
		changes = append(changes,
			change{"Lipschitz" + name, ruleLipschitz + suffix, func(c *loss.Constants) { c.Lipschitz *= by }},
			change{"Hi" + name, ruleInterval + suffix, func(c *loss.Constants) { c.Curvature.Hi *= by }},
			change{"Range" + name, ruleInitialGap + suffix, func(c *loss.Constants) { c.InitialGap *= by }})
		if has.Curvature.Lo != 0 {
			changes = append(changes, change{"Lo" + name, ruleInterval + suffix,
				func(c *loss.Constants) { c.Curvature.Lo *= by }})
		}
		if !math.IsInf(has.HessianLipschitz, 1) {
			changes = append(changes, change{"HessianLipschitz" + name, ruleThird + suffix,
				func(c *loss.Constants) { c.HessianLipschitz *= by }})
		}
	}
	changes = append(changes,
		change{"Lo - 5%", ruleInterval + ruleTight, func(c *loss.Constants) { c.Curvature.Lo -= .05 * c.Curvature.Hi }},
		change{"Lo + 5%", ruleInterval, func(c *loss.Constants) { c.Curvature.Lo += .05 * c.Curvature.Hi }},
		change{"Lo > Hi", ruleConstants, func(c *loss.Constants) { c.Curvature.Lo = c.Curvature.Hi + 1 }},
		change{"InitialGap NaN", ruleConstants, func(c *loss.Constants) { c.InitialGap = math.NaN() }},
		change{"Lipschitz 0", ruleConstants, func(c *loss.Constants) { c.Lipschitz = 0 }})
	return changes
}

var mutated = []string{
	"logistic", "tanh", "sigmoid", "smoothed-hinge(0.5)", "huber(0.1)", "squared(1)", "welsch(0.7)", "geman-mcclure(0.7)",
	"tukey(0.7)",
}

// mutatedHere returns the names of the losses in mutated. In a short run it returns only the first and the
// last name.
func mutatedHere() []string {
	if testing.Short() {
		return []string{mutated[0], mutated[len(mutated)-1]}
	}
	return mutated
}

func TestWrongConstantsAreCaught(t *testing.T) {
	for _, name := range mutatedHere() {
		l := parse(t, name).(loss.RankOne)
		for _, m := range scaledConstants(l.Constants()) {
			if l.Constants().Clipped && strings.HasPrefix(m.name, "Lipschitz x") {
				continue // tested below: another rule reports it, since slopes no longer match
			}
			requireCaught(t, name+", "+m.name, checkLoss(rankOneMutant{RankOne: l, constants: m.change}), m.rule)
		}
	}
}

func TestWrongDerivativesAreCaught(t *testing.T) {
	for _, name := range mutatedHere() {
		l := parse(t, name).(loss.RankOne)
		unit := newGLM(l).unit
		for _, m := range []struct {
			name, rule string
			mutant     rankOneMutant
		}{
			{"values x 1.05", ruleSlope, rankOneMutant{values: scaled(1.05)}},
			{"values x 1/2", ruleSlope, rankOneMutant{values: scaled(.5)}},
			{"slopes x 1.05", ruleSlope, rankOneMutant{slopes: scaled(1.05)}},
			{"slopes x -1", ruleSlope, rankOneMutant{slopes: scaled(-1)}},
			{"slopes of the other label", ruleSlope, rankOneMutant{slopes: func(b batch) batch {
				return func(dst, z, y []float64) {
					other := make([]float64, len(y))
					for i := range y {
						other[i] = -y[i]
					}
					b(dst, z, other)
				}
			}}},
			{"curvatures x 1.05", ruleCurvature, rankOneMutant{curvatures: scaled(1.05)}},
			{"curvatures x -1", ruleCurvature, rankOneMutant{curvatures: scaled(-1)}},
			{"curvatures 0", ruleCurvature, rankOneMutant{curvatures: scaled(0)}},
			// The following are wrong only on one side, or only close to the corner.
			{"slopes x 1.05 for z > y", ruleSlope, rankOneMutant{slopes: after(func(r, z, y float64) float64 {
				if z > y {
					return r * 1.05
				}
				return r
			})}},
			{"slopes x 1.05 for |z| in a tenth of a unit", ruleSlope, rankOneMutant{slopes: after(func(r, z, y float64) float64 {
				if d := math.Min(math.Abs(z), math.Abs(z-y)) / unit; d > .4 && d < .5 {
					return r * 1.05
				}
				return r
			})}},
		} {
			m.mutant.RankOne = l
			requireCaught(t, name+", "+m.name, checkLoss(m.mutant), m.rule)
		}
	}
}

func TestBrokenContractsAreCaught(t *testing.T) {
	calls := 0
	for _, m := range []struct {
		name, rule string
		slopes     func(batch) batch
	}{
		{"last row left out", ruleBlock, func(b batch) batch {
			return func(dst, z, y []float64) {
				if n := len(dst); n > 1 {
					b(dst[:n-1], z[:n-1], y[:n-1])
					return
				}
				b(dst, z, y)
			}
		}},
		{"blocks of 8 reversed", ruleBlock, func(b batch) batch {
			return func(dst, z, y []float64) {
				b(dst, z, y)
				if len(dst) == 8 {
					dst[0], dst[7] = dst[7], dst[0]
				}
			}
		}},
		{"dst written before z is read", ruleBlock, func(b batch) batch {
			return func(dst, z, y []float64) {
				clear(dst)
				b(dst, z, y)
			}
		}},
		{"writes to y", ruleSideEffects, func(b batch) batch {
			return func(dst, z, y []float64) {
				b(dst, z, y)
				if len(y) > 0 {
					y[0] = 1
				}
			}
		}},
		{"remembers", ruleBlock, after(func(r, _, _ float64) float64 { calls++; return r + 1e-15*float64(calls%7) })},
		{"lengths unchecked", ruleLengths, func(b batch) batch {
			return func(dst, z, y []float64) {
				n := min(len(dst), len(z), len(y))
				b(dst[:n], z[:n], y[:n])
			}
		}},
		{"NaN is 0", ruleNaN, after(func(r, _, _ float64) float64 {
			if r != r {
				return 0
			}
			return r
		})},
		{"infinite margin is NaN", ruleInfinity, after(func(r, z, _ float64) float64 { return r + 0*z })},
		{"infinite margin has the wrong side", ruleInfinity, after(func(r, z, _ float64) float64 {
			if math.IsInf(z, 0) {
				return -1 - r
			}
			return r
		})},
		{"a hole", ruleFinite, after(func(r, z, _ float64) float64 {
			if z == 0 {
				return math.NaN()
			}
			return r
		})},
	} {
		requireCaught(t, m.name, checkLoss(rankOneMutant{RankOne: loss.Logistic(), slopes: m.slopes}), m.rule)
	}
}

type renamed struct {
	loss.RankOne
	name string
}

func (r renamed) Name() string { return r.name }

type neither struct{ loss.Loss }

func TestWrongNamesAndKindsAreCaught(t *testing.T) {
	for _, name := range []string{"", "my loss", "huber", "huber(0.10)", "huber(.1", "huber(0.2)", "logistic"} {
		requireCaught(t, "name "+name, checkLoss(renamed{parse(t, "huber(0.1)").(loss.RankOne), name}), ruleName)
	}
	requireCaught(t, "neither kind", checkLoss(neither{loss.Logistic()}), ruleKind)
	requireCaught(t, "clip undeclared", checkLoss(rankOneMutant{
		RankOne:   parse(t, "squared(1)").(loss.RankOne),
		constants: func(c *loss.Constants) { c.Clipped = false },
	}), ruleSlope)
	requireCaught(t, "clip misdeclared", checkLoss(rankOneMutant{
		RankOne:   parse(t, "squared(1)").(loss.RankOne),
		constants: func(c *loss.Constants) { c.Lipschitz *= 1.05 },
	}), ruleSlope)
}
