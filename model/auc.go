package model

import (
	"cmp"
	"slices"
)

// scored holds a row's margin z and whether the row's true class is the second class (positive).
type scored struct {
	z        float64
	positive bool
}

// auc returns the area under the receiver operating characteristic: the fraction of pairs of a positive and a
// negative row in which the positive row has the larger margin; a pair with equal margins counts half (Mann &
// Whitney 1947). auc counts half pairs in a uint64, which is exact for up to 2^32 rows. It sorts the slice
// rows. ok is false if one of the two classes has no row.
func auc(rows []scored) (area float64, ok bool) {
	slices.SortFunc(rows, func(a, b scored) int { return cmp.Compare(a.z, b.z) })
	var twice, below, positives uint64 // below is the number of negative rows with a smaller margin
	for i := 0; i < len(rows); {
		var here [2]uint64 // numbers of negative and of positive rows with this margin
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
