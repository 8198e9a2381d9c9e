// Package cellstatus names how the row map of package dataset treats a cell (dataset.ColumnMap.Status).
package cellstatus

const (
	Read     = "read"       // a number or date within its bounds, or a listed value
	Absent   = "missing"    // the cell is missing
	Unread   = "unreadable" // not a number or date; treated as missing
	Below    = "below"      // below the lower bound; treated as the lower bound
	Above    = "above"      // above the upper bound; treated as the upper bound
	Unlisted = "other"      // not a listed value: becomes "other" or, in the target, makes the row malformed
)
