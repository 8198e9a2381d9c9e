package inference

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Absorbed says that the column of the feature By also carries a dropped feature: the two have the correlation
// Correlation in the released second moment.
type Absorbed struct {
	Feature     int     `json:"feature"`
	By          int     `json:"by"`
	Correlation float64 `json:"correlation"`
}

// A dropped feature is absorbed if its largest correlation with a column is at least leastCorrelation, and leastSeen
// standard deviations of the noise.
const leastCorrelation, leastSeen = .5, 4

// Absorb returns for each dropped feature the column of the formula that carries it, if there is one. moment is the
// released second moment of all features, whose last one is the intercept, and sigma the standard deviation of the
// noise in a diagonal entry.
func Absorb(moment mat.Symmetric, columns []Column, dropped []int, sigma float64) (list []Absorbed) {
	last := moment.SymmetricDim() - 1
	covariance := func(i, j int) float64 {
		return moment.At(i, j) - moment.At(i, last)*moment.At(j, last)/moment.At(last, last)
	}
	for _, j := range dropped {
		best := Absorbed{Feature: j}
		for _, c := range columns {
			size := math.Sqrt(max(covariance(j, j), 0) * max(covariance(c.Feature, c.Feature), 0))
			v := covariance(j, c.Feature)
			if c.Kept || !(math.Abs(v) >= leastSeen*sigma/math.Sqrt2) || !(math.Abs(v) >= leastCorrelation*size) || size == 0 {
				continue
			}
			if r := min(max(v/size, -1), 1); math.Abs(r) > math.Abs(best.Correlation) {
				best.By, best.Correlation = c.Feature, r
			}
		}
		if best.Correlation != 0 {
			list = append(list, best)
		}
	}
	return list
}
