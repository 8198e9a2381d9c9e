package describe

import (
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestTimesAreDescribed tests that a description covers every column that the time to an event reads: the time, the
// event, with the levels that the target tells apart, and the entry.
func TestTimesAreDescribed(t *testing.T) {
	for event, levels := range map[string][]string{"died": {"0", "1"}, "died = yes": {"yes"}} {
		s, err := dataset.New(dataset.Definition{
			Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 18, High: 100}},
			Target:  dataset.Target{Column: "days", Event: event, Entry: "from", Kind: dataset.Number, High: 365},
		})
		if err != nil {
			t.Fatal(err)
		}
		described, err := Schema(s, "")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range described.Columns() {
			names = append(names, c.Name)
			if c.Name == "died" && !slices.Equal(c.Categories, levels) {
				t.Errorf("%s: levels %q, not %q", event, c.Categories, levels)
			}
			if (c.Name == "days" || c.Name == "from") && (c.Low != 0 || c.High != 365) {
				t.Errorf("%s: bounds of %s: %v to %v", event, c.Name, c.Low, c.High)
			}
		}
		if want := []string{"age", "days", "died", "from"}; !slices.Equal(names, want) {
			t.Errorf("%s: columns %q, not %q", event, names, want)
		}
	}
}
