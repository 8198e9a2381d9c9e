package loss

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Weights describes the weights of records: public factors for classes, and factors that targets encode. A
// record's weight multiplies the record's value, gradient and Hessian.
type Weights struct {
	// Classes holds a public weight for each class, in the order of class numbers (-1 before +1 for
	// binary targets). It is empty if there are no class weights.
	Classes []float64
	// Row says that each target also encodes the weight of its record, in [0, 1] (see [Carry]).
	Row bool
}

// weighted is a loss whose value is multiplied by the weight of the record.
type weighted interface {
	Loss
	// Unweighted is the loss of a record of weight 1.
	Unweighted() Loss
	// Weights returns the weights that NewWeighted was given.
	Weights() Weights
}

// NewWeighted returns the loss l times the weights of records. l must be a RankOne, a Margins or a network. For a
// network the output loss is weighted. The objective is the sum of the weighted losses divided by the number of
// records, not by the sum of the weights: a class weight of 5 multiplies the loss and the gradient of each record of
// that class by 5. Let M be the largest class weight, or 1 without class weights. Then the constants are
//
//	Lipschitz, InitialGap, HessianLipschitz: M times the constants of l
//	curvature: the hull of l's interval times every possible weight. Weights by
//	row may be 0
//
// The gradients of a network are clipped at M times the network's Clip.
//
// Predictions are the margins that minimise the weighted objective. With class weights, predicted probabilities are
// therefore probabilities in a population where the frequency of each class is multiplied by its weight.
//
// NewWeighted returns an error in these cases: l is Weighted already. l is neither a RankOne, a Margins nor a network.
// w has neither class weights nor weights by row. The number of class weights is not the number of classes. A class
// weight is not between 1e-6 and 1e6. w.Row is set although the targets encode exposures already.
func NewWeighted(l Loss, w Weights) (Loss, error) {
	if o, ok := l.(ordered); ok {
		of, err := NewWeighted(o.output, w)
		if err != nil {
			return nil, err
		}
		return orderedOf(o.k, of), nil
	}
	if n, ok := networkOf(l); ok {
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
	if _, twice := l.(weighted); twice || len(w.Classes) == 0 && !w.Row {
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
			return fmt.Errorf("loss: weighted: %s: has %d weights for %s: must be one for each class", l.Name(), len(w.Classes),
				expected(l))
		}
	}
	for _, v := range w.Classes {
		if err := checkScale("weighted", "weight of a class", v); err != nil {
			return err
		}
	}
	return nil
}

// largest returns the largest weight that a record can have: the largest class weight, or 1 without class
// weights.
func largest(w Weights) float64 {
	if len(w.Classes) == 0 {
		return 1
	}
	return slices.Max(w.Classes)
}

// smallest returns the smallest weight that a record can have: 0 with weights by row, and the smallest
// class weight otherwise.
func smallest(w Weights) float64 {
	if w.Row {
		return 0
	}
	return slices.Min(w.Classes)
}

// Carry encodes a target y and a number in [0, 1] of the same record, its weight or its exposure (the
// share), in one float64. The share is rounded to a multiple of 2^-16. With a share of 1 the result is
// y itself. With a share outside [0, 1] the result is NaN, an invalid target. Only losses with row weights
// or exposures accept these targets, which they decode with [Carried].
func Carry(t Target, y, share float64) float64 { return targetpair.Join(y, share, t == Classes) }

// Carried returns the target y and the share (a weight or an exposure) that [Carry] encoded in one
// float64.
func Carried(t Target, joined float64) (y, share float64) {
	return targetpair.Split(joined, t == Classes)
}

// RowWeighted reports whether each target of the loss encodes, besides the target itself, the weight
// of its record ([Carry]).
func RowWeighted(l Loss) bool {
	w, ok := outputs(l).(weighted)
	return ok && w.Weights().Row
}

// Unweighted returns the loss of one row as a function of its margins ([Outputs]) without any weights:
// the loss inside a network, a [Units] or a weighted. Predictions are made with this loss.
func Unweighted(l Loss) Loss {
	l = outputs(l)
	if w, ok := l.(weighted); ok {
		return w.Unweighted()
	}
	return l
}

