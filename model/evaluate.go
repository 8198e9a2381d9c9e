package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Evaluate computes measures of the model's accuracy on the table at path. IT IS NOT PRIVATE: the measures are computed
// from the table's records without noise, and publishing them voids any guarantee for these records.
//
// The table must have the schema's columns and no others, as for training. where is a row filter,
// column=value, and "" keeps every row; the schema's own filter is not applied. It is an error if
// no row can be scored. by names a column by whose values predictions are compared with what was observed; "" names none.
//
// horizon is at most one time. The measures of a model of the time to an event then say how well it predicts the
// events up to this time; by default, up to the end of the time that is modelled.
func (m *Model) Evaluate(ctx context.Context, path, where, by string, horizon ...float64) (Metrics, error) {
	if m.schema == nil {
		return Metrics{}, errZero
	}
	return m.evaluate(ctx, path, where, by, horizon, func(record) error { return nil })
}

// evaluate does what [Model.Evaluate] does and also calls keep with every row that is scored. An error of
// keep ends the evaluation.
func (m *Model) evaluate(ctx context.Context, path, where, by string, horizon []float64, keep func(record) error) (Metrics,
	error) {
	t := newTally(m)
	err := m.checkHorizons(horizon)
	if err == nil && len(horizon) > 1 {
		err = fmt.Errorf("horizon: %d times: must be one", len(horizon))
	}
	if err != nil {
		return Metrics{}, fmt.Errorf("model: evaluate: %w", err)
	}
	for _, h := range horizon {
		t.horizon = h
	}
	t.by = by
	err = m.scan(ctx, Source{Path: path}, where, by, true, func(r record) error {
		if err := t.add(r); err != nil {
			return err
		}
		if !r.kept || !r.ok {
			return nil
		}
		return keep(r)
	})
	if err != nil {
		return Metrics{}, fmt.Errorf("model: evaluate: %w", err)
	}
	return t.metrics()
}

// tally accumulates the sums over rows from which an evaluation's measures are computed.
type tally struct {
	model *Model
	// predicting is the loss, for a row of weight 1, as a function of the margins. It is nil if the loss is
	// no function of margins; only the objective and its gradient are then computed. general is the loss if
	// it has its own method for the gradient in the weights, else nil. For a network both are set.
	predicting margins
	objective  margins // the loss with the rows' weights, as a function of the margins
	general    loss.General

	n, skipped int64
	confusion  [][]int64 // for classes: rows by true class and predicted class
	rows       []scored  // for two classes: all rows that were scored
	calibrated calibrating
	values     float64   // sum of the loss
	unweighted float64   // sum of the loss without the rows' weights
	gradient   []float64 // sum of the gradients
	squares    float64   // sum of squared errors of a regression
	absolutes  float64
	below      int64 // number of targets below their prediction
	deviance   float64
	pairs      [2][]float64  // for counts and positive numbers: predictions and targets
	timed      []timedRecord // for the time to an event: all rows that were scored
	horizon    float64       // up to which their events are measured
	agreement  agreement
	by         string

	y, value [1]float64 // of the current row
	slope    []float64
}

func newTally(m *Model) *tally {
	t := &tally{model: m, gradient: make([]float64, m.dim()), slope: make([]float64, m.dim()),
		horizon: m.schema.Target().High}
	t.predicting, _ = m.predicting()
	t.agreement.output, _ = m.Output()
	t.general, _ = m.loss.(loss.General)
	t.objective, _ = m.loss.(margins)
	k := len(m.schema.Target().Classes)
	t.confusion = vector.Make(k, func(int) []int64 { return make([]int64, k) })
	return t
}

func (t *tally) add(r record) error {
	if !r.kept {
		return nil
	}
	if !r.ok {
		t.skipped++
		return nil
	}
	t.n++
	t.y[0] = r.joined
	if t.general != nil {
		t.values += t.general.Value(t.model.weights, r.x, r.joined)
		t.general.Gradient(t.slope, t.model.weights, r.x, r.joined)
		vector.Add(t.gradient, 1, t.slope)
	}
	if t.predicting == nil {
		return nil
	}
	return t.predicted(r, t.model.margins(r.x))
}

