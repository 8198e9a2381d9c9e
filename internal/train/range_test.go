package train

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestSettingsOutOfRangeAreRefused tests that no algorithm takes a number below 0 for a setting, nor one that is not finite: each
// plan is refused, with an error that names the number.
func TestSettingsOutOfRangeAreRefused(t *testing.T) {
	tried := 0
	for _, name := range append(Algorithms(), selected) {
		for _, s := range HelpOf(name) {
			var values []any
			switch s.Type {
			case "whole number":
				values = []any{-3}
			case "number":
				values = []any{-1.5, math.NaN(), math.Inf(1)}
			}
			for _, v := range values {
				c := Train{Algorithm: name, Settings: Settings{s.Key: v}}
				if name == selected {
					c = Train{Algorithm: "gd", Settings: Settings{"output": selected, s.Key: v}}
				}
				if beside, ok := map[string]string{"gamma": "kappa", "difference_batch": "anchor_batch"}[s.Key]; ok {
					c.Settings[beside] = map[string]any{"kappa": 2., "anchor_batch": .5}[beside]
				}
				tried++
				_, _, err := c.Plan(t.Context(), settingProblem(t, c.Algorithm))
				if err == nil || !strings.Contains(err.Error(), fmt.Sprint(v)) {
					t.Errorf("%s: %s = %v: %v", name, s.Key, v, err)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d settings were tried", tried)
	}
}
