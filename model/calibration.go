package model

import (
	"fmt"
	"math"
	"strings"
)

// Calibration compares predicted probabilities with observed frequencies. With two classes the probability is
// that of the second class. With more classes it is the probability of the predicted class (Guo et al. 2017,
// section 2). With the time to an event it is that of an event by the horizon. The bins are then tenths of the rows, by
// their probability, and From and To are the least and the greatest of a tenth. Observed is the Kaplan-Meier estimate.
type Calibration struct {
	// Error is the expected calibration error with ten bins of equal width: the mean, over rows, of
	// |Predicted - Observed| in the row's bin.
	Error float64 `json:"error"`
	// Bins are the bins that contain rows, in ascending order.
	Bins []Bin `json:"bins"`
}

// Bin summarises the rows whose predicted probability is at least From and below To. The last bin includes
// To.
type Bin struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	N    int64   `json:"n"`
	// Predicted is the mean predicted probability of the bin's rows. Observed is the fraction of these rows
	// whose true class is the class of the probability.
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
}

const calibrationBins = 10

// calibrating holds sums over the rows of each bin: n is their number, came the number of rows whose true
// class is the class of the probability, and sum the sum of their probabilities.
type calibrating [calibrationBins]struct {
	n, came int64
	sum     float64
}

func (c *calibrating) add(p float64, came bool) {
	i := 0 // the bin of a NaN is 0 too
	if p > 0 {
		i = min(int(p*calibrationBins), calibrationBins-1)
	}
	c[i].n++
	c[i].sum += p
	if came {
		c[i].came++
	}
}

func (c *calibrating) result(rows float64) *Calibration {
	r := new(Calibration)
	for i, bin := range c {
		if bin.n == 0 {
			continue
		}
		n := float64(bin.n)
		b := Bin{From: float64(i) / calibrationBins, To: float64(i+1) / calibrationBins, N: bin.n, Predicted: bin.sum / n,
			Observed: float64(bin.came) / n}
		r.Error += n / rows * math.Abs(b.Predicted-b.Observed)
		r.Bins = append(r.Bins, b)
	}
	return r
}

// String returns the calibration as a table with one bin on each line.
func (c *Calibration) String() string {
	var b strings.Builder
	b.WriteString("reliability    probabilities, and how often they came true\n")
	for _, bin := range c.Bins {
		digits := 3 // of a tenth of the rows
		if t := bin.From * calibrationBins; math.Round(t) == t {
			digits = 1
		}
		fmt.Fprintf(&b, "  %.*f to %.*f   predicted %.3f  observed %.3f  rows %d\n", digits, bin.From, digits, bin.To,
			bin.Predicted, bin.Observed, bin.N)
	}
	return b.String()
}
