package train

import (
	"maps"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestEveryLossHasAUse: lossUses must describe each loss that a configuration may name, and no others, and
// Losses must list each of them once.
func TestEveryLossHasAUse(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(lossUses)), loss.Names(); !slices.Equal(got, want) {
		t.Fatalf("uses are stated of %q: the losses are %q", got, want)
	}
	var names []string
	for _, l := range Losses() {
		of, err := loss.Parse(l.Text)
		if err != nil {
			t.Fatal(err)
		}
		for name, u := range lossUses {
			if u.shown == l.Text {
				names = append(names, name)
			}
		}
		if l.Use == "" || l.Steepest != of.Constants().Lipschitz {
			t.Errorf("%s: use %q, steepest slope %v", l.Text, l.Use, l.Steepest)
		}
	}
	if slices.Sort(names); !slices.Equal(names, loss.Names()) {
		t.Errorf("Losses lists %q", names)
	}
}
