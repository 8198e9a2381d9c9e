package runrecord_test

import (
	"encoding/json"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// A certificate's plan is read with the types with which the run wrote it.
func ExampleRun() {
	plan := []byte(`{"algorithm": "gd", "steps": 20, "effective_size": 700,
		"compared": {"difference": -0.18, "sigma": 0.002, "clip": 1, "constant": 0.54, "constant_sigma": 0.002, "margins": [-0.9]},
		"late": {"steps": 5, "gradient_norm": 0.018, "noise": 0.021}}`)
	var run runrecord.Run
	if err := json.Unmarshal(plan, &run); err != nil {
		panic(err)
	}
	fmt.Println(run.Algorithm, run.Compared.Verdict())
	fmt.Println(run.Late.Text(run.Steps, run.Effective, run.Compared.IsBetter()))
	// Output:
	// gd better than the best constant
	// more steps would only add noise: the gradients of the last 5 steps are 0.018 on average, of which noise makes 0.021
}
