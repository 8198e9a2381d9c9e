package query_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestReachIsBounded tests the bounds of the reach of weighted terms: each end is allowed, and nothing beyond it.
func TestReachIsBounded(t *testing.T) {
	m, err := query.Identity(2)
	if err != nil {
		t.Fatal(err)
	}
	on := query.Cohort{}
	for reach, ok := range map[float64]bool{0x1p-20: true, 1: true, 0x1p20: true, 0x1p-20 * .999: false, 0x1p20 * 1.001: false,
		0: false, -1: false, math.NaN(): false, math.Inf(1): false} {
		_, err := query.New(.5, query.WeightedMomentOf(on, reach, m))
		if named := err != nil && strings.Contains(err.Error(), "reach = "); named == ok {
			t.Errorf("reach %v: %v", reach, err)
		}
	}
}

// TestPointsOfWeightedTerms: the point of a weighted term has the metric's coordinates once for each margin.
func TestPointsOfWeightedTerms(t *testing.T) {
	m, err := query.Identity(2)
	if err != nil {
		t.Fatal(err)
	}
	on := query.NewCohort(1, 10)
	for coordinates, ok := range map[int]bool{0: false, 1: false, 2: true, 3: false, 4: true, 5: false, 6: true} {
		for _, term := range []query.Term{query.WeightedGradientAt(on, make([]float64, coordinates), 1, 1, m),
			query.WeightedCurvatureAt(on, make([]float64, coordinates), 1, 1, m),
			query.ScoreMomentAt(on, make([]float64, coordinates), 1, 1, m)} {
			if _, err := query.New(.5, term); (err == nil) != ok {
				t.Errorf("%v, %d coordinates: %v", term.Kind(), coordinates, err)
			}
		}
	}
}
