package train

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestOutlookIsWhatWasMeasured tests the forecast of accuracy against the benchmarks of
// results/outcome.md. Of the settings there with a similar effective size (n mu/sqrt(d) for n
// records and d weights), half must have lost at most Outlook.Lost to noise, and nine in ten at
// most Outlook.Most if it is below 1. One exception in each class of sizes is allowed, for
// rounding. The test fails if the outlook promises more than the benchmarks showed.
func TestOutlookIsWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile("../results/outcome.md")
	if err != nil {
		t.Fatal(err)
	}
	all, half, most := make([]int, len(measuredLost)), make([]int, len(measuredLost)), make([]int, len(measuredLost))
	for line := range strings.Lines(string(text)) {
		c := strings.Split(line, "|")
		if len(c) != 16 { // only the table about the default settings has 14 columns
			continue
		}
		size, err := strconv.ParseFloat(strings.TrimSpace(c[3]), 64)
		saved, not := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(c[10]), "%"), 64)
		if err != nil || not != nil {
			continue
		}
		for i, m := range measuredLost {
			if size >= m.size {
				all[i]++
				if lost := 1 - saved/100; lost <= m.half+1e-9 {
					half[i]++
					most[i]++
				} else if lost <= m.most+1e-9 {
					most[i]++
				}
				break
			}
		}
	}
	sum := 0
	for i, m := range measuredLost {
		sum += all[i]
		if 2*(half[i]+1) < all[i] {
			t.Errorf("from an effective size of %v on %d of %d lost at most %v: want half", m.size, half[i], all[i], m.half)
		}
		if m.most < 1 && 10*(most[i]+1) < 9*all[i] {
			t.Errorf("from an effective size of %v on %d of %d lost at most %v: want nine in ten", m.size, most[i], all[i],
				m.most)
		}
	}
	if sum < 100 {
		t.Errorf("%d settings: the test shows nothing", sum)
	}
}
