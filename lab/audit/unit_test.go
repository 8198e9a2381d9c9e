package audit

import (
	"context"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// unitLosses are losses of privacy units (all rows of a person), tried in this order: some
// algorithms accept only convex losses, some only losses whose slope jumps.
var unitLosses = []string{"units(tanh,3)", "units(huber(0.3),3,sum)", "units(network(2,relu,hinge),2)"}

// TestEveryAlgorithmOnUnits replays every algorithm that supports privacy units. One unit (all rows of a
// person) is replaced by a unit with other rows and another number of rows.
func TestEveryAlgorithmOnUnits(t *testing.T) {
	served := map[string]bool{}
	for _, name := range train.Algorithms() {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			b, err := account.NewBudget(20, 1e-6, relation)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range unitLosses {
				s, err := trainedAs(train.Train{Algorithm: name}, l, b)
				if err != nil {
					continue
				}
				served[name] = true
				effort := Effort{Positions: 1, Records: 16, Climbs: 1, Seed: 1}
				if testing.Short() {
					effort = Effort{Positions: 1, Records: 6, Climbs: -1, Seed: 1}
				}
				report, err := Run(context.Background(), s, effort)
				if err != nil || report.Ended != "" || len(report.Violations) > 0 || report.Answers == 0 {
					t.Errorf("%s: %v, %s, %v, %d answers", s.Name, err, report.Ended, report.Violations, report.Answers)
				}
				break
			}
		}
	}
	for _, name := range train.Algorithms() {
		if serves := name != "preconditioned"; served[name] != serves {
			t.Errorf("%s serves units: %v: must be %v", name, served[name], serves)
		}
	}
}

// TestOnePersonMovesOneClip tests that a unit (all rows of a person) moves the sum of every kind of query
// by at most the charged sensitivity of a record, whatever rows the unit has. If the clip has an effect,
// some units must move the sum by almost this sensitivity.
func TestOnePersonMovesOneClip(t *testing.T) {
	for _, name := range []string{"units(logistic,3)", "units(softmax(3),2,sum)"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		steps := 15
		if testing.Short() {
			steps = 1
		}
		for i, form := range forms(l) {
			f, err := Search(context.Background(), l, []account.Relation{account.ReplaceOne, account.AddOrRemove}[i%2],
				form.Name, steps, 1)
			if err != nil {
				t.Fatal(err)
			}
			clipped := strings.Contains(f.Kind, "short clip") && !testing.Short()
			if !(f.Ratio <= 1) || clipped && f.Ratio < .95 {
				t.Errorf("%s: %s: one person moves it by %v of what is charged: %s", name, f.Kind, f.Ratio, f.Neighbour)
			}
		}
	}
}
