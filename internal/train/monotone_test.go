package train

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// TestMonotoneFit fits the same table with a column declared increasing and declared decreasing. Both models
// must be as declared, so at least one fit's weights must be changed, and the certificate must say by how
// much. A configuration whose loss has more than one margin must be refused before anything is charged. The
// test fails if the weights are not projected to monotone ones.
func TestMonotoneFit(t *testing.T) {
	moved := 0.
	for _, way := range []string{"up", "down"} {
		c := config(t, 3000, "age: {number: [0, 100]}", "age: {number: [0, 100], curve: 6, monotone: "+way+"}")
		f, err := c.Fit(context.Background(), Options{Software: "test 1"})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Model.Schema().CheckMonotone(f.Model.Weights()); err != nil || !f.Model.Schema().Monotonic() {
			t.Errorf("%s: %v", way, err)
		}
		var run runrecord.Run
		if err := json.Unmarshal(f.Certificate.Algorithm().Plan, &run); err != nil {
			t.Fatal(err)
		}
		if len(run.Monotone) != 1 || run.Monotone[0].Column != "age" || run.Monotone[0].Way != way {
			t.Fatalf("the certificate says %+v", run.Monotone)
		}
		moved += run.Monotone[0].Moved
	}
	if !(moved > 0) {
		t.Error("both directions of the same table fit without a change")
	}
	c := config(t, 3000, "age: {number: [0, 100]}", "age: {number: [0, 100], curve: 6, monotone: up}", "logistic",
		"{network: {hidden: [3], activation: tanh, output: logistic}}")
	if _, err := c.Plan(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "must have one margin where a column is monotone") {
		t.Errorf("a network with a monotone column: %v", err)
	}
}
