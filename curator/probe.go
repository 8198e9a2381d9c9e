package curator

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// probe evaluates a loss and its gradient on two generated rows, zero and a unit vector. It evaluates them
// at two points, zero and a unit vector, and for two targets. probe returns an error if the loss panics or
// returns a value that is not finite. Such a loss would make every record contribute zero, without a
// message, and a model would be trained on zeros.
func probe(l loss.Loss, dim int) error {
	parameters, err := loss.Check(l, dim)
	if err != nil {
		return fmt.Errorf("curator: %w", err)
	}
	axis, unit := make([]float32, dim), make([]float64, parameters)
	axis[0], unit[0] = 1, 1
	targets := []float64{-1, 1}
	if l.Target() == loss.Classes {
		targets = []float64{0, 1}
	}
	for _, x := range [][]float32{make([]float32, dim), axis} {
		for _, w := range [][]float64{make([]float64, parameters), unit} {
			for _, y := range targets {
				for _, what := range []string{"value", "gradient"} {
					if err := try(l, what, slices.Clone(w), slices.Clone(x), y); err != nil {
						return fmt.Errorf("curator: loss %s: its %s on a made-up row of norm %v, at a point of norm %v, for target "+
							"%v: %w: records would be faulty without a word", l.Name(), what, x[0], w[0], y, err)
					}
				}
			}
		}
	}
	return nil
}

// try evaluates a loss in a separate goroutine, since the loss may end the goroutine that calls it. It
// returns an error if the loss panics, ends its goroutine, or returns a value that is not finite. The error
// does not show the value of a panic. If the loss never ends, neither does try.
func try(l loss.Loss, what string, w []float64, x []float32, y float64) error {
	verdict := make(chan error, 1)
	go func() {
		err := errors.New("panics, or does not return")
		defer func() {
			_ = recover()
			verdict <- err
		}()
		err = judge(evaluate(l, what, w, x, y))
	}()
	return <-verdict
}

// evaluate evaluates a loss at one row. If what is "gradient", it returns the gradient or, for a
// loss.Margins or loss.RankOne, the slopes. Slopes are the derivatives of the loss with respect to the
// margins. For other texts, evaluate returns the value of the loss. Elements that the loss does not write
// are NaN.
func evaluate(l loss.Loss, what string, w []float64, x []float32, y float64) []float64 {
	value := func(f func(dst, z, y []float64), n int) []float64 {
		dst := unwritten(n)
		f(dst, loss.MarginsAt(w, x), []float64{y})
		return dst
	}
	gradient := what == "gradient"
	switch l := l.(type) {
	case loss.General:
		if !gradient {
			return []float64{l.Value(w, x, y)}
		}
		dst := unwritten(len(w))
		l.Gradient(dst, w, x, y)
		return dst
	case loss.Margins:
		if gradient {
			return value(l.Slopes, l.K())
		}
		return value(l.Values, 1)
	case loss.RankOne:
		if gradient {
			return value(l.Slopes, 1)
		}
		return value(l.Values, 1)
	}
	return nil
}

func unwritten(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

func judge(v []float64) error {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("is %v", x)
		}
	}
	return nil
}
