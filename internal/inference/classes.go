package inference

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Classes returns the shape of the formula for the coefficients of each of several classes against the first, from the shape
// s of the formula for rows of the given number of features. A point has the metric's coordinates for each class but the
// first, one after the other. The coefficients are Q b for Q = T (x) P with T = (I + 1 1')^(1/2), the Kronecker product.
//
// The model has the weights W of every class, and the released gradient is s (x) P x for the slopes s in all margins, which
// add up to 0. With D = (e_j - e_1)_j, the difference of each class and the first, T T = D'D, and V = D T^-1 has orthonormal
// columns. The gradient in b is V's (x) P x. So the noise of a released gradient or matrix keeps its law where Reduce and
// ReduceMatrix multiply by V', and the slopes V's are as long as s.
func (s *Shape) Classes(classes, features int) *Shape {
	n, k := classes-1, len(s.Columns)
	out := *s
	out.classes, out.features = classes, features
	out.Columns, out.Metric, out.Seen = nil, mat.NewSymDense(n*k, nil), mat.NewSymDense(n*k, nil)
	most := (math.Sqrt(float64(classes)) - 1) / float64(n) // T = I + most 1 1', since 1 + n most = sqrt classes
	for i := range n {
		for _, c := range s.Columns {
			c.Feature += (i + 1) * features
			out.Columns = append(out.Columns, c)
		}
		for j := range n {
			by := most
			if i == j {
				by++
			}
			for p := range k {
				for q := range k {
					if at, to := i*k+p, j*k+q; at <= to {
						out.Metric.SetSym(at, to, by*s.Metric.At(p, q))
						if i == j {
							out.Seen.SetSym(at, to, s.Seen.At(p, q))
						}
					}
				}
			}
		}
	}
	return &out
}

// differences returns V' times the numbers of the classes in v, one for each feature and class, for a feature of the first.
func (s *Shape) differences(v []float64, feature int) []float64 {
	n := s.classes - 1
	root := math.Sqrt(float64(s.classes))
	sum := 0.
	out := make([]float64, n)
	for i := range out {
		out[i] = v[(i+1)*s.features+feature]
		sum += out[i]
	}
	for i := range out {
		out[i] += (1/root-1)/float64(n)*sum - v[feature]/root
	}
	return out
}

// Margins returns the margins of all classes for those of a row in the coordinates V' ([Shape.Classes]): V times to.
func Margins(to []float64) []float64 {
	root := math.Sqrt(float64(len(to) + 1))
	sum := floats.Sum(to)
	out := []float64{-sum / root}
	for _, v := range to {
		out = append(out, v+(1/root-1)/float64(len(to))*sum)
	}
	return out
}

// OfClasses makes what the fit says of a row's features, those that are dropped or absorbed, of each class but the first.
func (f *Fit) OfClasses(classes, features int) {
	dropped, absorbed := f.Dropped, f.Absorbed
	f.Dropped, f.Absorbed = nil, nil
	for at := features; at < classes*features; at += features {
		for _, j := range dropped {
			f.Dropped = append(f.Dropped, at+j)
		}
		for _, a := range absorbed {
			f.Absorbed = append(f.Absorbed, Absorbed{at + a.Feature, at + a.By, a.Correlation})
		}
	}
}
