package loss

import (
	"fmt"
	"math"
)

type softmax struct{ k int }

// Softmax is the log loss of K >= 3 classes, a margin for each (multinomial
// logistic regression): log(sum_j e^(z_j)) - z_y, y in {0, ..., K-1}. Two classes are
// what Logistic is for.
//
// With p_j = e^(z_j)/sum_i e^(z_i), and rows of norm at most 1, so that the constants
// in the joint parameter W are those in z = W x:
//
//	gradient p - e_y, of squared norm (1-p_y)^2 + sum_{j != y} p_j^2 <= 2(1-p_y)^2:
//	below sqrt 2, which is neared where all is given to one other class
//	Hessian diag(p) - p p': v'Hv is the variance under p of the numbers v_j, at
//	most a quarter of their range squared (Popoviciu), which is at most 2||v||^2:
//	in [0, 1/2], and 1/2 where two classes have half each
//	third derivative along a unit v: the third central moment of the v_j under p.
//	For a given mean it is linear in p, so greatest for two numbers, of distance
//	r <= sqrt 2: r^3 q(1-q)|1-2q| <= 2 sqrt 2/(6 sqrt 3) = sqrt(2/27)
//
// A symmetric tensor attains its norm on one direction (Banach 1938), so the third
// is the Hessian's Lipschitz constant. Values lie above 0 and are ln K at z = 0:
// InitialGap is ln K.
func Softmax(classes int) (Margins, error) {
	if classes < 3 || classes > mostMargins {
		return nil, fmt.Errorf("loss: softmax: classes = %d: must be between 3 and %d (logistic is for 2)", classes, mostMargins)
	}
	return softmax{classes}, nil
}

func newSoftmax(classes float64) (Loss, error) {
	if classes != math.Trunc(classes) || !(math.Abs(classes) <= mostMargins) {
		return nil, fmt.Errorf("loss: softmax: classes = %v: must be a whole number between 3 and %d", classes, mostMargins)
	}
	return Softmax(int(classes))
}

func (s softmax) Name() string { return format("softmax", float64(s.k)) }
func (softmax) Target() Target { return Classes }
func (s softmax) K() int       { return s.k }

// logarithm is ln x for a normal x > 0, the same bits on every machine and within 2^-51 of
// the larger of it and 1: with x = 2^e m and s = (m-1)/(m+1) <= 1/3, e ln 2 + 2(s + s^3/3 + s^5/5 + ...), of which the first term
// left out is below 2^-65.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	s := (2*m - 1) / (2*m + 1)
	series := 0.0
	for i := 37.0; i >= 1; i -= 2 {
		series = math.FMA(float64(s*s), series, 1/i)
	}
	return math.FMA(float64(e-1), math.Ln2, float64(2*s*series))
}

func (s softmax) Constants() Constants {
	return Constants{
		Lipschitz:        math.Sqrt2,
		Curvature:        CurvatureInterval{0, 1.0 / 2},
		HessianLipschitz: math.Sqrt2 / (3 * sqrt3),
		InitialGap:       logarithm(float64(s.k)),
	}
}

// Values is (z_m - z_y) + log(1 + sum_{j != m} e^(z_j - z_m)), z_m the greatest: exact in
// relative terms near 0, too.
func (s softmax) Values(dst, z, y []float64) {
	sameRecords(len(dst), 1, z, y, s.k)
	var exp block
	for i := range dst {
		z := z[i*s.k : (i+1)*s.k]
		class, top := s.class(y[i]), greatest(z)
		if class < 0 {
			dst[i] = math.NaN()
			continue
		}
		rest := 0.0
		for from := 0; from < s.k; from += len(exp) {
			for j, e := range exp.expBelow(z[from:], z[top]) {
				if from+j != top {
					rest += e
				}
			}
		}
		dst[i] = (z[top] - z[class]) + math.Log1p(rest)
	}
}

// Slopes is p_j, and for the true class minus the others' sum, which does not cancel.
func (s softmax) Slopes(dst, z, y []float64) {
	sameRecords(len(dst), s.k, z, y, s.k)
	for i := range y {
		z, dst := z[i*s.k:(i+1)*s.k], dst[i*s.k:(i+1)*s.k]
		class, top := s.class(y[i]), greatest(z)
		if class < 0 {
			dst[0] = math.NaN()
			continue
		}
		others := 0.0
		expsBelow(dst, z, z[top])
		for j, e := range dst {
			if j != class {
				others += e
			}
		}
		sum := others + dst[class]
		dst[class] = -others
		for j := range dst {
			dst[j] /= sum
		}
	}
}

// CurvaturesAlong is p_j (u_j - sum_i p_i u_i).
func (s softmax) CurvaturesAlong(dst, z, u, y []float64) {
	sameRecords(len(dst), s.k, z, y, s.k)
	sameRecords(len(dst), s.k, u, y, s.k)
	for i := range y {
		z, u, dst := z[i*s.k:(i+1)*s.k], u[i*s.k:(i+1)*s.k], dst[i*s.k:(i+1)*s.k]
		if s.class(y[i]) < 0 {
			dst[0] = math.NaN()
			continue
		}
		top, sum, mean := greatest(z), 0.0, 0.0
		expsBelow(dst, z, z[top])
		for _, e := range dst {
			sum += e
		}
		for j := range dst {
			dst[j] /= sum
			mean += float64(dst[j] * u[j])
		}
		for j := range dst {
			dst[j] = float64(dst[j] * (u[j] - mean))
		}
	}
}

// class returns the class that a target is; -1 if it is none.
func (s softmax) class(y float64) int {
	if !(y >= 0 && y < float64(s.k)) || y != math.Trunc(y) {
		return -1
	}
	return int(y)
}

// greatest returns the index of the greatest, the first of them, or of a NaN.
func greatest(z []float64) int {
	top := 0
	for j, v := range z {
		if v != v {
			return j
		}
		if v > z[top] {
			top = j
		}
	}
	return top
}
