package optimize

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// dealer draws disjoint cohorts (subsets of records) of given expected sizes, for methods in which each
// record takes part in one release only. Under replace-one a cohort has a fixed number of records.
// Under add-or-remove the number of records is secret, so each record that is not yet in a cohort joins
// the next cohort independently with probability size / (declared number of records not yet in a
// cohort).
//
// Each cohort can be charged the whole budget, since releases on disjoint cohorts compose in parallel.
type dealer struct {
	oracle Oracle
	coins  bool
	// left is the declared number of records that have not yet been drawn into a cohort.
	left float64
}

// newDealer returns a dealer for the oracle o, from which no cohort has been drawn yet.
func newDealer(o Oracle, p Problem) *dealer {
	return &dealer{oracle: o, coins: p.Relation == account.AddOrRemove, left: o.All().Size()}
}

// draw returns a cohort of the given size. Under replace-one, size is rounded to a whole number, at least
// 1. Under add-or-remove, size is the expected size. draw returns an error if size is not above 0, or is
// larger, beyond rounding, than the declared number of records not yet in a cohort.
func (d *dealer) draw(size float64) (query.Cohort, error) {
	if !d.coins {
		size = max(math.Round(size), 1)
	}
	if !(size > 0 && size <= d.left*(1+1e-9)) {
		return query.Cohort{},
			fmt.Errorf("optimize: cohort of %v records: must be > 0 and <= %v, the declared number not yet drawn", size, d.left)
	}
	var c query.Cohort
	var err error
	if d.coins {
		c, err = d.oracle.DrawEach(min(size/d.left, 1))
	} else {
		c, err = d.oracle.Draw(int(size))
	}
	if err != nil {
		return query.Cohort{}, err
	}
	d.left -= c.Size()
	return c, nil
}
