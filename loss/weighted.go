package loss

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/carry"
)

// Weights multiply what records add to the objective: to its value, its gradient and its
// Hessian.
type Weights struct {
	// Classes holds a public weight for each class, in the order of their numbers (of two,
	// -1 before +1); empty for none.
	Classes []float64
	// Row says that each target carries the weight of its record, in [0, 1] (Carry).
	Row bool
}

// Weighted is a loss of which a record counts by its weight.
type Weighted interface {
	Loss
	// Unweighted is the loss of a record of weight 1.
	Unweighted() Loss
	// Weights are those it was made with.
	Weights() Weights
}

// NewWeighted returns a loss of margins, or a network under one, with weights. The mean
// is over records, not over weights, so a class weight of 5 makes a record of the class
// count five times and its gradient five times as long: with M the largest class weight,
// or 1,
//
//	Lipschitz, InitialGap, HessianLipschitz: M times l's
//	curvature: the hull of l's interval times the weights there may be, 0 among them for
//	weights by row
//
// A network's gradients are clipped at M times its clip.
//
// What is predicted are the margins that make the weighted objective small: with class
// weights, probabilities are those of a population in which the classes are as frequent
// as their weights make them.
func NewWeighted(l Loss, w Weights) (Loss, error) {
	if n, ok := l.(*network); ok {
		of, err := NewWeighted(n.Network.Output, w)
		if err != nil {
			return nil, err
		}
		again := n.Network
		again.Output, again.Clip = of, largest(w)*n.Clip
		return NewNetwork(again)
	}
	if err := w.validate(l); err != nil {
		return nil, err
	}
	w.Classes = append([]float64(nil), w.Classes...)
	by := weighing{w, l}
	switch l := l.(type) {
	case Kinked:
		return weightedKinked{weightedRankOne{by, l}, l}, nil
	case RankOne:
		return weightedRankOne{by, l}, nil
	case Margins:
		return weightedMargins{by, l}, nil
	}
	return nil, fmt.Errorf("loss: weighted: %s: must be a loss of margins, or a network", l.Name())
}

func (w Weights) validate(l Loss) error {
	if _, twice := l.(Weighted); twice || len(w.Classes) == 0 && !w.Row {
		return fmt.Errorf("loss: weighted: %s: must have weights of classes or by row, once", l.Name())
	}
	if LeastExposure(l) > 0 && w.Row {
		return fmt.Errorf("loss: weighted: %s: targets carry an exposure: must have no weight by row beside it", l.Name())
	}
	if len(w.Classes) > 0 {
		want := 0
		switch l.Target() {
		case Binary:
			want = 2
		case Classes:
			want = ClassCount(l)
		}
		if len(w.Classes) != want {
			return fmt.Errorf("loss: weighted: %s: has %d weights for %s: must be one for each class", l.Name(), len(w.Classes), expected(l))
		}
	}
	for _, v := range w.Classes {
		if err := checkScale("weighted", "weight of a class", v); err != nil {
			return err
		}
	}
	return nil
}

// largest is the largest weight there may be.
func largest(w Weights) float64 {
	most := 0.
	for _, v := range w.Classes {
		most = max(most, v)
	}
	if len(w.Classes) == 0 {
		return 1
	}
	return most
}

// smallest is the smallest.
func smallest(w Weights) float64 {
	if w.Row {
		return 0
	}
	least := math.Inf(1)
	for _, v := range w.Classes {
		least = min(least, v)
	}
	return least
}

// Carry returns a target with the share of its record beside it, a weight or an exposure
// between 0 and 1, for losses that take targets so. It is rounded to a multiple of 2^-16; a
// share of 1 leaves the target as it is, and one outside [0, 1] gives NaN, which is no
// target.
func Carry(t Target, y, share float64) float64 { return carry.Join(y, share, t == Classes) }

// Carried returns what Carry joined.
func Carried(t Target, joined float64) (y, share float64) { return carry.Split(joined, t == Classes) }

