package model

import (
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Confusion counts the rows for each pair of a true class and a predicted class.
type Confusion struct {
	// Classes are the schema's classes.
	Classes []string `json:"classes"`
	// Rows[i][j] is the number of rows of class i for which class j is predicted.
	Rows [][]int64 `json:"rows"`
}

// accuracy returns the number of rows whose true class is predicted (the diagonal of confusion) divided by n,
// the number of all rows.
func accuracy(confusion [][]int64, n float64) float64 {
	var correct int64
	for k := range confusion {
		correct += confusion[k][k]
	}
	return float64(correct) / n
}

// macroF1 returns the mean of F1 = 2 tp/(2 tp + fp + fn) over the classes that occur as a true class or as a
// predicted class. tp, fp and fn are the numbers of true positives, false positives and false negatives of
// the class.
func macroF1(confusion [][]int64) float64 {
	var sum, present float64
	for k := range confusion {
		var of, as int64
		for j := range confusion {
			of += confusion[k][j]
			as += confusion[j][k]
		}
		if of+as > 0 {
			sum += 2 * float64(confusion[k][k]) / float64(of+as)
			present++
		}
	}
	return sum / present
}

// mostShown is the largest number of classes for which String returns a table.
const mostShown = 20

// String returns a table with one line for each true class and one column for each predicted class, in the
// same order. For more than mostShown classes it returns a note instead.
func (c *Confusion) String() string {
	if len(c.Classes) > mostShown {
		return fmt.Sprintf("confusion      of %d classes: as JSON only\n", len(c.Classes))
	}
	width, name := 1, len("class")
	for k, row := range c.Rows {
		name = max(name, len([]rune(safetext.Text(c.Classes[k]))))
		for _, n := range row {
			width = max(width, len(fmt.Sprint(n)))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "confusion      rows of a class (line) by the class predicted (column, in the same order)\n")
	for k, row := range c.Rows {
		fmt.Fprintf(&b, "  %-*s", name, safetext.Text(c.Classes[k]))
		for _, n := range row {
			fmt.Fprintf(&b, "  %*d", width, n)
		}
		b.WriteString("\n")
	}
	return b.String()
}
