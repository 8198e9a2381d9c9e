package train

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// TestMonotoneFit: a fit's model is monotone where its schema says so, in both directions of the same table,
// so that one of them was changed, and the certificate says by how much. A configuration whose model has
// more than one margin is refused before anything is charged. Fails if the projection is left out.
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