// predicted adds the row r, whose margins are z, to the sums of the evaluation.
func (t *tally) predicted(r record, z []float64) error {
	if t.general == nil {
		t.objective.Values(t.value[:], z, t.y[:])
		t.objective.Slopes(t.slope[:len(z)], z, t.y[:])
		t.values += t.value[0]
		for k := range z {
			g := t.gradient[k*len(r.x):]
			for j, x := range r.x {
				g[j] = math.FMA(t.slope[k], float64(x), g[j])
			}
		}
	}
	if loss.LeastExposure(t.predicting) == 0 { // the target without the row's weight
		t.y[0] = r.y
	}
	t.predicting.Values(t.value[:], z, t.y[:])
	t.unweighted += t.value[0]
	schema := t.model.schema
	if schema.Target().Event != "" {
		t.timed = append(t.timed, timedRecord{r.entry, r.exit, r.event, z[0], r.level})
		return t.agreement.add(r.group, happened(t.model.times().Of(r.level), r, z[0], t.horizon)...)
	}
	switch len(t.confusion) {
	case 0:
		predicted := t.model.inUnits(t.predicting, z[0])
		if schema.Target().Exposure.Column != "" {
			predicted *= r.share * schema.Target().High / schema.Target().Rate() // the expected count of this record
		}
		of, _ := t.predicting.(interface{ Deviance(v, mean float64) float64 })
		switch y := schema.TargetFromUnit(r.y); {
		case loss.Counts(t.predicting):
			t.deviance += deviance(y, predicted)
		case of != nil:
			t.deviance += of.Deviance(y, predicted)
		case hasRate(t.predicting):
			t.deviance += 2 * (y/predicted - 1 - math.Log(y/predicted))
		}
		e := predicted - truth(schema, r)
		if hasRate(t.predicting) {
			t.pairs[0], t.pairs[1] = append(t.pairs[0], predicted), append(t.pairs[1], truth(schema, r))
		}
		t.squares += float64(e * e)
		t.absolutes += math.Abs(e)
		if e > 0 {
			t.below++
		}
		row := agreed{score: predicted, observed: truth(schema, r), per: 1}
		if t.agreement.output != Value {
			row.score = math.Log(predicted)
		}
		return t.agreement.add(r.group, row)
	case 2:
		class := 0
		if r.y > 0 {
			class = 1
		}
		t.confusion[class][classOf(z)]++
		if hasProbability(t.predicting) {
			t.calibrated.add(probability(t.predicting, z[0]), class == 1)
		}
		t.rows = append(t.rows, scored{z[0], r.y > 0})
		if t.agreement.output == Probability {
			return t.agreement.add(r.group, agreed{score: z[0], observed: float64(class)})
		}
	default:
		class := classOf(z)
		t.confusion[int(r.y)][class]++
		t.calibrated.add(probabilities(t.predicting, z)[class], class == int(r.y))
	}
	return nil
}

// deviance returns the Poisson deviance of a count for a predicted rate: 2 (log L(count) - log L(rate)). L(r) is the
// likelihood of the count under a Poisson distribution with mean r (McCullagh and Nelder 1989, section 2.3).
func deviance(count, rate float64) float64 {
	d := rate - count
	if count > 0 {
		d += count * math.Log(count/rate)
	}
	return 2 * d
}

// classError returns the sum over rows of the number of classes by which the predicted class is off.
func classError(confusion [][]int64) (sum float64) {
	for class, row := range confusion {
		for predicted, rows := range row {
			sum += math.Abs(float64(class-predicted)) * float64(rows)
		}
	}
	return sum
}

// rankCorrelation returns Spearman's rank correlation, which is NaN if all numbers of a list are equal.
func rankCorrelation(a, b []float64) float64 {
	a, b = ranks(a), ranks(b)
	middle := float64(len(a)-1) / 2
	var product, first, second float64
	for i, v := range a {
		product += (v - middle) * (b[i] - middle)
		first += (v - middle) * (v - middle)
		second += (b[i] - middle) * (b[i] - middle)
	}
	return product / math.Sqrt(first*second)
}

