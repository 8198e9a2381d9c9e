package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

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
