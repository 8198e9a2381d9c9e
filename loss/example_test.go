package loss_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/loss"
)

func ExampleNew() {
	l, err := loss.New("huber", map[string]float64{"delta": 0.1})
	fmt.Println(l.Name(), l.Target(), l.Constants().Lipschitz, err)

	_, err = loss.New("huber", map[string]float64{"delta": -1})
	fmt.Println(err)
	// Output:
	// huber(0.1) real 0.1 <nil>
	// loss: huber: delta = -1: must be between 1e-06 and 1e+06
}

func ExampleRankOne() {
	margins := []float64{-2, 0, 2}
	labels := []float64{1, 1, 1}
	slopes := make([]float64, 3)
	loss.Logistic().Slopes(slopes, margins, labels)
	fmt.Printf("%.3f\n", slopes)
	// Output:
	// [-0.881 -0.500 -0.119]
}

func ExampleParseRegularizer() {
	r, err := loss.ParseRegularizer("nonconvex(0.01)")
	fmt.Println(r.Smoothness(), r.Convexity(), err)

	gradient := []float64{1, 1}
	r.AddGradient(gradient, []float64{0, 1})
	fmt.Println(gradient)
	// Output:
	// 0.02 -0.005 <nil>
	// [1 1.005]
}
