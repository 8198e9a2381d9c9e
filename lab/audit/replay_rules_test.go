package audit

import (
	"errors"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestIdentical tests that identical finds differences of one bit, also in unexported fields.
func TestIdentical(t *testing.T) {
	c := query.NewCohort(1, 5)
	ask := func(w float64) query.Question {
		q, err := query.New(1, query.GradientAt(c, []float64{w, 1}, 1))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	zero, one := 0., 1.
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{ask(.5), ask(.5), true},
		{ask(.5), ask(math.Nextafter(.5, 1)), false},
		{ask(0), ask(math.Copysign(0, -1)), false},
		{math.NaN(), math.NaN(), true},
		{[]float64{1}, []float64{1, 2}, false},
		{[]float64(nil), []float64{}, true},
		{1, 1., false},
		{nil, nil, true},
		{nil, 1, false},
		{&zero, &one, false},
		{c, query.NewCohort(1, 5.0000000001), false},
		{struct{ err error }{errors.New("x")}, struct{ err error }{errors.New("y")}, false},
	} {
		if got := identical(test.a, test.b); got != test.want {
			t.Errorf("%v and %v: identical = %v", test.a, test.b, got)
		}
	}
}

// TestMovementOfPrefixes tests column, the factor by which a movement of the first summed value
// moves the noisy state of a prefix sum, against the norm of the first column of the mechanism's
// whole matrix.
func TestMovementOfPrefixes(t *testing.T) {
	for items := 1; items <= 40; items++ {
		nodes := 0 // number of nodes that contain item 1
		for size := 1; size <= items; size *= 2 {
			nodes++
		}
		if got := column(query.Prefix{Factorization: query.Tree, Items: items}); math.Abs(got*got-float64(nodes)) > 1e-12 {
			t.Errorf("tree of %d: squared column %v, want %d", items, got*got, nodes)
		}
		var squares float64
		for k, e := 0, 1.; k < items; k++ {
			squares += e * e
			e *= (2*float64(k) + 1) / (2*float64(k) + 2)
		}
		if got := column(query.Prefix{Factorization: query.Toeplitz, Items: items}); math.Abs(got*got-squares) > 1e-3 {
			t.Errorf("toeplitz of %d: squared column %v, want %v", items, got*got, squares)
		}
	}
}
