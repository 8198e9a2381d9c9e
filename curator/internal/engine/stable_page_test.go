package engine

import (
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// pageBounds holds the values of the formulas of docs/explanation/exactness.md, section 13,
// computed with 300 bits.
type pageBounds struct {
	jump, point, contraction, powers, step, sum, last, clean, dirt *big.Float
}

func power2(k int) *big.Float { return op().SetMantExp(exact(1), k) }

func plus(terms ...*big.Float) *big.Float {
	sum := exact(0)
	for _, t := range terms {
		sum.Add(sum, t)
	}
	return sum
}

func times(factors ...*big.Float) *big.Float {
	product := exact(1)
	for _, f := range factors {
		product.Mul(product, f)
	}
	return product
}

func largest(a, b *big.Float) *big.Float {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func bigLength(v []float64) *big.Float {
	sum := exact(0)
	for _, x := range v {
		sum.Add(sum, times(exact(x), exact(x)))
	}
	return op().Sqrt(sum)
}

// onPage computes the formulas of docs/explanation/exactness.md, section 13. The field point is W in
// that document, jump is G and powers is A.
func onPage(p query.Pass, k loss.Constants, n int) pageBounds {
	u, d, N := power2(-53), float64(len(p.Start)), exact(float64(n))
	a, kappa := exact(Keep(p)), exact(p.Gain())
	start, shift, centre, radius := bigLength(p.Start), bigLength(Shift(p)), bigLength(p.Centre), exact(p.Radius)
	size := op().Abs(a)

	var b pageBounds
	b.jump = times(kappa, exact(p.Clip), plus(exact(1), power2(-22)))
	rise := times(kappa, exact(k.Curvature.Hi), plus(exact(1), power2(-21)))
	b.contraction = largest(size, op().Sub(rise, a))
	b.powers = exact(0)
	for range n - 1 {
		b.powers = plus(exact(1), times(b.powers, b.contraction))
	}
	if p.Radius > 0 {
		b.point = plus(largest(start, plus(centre, radius)), b.jump, shift)
	} else {
		moves := exact(float64(n - 1))
		if gap := op().Sub(exact(1), size); gap.Sign() > 0 {
			if most := op().Quo(exact(1), gap); most.Cmp(moves) < 0 {
				moves = most
			}
		}
		b.point = plus(start, times(plus(b.jump, shift), moves))
	}

	theta := times(power2(-50), exact(k.Lipschitz))
	roundings := plus(
		times(plus(times(kappa, exact(k.Curvature.Hi), exact(d/8+6)), exact(3)), b.point),
		times(exact(4), b.jump), times(exact(2), shift))
	if p.Radius > 0 {
		roundings = plus(roundings, times(exact(d/2+9), radius), centre)
	}
	b.step = plus(times(kappa, theta), times(u, roundings))
	m := float64(min(n, 64))
	tiles := float64((n + 63) / 64)
	b.sum = times(u, b.point, exact(m*tiles*(tiles+m+2)/2))
	b.last = times(exact(3), u, plus(b.point, start))
	b.clean = op().Quo(times(exact(2), b.powers, b.jump), N)
	wrong := plus(op().Quo(plus(times(b.powers, exact(float64(n-1)), b.step), b.sum), N), b.last)
	b.dirt = times(exact(2), wrong)
	return b
}

// mixedPasses returns passes with every combination of a start, a regularizer that shrinks or
// mirrors points, the regularizer's linear part, a ball and the ball's centre. Each of these is so
// large that it matters compared with the others.
func mixedPasses(r *rand.Rand, d int, smoothness float64) map[string]query.Pass {
	vector := func() []float64 {
		v := make([]float64, d)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		return v
	}
	all := map[string]query.Pass{}
	for _, start := range []string{"from 0", "from afar"} {
		for name, lambda := range map[string]float64{"plain": 0, "shrinking": .4 * smoothness, "mirroring": 9 * smoothness} {
			for _, linear := range []string{"", ", shifted"} {
				for _, ball := range []string{"", ", in a ball", ", in a ball elsewhere"} {
					p := query.Pass{Start: make([]float64, d), Step: 1.8 / (smoothness + lambda), Clip: .1 + r.Float64(),
						Lambda: lambda}
					if start == "from afar" {
						p.Start = vector()
					}
					if linear != "" {
						p.Linear = vector()
					}
					if ball != "" {
						p.Radius = .1 + r.Float64()
					}
					if ball == ", in a ball elsewhere" {
						p.Centre = vector()
					}
					all[name+", "+start+linear+ball] = p
				}
			}
		}
	}
	return all
}

// TestBoundsAreThePages tests that the bounds for which a pass is charged are at least the formulas
// of docs/explanation/exactness.md and exceed them by less than 2^-17 of themselves. This includes
// terms that a few computed passes cannot show to be needed.
func TestBoundsAreThePages(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 13))
	for _, name := range []string{"logistic", "huber(0.3)", "huber(1e+06)", "smoothed-hinge(0.01)", "squared(20)"} {
		k := rankOne(t, name).Constants()
		for _, d := range []int{1, 9, 500} {
			kinds := mixedPasses(r, d, k.Curvature.Hi)
			for _, kind := range slices.Sorted(maps.Keys(kinds)) {
				for _, n := range []int{2, 65, 1000} {
					got, page := Bound(kinds[kind], k, n), onPage(kinds[kind], k, n)
					clean, dirt := got.Moved()
					for _, c := range []struct {
						what string
						got  float64
						want *big.Float
					}{
						{"jump", got.Jump, page.jump}, {"point", got.Point, page.point},
						{"contraction", got.Contraction, page.contraction},
						{"powers", got.Powers, page.powers}, {"step", got.Step, page.step}, {"sum", got.Sum, page.sum},
						{"last", got.Last, page.last},
						{"clean", clean, page.clean}, {"dirt", dirt, page.dirt},
					} {
						most := times(c.want, plus(exact(1), power2(-17)))
						if exact(c.got).Cmp(c.want) < 0 || exact(c.got).Cmp(most) > 0 {
							t.Errorf("%s, %s, d = %d, n = %d: %s = %v: the page has %.17g", name, kind, d, n, c.what, c.got, c.want)
						}
					}
				}
			}
		}
	}
}
