package firstorder_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestLargeCapsArrive: the fit of amounts with zeros must reach the true coefficients whatever the cap, from the best
// constant, also where some rows have seven times the mean of others. It fails if steps are as short as the bound on
// the curvature of a large cap, which is that of one row in millions.
func TestLargeCapsArrive(t *testing.T) {
	const scale, records = .5773502691896258, 12_000 // rows have norm 1 at most
	for _, name := range []string{"tweedie(1.5,50,10,10000)", "gamma(50,1e-06)"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(4, 8))
		var rows [][]float32
		var targets []float64
		truth := []float64{.4, 2, math.Log(10. / 10_000)}
		sum := 0.
		for range records {
			a, b := 2*r.Float64()-1, float64(r.IntN(16)/15)
			rows = append(rows, []float32{float32(scale * a), float32(scale * b), float32(scale)})
			v := 0.
			if r.IntN(2) == 0 {
				v = 2 * r.ExpFloat64() * math.Exp(truth[0]*a+truth[1]*b+truth[2])
			}
			sum += v
			targets = append(targets, 2*min(v, 1)-1) // gamma reads 0 as its lower bound
		}
		b, err := account.NewBudget(30, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: b, Seed: 2})
		p, err := optimize.NewProblem(l, b, o)
		if err != nil {
			t.Fatal(err)
		}
		p.Start = []float64{0, 0, math.Log(sum/records) / scale}
		plan, err := firstorder.Preconditioned{}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		res, err := plan.Run(t.Context(), o, func(optimize.Step) {})
		if err != nil {
			t.Fatal(err)
		}
		for j, want := range truth {
			if got := scale * res.W[j]; !(math.Abs(got-want) < .22) {
				t.Errorf("%s: coefficient %d: %v: want about %v", name, j, got, want)
			}
		}
	}
}
