package optimize

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// dealer draws disjoint cohorts of given expected sizes, for methods in which a
// record takes part in one release only. Under replace-one a cohort is drawn by
// number; under add-or-remove, where numbers are secret, every record not yet in
// a cohort joins by a coin of probability size over the declared number left.
//
// Each cohort has the whole budget: records of different cohorts compose in
// parallel.
type dealer struct {
	oracle Oracle
	coins  bool
	// left is the declared number of records that are in no cohort yet.
	left float64
}

// newDealer draws from an oracle of which no cohort has been drawn.
func newDealer(o Oracle, p Problem) *dealer {
	return &dealer{oracle: o, coins: p.Relation == account.AddOrRemove, left: o.All().Size()}
}

// draw returns a cohort of the given size: rounded to a whole number, at least
// 1, under replace-one; in expectation under add-or-remove. More than are left,
// beyond rounding, is an error.
func (d *dealer) draw(size float64) (query.Cohort, error) {
	if !d.coins {
		size = max(math.Round(size), 1)
	}
	if !(size > 0 && size <= d.left*(1+1e-9)) {
		return query.Cohort{}, fmt.Errorf("optimize: cohort of %v records: must be > 0 and <= %v, the declared number not yet drawn", size, d.left)
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
