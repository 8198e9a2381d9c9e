package session

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Stable answers with the average of the iterates of one pass of projected SGD, with noise. The charge is
// reserved in the ledger before the pass and is never given back.
//
// The sensitivity relies on the loss being convex and as smooth as it declares. Stable therefore
// accepts only losses for which this is proven, and the event names the loss.
func (s *Session) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	return through(ctx, s, func() (r release[query.Release], err error) {
		if err := engine.Proven(s.engine().Loss()); err != nil {
			return r, err
		}
		return s.stable(q)
	})
}

// stable describes the release of the average of a pass of SGD, before anything is computed. The loss
// must be proven to be convex and smooth.
func (s *Session) stable(q query.Stable) (r release[query.Release], err error) {
	members, err := s.walkers(q)
	if err != nil {
		return r, err
	}
	l := s.engine().Loss()
	g, err := newStableGrid(q, l.Constants(), len(members))
	if err != nil {
		return r, err
	}
	event, err := account.StabilityEvent(q.Name(), l.Name(), q.Cohort().ID(), g.sensitivity, g.sigma)
	if err != nil {
		return r, err
	}
	pass := q.Pass()
	return release[query.Release]{
		asked: q, members: members, grid: g, event: event, walk: &pass, scale: g.scale,
		answer: func(exact []int64, n *noises) query.Release {
			n.add(exact, g.bits)
			mean := q.Pass().Start
			for j, v := range exact {
				mean[j] += float64(v) / g.scale
			}
			return query.Release{Mean: mean, Sigma: math.Ldexp(1, g.bits) / g.scale, Charge: event.Charge}
		},
	}, nil
}

// walkers validates a query about a pass of SGD against this session. It returns an error if the query's
// cohort was not drawn with a given size (Draw) or has fewer than 2 records, if the rows are in several
// shards, and under add-or-remove. Otherwise it returns the row numbers of the cohort in the order in which
// they were drawn, which is uniformly random and independent of the rows' values.
func (s *Session) walkers(q query.Stable) ([]int32, error) {
	switch r := s.ledger.Budget().Relation(); {
	case q.Dim() == 0:
		return nil, errors.New("curator: stable sgd: must be made by query.NewStable")
	case !s.engine().Ordered():
		return nil, errors.New("curator: stable sgd: the rows are in several shards: each step depends on the step " +
			"before it: ask for sums instead")
	case r != account.ReplaceOne:
		return nil, fmt.Errorf("curator: stable sgd: relation = %v: must be replace-one: adding or removing a record "+
			"would shift the others", r)
	case q.Dim() != s.Dim():
		return nil, fmt.Errorf("curator: stable sgd: start has %d coordinates: must have %d, one a feature", q.Dim(), s.Dim())
	}
	members, err := s.rowsOf(q.Cohort())
	if err != nil {
		return nil, err
	}
	// If records join a cohort by random bits, the cohort's size is secret.
	if size := q.Cohort().Size(); size != float64(len(members)) || s.byCoins() {
		return nil, fmt.Errorf("curator: stable sgd: cohort %d: must be drawn by number (Draw), not by coins",
			q.Cohort().ID())
	}
	if len(members) < 2 {
		return nil, fmt.Errorf("curator: stable sgd: cohort of %d: must have at least 2 records, for a step to be in "+
			"the average", len(members))
	}
	return members, nil
}

func (s *Session) byCoins() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cohorts.declared != nil
}

// mostDirt is the largest fraction of the sensitivity of a pass of SGD that may come from rounding
// errors. With a larger fraction, query.Pass.Sensitivity would not predict the sensitivity well.
const mostDirt = 1. / 64

// newStableGrid chooses the grid on which the average of the iterates of a pass of SGD, minus its start, is released.
// docs/explanation/exactness.md derives it. newStableGrid returns an error if the step is too long, if rounding errors
// make up too large a part of the sensitivity, or if no grid keeps the iterates within the limits of exact arithmetic.
func newStableGrid(q query.Stable, k loss.Constants, n int) (grid, error) {
	p := q.Pass()
	if total := k.Curvature.Hi + p.Lambda; !(p.Step*total <= 2) {
		return grid{}, fmt.Errorf("curator: stable sgd: step = %v: must be at most 2/(curvature + lambda) = 2/(%v + "+
			"%v) = %v, or steps take points apart", p.Step, k.Curvature.Hi, p.Lambda, 2/total)
	}
	b := engine.Bound(p, k, n)
	clean, dirt := b.Moved()
	if !(dirt <= mostDirt*clean) {
		return grid{}, fmt.Errorf("curator: stable sgd: %d records: rounding errors of up to %v beside a sensitivity "+
			"of %v: must be at most 1/64 of it: take fewer records, longer steps or a smaller ball", n, dirt, clean)
	}
	m := move{bound: clean + dirt, root: math.Sqrt(float64(q.Dim())), column: 1, charge: q.Charge()}
	g, ok := m.grid(m.startBits(), func(g grid) bool {
		return float64((b.Point+b.Start)*g.scale*(1+0x1p-19))+1 <= maxContribution
	})
	if !ok {
		return grid{}, fmt.Errorf("curator: charge = %v: no exact grid for stable sgd: %d coordinates, steps of %v and "+
			"iterates of norm up to %v", q.Charge(), q.Dim(), b.Jump, b.Point)
	}
	return g, nil
}
