package certificate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
)

// TestReportsAreWhatTheyWere compares the text and the JSON of made-up reports, in which no two numbers are alike, with
// testdata/reports.golden, which go test ./certificate -run ReportsAreWhatTheyWere -update writes.
func TestReportsAreWhatTheyWere(t *testing.T) {
	filter := &account.Filter{Column: "split", Value: "train"}
	mean, sum := &account.Unit{Column: "who", Rows: 7, Count: account.Mean}, &account.Unit{Column: "ward", Rows: 3, Count: account.Sum}
	replace := account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1.73, Delta: 3e-6, Mu: .4125}
	add := account.Guarantee{Relation: account.AddOrRemove, Epsilon: .29, Delta: 7e-8, Unit: "who", Mu: .0731}
	sampled := account.Guarantee{Relation: account.AddOrRemove, Epsilon: 2.1234567, Delta: 7e-8}
	var got strings.Builder
	for i, r := range []Report{
		{Guarantee: replace, Recomputed: 1.7299, Basis: BasisGaussianFilter, Charged: .1601, Records: 23001, Neighbour: "a neighbour", Events: 17,
			Complete: true},
		{Guarantee: replace, Recomputed: 1.7299, Basis: BasisGaussianFilter, Charged: .1601, Records: 23001, Neighbour: "a neighbour", Events: 17,
			Filter: filter, Cohorts: 1, Budget: &account.Reservation{Dataset: "people", Run: "r7", Row: 5, Head: "0a1b"}},
		{Guarantee: add, Recomputed: .28, Basis: BasisGaussianFilter, Charged: .0051, Records: 4002, Neighbour: "another neighbour", Events: 18,
			Filter: filter, Unit: mean, Cohorts: 2, Stable: 11, Trusted: []string{"the loss is convex", "its smoothness is 1"}},
		{Guarantee: add, Recomputed: .28, Basis: BasisGaussianFilter, Records: 4002, Neighbour: "another neighbour", Events: 1, Unit: sum, Complete: true},
		{Guarantee: sampled, Recomputed: 2.12, Basis: BasisSchedule, Records: 4002, Neighbour: "another neighbour", Events: 250, Complete: true},
		{Guarantee: sampled, Recomputed: 2.12, Basis: BasisSchedule, Records: 4002, Neighbour: "another neighbour", Events: 250, Cohorts: 19},
	} {
		text, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "=== %d\n%v%s\n", i, &r, text)
	}
	recordedtest.Compare(t, "testdata/reports.golden", got.String())
}
