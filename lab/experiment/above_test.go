package experiment

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

var (
	aboveLong = flag.Bool("above", false, "TestNoAlgorithmEndsAboveItsStart runs every cell, not some by turns (8 minutes)")
	aboveOnly = flag.String("above.algorithm", "", "the only algorithm of TestNoAlgorithmEndsAboveItsStart")
)

// ground is a generated table of one kind of loss.
type ground struct {
	name string
	l    loss.Loss
	rows stationarity.Sample
}

// grounds returns a small table for each kind of loss: an intercept and four correlated numbers, of which three tell
// of the target. The seed is fixed.
func grounds(t *testing.T) []ground {
	r := rand.New(rand.NewPCG(7, 11))
	row := func() (x []float32, score float64) {
		z := make([]float64, 4)
		x = []float32{float32(1 / math.Sqrt(5))}
		for j := range z {
			if z[j] = 2*r.Float64() - 1; j > 0 {
				z[j] = (z[j] + z[0]) / 2
			}
			score += []float64{2, -1, 1, 0}[j] * z[j]
			x = append(x, float32(z[j]/math.Sqrt(5)))
		}
		return x, score
	}
	two := func(shift float64) func(float64) float64 {
		return func(score float64) float64 {
			return math.Copysign(1, 1/(1+math.Exp(-2*score-shift))-r.Float64())
		}
	}
	three := func(score float64) float64 {
		v := score + r.NormFloat64()
		return float64(len(slices.DeleteFunc([]float64{0, 1.5}, func(cut float64) bool { return v <= cut })))
	}
	four := func(score float64) float64 { return three(score) + math.Floor(2*r.Float64()) }
	cost := func(score float64) float64 { return 2*min(math.Exp(score+r.NormFloat64()-5), 1) - 1 }
	poisson := func(rate float64) float64 { // a count, as a target between -1 for 0 and 1 for 20
		k, p := 0., r.Float64()
		for ; p > math.Exp(-rate) && k < 20; k++ {
			p *= r.Float64()
		}
		return k/10 - 1
	}
	count := func(score float64) float64 { return poisson(math.Exp(score)) }
	exposed := func(score float64) float64 { // exposures over a factor of 400
		q := math.Exp(-6 * r.Float64())
		return loss.Carry(loss.Real, poisson(20*q*math.Exp(score-2)), q)
	}
	number := func(score float64) float64 { // skewed, with a long tail
		return max(min(-.6+.15*score+.1*math.Abs(r.NormFloat64())/(.2+r.Float64()), 1), -1)
	}
	var list []ground
	for _, k := range []struct {
		name, loss string
		target     func(score float64) float64
	}{
		{"two classes", "logistic", two(0)},
		{"two classes, one rare", "logistic", two(-5)},
		{"two classes, one rare with a weight", "weighted(logistic,1,10)", two(-4)},
		{"two classes, not convex", "tanh", two(0)},
		{"three classes", "softmax(3)", three},
		{"ordered classes", "ordered(3)", three},
		{"ordered classes, not convex", "ordered(4)", four},
		{"costs", "gamma(5,0.0001)", cost},
		{"costs with zeros", "tweedie(1.5,5,100,1000)", cost},
		{"counts", "poisson(5)", count},
		{"counts, overdispersed", "negbinomial(2,5,20)", count},
		{"exposures", "poisson-rate(5,0.002)", exposed},
		{"numbers", "huber(0.1)", number},
		{"numbers, squared", "squared(1)", number},
		{"kinks", "hinge", two(0)},
		{"quantiles", "pinball(0.8)", number},
		{"network", "network(3,tanh,logistic)", two(0)},
		{"network with kinks", "network(3,relu,pinball(0.5))", number},
		{"network of counts", "network(3,tanh,poisson(5))", count},
		{"units", "units(logistic,3)", two(0)},
		{"units, summed", "units(poisson(5),3,sum)", count},
	} {
		l, err := loss.Parse(k.loss)
		if err != nil {
			t.Fatal(err)
		}
		g := ground{name: k.name, l: l}
		for range 240 {
			x, score := row()
			y := k.target(score)
			if u, units := l.(loss.Units); units {
				rows, targets := [][]float32{x}, []float64{y}
				for range r.IntN(u.Rows()) {
					x, more := row()
					rows, targets = append(rows, x), append(targets, k.target(more+score))
				}
				x, y = loss.JoinRows(u, rows, targets)
			}
			g.rows.Rows, g.rows.Targets = append(g.rows.Rows, x), append(g.rows.Targets, y)
		}
		list = append(list, g)
	}
	return list
}

