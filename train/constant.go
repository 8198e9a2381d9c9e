package train

import (
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Constant is the loss of the constant model that gives every record the score 0. For classes this
// model makes all classes equally likely; for a number it predicts the middle of the bounds. The loss
// is public. For numbers, weights and classes of unequal weights only bounds are public, since the loss
// depends on targets. The model is not the best constant: the best constant depends on the classes'
// shares, which were not released.
type Constant struct {
	// Least and Most are bounds on the loss. They are equal if the loss is the same for every record.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Regularizer is the part of the measured loss that is due to the regularizer. The constant model,
	// whose weights are 0, has no such part.
	Regularizer float64 `json:"regularizer,omitempty"`
}

func constant(l loss.Loss, p optimize.Problem, w []float64) *Constant {
	least, most, ok := loss.AtZero(l)
	if !ok {
		return nil
	}
	c := &Constant{Least: least, Most: most}
	if p.Regularizer != nil {
		c.Regularizer = p.Regularizer.Value(w)
	}
	return c
}
