package train

import (
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Constant describes the loss of the model whose weights are all 0. The fit's measured loss can be compared
// with it. This model gives every record the score 0. For classes it makes all classes equally likely; for a
// number it predicts the middle of the bounds. If all records have the same loss under this model, the loss
// is public. Otherwise (for numbers, and for weights of rows or classes) the loss depends on the targets, and
// only bounds on it are public. The model with weights 0 is not the best constant. The best constant depends
// on the shares of the classes, which are not released.
type Constant struct {
	// Least and Most are public bounds on the loss. They are equal if the loss is the same for every
	// record.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Regularizer is the part of the fit's measured loss that is due to the regularizer. The loss of the
	// constant model has no such part, since its weights are 0.
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
