package train

import (
	"slices"
	"testing"
)

// TestLossesOf: the losses that an algorithm is said to take must be those of which a configuration with that algorithm
// can be planned, and auto must take every loss.
func TestLossesOf(t *testing.T) {
	takes, refuses, err := LossesOf(t.Context(), "auto")
	if err != nil || len(takes) != len(Losses())+1 || len(refuses) != 0 {
		t.Errorf("auto: takes %q, refuses %q: %v", takes, refuses, err)
	}
	for _, name := range []string{"gd", "preconditioned", "recursive", "smoothed"} {
		takes, refuses, err := LossesOf(t.Context(), name)
		if err != nil || len(takes)+len(refuses) != len(Losses())+1 {
			t.Fatalf("%s: %q, %q, %v", name, takes, refuses, err)
		}
		for _, loss := range []string{"logistic", "sigmoid", "hinge", "network(16,tanh,logistic)"} {
			c := config(t, 20_000, "loss: logistic", "loss: '"+loss+"'")
			c.Train.Algorithm = name
			_, err := c.Plan(t.Context())
			if stated := slices.Contains(takes, loss); stated != (err == nil) {
				t.Errorf("%s of %s: stated as %v, planned: %v", name, loss, stated, err)
			}
		}
	}
	if takes, refuses, err := LossesOf(t.Context(), "quokka"); takes != nil || refuses != nil || err != nil {
		t.Errorf("an unknown name: %q, %q, %v", takes, refuses, err)
	}
}
