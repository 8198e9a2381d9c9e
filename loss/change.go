package loss

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// ChangeRange returns an interval [least, most] that contains f(w; x, y) - f(c; x, y) for every legal record (x,
// y), where f is the loss l of a record and c are weights that give every row the margins z. The range is public
// as soon as w and z are: it depends on no record. The function reach returns an interval that contains the
// product <v, x> of a vector v and every legal row x.
//
// Margins of legal rows lie in intervals. Between them the difference of the losses is largest and least at ends:
//
//   - two classes: the loss is monotone in the margin, so that both extremes are at ends of the interval;
//   - numbers: a convex loss of the residual is largest at ends of the margin and of the target, and least there
//     or where the residual is 0. A loss that is not convex is bounded by its values and by its Lipschitz constant;
//   - numbers with a logarithmic link (gamma, negative binomial, Tweedie): the loss is convex in the margin and its
//     slope falls in the target, so that extremes are at ends of the target, as for numbers;
//   - counts: the difference is linear in the count and in the exposure, and convex in the margin.
//
// Predictions of numbers are clamped to the target's bounds, and expected counts to the largest count, which makes no
// loss larger. most is then the largest change for clamped predictions: the change without the clamp may be larger, but
// a change that is cut at most is at least the change for the clamped prediction.
//
// For several classes the loss is log sum_j exp(z_j - z_y), monotone in the differences of margins.
//
// For a network the intervals are carried through the layers. Weights of rows multiply the range by every number in
// [0, 1], and so does the sum over a unit's rows divided by their largest number. ok is false for a loss that is
// neither a function of margins nor a network, and where no interval is finite.
func ChangeRange(l Loss, w, z []float64, reach func(v []float64) (low, high float64)) (least, most float64, ok bool) {
	summed := false
	if u, is := l.(Units); is {
		l, summed = u.Row(), u.Summed()
	}
	if o, is := l.(ordered); is {
		f := len(w) - o.k + 2
		if len(z) != o.k || f < 1 {
			return 0, 0, false
		}
		low, high := reach(w[:f])
		least, most = o.changes(w[f:], low, high, z)
		return changeRange(o, summed, least, most)
	}
	of := l
	if n, is := networkOf(l); is {
		of = n.Network.Output
		w, reach = n.reach(w, reach)
	}
	k := Count(of)
	if k == 0 || len(z) != k || len(w)%k != 0 {
		return 0, 0, false
	}
	if m, is := of.(Margins); is {
		least, most = classChanges(m, w, z, reach)
	} else {
		low, high := reach(w)
		least, most = marginChanges(of.(RankOne), low, high, z[0])
	}
	return changeRange(of, summed, least, most)
}

// changeRange returns the range of a record's change from that of a row's, which weights of rows and sums over rows lessen.
func changeRange(l Loss, summed bool, least, most float64) (float64, float64, bool) {
	if RowWeighted(l) || summed {
		least, most = min(least, 0), max(most, 0)
	}
	return least, most, vector.Finite(least) && vector.Finite(most)
}

// marginChanges returns the range of the loss at a margin in [low, high] minus the loss at the margin at.
func marginChanges(l RankOne, low, high, at float64) (least, most float64) {
	if !vector.Finite(low) || !vector.Finite(high) {
		return math.Inf(-1), math.Inf(1)
	}
	if p, is := Unweighted(l).(poisson); is && p.odds != nil {
		return p.hazardChanges(low, high, at)
	} else if is {
		return p.changes(low, high, at)
	}
	best := func(y float64) float64 { return y }
	if g, is := Unweighted(l).(interface{ best(y float64) float64 }); is { // convex in z, with a slope that falls in y
		if LeastExposure(l) > 0 {
			return exposedChanges(l, low, high, at)
		}
		best = g.best
		low, high = min(low, 0), min(high, 0)
	} else if l.Target() == Real { // as predictions are
		low, high = clamp(low, -1, 1), clamp(high, -1, 1)
	}
	least, most = math.Inf(1), math.Inf(-1)
	var value, before [1]float64
	see := func(z, y float64) {
		l.Values(value[:], []float64{z}, []float64{y})
		l.Values(before[:], []float64{at}, []float64{y})
		least, most = min(least, value[0]-before[0]), max(most, value[0]-before[0])
	}
	for _, y := range []float64{-1, 1} {
		see(low, y)
		see(high, y)
		if l.Target() == Real {
			see(clamp(best(y), low, high), y)
		}
	}
	if c := l.Constants(); l.Target() == Real && c.Curvature.Lo < 0 {
		value := func(z, y float64) float64 {
			l.Values(value[:], []float64{z}, []float64{y})
			return value[0]
		}
		moved := c.Lipschitz * max(math.Abs(high-at), math.Abs(low-at))
		least = -min(max(value(at, -1), value(at, 1)), moved)
		most = min(max(value(low, 1), value(low, -1), value(high, 1), value(high, -1)), moved)
	}
	return least, most
}

