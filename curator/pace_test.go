package curator_test

import (
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestPace: for every schema, the time of a row must be above zero and below a thousandth of the whole
// measurement: the measured time must have been divided by the number of rows. Pairs must be measured only
// if they are asked for.
func TestPace(t *testing.T) {
	s := schema(t, peopleSchema)
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	for _, pairs := range []bool{false, true} {
		start := time.Now()
		p, err := curator.PaceOf(t.Context(), s, nil, l, pairs)
		if err != nil {
			t.Fatal(err)
		}
		// The measurement makes at least three passes over a thousand rows or more.
		if whole := float64(time.Since(start)); !(p.Gradient > 0 && p.Gradient < whole/1000) {
			t.Errorf("%v ns a row, where all took %v", p.Gradient, whole)
		}
		if (p.Pairs > 0) != pairs || (p.Metric > 0) != pairs {
			t.Errorf("pairs %v: %v ns a row, in a metric %v", pairs, p.Pairs, p.Metric)
		}
	}
}
