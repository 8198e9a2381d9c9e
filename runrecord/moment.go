package runrecord

import (
	"math"
	"strconv"
)

// Moment is the second moment of the rows, G = mean x x', as a run released it, and the
// metric P = (G_+ + Ridge I)^(-1/2) that the run's steps were taken in; G_+ has 0 for
// negative eigenvalues. It tells along which directions rows see the weights, and so what
// noise is left in each combination of weights.
type Moment struct {
	Features int `json:"features"`
	// Step is a power of two, at most 1/16 of the noise in an entry. Rows hold the entries
	// of G in steps, integers between spaces: row j those from its diagonal on. There are
	// none of more than MostMoment features.
	Step float64  `json:"step,omitempty"`
	Rows []string `json:"rows,omitempty"`
	// Sigma is the standard deviation of the noise in an entry of the diagonal; it is
	// Sigma/sqrt 2 in the others.
	Sigma float64 `json:"sigma"`
	Ridge float64 `json:"ridge"`
	// Mean, where there is one, is the released mean row m, and Rows are of the second moment C
	// about it. Then G = C + m m', and the metric is (C_+ + MeanWeight m m' + Ridge I)^(-1/2).
	Mean       []float64 `json:"mean,omitempty"`
	MeanWeight float64   `json:"mean_weight,omitempty"`
	// Slope is the root mean square of the records' slopes, of several margins their
	// length, as the run last saw it; 0 where it was not seen.
	Slope float64 `json:"slope,omitempty"`
}

// MostMoment is the largest number of features whose second moment certificates keep: its
// square is the number of entries, and their digits.
const MostMoment = 300

// MomentBytes bounds what a certificate takes to keep a second moment of so many features.
func MomentBytes(features int) int64 {
	const whole, line, entry = 512, 96, 22 // a digit for each factor of 10 in 2^63, a sign, a space
	if features > MostMoment {
		return whole
	}
	d := int64(features)
	return whole + line*d + entry*d*(d+1)/2
}

// NewMoment keeps a released symmetric matrix, of dim rows one after the other.
func NewMoment(matrix []float64, dim int, sigma, ridge float64) *Moment {
	m := &Moment{Features: dim, Sigma: Short(sigma), Ridge: Short(ridge)}
	if dim > MostMoment || !(sigma > 0) {
		return m
	}
	_, exp := math.Frexp(sigma / math.Sqrt2 / 16)
	m.Step = math.Ldexp(1, exp-1)
	for j := range dim {
		var row []byte
		for k := j; k < dim; k++ {
			if k > j {
				row = append(row, ' ')
			}
			row = strconv.AppendInt(row, int64(math.RoundToEven(matrix[j*dim+k]/m.Step)), 10)
		}
		m.Rows = append(m.Rows, string(row))
	}
	return m
}