// exposedChanges returns an interval that contains the difference of the losses at a margin in [low, high] and at the
// margin at, for every number and exposure: a difference of margins times the bounds of the slope. The slope lies between
// those of the largest number and of 0.
func exposedChanges(l RankOne, low, high, at float64) (least, most float64) {
	slopes := make([]float64, 2)
	far := []float64{math.Inf(-1), math.Inf(1)} // a slope can be far from its limit over hundreds of units
	l.Slopes(slopes, far, []float64{Carry(Real, 1, 1), Carry(Real, -1, 1)})
	for _, move := range []float64{low - at, high - at} {
		for _, s := range slopes {
			least, most = min(least, float64(s*move)), max(most, float64(s*move))
		}
	}
	return least, most
}

// changes returns the range of q E(z) - s z at a margin z in [low, high] minus its value at the margin at, where E is
// the exponential, continued linearly beyond the margin straight. The count s lies in [0, 1], the exposure q in
// [least, 1].
func (p poisson) changes(low, high, at float64) (least, most float64) {
	exp := func(z float64) float64 {
		if z > straight {
			return math.Exp(straight) * (1 + z - straight)
		}
		return math.Exp(z)
	}
	shortest := p.least
	if shortest < 1 {
		shortest -= exposureRounding
	}
	least, most = math.Inf(1), math.Inf(-1)
	// In q the difference is linear up to the exposure at which the expected count reaches 1, and linear from there on.
	for _, q := range []float64{shortest, 1, clamp(math.Exp(-low), shortest, 1), clamp(math.Exp(-high), shortest, 1)} {
		for _, s := range []float64{0, 1} {
			// The expected count q e^z is clamped to 1, the largest count.
			low, high := min(low, -math.Log(q)), min(high, -math.Log(q))
			for _, z := range []float64{low, high, clamp(math.Log(s/q), low, high)} {
				change := q*(exp(z)-exp(at)) - s*(z-at)
				least, most = min(least, change), max(most, change)
			}
		}
	}
	return least, most
}

// mostPaired is the largest number of classes for which every difference of two classes' margins is bounded as one
// linear function of the row. For more classes it is bounded by the bounds of the two margins.
const mostPaired = 32

// classChanges returns the range of the loss of a record minus the loss at the margins z, for the K rows of w and the
// intervals of their products with rows.
func classChanges(l Margins, w, z []float64, reach func(v []float64) (low, high float64)) (least, most float64) {
	k := l.K()
	d := len(w) / k
	row := func(j int) []float64 { return w[j*d : (j+1)*d] }
	lows, highs := make([]float64, k), make([]float64, k)
	for j := range k {
		lows[j], highs[j] = reach(row(j))
	}
	between := func(j, y int) (low, high float64) {
		if j == y {
			return 0, 0
		}
		low, high = lows[j]-highs[y], highs[j]-lows[y]
		if k <= mostPaired {
			a, b := reach(vector.Make(d, func(i int) float64 { return row(j)[i] - row(y)[i] }))
			low, high = max(low, a), min(high, b)
		}
		return low, high
	}
	weights := Weights{}
	if w, is := l.(weighted); is {
		weights = w.Weights()
	}
	least, most = math.Inf(1), math.Inf(-1)
	from, to, at := make([]float64, k), make([]float64, k), make([]float64, k)
	for y := range k {
		for j := range k {
			from[j], to[j] = between(j, y)
			at[j] = z[j] - z[y]
		}
		by := 1.
		if len(weights.Classes) > 0 {
			by = weights.Classes[y]
		}
		constant := logSum(at)
		least, most = min(least, by*(logSum(from)-constant)), max(most, by*(logSum(to)-constant))
	}
	return least, most
}

