package loss

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// ordered is the loss of newOrdered. output is the softmax of its classes, with the weights of records if there are
// any.
type ordered struct {
	k       int
	unit    float64
	output  Loss
	weights *weighing // nil if records have weight 1
}

// newOrdered returns minus the log-likelihood of K ordered classes 0, ..., K-1 under proportional odds (cumulative
// logits; McCullagh 1980). With s(t) = 1/(1+e^-t) and the score z = <w, x>,
//
//	P(y >= c) = s(z - t_c) for thresholds 0 = t_1 < t_2 < ... < t_(K-1)
//
// The intercept of the row takes the place of t_1. The parameters are w and, after it, v_1, ..., v_(K-2), which give
// the gaps between thresholds: t_(c+1) - t_c = log(1 + e^u) with u = unit v_c. Every gap is above 0 at all parameters,
// so the thresholds are in order. Because 1 - e^-gap = s(u), the loss of class c is a sum of three terms,
//
//	log(1 + e^(z - t_(c+1))) + log(1 + e^(t_c - z)) + log(1 + e^-u),
//
// the first without a class above, the second without a class below, and the third with both. Let A = s(z - t_(c+1))
// and B = s(t_c - z), or 0 if the term is missing. Then
//
//	d/dz = A - B, in (-1, 1)
//	d/du_j = s(u_j) (B - A) for a gap j below c, and -A s(u) - (1 - s(u)) for the gap of c: in [-1, 1]
//
// With unit = 1/(2 sqrt(K-2)), the thresholds add at most 1/4 to the squared norm of a gradient, and rows of norm 1 add
// at most 1: Lipschitz is sqrt(5)/2. For the Hessian let q be the vector (x, -unit s(u_j) for gaps j up to c), of
// squared norm at most 5/4. The first two terms add at most 1/4 q q' each. The curvature of the gaps adds unit^2
// s'(u_j) times B - A for gaps below c and times 1 - A for the gap of c:
//
//	curvature: in [-unit^2/4, 5/8 + unit^2/4]; the lower bound is 0 for three classes, where no class has a gap below it
//	and a class above it
//
// At 0 the loss of a class is a public number, and no loss is below 0: InitialGap is the largest of these numbers.
//
// The margins of a row are the logarithms of the probabilities of its classes, and the output loss is [Softmax]: the
// softmax of logarithms of probabilities gives the probabilities.
func newOrdered(classes float64) (Loss, error) {
	l, err := newSoftmax(classes)
	if err != nil {
		return nil, fmt.Errorf("loss: ordered: classes = %v: must be a whole number between 3 and %d (logistic is for 2)",
			classes, mostMargins)
	}
	return orderedOf(int(classes), l), nil
}

func orderedOf(k int, output Loss) ordered {
	o := ordered{k: k, unit: 1 / (2 * math.Sqrt(float64(k-2))), output: output}
	if w, ok := output.(weightedMargins); ok {
		o.weights = &w.weighing
	}
	return o
}

// cuts are the thresholds of the parameters, and for each gap s(u) and log(1 + e^-u). slope is scratch memory for one
// record: the derivatives in z and in each u.
type cuts struct{ at, share, minus, slope []float64 }

var cutsPool = sync.Pool{New: func() any { return new(cuts) }}

// softplus returns log(1 + e^t) and s(t), its derivative.
func softplus(t float64) (value, slope float64) {
	e := repromath.Exp(-math.Abs(t))
	return max(t, 0) + repromath.Log1p(e), share(t, e)
}

