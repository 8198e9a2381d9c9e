package optimize

import (
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// The functions below give tests outside the package access to unexported functions.

// DrawSizes draws cohorts of the given sizes. It returns the drawn sizes and the number of records
// left.
func DrawSizes(o Oracle, p Problem, sizes ...float64) (drawn []float64, left float64, err error) {
	d := newDealer(o, p)
	for _, size := range sizes {
		c, err := d.draw(size)
		if err != nil {
			return drawn, d.left, err
		}
		drawn = append(drawn, c.Size())
	}
	return drawn, d.left, nil
}

// Weights returns the weights of iterates with the given importance in the result of the output rule.
func Weights(rule Output, onePass bool, importance ...float64) []float64 {
	c, err := newChoice(rule, len(importance), onePass, Problem{}.PublicCoins(0, 0))
	if err != nil {
		panic(err)
	}
	return c.weights(importance)
}

func SelectionEpsilon(p Plan) float64 { return p.(*selectedPlan).epsilon }

// BaseOfShares returns the base rate of released shares of classes whose weights are 1.
func BaseOfShares(l loss.Loss, sigma, least float64, shares ...float64) Base {
	return baseOfShares(l, vector.Make(len(shares), func(int) float64 { return 1 }), shares, sigma, least)
}
