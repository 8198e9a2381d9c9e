package optimize

// What tests outside the package look at.

// DrawSizes draws cohorts of the given sizes and says what is left.
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

// Weights are those of iterates of the given importance.
func Weights(rule Output, onePass bool, importance ...float64) []float64 {
	c, err := newChoice(rule, len(importance), onePass, Problem{}.PublicCoins(0, 0))
	if err != nil {
		panic(err)
	}
	return c.weights(importance)
}

func SelectionEpsilon(p Plan) float64 { return p.(*selectedPlan).epsilon }