// share returns s(t), where e is e^-|t|.
func share(t, e float64) float64 {
	if t < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// softpluses sets value[i] to log(1 + e^t) for t = slope[i], and slope[i] to s(t), for at most a block of numbers.
func softpluses(value, slope []float64) {
	var exp block
	e := exp.expOfSizes(slope)
	repromath.Log1ps(value, e)
	for i, t := range slope {
		value[i] += max(t, 0)
		slope[i] = share(t, e[i])
	}
}

// cuts computes the thresholds from v.
func (o ordered) cuts(v []float64) *cuts {
	c := cutsPool.Get().(*cuts)
	if len(c.share) != o.k-2 {
		*c = cuts{make([]float64, o.k-1), make([]float64, o.k-2), make([]float64, o.k-2), make([]float64, o.k-1)}
	}
	for j, v := range v {
		u := float64(o.unit * v)
		var gap float64
		gap, c.share[j] = softplus(u)
		c.minus[j], _ = softplus(-u)
		c.at[j+1] = c.at[j] + gap
	}
	return c
}

func (o ordered) Name() string {
	name := format("ordered", float64(o.k))
	if o.weights != nil {
		name = weighing{o.weights.weights, named(name)}.Name()
	}
	return name
}

// named is a loss of which only the name is known.
type named string

func (n named) Name() string       { return string(n) }
func (named) Constants() Constants { return Constants{} }
func (named) Target() Target       { return Classes }

func (o ordered) Target() Target { return Classes }
func (o ordered) Output() Loss   { return o.output }

// Layers returns no layer: the score is linear in the row.
func (o ordered) Layers() ([]int, string)      { return nil, "" }
func (o ordered) Parameters(features int) int  { return features + o.k - 2 }
func (o ordered) Start(features int) []float64 { return make([]float64, o.Parameters(features)) }

func (o ordered) Constants() Constants {
	bend := float64(o.unit * o.unit / 4)
	c := Constants{
		Lipschitz: math.Sqrt(5) / 2, Curvature: CurvatureInterval{-bend, 5./8 + bend}, HessianLipschitz: math.Inf(1),
		Loose: "the terms of the curvature are not largest together",
	}
	if o.k == 3 {
		c.Curvature.Lo = 0
	}
	zero := o.cuts(make([]float64, o.k-2))
	defer cutsPool.Put(zero)
	for class := range o.k {
		value, _, _ := o.value(zero, 0, class)
		c.InitialGap = max(c.InitialGap, value)
	}
	if o.weights != nil {
		c = o.weights.scaled(c)
	}
	return c
}

// class returns the class and the weight of a target. ok is false for a target that is none, and for parameters that
// are not numbers.
func (o ordered) class(c *cuts, y float64) (class int, weight float64, ok bool) {
	weight = 1
	if o.weights != nil {
		y, weight = o.weights.weight(y)
	}
	class = softmax{o.k}.class(y)
	return class, weight, class >= 0 && weight == weight && c.at[o.k-2] == c.at[o.k-2]
}

// value returns the loss of a class at the score z, and the numbers A and B.
func (o ordered) value(c *cuts, z float64, class int) (value, a, b float64) {
	if class < o.k-1 {
		value, a = softplus(z - c.at[class])
	}
	if class > 0 {
		var more float64
		more, b = softplus(c.at[class-1] - z)
		value += more
	}
	if class > 0 && class < o.k-1 {
		value += c.minus[class-1]
	}
	return value, a, b
}

// sides holds the class and the weight of each record of a block, which are no class and NaN for invalid ones, and the
// values and slopes of the terms above the class and below it.
type sides struct {
	class        [len(block{})]int
	weight       block
	above, below block
	a, b         block
}

// of computes the numbers for the first min(len(z), len(block)) records and returns how many these are. A missing term
// is the softplus of -Inf, which is 0 with the slope 0.
func (s *sides) of(o ordered, c *cuts, z, y []float64) int {
	n := len(s.weight.take(len(z)))
	for i := range n {
		class, weight, ok := o.class(c, y[i])
		if !ok {
			class, weight = -1, math.NaN()
		}
		s.class[i], s.weight[i] = class, weight
		s.a[i], s.b[i] = math.Inf(-1), math.Inf(-1)
		if class >= 0 && class < o.k-1 {
			s.a[i] = z[i] - c.at[class]
		}
		if class > 0 {
			s.b[i] = c.at[class-1] - z[i]
		}
	}
	softpluses(s.above[:n], s.a[:n])
	softpluses(s.below[:n], s.b[:n])
	return n
}

// slopes writes the derivatives in z and in the gaps' parameters to c.slope, from A and B, and returns them.
func (o ordered) slopes(c *cuts, a, b float64, class int) []float64 {
	slope := c.slope[:o.k-1]
	slope[0] = a - b
	for j, s := range c.share {
		switch {
		case j < class-1:
			slope[j+1] = float64(o.unit * float64(s*(b-a)))
		case j == class-1:
			slope[j+1] = -float64(o.unit * (float64(a*s) + (1 - s)))
		default:
			slope[j+1] = 0
		}
	}
	return slope
}

func (o ordered) check(dst, w int, x []float32) {
	if p := o.Parameters(len(x)); len(x) == 0 || dst != p || w != p {
		panic(fmt.Sprintf("loss: ordered: len(dst) = %d, len(w) = %d: must be %d for %d features", dst, w, p, len(x)))
	}
}

func (o ordered) MarginsAt(w []float64, x []float32) []float64 {
	o.check(len(w), len(w), x)
	c := o.cuts(w[len(x):])
	defer cutsPool.Put(c)
	z, at := make([]float64, o.k), score(w, x)
	for class := range z {
		value, _, _ := o.value(c, at, class)
		z[class] = -value
	}
	return z
}

func (o ordered) Value(w []float64, x []float32, y float64) float64 {
	o.check(len(w), len(w), x)
	c := o.cuts(w[len(x):])
	defer cutsPool.Put(c)
	class, weight, ok := o.class(c, y)
	if !ok {
		return math.NaN()
	}
	value, _, _ := o.value(c, score(w, x), class)
	return float64(weight * value)
}

func (o ordered) Gradient(dst, w []float64, x []float32, y float64) {
	o.check(len(dst), len(w), x)
	c := o.cuts(w[len(x):])
	defer cutsPool.Put(c)
	class, weight, ok := o.class(c, y)
	if !ok {
		dst[0] = math.NaN()
		return
	}
	_, a, b := o.value(c, score(w, x), class)
	slope := o.slopes(c, a, b, class)
	for j, s := range slope[1:] {
		dst[len(x)+j] = float64(weight * s)
	}
	outer(dst, []float64{float64(weight * slope[0])}, x)
}

// HessianVector adds up the Hessians of the terms, each a multiple of an outer product in (z, u), and the curvatures of
// the gaps.
func (o ordered) HessianVector(dst, w, v []float64, x []float32, y float64) {
	o.check(len(dst), len(w), x)
	o.check(len(v), len(w), x)
	c := o.cuts(w[len(x):])
	defer cutsPool.Put(c)
	class, weight, ok := o.class(c, y)
	if !ok {
		dst[0] = math.NaN()
		return
	}
	_, a, b := o.value(c, score(w, x), class)
	above := score(v, x)
	along := v[len(x):]
	below := above
	for j, s := range c.share {
		moved := float64(float64(o.unit*s) * along[j])
		if j < class {
			above -= moved
		}
		if j < class-1 {
			below -= moved
		}
	}
	above, below = float64(weight*above)*float64(a*(1-a)), float64(weight*below)*float64(b*(1-b))
	for j, s := range c.share {
		g, bend := 0., 0.
		if j < class {
			g, bend = -above, 1-a
		}
		if j < class-1 {
			g, bend = g-below, b-a
		}
		bent := float64(float64(weight*o.unit)*o.unit) * float64(float64(s*(1-s))*bend)
		dst[len(x)+j] = math.FMA(float64(o.unit*s), g, float64(bent*along[j]))
	}
	outer(dst, []float64{above + below}, x)
}

// Units is the number of scores of a row (package curator/internal/engine).
func (o ordered) Units() int { return 1 }

// Forward computes the losses of a block of records from their scores (package curator/internal/engine).
func (o ordered) Forward(dst, z, v, y []float64) {
	o.checkBlock(len(dst), z, v, y)
	c := o.cuts(v)
	defer cutsPool.Put(c)
	var s sides
	for len(dst) > 0 {
		n := s.of(o, c, z, y)
		for i, class := range s.class[:n] {
			value := s.above[i] + s.below[i]
			if class > 0 && class < o.k-1 {
				value += c.minus[class-1]
			}
			dst[i] = float64(s.weight[i] * value)
		}
		dst, z, y = dst[n:], z[n:], y[n:]
	}
}

// Backward computes the gradients of a block of records: s, by which a record's row is multiplied, and rest, the
// gradient in v (package curator/internal/engine).
func (o ordered) Backward(s, rest, z, v, square, y []float64) {
	o.checkBlock(len(s), z, v, y)
	if len(rest) != len(y)*len(v) || len(square) != len(y) {
		panic(fmt.Sprintf("loss: ordered: len(rest) = %d, len(square) = %d: must be %d and %d", len(rest), len(square),
			len(y)*len(v), len(y)))
	}
	c := o.cuts(v)
	defer cutsPool.Put(c)
	var of sides
	for from := 0; from < len(y); {
		n := of.of(o, c, z[from:], y[from:])
		for i, class := range of.class[:n] {
			if class < 0 {
				s[from+i] = math.NaN()
				continue
			}
			slope := o.slopes(c, of.a[i], of.b[i], class)
			s[from+i] = float64(of.weight[i] * slope[0])
			for j, d := range slope[1:] {
				rest[j*len(y)+from+i] = float64(of.weight[i] * d)
			}
		}
		from += n
	}
}

func (o ordered) checkBlock(dst int, z, v, y []float64) {
	if len(y) == 0 || dst != len(y) || len(z) != len(y) || len(v) != o.k-2 {
		panic(fmt.Sprintf("loss: ordered: len(y) = %d, len(dst) = %d, len(z) = %d, len(v) = %d: must be at least 1, %d, %d and %d",
			len(y), dst, len(z), len(v), len(y), len(y), o.k-2))
	}
}

// Thresholds returns t_1 = 0, ..., t_(K-1) of the parameters w for rows of the given number of features.
func (o ordered) Thresholds(w []float64, features int) []float64 {
	c := o.cuts(w[features:])
	defer cutsPool.Put(c)
	return slices.Clone(c.at)
}

// Parts returns the loss of a record at the score z as a sum of three parts, each a function of one product of its row
// with the score's weights and the gaps: the slopes and second derivatives of the parts in these products. The parts are
// those of the cut above the class, of the cut below it, and of the gap at the class. Their rows are (x, -1 for each gap
// below the cut) for cuts class and class - 1 (counted from 0), and (0, 1 for gap class - 1). A missing part has zeros. ok
// is false for a target that is no class.
func (o ordered) Parts(v []float64, z, y float64) (class int, slopes, curvatures [3]float64, ok bool) {
	c := o.cuts(v)
	defer cutsPool.Put(c)
	class, weight, ok := o.class(c, y)
	if !ok {
		return 0, slopes, curvatures, false
	}
	_, a, b := o.value(c, z, class)
	slopes, curvatures = [3]float64{a, -b}, [3]float64{float64(a * (1 - a)), float64(b * (1 - b))}
	if class > 0 && class < o.k-1 {
		s := c.share[class-1]
		slopes[2], curvatures[2] = -(1-s)/s, (1-s)/float64(s*s)
	}
	for i := range slopes {
		slopes[i], curvatures[i] = float64(weight*slopes[i]), float64(weight*curvatures[i])
	}
	return class, slopes, curvatures, true
}

// Information returns what the mean Hessian in the score and the gaps is at the score z if the classes have the
// probabilities that the model gives them: the sum over cuts k of cuts[k] q q', and further the diagonal matrix own of
// the gaps. The row q of cut k has 1 for the score and -1 for each gap below the cut. In own the share of a class is taken
// to be at least leastShare, since the curvature of a gap changes with the gap. scale is the derivative of each gap in its
// parameter.
func (o ordered) Information(v []float64, z float64) (cuts, own, scale []float64) {
	c := o.cuts(v)
	defer cutsPool.Put(c)
	share := func(class int) float64 {
		value, _, _ := o.value(c, z, class)
		return repromath.Exp(-value)
	}
	for k, at := range c.at {
		_, s := softplus(z - at)
		cuts = append(cuts, float64(s*(1-s))*(share(k)+share(k+1)))
	}
	for j, s := range c.share {
		own, scale = append(own, max(share(j+1), leastShare)*(1-s)/float64(s*s)), append(scale, float64(o.unit*s))
	}
	return cuts, own, scale
}

const leastShare = .05

// constant writes to w, which is 0, the parameters at which every row has the probabilities e^z, divided by their sum.
// With the sum p of the probabilities of the class c, below those of the lower classes and above those of the higher
// ones, 1 - e^-gap = p/(p + below above), which is s(u) for u = ln p - ln(below above).
func (o ordered) constant(w []float64, features int, intercept float64, z []float64) {
	below, above := make([]float64, o.k+1), make([]float64, o.k+1) // logarithms of sums of e^z
	below[0], above[o.k] = math.Inf(-1), math.Inf(-1)
	for c := range o.k {
		below[c+1] = logSum([]float64{below[c], z[c]})
		above[o.k-1-c] = logSum([]float64{above[o.k-c], z[o.k-1-c]})
	}
	w[features-1] = (above[1] - below[1]) / intercept
	for c := 1; c < o.k-1; c++ {
		w[features+c-1] = (z[c] + above[0] - below[c] - above[c+1]) / o.unit
	}
}

// changes returns the range of the loss at a score in [low, high] minus the loss of the constant with the logarithms z
// of the probabilities of the classes, up to a common number.
func (o ordered) changes(v []float64, low, high float64, z []float64) (least, most float64) {
	c := o.cuts(v)
	defer cutsPool.Put(c)
	least, most = math.Inf(1), math.Inf(-1)
	whole := logSum(z)
	for class := range o.k {
		by := 1.
		if o.weights != nil && len(o.weights.weights.Classes) > 0 {
			by = o.weights.weights.Classes[class]
		}
		at := []float64{low, high}
		if class > 0 && class < o.k-1 { // the loss is convex in the score, and least between the class's thresholds
			at = append(at, clamp((c.at[class-1]+c.at[class])/2, low, high))
		}
		for _, at := range at {
			value, _, _ := o.value(c, at, class)
			change := by * (value + z[class] - whole)
			least, most = min(least, change), max(most, change)
		}
	}
	return least, most
}