// ranks returns the rank of each number, from 0. Equal numbers have the mean of their ranks.
func ranks(list []float64) []float64 {
	order := vector.Order(list)
	out := make([]float64, len(list))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && list[order[to]] == list[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

// truth returns the numeric target of a row in the target's units. It is the number in the cell, not clamped
// to the public bounds. For an infinite number truth returns the bound to which it is clamped.
func truth(schema *dataset.Schema, r record) float64 {
	x, _ := strconv.ParseFloat(r.label, 64) // a number outside the range of float64 becomes an infinity
	if math.IsInf(x, 0) {
		return schema.TargetFromUnit(r.y)
	}
	return x
}

func (t *tally) metrics() (Metrics, error) {
	if t.n == 0 {
		return Metrics{},
			errors.New("model: evaluate: no row of the table can be scored: each is malformed, without a valid target or not " +
				"kept by the filter")
	}
	n := float64(t.n)
	m := Metrics{N: t.n, Skipped: t.skipped}
	switch {
	case t.predicting == nil:
	case t.timed != nil:
		m.timed(t.model.times(), t.timed, t.horizon)
	case len(t.confusion) > 0:
		m.Accuracy = new(accuracy(t.confusion, n))
		if area, ok := auc(t.rows); ok {
			m.AUC = new(area)
		}
		if hasProbability(t.predicting) {
			m.LogLoss = new(t.unweighted / n)
			m.Calibration = t.calibrated.result(n)
		}
		if len(t.confusion) > 2 {
			if targetpair.Thresholds(loss.RowLoss(t.model.loss), t.model.weights, t.model.schema.Dim()) != nil {
				m.ClassError = new(classError(t.confusion) / n)
			}
			m.MacroF1, m.Confusion = new(macroF1(t.confusion)), &Confusion{t.model.schema.Target().Classes, t.confusion}
		}
	default:
		m.RMSE = new(math.Sqrt(t.squares / n))
		m.MAE = new(t.absolutes / n)
		if strings.HasPrefix(t.predicting.Name(), "pinball(") {
			m.ShareBelow = new(float64(t.below) / n)
		}
		if hasRate(t.predicting) {
			m.Deviance = new(t.deviance / n)
			if r := rankCorrelation(t.pairs[0], t.pairs[1]); !math.IsNaN(r) {
				m.RankCorrelation = new(r)
			}
		}
	}
	if t.agreement.set(&m, t.by); t.by != "" && m.Groups == nil {
		return Metrics{}, fmt.Errorf("model: evaluate: by = %s: must be left out: the model predicts neither a number nor the probability "+
			"of two classes or of an event", strconv.Quote(t.by))
	}
	w := t.model.weights
	m.Objective = new(t.values/n + t.model.regularizer.Value(w))
	vector.Divide(t.gradient, n)
	t.model.regularizer.AddGradient(t.gradient, w)
	m.GradientNorm = new(vector.Norm(t.gradient))
	for _, row := range m.measures() {
		if math.IsNaN(*row.value) || math.IsInf(*row.value, 0) {
			return Metrics{}, fmt.Errorf("model: evaluate: %s = %v: weights or targets are too large to measure", row.name,
				*row.value)
		}
	}
	return m, nil
}

// happened returns what was predicted and observed of a record with the score z while it was observed up to a horizon: of
// each interval in which it was at risk, if times are known by interval.
func happened(times targetpair.Times, r record, z, horizon float64) (list []agreed) {
	entry, exit, event := r.entry, r.exit, r.event
	if until := targetpair.Share(horizon / times.End()); exit > until {
		entry, exit, event = min(entry, until), until, false
	}
	if times.Grouped != "" {
		list = vector.Map(times.AtRisk(entry, exit, event),
			func(h float64) agreed { return agreed{score: z, per: h, grouped: times.Grouped} })
	} else {
		list = []agreed{{score: z, per: times.Hazard(exit*times.End()) - times.Hazard(entry*times.End())}}
	}
	if event && len(list) > 0 {
		list[len(list)-1].observed = 1
	}
	return list
}

// mostProducts is the largest number of products of the Hessian and a vector, each of which takes a pass over
// the rows. If this number is too small for convergence, EigenvalueResidual is large.
const mostProducts = 300

// mostCells is the largest number of encoded values, of 4 bytes each, that are kept in memory.
const mostCells = 1 << 30

// noHessian says in words why a loss has no Hessian. It returns "" for a loss with a Hessian.
func noHessian(l loss.Loss) string {
	if c := l.Constants().Curvature; math.IsInf(c.Hi-c.Lo, 0) {
		return fmt.Sprintf("the slope of %s jumps, so that the loss has no second derivative there", l.Name())
	}
	if n, ok := loss.RowLoss(l).(loss.Composed); ok {
		if _, activation := n.Layers(); activation == "relu" {
			return "the slope of relu jumps where a unit switches on, so that the network has no second derivative there; " +
				"elsewhere the second derivative leaves these jumps out"
		}
	}
	return ""
}

// EvaluateStationarity does what [Model.Evaluate] does and also computes the least eigenvalue of the
// objective's Hessian at the weights. For a loss without a Hessian it sets Metrics.NoEigenvalue to the reason
// instead. It keeps the encoded rows in memory and returns an error if they have more than mostCells values.
// IT IS NOT PRIVATE. Adding noise to the eigenvalue alone would not make it private. The curvature along a
// public direction can be released privately (optimize.ChooseCurved).
func (m *Model) EvaluateStationarity(ctx context.Context, path, where, by string, horizon ...float64) (Metrics, error) {
	if m.schema == nil {
		return Metrics{}, errZero
	}
	if why := noHessian(m.loss); why != "" {
		out, err := m.Evaluate(ctx, path, where, by, horizon...)
		if err != nil {
			return Metrics{}, err
		}
		out.NoEigenvalue = why
		return out, nil
	}
	var rows stationarity.Sample
	out, err := m.evaluate(ctx, path, where, by, horizon, func(r record) error {
		if (len(rows.Rows)+1)*len(r.x) > mostCells {
			return fmt.Errorf("stationarity: more than %d rows of %d features: must be at most %d cells together, of 4 "+
				"bytes: where chooses some of the rows", len(rows.Rows), len(r.x), mostCells)
		}
		rows.Rows, rows.Targets = append(rows.Rows, slices.Clone(r.x)), append(rows.Targets, r.joined)
		return nil
	})
	if err != nil {
		return Metrics{}, err
	}
	pair, err := stationarity.Lanczos(m.dim(), mostProducts, func(v []float64) ([]float64, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return stationarity.HessianVector(m.loss, m.regularizer, rows, m.weights, v)
	})
	if err != nil {
		return Metrics{}, fmt.Errorf("model: evaluate: %w", err)
	}
	out.LeastEigenvalue, out.EigenvalueResidual = &pair.Value, &pair.Residual
	return out, nil
}
