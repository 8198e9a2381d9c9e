package dataset

import (
	"fmt"
	"testing"
	"time"
)

// TestEveryZone tests that a time with any offset from UTC is the time that package time parses, also for
// offsets to the west and of half hours.
func TestEveryZone(t *testing.T) {
	c := Column{Name: "seen", Kind: Date, Low: 0, High: 30000}
	for minutes := -23*60 - 59; minutes < 24*60; minutes++ {
		sign, off := '+', minutes
		if minutes < 0 {
			sign, off = '-', -minutes
		}
		cell := fmt.Sprintf("2021-03-04T05:06:07%c%02d:%02d", sign, off/60, off%60)
		moment, err := time.Parse(time.RFC3339, cell)
		if err != nil {
			t.Fatal(err)
		}
		x, ok := c.Days(cell)
		if got := time.Unix(0, int64(x*86400*1e6+.5)*1e3); !ok || !(got.Sub(moment).Abs() <= time.Millisecond) {
			t.Errorf("%s is read as %v, %v: must be %v", cell, got.UTC(), ok, moment.UTC())
		}
	}
}
