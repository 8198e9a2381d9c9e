package optimize

import (
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// rest is the oracle of the algorithm in a [Selected]. It answers queries about the records that were not
// held out, and about no others. An algorithm that makes queries on all records gets the records that were
// not held out as one cohort. An algorithm that draws cohorts draws them from the records that were not
// held out.
type rest struct {
	Oracle
	all   query.Cohort
	draws bool
}

// newRest returns an oracle for the records that the dealer has not drawn yet. n lists the oracle methods
// that the algorithm calls. If n includes neither cohorts nor prefix sums, newRest draws all these records
// as one cohort, and the algorithm makes its queries on this cohort.
func newRest(o Oracle, records *dealer, n Needs) (*rest, error) {
	if n.Cohorts || n.PrefixSums {
		// This cohort only states the number of records. Ask rejects queries on it.
		return &rest{Oracle: o, all: query.NewCohort(account.Everyone, records.left), draws: true}, nil
	}
	all, err := records.draw(records.left)
	return &rest{Oracle: o, all: all}, err
}

func (r *rest) All() query.Cohort { return r.all }

func (r *rest) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	if q.Cohort().Everyone() {
		return query.Release{},
			errors.New("optimize: selected: a question about everybody, of whom some are held out: must be about records the " +
				"algorithm drew")
	}
	return r.Oracle.Ask(ctx, q)
}

func (r *rest) Draw(size int) (query.Cohort, error) {
	if !r.draws {
		return query.Cohort{}, fmt.Errorf("optimize: selected: draw of %d records: the algorithm already has all of them",
			size)
	}
	return r.Oracle.Draw(size)
}

func (r *rest) DrawEach(p float64) (query.Cohort, error) {
	if !r.draws {
		return query.Cohort{},
			fmt.Errorf("optimize: selected: draw each with probability %v: the algorithm already has all records", p)
	}
	return r.Oracle.DrawEach(p)
}

// Sample returns an error: a sample would be drawn from all records, the held-out ones included.
func (r *rest) Sample() (query.Cohort, error) {
	return query.Cohort{}, errors.New("optimize: selected: samples are of everybody, of whom some are held out")
}
