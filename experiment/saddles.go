package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Families whose stationary points are known, saddles and others, beside those of Saddle.

// majority is the share of the rows of class +1 of TanhNet's, of twenty of which fourteen
// are.
const majority = .7

// TanhNet is the network of that name (package problem) on two classes that no unit alone
// tells apart: x = sqrt(.3) along a first direction, as an intercept is, sqrt(.2) uniform
// across, and along a second direction nothing for class +1, .7 of the rows, and sqrt(.5),
// either way, for class -1. Rows come in pairs that differ by the sign of all but the
// intercept, so that gradients at weights along the intercept lie along it.
//
// From the start, 0, units stay alike but for their sign under gradients without noise, and
// lead to where each tells the classes' shares and nothing else: tanh of its margin is a
// half of log(.7/.3), by the sign of its output weight. The gradient vanishes there, and
// along units that part in the second direction, leaving the sum of outputs as it is, the
// curvature is about -.7 (.3) t (1-t^2) .5, -.036.
func TanhNet(d, rows int, seed uint64) (*Family, error) {
	if d < 3 {
		return nil, fmt.Errorf("experiment: tanh-net: dimension = %d: must be >= 3, for an intercept and two directions", d)
	}
	if rows%20 != 0 {
		return nil, fmt.Errorf("experiment: tanh-net: rows = %d: must be a multiple of 20", rows)
	}
	return newFamily(middle, 0x7a9e, d, rows, seed, "tanh-net", "tanh-net", "")
}

func middle(r *rand.Rand, d int) population {
	q := rotation(r, d)
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := newSample(n)
		for i := range n / 2 {
			across, beside, y := make([]float64, d), 0., 1.
			for k := 2; k < d; k++ {
				across[k] = r.NormFloat64()
			}
			norm := stationarity.Norm(across)
			if float64(i%10) >= 10*majority {
				beside, y = math.Sqrt(.5), -1
			}
			for _, sign := range []float64{1, -1} {
				x := make([]float64, d)
				for j := range x {
					x[j] = math.Sqrt(.3)*q[0][j] + sign*beside*q[1][j]
					for k := 2; k < d; k++ {
						x[j] += sign * math.Sqrt(.2) * across[k] / norm * q[k][j]
					}
				}
				add(&s, x, 1+0x1p-20, y) // float32 may round up
			}
		}
		return s
	}
}

// MatrixSensing is the loss of that name (package problem) on matrices uniform on the
// sphere and the measurements, without error, of a matrix of eigenvalues .6 and .4 along
// two random directions. Its minimum is 0, at a square root of that matrix; the start,
// U = 0, is a saddle with a least eigenvalue of about -.6/d, and a square root of the
// larger eigenvalue's part alone near one of about -.4/d.
func MatrixSensing(d, rows int, seed uint64) (*Family, error) {
	if p := int(math.Round(math.Sqrt(float64(d)))); p*p != d || p < 2 {
		return nil, fmt.Errorf("experiment: matrix-sensing: dimension = %d: must be a square, of at least 4: a row is a square matrix", d)
	}
	f, err := newFamily(measured, 0x5e45, d, rows, seed, "matrix-sensing", "matrix-sensing", "")
	if err != nil {
		return nil, err
	}
	f.Minimum = new(float64)
	return f, nil
}

func measured(r *rand.Rand, d int) population {
	p := int(math.Round(math.Sqrt(float64(d))))
	q := rotation(r, p)
	planted := make([]float64, d)
	for i := range p {
		for j := range p {
			planted[i*p+j] = .6*q[0][i]*q[0][j] + .4*q[1][i]*q[1][j]
		}
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := newSample(n)
		for range n {
			x := make([]float64, d)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			length, y := stationarity.Norm(x)*(1+0x1p-20), 0.
			for j := range x {
				y += float64(float32(x[j]/length)) * planted[j]
			}
			add(&s, x, length, y)
		}
		return s
	}
}
