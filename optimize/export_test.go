package optimize

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
