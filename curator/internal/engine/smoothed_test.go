package engine

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestSmoothingIsRefused: of losses that have no such smoothing in closed form, before
// anything is computed.
func TestSmoothingIsRefused(t *testing.T) {
	ask := func(s query.Smoothing) query.Question {
		q, err := query.New(1, query.GradientAt(query.NewCohort(0, 10), []float64{1, 2}, 1).Smoothed(s))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	for _, c := range []struct {
		l    loss.Loss
		s    query.Smoothing
		want string // "" for none
	}{
		{loss.Logistic(), query.Smoothing{Radius: 1}, "loss logistic: must be one that is smoothed in closed form"},
		{loss.Ramp(), query.Smoothing{Radius: 3, By: query.LasryLions}, "smoothing radius = 3: must be smaller"},
		{loss.Ramp(), query.Smoothing{Radius: 1, By: query.LasryLions}, ""},
		{loss.Ramp(), query.Smoothing{Radius: 3}, ""},
		{loss.Logistic(), query.Smoothing{}, ""},
	} {
		if err := Answers(c.l, ask(c.s)); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: %v: want %q", c.l.Name(), c.s, err, c.want)
		}
	}
}
