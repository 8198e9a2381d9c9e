package optimize_test

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestChooseCurved: one candidate has the smallest gradient but negative curvature. Another candidate is
// near a minimum and has a larger gradient. The candidate near the minimum must be chosen, because of its
// curvature. The released curvatures must equal the true curvatures up to their noise. Only the held-out
// records may be charged, at most mu^2. If all candidates are saddles, the candidate with the greatest
// curvature must be returned without a further query.
func TestChooseCurved(t *testing.T) {
	l, err := loss.Welsch(.5)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	rows, targets := make([][]float32, 20_000), make([]float64, 20_000)
	for i := range rows {
		rows[i] = []float32{1}
	}
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: b, Seed: 3})
	p, err := optimize.NewProblem(l, b, o)
	if err != nil {
		t.Fatal(err)
	}
	held, err := o.Draw(10_000)
	if err != nil {
		t.Fatal(err)
	}
	// Every record's loss is Welsch's loss at w: concave at some distance from 0, and almost flat
	// farther away.
	points := []optimize.Candidate{{W: []float64{1.2}}, {W: []float64{.1}}, {W: []float64{.7}}}
	slope, curvature := make([]float64, 3), make([]float64, 3)
	l.Slopes(slope, []float64{1.2, .1, .7}, make([]float64, 3))
	l.Curvatures(curvature, []float64{1.2, .1, .7}, make([]float64, 3))
	if !(math.Abs(slope[0]) < math.Abs(slope[1]) && curvature[0] < 0 && curvature[1] > 0 && curvature[2] < curvature[0]) {
		t.Fatalf("slopes %v, curvatures %v", slope, curvature)
	}
	optimize.TowardsEachOther(points, 1)
	mu := b.Mu() / 2
	k, known, err := optimize.ChooseCurved(context.Background(), o, p, held, mu, 0, points)
	if err != nil {
		t.Fatal(err)
	}
	if k != 1 {
		t.Errorf("point %d is chosen: want 1, where the curvature is above zero", k)
	}
	for i, c := range known {
		// The limit of 6 standard deviations is exceeded with probability below 1e-8.
		if !(math.Abs(c.Curvature-curvature[i]) <= 6*c.Sigma) || !(c.Sigma > 0 && c.Sigma < .1) {
			t.Errorf("point %d: curvature %v with noise %v: want %v", i, c.Curvature, c.Sigma, curvature[i])
		}
	}
	if got := o.Charged(); !(got <= mu*mu) {
		t.Errorf("charged %v of %v", got, mu*mu)
	}
	asked := len(o.Asked)
	k, _, err = optimize.ChooseCurved(context.Background(), o, p, held, mu, 0, []optimize.Candidate{points[2], points[0]})
	if err != nil || k != 1 || len(o.Asked) != asked+2 {
		t.Errorf("of two saddles: point %d, %v, after %d more questions: want 1, the less curved", k, err, len(o.Asked)-asked)
	}
}
