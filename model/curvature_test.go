package model

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// bent returns a model with the named loss and weights of zero, for tests of Curvature.
func bent(t *testing.T, name string) *Model {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	target := dataset.Target{Column: "t", Kind: dataset.Number, Low: -1, High: 1}
	switch n := loss.ClassCount(l); {
	case n > 2:
		target = dataset.Target{Column: "t", Kind: dataset.Category, Classes: []string{"a", "b", "c"}[:n]}
	case l.Target() == loss.Binary:
		target = dataset.Target{Column: "t", Kind: dataset.Category, Classes: []string{"a", "b"}}
	case loss.Counts(l):
		target = dataset.Target{Column: "t", Kind: dataset.Number, Low: 0, High: 1}
	}
	if loss.RowWeighted(l) {
		target.Weight = "w"
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 1}},
		Target: target})
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, loss.Parameters(l, s.Dim()))
	m, err := New(Params{
		Software: "test", Complete: true, Loss: l, Regularizer: loss.None(), Schema: s, Weights: weights,
		Privacy: Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "a row", Certificate: "c.json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCurvatureByHand compares Curvature, the mean second derivative of the loss, with means that have a
// closed form or that the test integrates itself.
func TestCurvatureByHand(t *testing.T) {
	gauss := func(mean, variance float64, f func(z float64) float64) (sum float64) {
		const n = 20001
		for i := range n {
			u := 16*float64(i)/(n-1) - 8
			sum += 16. / (n - 1) * math.Exp(-u*u/2) / math.Sqrt(2*math.Pi) * f(mean+math.Sqrt(variance)*u)
		}
		return sum
	}
	sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	logistic := func(z float64) float64 { return sigmoid(z) * (1 - sigmoid(z)) }
	// The logistic loss predicts odds that are multiplied by the class weights. So the probability
	// of a class with weight 3 is divided by 3, and the probabilities are normalised again.
	weighted := func(z float64) float64 {
		p, q := sigmoid(z)/3, 1-sigmoid(z)
		return (3*p + q) / (p + q) * logistic(z)
	}
	for _, c := range []struct {
		loss           string
		mean, variance float64
		slope, want    float64
		value          float64
	}{
		{"logistic", 0, 0, 0, .25, 0},
		{"logistic", -1, 2, 0, gauss(-1, 2, logistic), 0},
		{"weighted(logistic,1,3)", -1, 2, 0, gauss(-1, 2, weighted), 0},
		{"squared(2)", 0, 1, .3, 1, 0},
		// The slopes of the huber loss are the residuals, clipped at delta. For Gaussian residuals
		// of standard deviation s their mean square is s^2 (P - 2 k phi(k)) + delta^2 (1-P), where
		// k = delta/s and P = P(|r| < delta). Here s = .2 and delta = .2.
		{"huber(0.2)", 0, 1, math.Sqrt(.04*(.682689-2*.241971) + .04*(1-.682689)), .682689, 0},
		{"poisson(5)", -1, .1, 0, math.Exp(-1 + .05), 0},
		// For Gaussian residuals of standard deviation s, the mean of |r| is s sqrt(2/pi), and the
		// least mean of the pinball loss is s times the normal density at its quantile. The second
		// derivative is the jump of the slope, 2 or 1, times the density of the residuals at the
		// kink.
		{"absolute", 0, 1, 0, 2 * .398942 / .3, .3 * .797885},
		{"pinball(0.8)", 0, 1, 0, .279962 / .2, .2 * .279962},
	} {
		curvature, ok := bent(t, c.loss).Curvature([]float64{c.mean}, [][]float64{{c.variance}}, c.slope, c.value)
		if !ok || len(curvature) != 1 || !(math.Abs(curvature[0][0]-c.want) <= .035*c.want) {
			t.Errorf("%s: %v, %v: want %v", c.loss, curvature, ok, c.want)
		}
	}
	p := []float64{math.E / (math.E + 2), 1 / (math.E + 2), 1 / (math.E + 2)}
	for name, whole := range map[string]float64{"softmax(3)": 1, "weighted(softmax(3),1,2,4)": p[0] + p[1]/2 + p[2]/4} {
		curvature, ok := bent(t, name).Curvature([]float64{1, 0, 0}, [][]float64{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 0)
		for i := range p {
			for j := range p {
				want := -p[i] * p[j]
				if i == j {
					want += p[i]
				}
				if want /= whole; !ok || !(math.Abs(curvature[i][j]-want) <= 1e-9) {
					t.Errorf("%s: %d, %d: %v: want %v", name, i, j, curvature[i][j], want)
				}
			}
		}
	}
}

// TestCurvatureIsNotKnown tests when Curvature cannot estimate the mean second derivative: ok must be false
// for losses that are not convex, for losses of classes whose slope jumps, for weights by row and
// for networks, and for a numeric target if neither slope nor value is given.
func TestCurvatureIsNotKnown(t *testing.T) {
	for _, name := range []string{"sigmoid", "hinge", "absolute", "weighted(logistic,row)", "network(2,tanh,logistic)",
		"huber(0.2)", "welsch(1)"} {
		if curvature, ok := bent(t, name).Curvature([]float64{0}, [][]float64{{1}}, 0, 0); ok {
			t.Errorf("%s: %v", name, curvature)
		}
	}
	if _, ok := bent(t, "ordered(3)").Curvature([]float64{0, 0}, [][]float64{{1, 0}, {0, 1}}, 0, 0); ok {
		t.Error("the margins of ordered classes")
	}
	if _, ok := bent(t, "softmax(3)").Curvature([]float64{0}, [][]float64{{1}}, 0, 0); ok {
		t.Error("three margins of which one is given")
	}
}

// TestCurvatureIsAMeanOverQuantiles compares the mean second derivative of losses of one margin with a mean over the
// quantiles (2n+1)/2000, n = 0..999, of the margin's normal distribution, of which none is preferred: margins are not
// centred on 0, so that a shift of the quantiles shows.
func TestCurvatureIsAMeanOverQuantiles(t *testing.T) {
	quantile := func(p float64) float64 {
		low, high := -9., 9.
		for range 80 {
			if middle := (low + high) / 2; math.Erfc(-middle/math.Sqrt2)/2 < p {
				low = middle
			} else {
				high = middle
			}
		}
		return low
	}
	share := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	const mean, deviation = .9, 1.3
	for name, f := range map[string]func(z float64) (second, weight float64){
		"logistic": func(z float64) (float64, float64) { return share(z) * share(-z), 1 },
		// Of rows as often as their class over its weight, the second derivative is the weight times p (1-p).
		"weighted(logistic,1,4)": func(z float64) (float64, float64) {
			none, one := share(-z), share(z)/4
			whole := none + one
			return share(z) * share(-z) * (none + 4*one) / whole, 1
		},
		"poisson(50)": func(z float64) (float64, float64) { return math.Exp(z), 1 },
	} {
		want, at := 0., mean
		if name == "poisson(50)" {
			at = -4 // counts are at most the largest one
		}
		for n := range 1000 {
			second, weight := f(at + deviation*quantile((2*float64(n)+1)/2000))
			want += second * weight / 1000
		}
		got, ok := bent(t, name).Curvature([]float64{at}, [][]float64{{deviation * deviation}}, 0, 0)
		if !ok || !(math.Abs(got[0][0]/want-1) <= 1e-9) {
			t.Errorf("%s: %v, %v: must be %v", name, got, ok, want)
		}
	}
}
