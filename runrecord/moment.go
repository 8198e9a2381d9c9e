package runrecord

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Moment is the second moment of the rows, G = mean x x', as a run released it, and the metric P = (G_+
// + Ridge I)^(-1/2) in which the run's steps were made. G_+ is G with negative eigenvalues set to 0.
// The moment shows along which directions rows determine the weights, and therefore how much noise
// remains in each combination of weights.
type Moment struct {
	Features int `json:"features"`
	// Step is a power of two, at most 1/16 of the noise in an entry. Rows hold the entries of G in
	// units of Step, as integers separated by spaces; row j begins at its diagonal entry. There are no
	// Rows for more than MostMoment features.
	Step float64  `json:"step,omitempty"`
	Rows []string `json:"rows,omitempty"`
	// Sigma is the standard deviation of the noise in a diagonal entry. In the other entries it is
	// Sigma/sqrt 2.
	Sigma float64 `json:"sigma"`
	Ridge float64 `json:"ridge"`
	// Mean, if present, is the released mean row m, and Rows hold the second moment C about it. Then G
	// = C + m m', and the metric is (C_+ + MeanWeight m m' + Ridge I)^(-1/2). MeanSigma is the standard
	// deviation of the noise in a coordinate of m.
	Mean       []float64 `json:"mean,omitempty"`
	MeanSigma  float64   `json:"mean_sigma,omitempty"`
	MeanWeight float64   `json:"mean_weight,omitempty"`
	// Slope is the last released root mean square of the records' slopes, for several margins of the
	// length of the slope vectors; 0 if none was released.
	Slope float64 `json:"slope,omitempty"`
}

// MostMoment is the largest number of features whose second moment certificates keep. The number of
// entries, and so of digits, is its square.
const MostMoment = 300

// MomentBytes returns an upper bound on the bytes of a second moment of the given number of features in
// a certificate.
func MomentBytes(features int) int64 {
	const whole, line, entry = 512, 96, 22 // a digit for each factor of 10 in 2^63, a sign, a space
	if features > MostMoment {
		return whole
	}
	d := int64(features)
	return whole + line*d + entry*d*(d+1)/2
}

// NewMoment returns a released symmetric matrix of dim rows, given one row after the other, as a
// Moment.
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

// Matrix returns the entries of the symmetric matrix that Rows hold, one row after the other. It
// returns an error if Rows do not hold such a matrix, for example if there are too many features.
func (m *Moment) Matrix() ([]float64, error) {
	d := m.Features
	switch {
	case d < 1 || len(m.Rows) == 0:
		return nil, errors.New("the certificate does not hold the second moment of so many features")
	case d > MostMoment || len(m.Rows) != d:
		return nil, fmt.Errorf("the second moment has %d rows for %d features", len(m.Rows), d)
	}
	out := make([]float64, d*d)
	for j, row := range m.Rows {
		entries := strings.Fields(row)
		if len(entries) != d-j {
			return nil, fmt.Errorf("row %d of the second moment has %d entries: must have %d", j+1, len(entries), d-j)
		}
		for i, text := range entries {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("row %d of the second moment: entry %d is no whole number", j+1, i+1)
			}
			k := j + i
			out[j*d+k] = float64(v) * m.Step
			out[k*d+j] = out[j*d+k]
		}
	}
	return out, nil
}
