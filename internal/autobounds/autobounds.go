// Package autobounds has the bounds of a column whose bounds a schema leaves to a description, with number: auto or
// date: auto. They are public and so wide that they say nothing about the column. A fit with them would be noise.
package autobounds

// Number is the upper bound of such a number, and -Number the lower bound, or 0 with transform: log1p.
const Number = 1 << 40

// Step is the step to which the row map rounds a number within the bounds -Number and Number: 2^40 less the number is
// rounded to a float64.
const Step = 1. / (1 << 12)

// First and Last are the bounds of such a date, in days since 1970-01-01: 1850-01-01 and 2149-12-31.
const (
	First = -43829
	Last  = 65743
)

// Are reports whether the bounds of a number or a date were left to a description.
func Are(low, high float64, date bool) bool {
	if date {
		return low == First && high == Last
	}
	return (low == -Number || low == 0) && high == Number
}
