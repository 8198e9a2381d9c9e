package loss_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// changing are losses of every kind of margin and target, with whether the range of changes is attained: for losses
// that are not convex, for several classes and for networks it is a bound alone.
var changing = []struct {
	name     string
	attained bool
}{
	{"logistic", true}, {"tanh", true}, {"sigmoid", true}, {"smoothed-hinge(0.5)", true}, {"hinge", true}, {"ramp", true},
	{"huber(0.1)", true}, {"squared(1)", true}, {"absolute", true}, {"pinball(0.9)", true},
	{"epsilon-insensitive(0.2)", true}, {"capped-absolute(0.5)", false}, {"welsch(0.5)", false},
	{"geman-mcclure(0.5)", false}, {"tukey(0.5)", false}, {"poisson(3)", true}, {"poisson-rate(3,0.01)", true}, {"cloglog(3,0.01)", false},
	{"logit-hazard(3,0.01)", false},
	{"gamma(5,0.001)", true}, {"negbinomial(2,5,1000)", true}, {"tweedie(1.5,5,20,1000)", true},
	{"negbinomial-rate(2,5,1000,0.05)", false}, {"tweedie-rate(1.5,5,20,1000,0.05)", false},
	{"softmax(3)", false}, {"softmax(40)", false}, {"weighted(logistic,1,7)", true}, {"weighted(huber(0.3),row)", true},
	{"weighted(softmax(3),1,2,3,row)", false}, {"network(3,tanh,logistic)", false}, {"network(4-3,relu,huber(0.5))", false},
	{"network(3-2,tanh,weighted(softmax(3),1,2,3))", false}, {"network(3,relu,poisson-rate(2,0.1))", false},
	{"units(logistic,3)", true}, {"units(logistic,3,sum)", true}, {"units(softmax(3),3,sum)", false},
	{"units(network(3,tanh,softmax(3)),3)", false},
}

// anyTarget draws a legal target of a row of the loss l, with a weight or an exposure if the loss reads one. Half of
// the targets are extreme.
func anyTarget(r *rand.Rand, l loss.Loss) float64 {
	y := 2*r.Float64() - 1
	switch {
	case l.Target() == loss.Classes:
		y = float64(r.IntN(loss.ClassCount(l)))
	case l.Target() == loss.Binary || r.IntN(2) == 0:
		y = float64(2*r.IntN(2) - 1)
	}
	share := r.Float64()
	if r.IntN(2) == 0 {
		share = float64(r.IntN(2))
	}
	of := loss.Outputs(l)
	if least := loss.LeastExposure(l); least > 0 {
		return loss.Carry(loss.Real, y, least+(1-least)*share)
	}
	if loss.RowWeighted(of) {
		return loss.Carry(l.Target(), y, share)
	}
	return y
}

// valueOf returns the loss of a row at the parameters w. If clamped is true, it is the loss of the prediction clamped to
// the bounds of a number, or to the largest count.
func valueOf(l loss.Loss, w []float64, x []float32, y float64, clamped bool) float64 {
	z := []float64(nil)
	of := l
	if n, is := l.(loss.Composed); is {
		z, of = n.MarginsAt(w, x), n.Output()
	} else {
		z = loss.MarginsAt(w, x)
	}
	_, relative := loss.Unweighted(of).(interface{ LeastMean() float64 })
	switch {
	case !clamped || l.Target() != loss.Real:
	case relative && loss.LeastExposure(l) == 0:
		z[0] = min(z[0], 0)
	case relative, strings.HasPrefix(l.Name(), "logit-hazard"):
	case loss.Counts(l):
		q := 1.
		if loss.LeastExposure(l) > 0 {
			_, q = loss.Carried(loss.Real, y)
		}
		z[0] = min(z[0], -math.Log(q))
	default:
		z[0] = min(max(z[0], -1), 1)
	}
	value := []float64{math.NaN()}
	switch of := of.(type) {
	case loss.RankOne:
		of.Values(value, z, []float64{y})
	case loss.Margins:
		of.Values(value, z, []float64{y})
	}
	return value[0]
}