// rise runs an algorithm with its defaults on the table, of which rows are repeated or left out so that the effective
// size is about size. It returns the mean loss at the result less that at the start, in units of the allowance for
// noise. ok is false if the algorithm refuses the problem.
func (g ground) rise(t *testing.T, algorithm string, size, epsilon float64, seed uint64) (rise float64, ok bool) {
	b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	features := len(g.rows.Rows[0])
	unit, err := optimize.NewProblem(g.l, b, optimize.Stated(features, 1))
	if err != nil {
		t.Fatal(err)
	}
	records := size / unit.Effective()
	s, repeat := g.rows, max(int(math.Round(records/float64(len(g.rows.Rows)))), 1)
	if n := int(math.Ceil(records)); n < len(s.Rows) {
		s = stationarity.Sample{Rows: s.Rows[:n], Targets: s.Targets[:n]}
	}
	p, err := optimize.NewProblem(g.l, b, optimize.Stated(features, float64(len(s.Rows)*repeat)))
	if err != nil {
		t.Fatal(err)
	}
	p.Seed = seed
	plan, _, err := train.Train{Algorithm: algorithm}.Plan(t.Context(), p)
	if err != nil {
		return 0, false
	}
	session, err := simulate.Open(simulate.Config{Rows: s.Rows, Targets: s.Targets, Repeat: repeat, Loss: g.l, Budget: b,
		Seed: seed, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if schedule := plan.Needs().Schedule; schedule != nil {
		if err := session.Follow(schedule); err != nil {
			t.Fatal(err)
		}
	}
	result, err := plan.Run(t.Context(), session, nil)
	if err != nil {
		t.Fatal(algorithm, g.name, size, epsilon, seed, err)
	}
	value := func(w []float64) float64 {
		f, err := stationarity.Objective(g.l, nil, s, w)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return (value(result.W) - value(p.StartPoint())) / allowance(p), true
}

// allowance is the rise that noise excuses. One gradient released at the cost of the whole budget has noise of norm r
// = 2 L0/N. Whoever trusts it is wrong by r R at most on a linear loss within the distance R, and no method on the
// whole budget is known to be wrong by less. R is the distance in which the loss can fall by F0: sqrt(2 F0/L1) for a
// curvature up to L1, and F0/L0 at least, which is all that is known where the slope jumps.
func allowance(p optimize.Problem) float64 {
	c := p.Constants
	return p.Floor() * max(math.Sqrt(2*c.InitialGap/p.Smoothness()), c.InitialGap/c.Lipschitz)
}

// usualRise and usualDeviation are the largest mean of rises at one size, over kinds of loss and budgets, that was
// measured for any algorithm, and their largest standard deviation (-above -v prints them). mostRise bounds every run.
const usualRise, usualDeviation, mostRise = -.2, .7, 25

// TestNoAlgorithmEndsAboveItsStart runs every registered algorithm with its defaults on every kind of loss at effective
// sizes from 30 up at two epsilons. For each algorithm and size it compares the mean rise of the loss from start to
// result, over kinds and epsilons. A fall counts as one allowance for noise at most, so that it hides no rise
// elsewhere. The mean of m runs must be at most usualRise + 5 usualDeviation/sqrt(m), and no run may rise by more
// than 25 allowances. The default takes a third of the cells by turns, with -short fewer; -above takes all, with four
// seeds.
//
// Seeds are fixed, so that the test fails for changes alone. A change that only draws other coins fails it with a
// probability below 3e-7 for an algorithm and size: the mean is at most usual then, and 5 deviations above it are
// allowed.
func TestNoAlgorithmEndsAboveItsStart(t *testing.T) {
	all := grounds(t)
	for a, algorithm := range train.Algorithms() {
		if *aboveOnly != "" && algorithm != *aboveOnly {
			continue
		}
		for k, size := range []float64{30, 60, 130, 500, 3000} {
			var runs, sum, squares float64
			worst, at := math.Inf(-1), ""
			for i, g := range all {
				for j, epsilon := range []float64{.5, 4} {
					seeds := 4
					if !*aboveLong {
						seeds = 1
						if turn := a + i + j + k; turn%3 > 0 || testing.Short() && turn%12 > 0 || samples(algorithm) && turn%15 > 0 {
							continue
						}
					}
					for seed := range seeds {
						rise, ok := g.rise(t, algorithm, size, epsilon, uint64(seed+1))
						if !ok {
							break
						}
						if rise > worst {
							worst, at = rise, fmt.Sprintf("%s, epsilon %v, seed %d", g.name, epsilon, seed+1)
						}
						rise = max(rise, -1)
						runs, sum, squares = runs+1, sum+rise, squares+rise*rise
					}
				}
			}
			if runs == 0 {
				continue
			}
			mean := sum / runs
			text := fmt.Sprintf("%s, N = %v: mean rise %.2f (deviation of a run %.2f), most %.1f (%s), of %v runs", algorithm,
				size, mean, math.Sqrt(max(squares/runs-mean*mean, 0)), worst, at, runs)
			t.Log(text)
			if most := usualRise + 5*usualDeviation/math.Sqrt(runs); !(mean <= most && worst <= mostRise) {
				t.Errorf("ends above its start: %s: want at most %.2f and %d", text, most, mostRise)
			}
		}
	}
}

// samples reports whether an algorithm draws Poisson samples, whose calibration takes long.
func samples(algorithm string) bool { return algorithm == "dp-sgd" || algorithm == "dp-adam" }
