package firstorder

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestRadiiStartWide: if the mean squares do not rise by a quarter from the widest radius to the narrowest,
// the first radius must be the widest. Otherwise it must be twice the widest radius whose mean square is
// above the middle, and at most the widest. The values named cps are from the table CPS1988 at epsilon 2.
// For these values the rule of the middle alone would give a first radius near the narrowest one, and runs
// with this first radius did not reach the minimum. The test fails for a rule without the limit of a
// quarter.
func TestRadiiStartWide(t *testing.T) {
	n := &narrowing{}
	for i := range looks {
		n.wide = append(n.wide, optimize.Problem{Smoothing: query.Smoothing{Radius: 64 / float64(int(1)<<i)}})
	}
	for name, c := range map[string]struct {
		seen []float64
		want float64
	}{
		"cps, a start near the end": {[]float64{.411, .300, .308, .392, .386, .380, .433}, 64},
		"cps, a start between":      {[]float64{.361, .296, .354, .429, .408, .409, .441}, 64},
		"falling":                   {[]float64{9, 8, 7, 6, 5, 4, 3}, 64},
		"noise below zero":          {[]float64{-.1, .2, -.1, .3, .1, .2, -.2}, 64},
		"incomes":                   {[]float64{3.3, 9.9, 11.7, 11.8, 11.6, 11.7, 11.7}, 64},
		"food":                      {[]float64{.86, 1.01, 1.31, 1.49, 1.49, 1.53, 1.54}, 32},
		"late":                      {[]float64{1, 1, 1, 1, 1, 1.9, 2}, 4},
	} {
		if got := n.from(c.seen); got != c.want {
			t.Errorf("%s: starts at %v: must be %v", name, got, c.want)
		}
	}
}

// TestRadiiFallByHand works out the radii and the sizes of runs of even and odd numbers of steps: the radius falls
// geometrically in the first half, (T-1)/2 steps rounded down, and a step has the size h/b for the curvature bound b of
// its radius, times the ratio of the ridges.
func TestRadiiFallByHand(t *testing.T) {
	l := loss.Absolute()
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(l, b, optimize.Stated(4, 5000))
	if err != nil {
		t.Fatal(err)
	}
	if p.Regularizer, err = loss.ParseRegularizer("l2(0.3)"); err != nil {
		t.Fatal(err)
	}
	const last, from, edge, scale = .05, .8, .02, .7
	if p, err = p.Smoothed(query.Smoothing{Radius: last}); err != nil {
		t.Fatal(err)
	}
	for _, T := range []int{7, 8, 9, 12} {
		problems, sizes, err := (&narrowing{scale: scale}).fall(p, T, from, edge)
		if err != nil {
			t.Fatal(err)
		}
		falling := (T - 1) / 2
		for s := range T {
			radius := last
			if s < falling {
				radius = from * math.Pow(last/from, float64(s)/float64(falling))
			}
			at, err := overRadius(p, radius)
			if err != nil {
				t.Fatal(err)
			}
			smooth := p.Regularizer.Smoothness()
			b, here := at.DataSmoothness(), p.DataSmoothness()
			size := scale / b * (edge + smooth/here) / (edge + smooth/b)
			if got := problems[s].Smoothing.Radius; !(math.Abs(got/radius-1) <= 1e-12) || !(math.Abs(sizes[s]/size-1) <= 1e-12) {
				t.Errorf("step %d of %d: radius %v, size %v: must be %v and %v", s, T, got, sizes[s], radius, size)
			}
		}
	}
}
