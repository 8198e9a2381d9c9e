package query_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/query"
)

// A query states its charge in units of mu^2. Here the difference of gradients at near points is
// clipped to a small ball, so that it needs little noise.
func ExampleDifferenceByCurvature() {
	everybody := query.NewCohort(1, 1000)
	term := query.DifferenceByCurvature(everybody, []float64{0.1, 0}, []float64{0, 0}, 0, 0.25)
	q, err := query.New(0.01, term)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q.Name())
	fmt.Printf("radius %.4f around %v times the step\n", term.Ball().Radius, term.Ball().Centre)
	// Output:
	// difference
	// radius 0.0125 around 0.125 times the step
}
