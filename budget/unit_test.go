package budget

import (
	"context"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestUnitsAreNotMixed tests that a run is refused unless its privacy unit is the dataset's, both
// when it is charged and when the chain is verified.
func TestUnitsAreNotMixed(t *testing.T) {
	ctx := context.Background()
	for _, run := range []string{"", "person", "Person"} {
		for _, dataset := range []string{"", "person"} {
			c, err := NewCap(3, 1e-6, account.ReplaceOne, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.Unit = dataset
			if err := c.check(); err != nil {
				t.Fatal(err)
			}
			l := Limit{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6, Mu: .2, Unit: run}}
			_, charged := l.cost(ctx, c)
			checked := l.checkCost(ctx, c, Cost{Charge: .05}, true)
			for _, err := range []error{charged, checked} {
				if same := run == dataset; (err == nil) != same || !same && !strings.Contains(err.Error(), "unit = ") {
					t.Errorf("a run of %q in a dataset of %q: %v", run, dataset, err)
				}
			}
		}
	}
	c, err := NewCap(3, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		t.Fatal(err)
	}
	if c.Unit = " person"; c.check() == nil {
		t.Error("a column with white space around it is taken for a unit")
	}
	if c.Unit = "person"; !strings.HasSuffix(c.String(), "for all rows of one person") {
		t.Errorf("%v: must say what is protected", c)
	}
	a, b := Limit{Guarantee: account.Guarantee{Unit: "person"}}, Limit{}
	if a.equal(b) {
		t.Error("laws of people and of rows are taken for one")
	}
}
