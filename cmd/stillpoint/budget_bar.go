package main

import (
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// bar draws a dataset's cap as a bar of width characters: # for charges of runs that ended, + for
// reservations of runs that have not ended, and a dot for the part that is left.
func bar(d *budget.Dataset, width int) string {
	// Both numbers are rounded up, so that a small charge or reservation has at least one character.
	all := min(width, ceiling(d.Spent/d.Charge*float64(width)))
	open := min(all, ceiling(d.Open/d.Charge*float64(width)))
	return "[" + strings.Repeat("#", all-open) + strings.Repeat("+", open) + strings.Repeat(".", width-all) + "]"
}

func ceiling(x float64) int {
	n := int(x)
	if float64(n) < x {
		n++
	}
	return n
}

func spentOf(d *budget.Dataset) string {
	return fmt.Sprintf("%.1f%% spent", 100*d.Spent/d.Charge)
}

func closedWord(d *budget.Dataset) string {
	if d.Closed {
		return ", closed"
	}
	return ""
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
