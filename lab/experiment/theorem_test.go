package experiment_test

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
)

// TestTheoremsSettingsRun runs the settings of theorems as specifications. With these settings only
// spiderboost returns a random iterate, which the run's seed draws. recursive has no output rule.
// tree-spider ends at an early leaf of its tree, and with the theorem's alpha~ this leaf is the start.
func TestTheoremsSettingsRun(t *testing.T) {
	s, err := experiment.ParseSpec([]byte(`
name: theorems
question: do they run
families: [logistic]
dimensions: [10]
rows: 500
records: [2000]
epsilons: [1]
seeds: 1
algorithms:
  - {name: recursive, settings: {theorem: true, steps: 5}}
  - {name: tree-spider, settings: {theorem: true}}
  - {name: spiderboost, settings: {theorem: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	summary, err := s.Run(context.Background(), t.TempDir(), experiment.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Cells) != 3 {
		t.Fatalf("%d cells", len(summary.Cells))
	}
	for _, c := range summary.Cells {
		if (c.Steps == 0) != (c.Label == "tree-spider") || !(c.GradientNorm.Median > 0) {
			t.Errorf("%s: %d steps, gradient norm %v", c.Label, c.Steps, c.GradientNorm.Median)
		}
	}
}