// logSum returns the logarithm of the sum of exponentials.
func logSum(v []float64) float64 {
	top := slices.Max(v)
	return top + math.Log(vector.Sum(v, func(x float64) float64 { return math.Exp(x - top) }))
}

// reach carries the interval of every unit through the hidden layers. It returns the weights of the outputs, and the
// function that bounds the product of a vector and the input of the outputs.
func (n *network) reach(w []float64, rows func(v []float64) (low, high float64)) (outputs []float64,
	reach func(v []float64) (low, high float64)) {
	above := n.outputs * (n.Hidden[len(n.Hidden)-1] + 1)
	for l := 1; l < len(n.Hidden); l++ {
		above += n.Hidden[l] * (n.Hidden[l-1] + 1)
	}
	reach = rows
	in := (len(w) - above) / n.Hidden[0]
	for _, units := range n.Hidden {
		lows, highs := make([]float64, units+1), make([]float64, units+1)
		scale := 1 / math.Sqrt(float64(units+1))
		for j := range units {
			low, high := reach(w[j*in : (j+1)*in])
			lows[j], highs[j] = n.act(low)*scale, n.act(high)*scale
		}
		lows[units], highs[units] = scale, scale
		w, in = w[units*in:], units+1
		reach = func(v []float64) (low, high float64) {
			for j, a := range v {
				p, q := float64(a*lows[j]), float64(a*highs[j])
				low, high = low+min(p, q), high+max(p, q)
			}
			return low, high
		}
	}
	return w, reach
}

// act returns the output of a unit, which is monotone in its argument.
func (n *network) act(u float64) float64 {
	if n.Activation == "relu" {
		return max(u, 0)
	}
	return math.Tanh(u)
}

// MostValue returns the largest loss, over legal records, of the model that gives every row the margin z. No loss of
// one margin is below 0, except for counts, so that the loss lies in [0, most]. ok is false for counts, for several
// margins, and for a loss that is not a function of margins.
func MostValue(l Loss, z []float64) (most float64, ok bool) {
	of, is := outputs(l).(RankOne)
	if !is || Counts(l) || len(z) != 1 {
		return 0, false
	}
	var values [2]float64
	of.Values(values[:], []float64{z[0], z[0]}, []float64{-1, 1})
	return max(values[0], values[1]), true
}

// ConstantWeights returns the parameters with which a model of loss l gives every row the same margins z. All weights
// are zero, except the weights of the intercept or, in a network, the constant terms of the outputs. features is the
// number of features of a row. The last feature is the intercept, and has the value intercept. For a network, len(z)
// must be the number of outputs. For any other loss, ok is false unless l is a loss of len(z) margins.
func ConstantWeights(l Loss, features int, intercept float64, z []float64) (w []float64, ok bool) {
	w = make([]float64, Parameters(l, features))
	if o, is := l.(ordered); is {
		if len(z) == o.k {
			o.constant(w, features, intercept, z)
		}
		return w, len(z) == o.k
	}
	if network, is := l.(Composed); is {
		hidden, _ := network.Layers()
		inputs := hidden[len(hidden)-1] + 1 // each output has the input [h; 1]/sqrt(inputs)
		for k, v := range z {
			w[len(w)-1-(len(z)-1-k)*inputs] = v * math.Sqrt(float64(inputs))
		}
		return w, true
	}
	if Count(l) != len(z) {
		return nil, false
	}
	for k, v := range z {
		w[(k+1)*features-1] = v / intercept
	}
	return w, true
}

// Outputs returns the loss of one row as a function of its margins: l itself, the row loss of a
// [Units], or the output loss of a network. The result is a [RankOne] or a [Margins]. If the loss of
// one row is a General loss and no network, Outputs returns this General loss.
func Outputs(l Loss) Loss { return outputs(l) }
