package runrecord

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Moment is the second moment of the rows x, G = mean of x x', as a run released it, with noise.
// The run made its steps in the metric (preconditioner) P = (G_+ + Ridge I)^(-1/2), where G_+ is G
// with negative eigenvalues set to 0. G shows which combinations of weights the rows determine
// well, and therefore how much noise remains in each combination of weights.
type Moment struct {
	Features int `json:"features"`
	// Rows hold the entries of the symmetric matrix in units of Step, as integers separated by spaces. The text of row
	// j begins with the diagonal entry of row j and leaves out the entries before it. Step is a power of two, at most
	// 1/16 of the noise in an entry. Rows is empty for more than MostMoment features.
	Step float64  `json:"step,omitempty"`
	Rows []string `json:"rows,omitempty"`
	// Sigma is the standard deviation of the noise in a diagonal entry of the matrix. For other entries it
	// is Sigma/sqrt 2.
	Sigma float64 `json:"sigma"`
	Ridge float64 `json:"ridge"`
	// Diagonal is true if the run released only the diagonal of G: the mean squares of the features, each with noise of
	// standard deviation Sigma. The metric (preconditioner) is then diagonal, too.
	Diagonal bool `json:"diagonal,omitempty"`
	// Block is the number of features whose pairs were released, too, if Diagonal is true. The metric then has the block of
	// these features beside the diagonal of the others.
	Block int `json:"block,omitempty"`
	// Mean is the released mean row m. It is empty if no mean row was released; the comments on Moment and
	// Rows then hold as they stand. If Mean is not empty, Rows hold C, the second moment of the rows about
	// m, and G, the second moment about 0, is C + m m'. The metric (preconditioner) is then
	//
	//	(C_+ + MeanWeight m m' + Ridge I)^(-1/2),
	//
	// where C_+ is C with negative eigenvalues set to 0. MeanSigma is the standard deviation of the noise in
	// each coordinate of m.
	Mean       []float64 `json:"mean,omitempty"`
	MeanSigma  float64   `json:"mean_sigma,omitempty"`
	MeanWeight float64   `json:"mean_weight,omitempty"`
	// A record's slope is the derivative of its loss in the margin (the linear predictor). Slope is the last released
	// root mean square of the records' slopes. It is 0 if no such number was released. With several margins, Slope is
	// the root mean square of the length of the records' vectors of slopes.
	Slope float64 `json:"slope,omitempty"`
	// Clip is the last clip norm of gradients in the metric. It is 0 if the certificate is of an earlier version.
	Clip float64 `json:"clip,omitempty"`
}

// MostMoment is the largest number of features for which a certificate keeps the second moment, a
// matrix with the square of this number of entries.
const MostMoment = 300

// MomentBytes returns an upper bound on the number of bytes that a second moment takes in a
// certificate, for the given number of features.
func MomentBytes(features int) int64 {
	const whole, line, entry = 512, 96, 22 // an entry has at most 19 digits of 2^63, a sign and a space
	if features > MostMoment {
		return whole
	}
	d := int64(features)
	return whole + line*d + entry*d*(d+1)/2
}

// NewMoment returns a released symmetric matrix as a Moment. matrix contains its dim rows, one after the other. sigma
// is the standard deviation of the noise in a diagonal entry, and ridge the field Ridge. Entries are rounded to
// multiples of Step. Rows is empty if dim exceeds [MostMoment] or sigma is not > 0.
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

// Matrix returns the entries of the symmetric matrix that Rows hold, row after row. It returns an error if Rows do not
// hold such a matrix, for example because there were too many features to keep it.
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

// About0 returns the released second moment about 0, row after row, as Matrix does.
func (m *Moment) About0() ([]float64, error) {
	out, err := m.Matrix()
	if err != nil || len(m.Mean) != 0 && len(m.Mean) != m.Features {
		return nil, cmp.Or(err, errors.New("the mean row has another number of features than the second moment"))
	}
	for j, v := range m.Mean {
		for k, u := range m.Mean {
			out[j*m.Features+k] += float64(v * u)
		}
	}
	return out, nil
}

// Means returns the released means of the features, multiplied by a common factor, or nil if no
// means were released for this number of features. The last feature must have the same value in
// every row: without a released mean row, the last column of the second moment is used.
func (m *Moment) Means(features int) []float64 {
	switch {
	case m == nil || m.Features != features:
		return nil
	case len(m.Mean) == features:
		return m.Mean
	}
	entries, err := m.Matrix()
	if err != nil {
		return nil
	}
	means := make([]float64, features)
	for j := range means {
		means[j] = entries[j*features+features-1]
	}
	return means
}