// RowWeighted reports whether a loss takes targets that carry a weight.
func RowWeighted(l Loss) bool {
	w, ok := outputs(l).(Weighted)
	return ok && w.Weights().Row
}

// Unweighted returns the loss of a record of weight 1: of margins, or of a network's
// outputs. It is what predicts.
func Unweighted(l Loss) Loss {
	l = outputs(l)
	if w, ok := l.(Weighted); ok {
		return w.Unweighted()
	}
	return l
}

// outputs is the loss itself, of units that of a row, or of a network that of its outputs.
func outputs(l Loss) Loss {
	l = RowLoss(l)
	if network, ok := l.(Composed); ok {
		return network.Output()
	}
	return l
}

// weighing is a loss and its weights.
type weighing struct {
	weights Weights
	of      Loss
}

func (l weighing) Target() Target   { return l.of.Target() }
func (l weighing) Unweighted() Loss { return l.of }
func (l weighing) Weights() Weights {
	return Weights{append([]float64(nil), l.weights.Classes...), l.weights.Row}
}
func (l weighing) Constants() Constants { return l.scaled(l.of.Constants()) }

// Name is weighted(logistic,1,5) with the classes' weights, and row after them or in
// their place.
func (l weighing) Name() string {
	fields := []string{l.of.Name()}
	for _, v := range l.weights.Classes {
		fields = append(fields, strconv.FormatFloat(v, 'g', -1, 64))
	}
	if l.weights.Row {
		fields = append(fields, byRow)
	}
	return weightedPrefix + strings.Join(fields, ",") + ")"
}

const weightedPrefix, byRow = "weighted(", "row"

// parseWeighted reads what Name writes, for targets of so many classes.
func parseWeighted(name string, classes int) (Loss, error) {
	list, closed := strings.CutSuffix(strings.TrimPrefix(name, weightedPrefix), ")")
	fields := splitOutside(list)
	if !closed || len(fields) < 2 {
		return nil, fmt.Errorf("loss: name = %q: must be weighted(loss,weights), such as weighted(logistic,1,5) or weighted(logistic,row)", name)
	}
	l, err := ParseFor(fields[0], classes)
	if err != nil {
		return nil, fmt.Errorf("loss: weighted: %w", err)
	}
	var w Weights
	for i, field := range fields[1:] {
		if field == byRow && i == len(fields)-2 {
			w.Row = true
			break
		}
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("loss: weighted: weight %d = %q: must be a number, or %s as the last", i+1, field, byRow)
		}
		w.Classes = append(w.Classes, v)
	}
	return NewWeighted(l, w)
}

// scaled are constants with the weights there may be.
func (l weighing) scaled(c Constants) Constants {
	most, least := largest(l.weights), smallest(l.weights)
	c.Lipschitz *= most
	c.InitialGap *= most
	c.HessianLipschitz *= most
	lo, hi := c.Curvature.Lo, c.Curvature.Hi
	c.Curvature = CurvatureInterval{min(scale(lo, most), scale(lo, least)), max(scale(hi, most), scale(hi, least))}
	if least != most && c.Loose == "" && (c.Curvature.Lo > 0 || lo > 0 || hi < 0) {
		c.Loose = "a bound of the curvature is that of a record of the least weight"
	}
	return c
}

// scale is a bound times a weight, 0 where that is.
func scale(bound, weight float64) float64 {
	if weight == 0 {
		return 0
	}
	return float64(bound * weight)
}

// weight is that of a record, NaN where its target is none.
func (l weighing) weight(joined float64) (y, weight float64) {
	y, weight = joined, 1
	if l.weights.Row {
		y, weight = Carried(l.of.Target(), joined)
	}
	switch classes := l.weights.Classes; {
	case len(classes) == 0:
	case l.of.Target() == Classes:
		if k := int(y); y == float64(k) && k >= 0 && k < len(classes) {
			return y, float64(weight * classes[k])
		}
		return y, math.NaN()
	case y > 0:
		weight = float64(weight * classes[1])
	default:
		weight = float64(weight * classes[0])
	}
	return y, weight
}

