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

// pair holds two forms, linear functions of the margins in the coordinates V'. Of one margin both are the margin.
//
// A step that changes the margins z by h leaves out, at each row, what changes the difference z_k - z_1 of the classes k and 1 by
// ((h_k - m)^2 - (h_1 - m)^2)/2 = (h_k - h_1)(h_k + h_1 - 2m)/2, where m is the mean of the h_j under the probabilities of the
// classes: the third central moments of a softmax times the inverse of its second derivative. The forms are h_k - h_1 and
// h_k + h_1 - 2m. Of two classes the product is (1 - 2p)(h_2 - h_1)^2/2.
type pair [2][]float64

// pairs returns the pair of each class but the first at the margins at, in the coordinates V'.
func pairs(at []float64) (list []pair) {
	if len(at) == 1 {
		return []pair{{{1}, {1}}}
	}
	z := Margins(at)
	top, sum := floats.Max(z), 0.
	for j, v := range z {
		z[j] = math.Exp(v - top)
		sum += z[j]
	}
	list = make([]pair, len(at))
	for i := range at {
		one := make([]float64, len(at))
		one[i] = 1
		h := Margins(one)
		mean := floats.Dot(h, z) / sum
		for k := range list {
			list[k][0] = append(list[k][0], h[k+1]-h[0])
			list[k][1] = append(list[k][1], h[k+1]+h[0]-2*mean)
		}
	}
	return list
}

// along returns the change of a form's margin, in the coordinates of the rows' metric, by a change v in those of all margins.
func along(form, v []float64) []float64 {
	k := len(v) / len(form)
	out := make([]float64, k)
	for i, f := range form {
		floats.AddScaled(out, f, v[i*k:(i+1)*k])
	}
	return out
}

// between returns the function expected of the covariance of each two margins, from the covariance of all.
func between(of *mat.SymDense, k int, expected func(of mat.Matrix) float64) *mat.SymDense {
	if of == nil { // of a step that nothing foretold the sampling alone is not asked for
		return nil
	}
	n := of.SymmetricDim() / k
	out := mat.NewSymDense(n, nil)
	for i := range n {
		out.SetSym(i, i, expected(of.SliceSym(i*k, i*k+k)))
		for j := i + 1; j < n; j++ {
			block := mat.NewDense(k, k, nil)
			for p := range k {
				for q := range k {
					block.Set(p, q, of.At(i*k+p, j*k+q))
				}
			}
			out.SetSym(i, j, expected(block))
		}
	}
	return out
}

// OfClasses completes the fit of several classes, of which e is the estimate: what it says of a row's features, those that are
// dropped or absorbed, it says of each class but the first. The allowance is that of each class ([Estimate.Allowance]), at the
// given mean margins of all classes; rows is the shape of a row.
func (f *Fit) OfClasses(e *Estimate, rows *Shape, margins, ahead []float64, features int) {
	dropped, absorbed, gone, merged := f.Dropped, f.Absorbed, f.Gone, f.Merged
	f.Dropped, f.Absorbed, f.Gone, f.Merged = nil, nil, nil, nil
	for at := features; at < len(margins)*features; at += features {
		for _, j := range dropped {
			f.Dropped = append(f.Dropped, at+j)
		}
		for _, a := range absorbed {
			f.Absorbed = append(f.Absorbed, Absorbed{at + a.Feature, at + a.By, a.Correlation, a.Noise})
		}
		for _, j := range merged {
			f.Merged = append(f.Merged, at+j)
		}
		for _, g := range gone {
			f.Gone = append(f.Gone, Gone{at + g.Feature, g.Share})
		}
	}
	f.Allowances = make([]float64, len(margins)-1)
	if e.Method == NotIdentified {
		return
	}
	at, by := Shape{classes: len(margins), features: 1}, e.over(rows.Seen)
	for i, p := range pairs(at.differences(margins, 0)) {
		f.Allowances[i] = e.remainder(by, p, ahead)
	}
	f.Allowance = floats.Max(f.Allowances)
}
