package main

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/model"
)

// TestWithoutIntervals tests the warning of predict --intervals. It must name each term that the formula lacks, and
// there must be none for a formula that lacks only the levels of unlisted cells.
func TestWithoutIntervals(t *testing.T) {
	for _, c := range []struct {
		list model.Coefficients
		want string
	}{
		{model.Coefficients{}, ""},
		{model.Coefficients{Changes: []string{"region=other counts as the reference level"}}, ""},
		{model.Coefficients{Short: true, Changes: []string{"region=west counts as the reference level", "dose is left out"}},
			"warning: predictions of rows that depend on these terms have no interval, since the formula of the fit lacks " +
				"the terms: region=west counts as the reference level; dose is left out"},
		{model.Coefficients{Short: true, Method: "not identified", Changes: []string{"dose is left out"}, Reasons: []model.Reason{
			{State: "not in the formula", Text: "absent"}, {State: "not identified", Text: "the noise hides it"}}},
			"warning: no prediction has an interval: the noise hides it"},
		{model.Coefficients{Method: "wald", Reasons: []model.Reason{{State: "not identified", Text: "the noise hides it"}}}, ""},
	} {
		if got := withoutIntervals(&c.list); got != c.want {
			t.Errorf("%+v: %q: want %q", c.list, got, c.want)
		}
	}
}
