package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// mostProducts bounds the number of products of the Hessian and a vector; each takes a pass over
// the rows. If the bound is too small for convergence, EigenvalueResidual is large.
const mostProducts = 300

// mostCells bounds the number of encoded values kept in memory, of 4 bytes each.
const mostCells = 1 << 30

// EvaluateStationarity is [Model.Evaluate] and also computes the least eigenvalue of the Hessian.
// It keeps the encoded rows in memory. IT IS NOT PRIVATE. An eigenvalue would not become private by
// adding noise to it, either; but the curvature along a public direction can be released privately
// (optimize.ChooseCurved).
func (m *Model) EvaluateStationarity(ctx context.Context, path, where string) (Metrics, error) {
	if m.schema == nil {
		return Metrics{}, errZero
	}
	if c := m.loss.Constants().Curvature; math.IsInf(c.Hi-c.Lo, 0) {
		return Metrics{}, fmt.Errorf("model: evaluate: stationarity: loss = %s: must have a Hessian, and its slope jumps",
			m.loss.Name())
	}
	var rows stationarity.Sample
	out, err := m.evaluate(ctx, path, where, func(r record) error {
		if (len(rows.Rows)+1)*len(r.x) > mostCells {
			return fmt.Errorf("stationarity: more than %d rows of %d features: must be at most %d cells together, of 4 bytes: where chooses some of the rows", len(rows.Rows), len(r.x), mostCells)
		}
		rows.Rows, rows.Targets = append(rows.Rows, slices.Clone(r.x)), append(rows.Targets, r.joined)
		return nil
	})
	if err != nil {
		return Metrics{}, err
	}
	pair, err := stationarity.Lanczos(m.Dim(), mostProducts, func(v []float64) ([]float64, error) {
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