// unitValue returns the loss of a record of rows: of one row, or the mean or the sum over the largest number of rows.
func unitValue(l loss.Loss, w []float64, rows [][]float32, targets []float64, clamped bool) (sum float64) {
	by := 1 / float64(len(rows))
	if u, is := l.(loss.Units); is && u.Summed() {
		by = 1 / float64(u.Rows())
	}
	for i, x := range rows {
		sum += by * valueOf(loss.RowLoss(l), w, x, targets[i], clamped)
	}
	return sum
}

// TestChangesLieInTheirRange draws weights, constants, rows of a box and targets, and tests that the change of every
// record's loss lies in the range. For the losses whose range is attained, the changes seen must come near both ends.
// It fails if an end of a target, of an exposure or of the box, a weight or a layer is left out.
func TestChangesLieInTheirRange(t *testing.T) {
	const features, intercept = 3, .5
	reach := func(v []float64) (low, high float64) {
		at := float64(intercept * v[len(v)-1])
		for _, a := range v[:len(v)-1] {
			low, high = low-math.Abs(a)/2, high+math.Abs(a)/2
		}
		return low + at - 1e-9, high + at + 1e-9
	}
	for _, c := range changing {
		l, err := loss.Parse(c.name)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		row := loss.RowLoss(l)
		k := loss.Count(loss.Outputs(l))
		trials, records := 30, 2000
		if testing.Short() {
			trials = 6
		}
		for range trials {
			z := make([]float64, k)
			for j := range z {
				if z[j] = r.NormFloat64(); l.Target() == loss.Real {
					z[j] = -math.Abs(z[j])
				}
				if l.Target() == loss.Real && !loss.Counts(l) {
					z[j] = max(z[j], -1)
				}
			}
			constant, ok := loss.ConstantWeights(row, features, intercept, z)
			if !ok {
				t.Fatalf("%s: no constant", c.name)
			}
			w := make([]float64, len(constant))
			length := 4 * r.Float64()
			for j := range w {
				w[j] = length * r.NormFloat64()
			}
			least, most, ok := loss.ChangeRange(l, w, z, reach)
			if !ok {
				t.Fatalf("%s: no range", c.name)
			}
			low, high := math.Inf(1), math.Inf(-1)
			for range records {
				rows, targets := [][]float32{}, []float64{}
				corner := r.IntN(2) == 0
				for range 1 + 2*r.IntN(2) {
					x := []float32{float32(r.Float64() - .5), float32(r.Float64() - .5), intercept}
					if corner || len(rows) > 0 {
						x[0], x[1] = float32(r.IntN(2))-.5, float32(r.IntN(2))-.5
					}
					if len(rows) > 0 && corner {
						x = rows[0]
					}
					y := anyTarget(r, row)
					if len(rows) > 0 && corner {
						y = targets[0]
					}
					rows, targets = append(rows, x), append(targets, y)
				}
				if _, is := l.(loss.Units); !is {
					rows, targets = rows[:1], targets[:1]
				}
				before := unitValue(l, constant, rows, targets, false)
				change := unitValue(l, w, rows, targets, true) - before
				tolerance := 1e-6 * (1 + math.Abs(change))
				if !(change >= least-tolerance && change <= most+tolerance) {
					t.Fatalf("%s: change %v: must lie in [%v, %v]", c.name, change, least, most)
				}
				if whole := unitValue(l, w, rows, targets, false) - before; !(whole >= change-tolerance) {
					t.Fatalf("%s: change %v, and %v with the prediction clamped: must be no larger", c.name, whole, change)
				}
				low, high = min(low, change), max(high, change)
			}
			if near := .02*(most-least) + 1e-6; c.attained && !(low <= least+near && high >= most-near) {
				t.Errorf("%s: changes lie in [%v, %v]: the range is [%v, %v]", c.name, low, high, least, most)
			}
		}
	}
}
