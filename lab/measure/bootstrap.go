package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/lab/order"
)

// Estimate is a statistic with its 95% bootstrap interval [Low, High].
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// resamples is the number of bootstrap samples. With this number, the probability below an estimated 2.5%
// quantile has a standard error of about .4 percentage points.
const resamples = 2000

// Bootstrap returns a statistic of groups of numbers with its 95% percentile interval (Efron 1979). Each
// group is resampled separately, with replacement. The random numbers have a fixed seed, so the result is
// deterministic. With few numbers in a group the interval is approximate, and intervals of medians tend to
// be too short. Bootstrap returns an error if a group is empty.
func Bootstrap(groups [][]float64, statistic func(groups [][]float64) float64) (Estimate, error) {
	for i, g := range groups {
		if len(g) == 0 {
			return Estimate{}, fmt.Errorf("measure: bootstrap: group %d is empty", i)
		}
	}
	r := rand.New(rand.NewPCG(0xb007, uint64(len(groups))))
	again := make([][]float64, len(groups))
	for i, g := range groups {
		again[i] = make([]float64, len(g))
	}
	values := make([]float64, resamples)
	for k := range values {
		for i, g := range groups {
			for j := range again[i] {
				again[i][j] = g[r.IntN(len(g))]
			}
		}
		values[k] = statistic(again)
	}
	slices.Sort(values)
	tail := resamples / 40
	return Estimate{statistic(groups), values[tail-1], values[resamples-tail]}, nil
}

// Slope fits a line by least squares to the medians of y[i] at x[i] and returns its slope with a bootstrap
// interval. If x has logarithms of sizes and y logarithms of errors, the slope is the exponent of a power
// law. Slope returns an error if x and y have different lengths, a group is empty, or the values of x are
// not finite or all equal.
func Slope(x []float64, y [][]float64) (Estimate, error) {
	if len(x) != len(y) {
		return Estimate{}, fmt.Errorf("measure: slope: %d abscissas, %d groups: must be equal", len(x), len(y))
	}
	var mean, spread float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		spread += (v - mean) * (v - mean)
	}
	if !(spread > 0) || math.IsInf(spread, 0) {
		return Estimate{}, fmt.Errorf("measure: slope: abscissas %v: must be finite and not all the same", x)
	}
	return Bootstrap(y, func(groups [][]float64) float64 {
		var slope float64
		for i, g := range groups {
			slope += (x[i] - mean) / spread * order.Median(g)
		}
		return slope
	})
}
