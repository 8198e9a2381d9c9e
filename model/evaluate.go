package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Evaluate measures the model against the targets of the table at path. IT IS
// NOT PRIVATE: the numbers are exact facts about the table, and publishing them
// voids any guarantee for its records.
//
// The table must have the schema's columns and no others, as for training. where
// is a row filter, column=value, and "" keeps every row; the schema's own filter
// is not applied. It is an error if no row can be scored.
func (m *Model) Evaluate(ctx context.Context, path, where string) (Metrics, error) {
	l, err := m.rankOne()
	if err != nil {
		return Metrics{}, err
	}
	t := &tally{model: m, loss: l, gradient: make([]float64, m.Dim())}
	err = m.scan(ctx, path, where, true, func(r record) error {
		t.add(r)
		return nil
	})
	if err != nil {
		return Metrics{}, fmt.Errorf("model: evaluate: %w", err)
	}
	return t.metrics()
}

// tally sums over rows, in their order.
type tally struct {
	model *Model
	loss  loss.RankOne

	n, skipped int64
	correct    int64
	rows       []scored  // two classes
	values     float64   // of the loss
	gradient   []float64 // of the loss
	squares    float64   // of the errors of a regression
	absolutes  float64

	z, y, value, slope [1]float64 // of the row at hand
}

func (t *tally) add(r record) {
	if !r.kept {
		return
	}
	if !r.ok {
		t.skipped++
		return
	}
	t.n++
	z, y := t.model.Margin(r.x), r.y
	t.z[0], t.y[0] = z, y
	t.loss.Values(t.value[:], t.z[:], t.y[:])
	t.loss.Slopes(t.slope[:], t.z[:], t.y[:])
	t.values += t.value[0]
	for j, x := range r.x {
		t.gradient[j] = math.FMA(t.slope[0], float64(x), t.gradient[j])
	}
	if t.binary() {
		if (z > 0) == (y > 0) {
			t.correct++
		}
		t.rows = append(t.rows, scored{z, y > 0})
		return
	}
	schema := t.model.schema
	e := schema.TargetFromUnit(z) - truth(schema, r)
	t.squares += float64(e * e)
	t.absolutes += math.Abs(e)
}

func (t *tally) binary() bool { return t.model.schema.Target().Kind == dataset.Category }

// truth is the target in its units: the cell itself or, if it is infinite, the
// bound that it counts as.
func truth(schema *dataset.Schema, r record) float64 {
	x, _ := strconv.ParseFloat(r.label, 64) // too large a number is an infinity
	if math.IsInf(x, 0) {
		return schema.TargetFromUnit(r.y)
	}
	return x
}

func (t *tally) metrics() (Metrics, error) {
	if t.n == 0 {
		return Metrics{}, errors.New("model: evaluate: no row of the table can be scored: each is malformed, without a valid target or not kept by the filter")
	}
	n := float64(t.n)
	m := Metrics{N: t.n, Skipped: t.skipped}
	if t.binary() {
		m.Accuracy = new(float64(t.correct) / n)
		if area, ok := auc(t.rows); ok {
			m.AUC = new(area)
		}
		if hasProbability(t.loss) {
			m.LogLoss = new(t.values / n)
		}
	} else {
		m.RMSE = new(math.Sqrt(t.squares / n))
		m.MAE = new(t.absolutes / n)
	}
	w := t.model.weights
	m.Objective = new(t.values/n + t.model.regularizer.Value(w))
	for j := range t.gradient {
		t.gradient[j] /= n
	}
	t.model.regularizer.AddGradient(t.gradient, w)
	m.GradientNorm = new(vector.Norm(t.gradient))
	for _, row := range m.measures() {
		if row.value != nil && (math.IsNaN(*row.value) || math.IsInf(*row.value, 0)) {
			return Metrics{}, fmt.Errorf("model: evaluate: %s = %v: weights or targets are too large to measure", row.name, *row.value)
		}
	}
	return m, nil
}
