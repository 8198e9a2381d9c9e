package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// This file has families with known stationary points that are not minima (see also Saddle).

// majority is the fraction of rows of class +1 in TanhNet: fourteen of twenty.
const majority = .7

// TanhNet is the network tanh-net (package synthetic) on two classes that no single unit separates. A row x
// has sqrt(.3) along a first direction, which acts as an intercept. Along a second direction it has 0 for
// class +1, which is .7 of the rows, and sqrt(.5) with either sign for class -1. The rest of the row is
// sqrt(.2) times a uniform unit vector orthogonal to the first and the second direction. Rows come in
// pairs: the two rows of a pair have the same component along the first direction and opposite components
// otherwise. If all units' weights lie along the first direction, their gradients therefore lie along it,
// too.
//
// Gradient descent without noise from the start, 0, keeps all units equal up to sign. It reaches a
// stationary point that fits only the frequencies of the classes. At this point the tanh t of a unit's
// margin is half of log(.7/.3), with the sign of the unit's output weight. The point is a saddle: if units
// separate in the second direction and keep the sum of outputs, the curvature is about -.7 (.3) t (1-t^2)
// .5 = -.036.
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
	q := rehearsal.Rotation(r, d)
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
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
				rehearsal.Add(&s, x, 1+0x1p-20, y) // float32 may round up
			}
		}
		return s
	}
}

// MatrixSensing is the loss matrix-sensing (package synthetic) on matrices drawn uniformly from the
// sphere. The targets are exact measurements of a matrix with eigenvalues .6 and .4 along two
// random directions. The minimum is 0, at a square root of that matrix. The start, U = 0, is a
// saddle whose smallest eigenvalue is about -.6/d. Another saddle, with smallest eigenvalue about
// -.4/d, is near the square root of the matrix's part with eigenvalue .6.
func MatrixSensing(d, rows int, seed uint64) (*Family, error) {
	if p := int(math.Round(math.Sqrt(float64(d)))); p*p != d || p < 2 {
		return nil,
			fmt.Errorf("experiment: matrix-sensing: dimension = %d: must be a square, of at least 4: a row is a square matrix",
				d)
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
	q := rehearsal.Rotation(r, p)
	planted := make([]float64, d)
	for i := range p {
		for j := range p {
			planted[i*p+j] = .6*q[0][i]*q[0][j] + .4*q[1][i]*q[1][j]
		}
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		for range n {
			x := make([]float64, d)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			length, y := stationarity.Norm(x)*(1+0x1p-20), 0.
			for j := range x {
				y += float64(float32(x[j]/length)) * planted[j]
			}
			rehearsal.Add(&s, x, length, y)
		}
		return s
	}
}
