package loss

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
)

type softmax struct{ k int }

// Softmax is the log loss of K >= 3 classes with one margin for each class (multinomial logistic
// regression): log(sum_j e^(z_j)) - z_y, y in {0, ..., K-1}. For two classes use [Logistic].
//
// Let p_j = e^(z_j)/sum_i e^(z_i). Rows have norm at most 1, so constants in z = W x are also
// constants in the joint parameter W:
//
//	gradient p - e_y, of squared norm (1-p_y)^2 + sum_{j != y} p_j^2 <= 2(1-p_y)^2:
//	below sqrt 2, a bound approached as p_j -> 1 for one j != y
//	Hessian diag(p) - p p': v'Hv is the variance under p of the numbers v_j, at
//	most a quarter of their squared range (Popoviciu), and the squared range is at most
//	2||v||^2: in [0, 1/2], and 1/2 where two classes have probability 1/2 each
//	third derivative along a unit v: the third central moment of the v_j under p.
//	For a given mean it is linear in p, so it is greatest for two numbers, at distance
//	r <= sqrt 2: r^3 q(1-q)|1-2q| <= 2 sqrt 2/(6 sqrt 3) = sqrt(2/27)
//
// A symmetric tensor attains its norm on one direction (Banach 1938), so the bound on the third derivative is the
// Hessian's Lipschitz constant. Values lie above 0 and are ln K at z = 0, so InitialGap is ln K.
func Softmax(classes int) (Margins, error) {
	if classes < 3 || classes > mostMargins {
		return nil, fmt.Errorf("loss: softmax: classes = %d: must be between 3 and %d (logistic is for 2)", classes,
			mostMargins)
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

func (s softmax) Constants() Constants {
	return Constants{
		Lipschitz:        math.Sqrt2,
		Curvature:        CurvatureInterval{0, 1.0 / 2},
		HessianLipschitz: math.Sqrt2 / (3 * sqrt3),
		InitialGap:       repromath.Log(float64(s.k)),
	}
}

// Values computes (z_m - z_y) + log(1 + sum_{j != m} e^(z_j - z_m)), where z_m is the greatest margin.
// The relative error of this form is small even if the loss is near 0.
func (s softmax) Values(dst, z, y []float64) {
	sameRecords(len(dst), 1, z, y, s.k)
	var t turned
	var gap, rest block
	for from := 0; from < len(y); {
		margins, class := t.next(s, z[from*s.k:], y[from:])
		n := len(class)
		repromath.SoftmaxParts(gap[:n], rest[:n], margins, class)
		repromath.CommonLog1ps(rest[:n], rest[:n])
		for i, c := range class {
			if dst[from+i] = gap[i] + rest[i]; c < 0 {
				dst[from+i] = math.NaN()
			}
		}
		from += n
	}
}

// turned is scratch space for margins of at most a block of records, class by class, and for their classes.
type turned struct {
	margins [16 * len(block{})]float64
	class   block
}

// next returns the margins of the first records class by class, and the classes, of which those below 0 are none.
func (t *turned) next(s softmax, z, y []float64) (margins, class []float64) {
	space := t.margins[:]
	if 8*s.k > len(space) {
		space = make([]float64, 8*s.k)
	}
	class = t.class.take(min(len(y), len(space)/s.k&^7))
	for i := range class {
		class[i] = float64(s.class(y[i]))
	}
	margins = space[:len(class)*s.k]
	simd.Turn(margins, z[:len(margins)], s.k)
	return margins, class
}

// Slopes computes the derivatives of the loss in the margins z. For a class j other than the true class y
// the derivative is the probability p_j. For y the derivative is p_y - 1. It is computed as minus the sum
// of the other probabilities, because the subtraction would lose all digits for p_y near 1.
func (s softmax) Slopes(dst, z, y []float64) {
	sameRecords(len(dst), s.k, z, y, s.k)
	var t turned
	for from := 0; from < len(y); {
		slopes, class := t.next(s, z[from*s.k:], y[from:])
		repromath.Softmaxes(slopes, class)
		simd.Turn(dst[from*s.k:][:len(slopes)], slopes, len(class))
		for i, c := range class {
			if c < 0 {
				dst[(from+i)*s.k] = math.NaN()
			}
		}
		from += len(class)
	}
}

// CurvaturesAlong computes the product of u and the Hessian in the margins. Its entry for class j is
// p_j (u_j - sum_i p_i u_i), where p_j is the probability of the class.
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

// Multinomial marks a loss whose Hessian in the margins is diag(p) - p p', for every target.
func (softmax) Multinomial() {}

// class returns the target y as a class number, or -1 if y is not a whole number in [0, K).
func (s softmax) class(y float64) int {
	if !(y >= 0 && y < float64(s.k)) || y != math.Trunc(y) {
		return -1
	}
	return int(y)
}

// greatest returns the index of the first NaN in z. If z has no NaN, it returns the index of the first of
// the greatest elements of z.
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
