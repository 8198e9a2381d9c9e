package train

import (
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Constant is the loss of the constant model that gives every record the score 0: for
// classes that all are as likely, for a number the midpoint of its bounds. It is public,
// but for numbers, weights and classes of unlike weights only within bounds, since it
// depends on targets. It is no best constant: what that is, the classes' shares say, and
// nobody released them.
type Constant struct {
	// Least and Most bound it. They are alike where it is the same for every record.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Regularizer is what the measured loss has of the regularizer, for which the
	// constant model has nothing to pay where its weights are 0.
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
