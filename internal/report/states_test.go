package report

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestWidersAreCounted tests the sentence about intervals that are wider by the error of the last Newton step, which
// counts those of terms and of thresholds that are reported.
func TestWidersAreCounted(t *testing.T) {
	of := func(state inference.State, remainder float64) (k model.Coefficient) {
		k.State, k.Remainder = state, remainder
		return k
	}
	c := &model.Coefficients{List: []model.Coefficient{of(inference.Reported, .04), of(inference.Reported, 0),
		of(inference.Withheld, .9), of(inference.Reported, .32)}, Thresholds: []model.Coefficient{of(inference.Reported, .17)}}
	if got, want := states(c), " A bound on the error of the last Newton step is part of 3 intervals: it widens each by "+
		"32% at most."; got != want {
		t.Errorf("%q: want %q", got, want)
	}
	c.List = c.List[:1]
	c.Thresholds = nil
	if got, want := states(c), " A bound on the error of the last Newton step is part of 1 interval: it widens each by "+
		"4% at most."; got != want {
		t.Errorf("%q: want %q", got, want)
	}
	c.List[0].Remainder = 0
	if got := states(c); got != "" {
		t.Errorf("%q: want nothing", got)
	}
}
