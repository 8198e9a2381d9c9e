package model

import (
	"cmp"
	"slices"
)

// scored holds the margin of a row, and whether the row is of the second class (positive).
type scored struct {
	z        float64
	positive bool
}

// auc returns the area under the receiver operating characteristic: the fraction of pairs of a
// positive and a negative row in which the positive row has the larger margin; a tie counts half
// (Mann & Whitney 1947). Twice the number of such pairs is an integer, which is exact for up to
// 2^32 rows. auc sorts its argument. ok is false if one of the classes has no row.
func auc(rows []scored) (area float64, ok bool) {
	slices.SortFunc(rows, func(a, b scored) int { return cmp.Compare(a.z, b.z) })
	var twice, below, positives uint64 // below: negatives with a smaller margin
	for i := 0; i < len(rows); {
		var here [2]uint64 // negatives and positives with this margin
		z := rows[i].z
		for ; i < len(rows) && rows[i].z == z; i++ {
			if rows[i].positive {
				here[1]++
			} else {
				here[0]++
			}
		}
		twice += here[1] * (2*below + here[0])
		below += here[0]
		positives += here[1]
	}
	if positives == 0 || below == 0 {
		return 0, false
	}
	return float64(twice) / 2 / float64(positives) / float64(below), true
}
