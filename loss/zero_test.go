package loss

import (
	"math"
	"testing"
)

// TestAtZero compares the least and the greatest loss at margins of 0, for each loss, with numbers
// computed by hand.
func TestAtZero(t *testing.T) {
	for name, want := range map[string][2]float64{
		"logistic":                    {math.Ln2, math.Ln2},
		"sigmoid":                     {.5, .5},
		"softmax(5)":                  {math.Log(5), math.Log(5)},
		"hinge":                       {1, 1},
		"squared(1)":                  {0, .5},
		"absolute":                    {0, 1},
		"weighted(logistic,1,5)":      {math.Ln2, 5 * math.Ln2},
		"network(3,tanh,softmax(4))":  {math.Log(4), math.Log(4)},
		"network(2-2,relu,absolute)":  {0, 1},
		"network(3,relu,logistic)":    {math.Ln2, math.Ln2},
		"weighted(logistic,row)":      {0, math.Ln2},
		"weighted(logistic,2,3,row)":  {0, 3 * math.Ln2},
		"weighted(softmax(3),1,2,.5)": {.5 * math.Log(3), 2 * math.Log(3)},
	} {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		least, most, ok := AtZero(l)
		if !ok || !(math.Abs(least-want[0]) <= 1e-12) || !(math.Abs(most-want[1]) <= 1e-12) {
			t.Errorf("%s: %v to %v, %v: want %v", name, least, most, ok, want)
		}
	}
	if l, err := Parse("poisson"); err == nil {
		if l, err = WithExposure(l, .1); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := AtZero(l); ok {
			t.Error("of counts in exposures")
		}
	}
}