// part is how many records are weighed at a time.
const part = 256

// parts are their targets without weights, and their weights.
type parts struct{ y, weight [part]float64 }

var partsPool = sync.Pool{New: func() any { return new(parts) }}

// each calls f for some records after the other, from one to the next, with their
// targets, and then multiplies what it wrote, each numbers for a record, by the weights.
func (l weighing) each(dst []float64, each int, y []float64, f func(dst, y []float64, from, to int)) {
	p := partsPool.Get().(*parts)
	for from := 0; from < len(y); from += part {
		to := min(from+part, len(y))
		for i, joined := range y[from:to] {
			p.y[i], p.weight[i] = l.weight(joined)
		}
		written := dst[from*each : to*each]
		f(written, p.y[:to-from], from, to)
		for i := range written {
			written[i] = float64(written[i] * p.weight[i/each])
		}
	}
	partsPool.Put(p)
}

type weightedRankOne struct {
	weighing
	rankOne RankOne
}

func (l weightedRankOne) Values(dst, z, y []float64)     { l.block(l.rankOne.Values, dst, z, y) }
func (l weightedRankOne) Slopes(dst, z, y []float64)     { l.block(l.rankOne.Slopes, dst, z, y) }
func (l weightedRankOne) Curvatures(dst, z, y []float64) { l.block(l.rankOne.Curvatures, dst, z, y) }

func (l weightedRankOne) block(f func(dst, z, y []float64), dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	l.each(dst, 1, y, func(dst, y []float64, from, to int) { f(dst, z[from:to], y) })
}

type weightedKinked struct {
	weightedRankOne
	kinked Kinked
}

func (l weightedKinked) SmoothedSlopes(dst, z, y, long []float64, s Smoothing) {
	z, y = sameLength(dst, z, y)
	if len(long) != len(z) {
		panicLength(len(dst), len(z), len(long))
	}
	l.each(dst, 1, y, func(dst, y []float64, from, to int) { l.kinked.SmoothedSlopes(dst, z[from:to], y, long[from:to], s) })
}

// SmoothedConstants knows of OverBall alone, which is linear: the envelopes of a loss
// times a weight are not those of the loss, times it.
func (l weightedKinked) SmoothedConstants(s Smoothing) (Constants, error) {
	if s.ball == nil {
		return Constants{}, fmt.Errorf("loss: %s: with weights a loss is smoothed over a ball, not by envelopes", l.Name())
	}
	c, err := l.kinked.SmoothedConstants(s)
	if err != nil {
		return Constants{}, err
	}
	return l.scaled(c), nil
}

type weightedMargins struct {
	weighing
	margins Margins
}

func (l weightedMargins) K() int { return l.margins.K() }

func (l weightedMargins) Values(dst, z, y []float64) {
	k := l.K()
	sameRecords(len(dst), 1, z, y, k)
	l.each(dst, 1, y, func(dst, y []float64, from, to int) { l.margins.Values(dst, z[from*k:to*k], y) })
}

func (l weightedMargins) Slopes(dst, z, y []float64) {
	k := l.K()
	sameRecords(len(dst), k, z, y, k)
	l.each(dst, k, y, func(dst, y []float64, from, to int) { l.margins.Slopes(dst, z[from*k:to*k], y) })
}

func (l weightedMargins) CurvaturesAlong(dst, z, u, y []float64) {
	k := l.K()
	sameRecords(len(dst), k, z, y, k)
	sameRecords(len(dst), k, u, y, k)
	l.each(dst, k, y, func(dst, y []float64, from, to int) {
		l.margins.CurvaturesAlong(dst, z[from*k:to*k], u[from*k:to*k], y)
	})
}
