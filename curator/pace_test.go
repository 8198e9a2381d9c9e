package curator_test

import (
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestPace: for every kind of query, the time of a row must be above zero and below a hundredth of the whole
// measurement: the measured time must have been divided by the number of rows. Kinds that are not asked for must
// not be timed.
func TestPace(t *testing.T) {
	s := schema(t, peopleSchema)
	for _, name := range []string{"logistic", "hinge"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		by := query.Smoothing{}
		if name == "hinge" {
			by = query.Smoothing{Radius: .1}
		}
		for _, kind := range query.Kinds() {
			start := time.Now()
			p, err := curator.PaceOf(t.Context(), s, nil, l, by, 1e4, kind)
			if err != nil {
				t.Fatal(name, kind, err)
			}
			// The measurement makes several passes over a hundred rows or more.
			if whole := float64(time.Since(start)); !(p[kind] > 0 && p[kind] < whole/100) || len(p) != 1 {
				t.Errorf("%s, %v: %v ns a row, where all took %v", name, kind, p, whole)
			}
		}
	}
}
