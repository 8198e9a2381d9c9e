package train

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// TestWideTablesTakeTheMetric tests a table with a column hashed into 3,000 buckets. By default its fit uses
// a diagonal preconditioner (metric), whose step size follows from the public number of features that are not
// zero in a row. That number is four: the age, the sex, the note and the intercept. After a random projection
// rows are dense and have no such number.
func TestWideTablesTakeTheMetric(t *testing.T) {
	c := config(t, 500, "note: ignore", "note: {hash: 3000}")
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := c.Problem(b, 50000)
	if err != nil {
		t.Fatal(err)
	}
	if p.Filled != 4 || p.Shape.Features < 3000 {
		t.Fatalf("%d of %d features are not zero: want 4", p.Filled, p.Shape.Features)
	}
	plan, _, err := c.Train.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if s := plan.Summary(); s.Algorithm != "preconditioned" ||
		!strings.Contains(s.Charges, "mean squares of the features") {
		t.Errorf("the default is %s, %s", s.Algorithm, s.Charges)
	}
	// With fewer buckets the plan has a block of the other features, and none if a second stage finds features of effects.
	few := config(t, 500, "note: ignore", "note: {hash: 600}")
	if p, _, err = few.Problem(b, 50000); err != nil || len(p.Groups) == 0 {
		t.Fatalf("groups %v: %v", p.Groups, err)
	}
	wide := slices.MaxFunc(p.Groups, func(a, b [2]int) int { return a[1] - b[1] })[1]
	if features := few.Schema.Features(); wide < 600 || !strings.HasPrefix(features[p.Groups[len(p.Groups)-1][0]], "note") {
		t.Errorf("groups %v of %v", p.Groups, features[:9])
	}
	if plan, _, err = few.Train.Plan(t.Context(), p); err != nil || !strings.Contains(plan.Summary().Charges,
		fmt.Sprintf("the second moment of %d of them", p.Shape.Features-wide)) {
		t.Errorf("%v: %s", err, plan.Summary().Charges)
	}
	few.Model.Features = "effects"
	if p, _, err = few.Problem(b, 50000); err != nil || p.Groups != nil {
		t.Errorf("with effects the groups are %v: %v", p.Groups, err)
	}
	c.Model.Reduce = "jl(2500)"
	if p, _, err = c.Problem(b, 50000); err != nil || p.Filled != 0 || (firstorder.Preconditioned{}).Serves(p) == nil {
		t.Errorf("reduced rows: %d features are not zero, %v", p.Filled, err)
	}
}
