package query_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestOutOfRange tests that a query is refused if its sensitivity could exceed the largest
// sensitivity that sessions accept.
func TestOutOfRange(t *testing.T) {
	all := query.NewCohort(0, 10)
	w, zero := []float64{.5, 1}, []float64{0, 0}
	tiny := []float64{0x1p-540, 0}
	one := query.GradientAt(all, w, 1)
	many := make([]query.Term, 1<<16+1)
	for i := range many {
		many[i] = one
	}
	for name, c := range map[string]struct {
		terms []query.Term
		want  string
	}{
		// The radius of the clip ball underflows, and a large weight multiplies the contribution.
		"underflowing radius": {[]query.Term{query.DifferenceByCurvature(all, tiny, zero, 0, 0x1p-190).Weighted(0x1p200),
			one}, "clip radius"},
		"underflow to zero": {[]query.Term{query.DifferenceByCurvature(all, []float64{5e-324, 0}, zero, 0, .25), one},
			"clip radius"},
		"subnormal step": {[]query.Term{query.DifferenceByCurvature(all, []float64{5e-324, 5e-324}, zero, 0,
			0x1p1023)}, "curvature interval"},
		"short interval": {[]query.Term{query.DifferenceByCurvature(all, w, zero, 0, 0x1p-201)},
			"curvature interval"},
		"small radius":             {[]query.Term{query.GradientAt(all, w, 0x1p-201)}, "clip radius"},
		"large radius":             {[]query.Term{query.GradientAt(all, w, 0x1p201)}, "clip radius"},
		"radius not a number":      {[]query.Term{query.GradientAt(all, w, math.NaN())}, "clip radius"},
		"small weight":             {[]query.Term{one.Weighted(0x1p-201)}, "weight"},
		"large weight":             {[]query.Term{one.Weighted(0x1p201)}, "weight"},
		"negative weight":          {[]query.Term{one.Weighted(-1)}, "weight"},
		"weight not a number":      {[]query.Term{one.Weighted(math.NaN())}, "weight"},
		"value beside a vector":    {[]query.Term{query.ValueAt(all, w[:1], 0, 1), query.GradientAt(all, w[:1], 1)}, "value"},
		"vector beside a value":    {[]query.Term{query.GradientAt(all, w[:1], 1), query.ValueAt(all, w[:1], 0, 1)}, "value"},
		"more terms than counted":  {many, "terms"},
		"moment of no radius":      {[]query.Term{query.CentredMomentOf(all, w, 0)}, "radius"},
		"moment of a small radius": {[]query.Term{query.CentredMomentOf(all, w, 0x1p-21)}, "radius"},
		"moment of a large radius": {[]query.Term{query.CentredMomentOf(all, w, 0x1p21)}, "radius"},
		"moment about no point":    {[]query.Term{query.CentredMomentOf(all, []float64{math.Inf(1), 0}, 1)}, "coordinate 0"},
		"distance not a number":    {[]query.Term{query.SquaredDistanceFrom(all, w, math.NaN())}, "clip radius"},
	} {
		if _, err := query.New(1, c.terms...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one about %q", name, err, c.want)
		}
	}
	for name, terms := range map[string][]query.Term{
		"ends of the ranges": {query.GradientAt(all, w, 0x1p-200).Weighted(0x1p200),
			query.GradientAt(all, w, 0x1p200).Weighted(0x1p-200)},
		"no step":     {query.DifferenceByCurvature(all, w, w, -1, 1), one},
		"weight zero": {one.Weighted(0), one},
		"two values":  {query.ValueAt(all, w, 1e300, 1), query.ValueAt(all, zero, 0, 1)},
		"longest":     many[1:],
	} {
		if _, err := query.New(1, terms...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
