package optimizetest

import (
	"context"
	"errors"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Stable makes one pass of projected stochastic gradient descent over a cohort, one step for each record in
// the order of the draw. It returns the average of the points from which the steps start, plus noise. It
// returns an error if the loss is not rank-one or the relation is not replace-one.
func (o *Oracle) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	if err := ctx.Err(); err != nil {
		return query.Release{}, err
	}
	l, ok := o.config.Loss.(loss.RankOne)
	if !ok || o.config.Budget.Relation() != account.ReplaceOne {
		return query.Release{}, errors.New("optimizetest: stable: must be a rank-one loss under replace-one")
	}
	rows, err := o.members(q.Cohort())
	if err != nil {
		return query.Release{}, err
	}
	pass := q.Pass()
	c := l.Constants().Curvature
	sensitivity := pass.Sensitivity(len(rows), max(-c.Lo, c.Hi))
	sigma := sensitivity / math.Sqrt(q.Charge()) * (1 + 0x1p-50)
	event, err := account.StabilityEvent(q.Name(), l.Name(), q.Cohort().ID(), sensitivity, sigma)
	if err != nil {
		return query.Release{}, err
	}
	if err := o.ledger.Reserve(event); err != nil {
		return query.Release{}, err
	}
	w := append([]float64(nil), pass.Start...)
	mean, slope := make([]float64, len(w)), make([]float64, 1)
	for _, i := range rows {
		addTo(mean, 1/float64(len(rows)), w)
		x, y := o.config.Rows[i], o.config.Targets[i]
		l.Slopes(slope, []float64{inner(w, x)}, []float64{y})
		g := make([]float64, len(w))
		addTo(g, pass.Lambda, w)
		addTo(g, -1, pass.Linear)
		if s := min(max(slope[0], -pass.Clip), pass.Clip); !math.IsNaN(s) {
			for j := range g {
				g[j] += s * float64(x[j])
			}
		}
		addTo(w, -pass.Step, g)
		project(w, pass.Centre, pass.Radius)
	}
	if !o.config.Noiseless {
		for j := range mean {
			mean[j] += sigma * o.noise.NormFloat64()
		}
	}
	return query.Release{Mean: mean, Sigma: sigma, Charge: event.Charge}, nil
}

// project moves w to the nearest point of the ball around centre with the given radius. A radius of 0 means
// no projection.
func project(w, centre []float64, radius float64) {
	away := append([]float64(nil), w...)
	addTo(away, -1, centre)
	if n := length(away); radius > 0 && n > radius {
		addTo(w, radius/n-1, away)
	}
}
