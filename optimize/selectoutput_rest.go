package optimize

import (
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// rest is an oracle for the records that are in no cohort yet. For an algorithm
// that asks about all records they are one cohort; for one that draws, they are
// what is left to draw from.
type rest struct {
	Oracle
	all   query.Cohort
	draws bool
}

// newRest makes the oracle of what records has left.
func newRest(o Oracle, records *drawer, draws bool) (*rest, error) {
	if draws {
		// A handle that tells the size. Nothing may be asked of it.
		return &rest{Oracle: o, all: query.NewCohort(account.Everyone, records.left), draws: true}, nil
	}
	all, err := records.draw(records.left)
	return &rest{Oracle: o, all: all}, err
}

func (r *rest) All() query.Cohort { return r.all }

func (r *rest) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	if q.Cohort().Everyone() {
		return query.Release{}, errors.New("optimize: selected: a question about everybody, of whom some are held out: must be about records the algorithm drew")
	}
	return r.Oracle.Ask(ctx, q)
}

func (r *rest) Draw(size int) (query.Cohort, error) {
	if !r.draws {
		return query.Cohort{}, fmt.Errorf("optimize: selected: draw of %d records: the algorithm already has all of them", size)
	}
	return r.Oracle.Draw(size)
}

func (r *rest) DrawEach(p float64) (query.Cohort, error) {
	if !r.draws {
		return query.Cohort{}, fmt.Errorf("optimize: selected: draw each with probability %v: the algorithm already has all records", p)
	}
	return r.Oracle.DrawEach(p)
}

// Stable answers where the oracle beneath does.
func (r *rest) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	o, ok := r.Oracle.(StableOracle)
	if !ok {
		return query.Release{}, errors.New("optimize: selected: oracle must answer passes of stable SGD")
	}
	return o.Stable(ctx, q)
}

// OpenPrefix opens a prefix sum where the oracle beneath does. Its items are
// about cohorts, which the session that drew them checks.
func (r *rest) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	o, ok := r.Oracle.(interface {
		OpenPrefix(query.Prefix) (query.PrefixSum, error)
	})
	if !ok {
		return nil, errors.New("optimize: selected: oracle must open prefix sums")
	}
	return o.OpenPrefix(p)
}

// draws tells whether a plan draws cohorts or asks about all records: it is run
// against an oracle that has no records and refuses whatever is tried first.
func draws(p Plan, records float64) bool {
	probe := &probe{records: records}
	_, _ = p.Run(context.Background(), probe, nil)
	return probe.drew
}

// probe is an oracle that answers nothing and remembers whether records were
// drawn, or a prefix sum opened, whose items have records of their own.
type probe struct {
	records float64
	drew    bool
}

var errProbe = errors.New("optimize: selected: no records here")

func (p *probe) All() query.Cohort { return query.NewCohort(account.Everyone, p.records) }

func (p *probe) Ask(context.Context, query.Question) (query.Release, error) {
	return query.Release{}, errProbe
}

func (p *probe) Select(context.Context, query.Selection) (int, error) { return 0, errProbe }

func (p *probe) Stable(context.Context, query.Stable) (query.Release, error) {
	return query.Release{}, errProbe
}

func (p *probe) Draw(int) (query.Cohort, error) {
	p.drew = true
	return query.Cohort{}, errProbe
}

func (p *probe) DrawEach(float64) (query.Cohort, error) {
	p.drew = true
	return query.Cohort{}, errProbe
}

func (p *probe) OpenPrefix(query.Prefix) (query.PrefixSum, error) {
	p.drew = true
	return nil, errProbe
}