// outputs returns the loss of one row as a function of its margins (see [Outputs]). For a Units it starts
// from the row loss, and for any other loss from l. If this loss is a network, outputs returns the
// network's output loss. Otherwise it returns this loss.
func outputs(l Loss) Loss {
	l = RowLoss(l)
	if network, ok := l.(Composed); ok {
		return network.Output()
	}
	return l
}

// weighing is a loss and its weights: the common part of all weighted losses.
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

// Name returns, for example, weighted(logistic,1,5) for a loss with class weights, weighted(logistic,row) for a loss
// with weights by row, and weighted(logistic,1,5,row) for a loss with class weights and weights by row.
func (l weighing) Name() string {
	fields := append([]string{l.of.Name()}, vector.Map(l.weights.Classes, shown)...)
	if l.weights.Row {
		fields = append(fields, byRow)
	}
	return weightedPrefix + strings.Join(fields, ",") + ")"
}

const weightedPrefix, byRow = "weighted(", "row"

// parseWeighted makes a weighted loss from its name, such as weighted(logistic,1,5). classes is the number
// of classes of the target. It is used for "softmax" without a number.
func parseWeighted(name string, classes int) (Loss, error) {
	list, closed := strings.CutSuffix(strings.TrimPrefix(name, weightedPrefix), ")")
	fields := splitOutside(list)
	if !closed || len(fields) < 2 {
		return nil, fmt.Errorf("loss: name = %q: must be weighted(loss,weights), such as weighted(logistic,1,5) or "+
			"weighted(logistic,row)", name)
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

// scaled returns constants that hold for the constants c of a loss times every possible weight: they are multiplied by
// the largest weight, and the curvature interval contains the intervals of all weights.
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

// scale returns bound times weight. It returns 0 for weight 0, even if bound is infinite.
func scale(bound, weight float64) float64 {
	if weight == 0 {
		return 0
	}
	return float64(bound * weight)
}

// weight decodes a target of a weighted loss, a float64 that encodes the target y and, with row weights, the row's
// weight. It returns y and the weight of the record: the row's weight times the weight of its class. With class weights
// for [Classes] targets, the weight is NaN if y is not a class number.
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

// part is the largest number of records whose targets are decoded into targets and weights at a time.
const part = 256

// parts holds, for a block of records, the decoded targets and the records' weights.
type parts struct{ y, weight [part]float64 }

var partsPool = sync.Pool{New: func() any { return new(parts) }}

// each calls f for consecutive blocks of at most part records: the records from index from up to, not
// including, index to. The method decodes the targets of the block from y, whose numbers may also encode
// weights. f gets the decoded targets, and writes the block's results. The argument each is the number of
// results of a record. The method then multiplies the results of each record by the record's weight.
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
	l.each(dst, 1, y, func(dst, y []float64, from,
		to int) {
		l.kinked.SmoothedSlopes(dst, z[from:to], y, long[from:to], s)
	})
}

// SmoothedConstants returns the constants of the smoothed weighted loss under [OverBall]: the mean over a
// ball is linear in the loss, so the smoothed loss times a weight is the smoothed weighted loss. It
// returns an error for [LasryLions], whose envelope is not linear in the loss.
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

func (l weightedMargins) Values(dst, z, y []float64) { l.block(l.margins.Values, dst, 1, z, y) }
func (l weightedMargins) Slopes(dst, z, y []float64) { l.block(l.margins.Slopes, dst, l.K(), z, y) }

// block lets f write the given count of numbers of each record, and multiplies them by the record's weight.
func (l weightedMargins) block(f func(dst, z, y []float64), dst []float64, count int, z, y []float64) {
	k := l.K()
	sameRecords(len(dst), count, z, y, k)
	l.each(dst, count, y, func(dst, y []float64, from, to int) { f(dst, z[from*k:to*k], y) })
}

func (l weightedMargins) CurvaturesAlong(dst, z, u, y []float64) {
	k := l.K()
	sameRecords(len(dst), k, z, y, k)
	sameRecords(len(dst), k, u, y, k)
	l.each(dst, k, y, func(dst, y []float64, from, to int) {
		l.margins.CurvaturesAlong(dst, z[from*k:to*k], u[from*k:to*k], y)
	})
}
