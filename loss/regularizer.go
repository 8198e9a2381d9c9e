package loss

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Regularizer is a public function of the parameters that is added to the mean loss. Its gradient is added
// after the records' gradients are clipped and summed. No record influences it, and it costs no privacy
// budget. A regularizer is either a sum of functions of single coordinates, or a function of the norm of
// the parameters. Its results have the same bits on every machine.
type Regularizer interface {
	// Name returns a stable identifier such as "l2(0.01)", from which [ParseRegularizer] makes the
	// regularizer.
	Name() string
	Value(w []float64) float64
	// AddGradient adds the gradient at w to dst. It panics unless len(dst) = len(w). dst must not be w.
	AddGradient(dst, w []float64)
	// Smoothness returns the Lipschitz constant of the gradient.
	Smoothness() float64
	// Convexity returns a lower bound on the eigenvalues of the Hessian, over all w. It is negative
	// for a nonconvex regularizer.
	Convexity() float64
}

var regularizers = registry[Regularizer]{kind: "loss: regularizer", entries: map[string]entry[Regularizer]{
	"none":      {nil, func([]float64) (Regularizer, error) { return None(), nil }},
	"l2":        {[]string{"lambda"}, func(p []float64) (Regularizer, error) { return L2(p[0]) }},
	"nonconvex": {[]string{"lambda"}, func(p []float64) (Regularizer, error) { return Nonconvex(p[0]) }},
}}

// RegularizerNames returns the identifiers that NewRegularizer and ParseRegularizer know, without
// parameters, sorted.
func RegularizerNames() []string { return regularizers.names() }

// NewRegularizer makes a regularizer from its identifier and its parameters by name: "none" has no
// parameters, "l2" and "nonconvex" have the parameter lambda, in [0, 1e6]. An error names the invalid
// parameter, its value and the allowed values.
func NewRegularizer(name string, params map[string]float64) (Regularizer, error) {
	return regularizers.new(name, params)
}

// ParseRegularizer makes the regularizer whose Name is name, such as "l2(0.01)". Numbers may be written in
// other forms, such as 0.010 for 0.01.
func ParseRegularizer(name string) (Regularizer, error) { return regularizers.parse(name) }

func checkLambda(kind string, lambda float64) error {
	if !(lambda >= 0 && lambda <= maxScale) {
		return fmt.Errorf("loss: regularizer: %s: lambda = %v: must be between 0 and %v", kind, lambda, maxScale)
	}
	return nil
}

type none struct{}

// None is the regularizer that is 0 everywhere.
func None() Regularizer { return none{} }

func (none) Name() string                 { return "none" }
func (none) Value([]float64) float64      { return 0 }
func (none) AddGradient(dst, w []float64) { checkShape(len(dst), len(w), len(w)) }
func (none) Smoothness() float64          { return 0 }
func (none) Convexity() float64           { return 0 }

type l2 struct{ lambda float64 }

// L2 returns the regularizer (lambda/2)||w||^2. lambda must be between 0 and 1e6. The Hessian is lambda
// times the identity.
func L2(lambda float64) (Regularizer, error) {
	if err := checkLambda("l2", lambda); err != nil {
		return nil, err
	}
	return l2{lambda + 0}, nil // + 0 turns -0 into 0
}

func (r l2) Name() string        { return format("l2", r.lambda) }
func (r l2) Smoothness() float64 { return r.lambda }
func (r l2) Convexity() float64  { return r.lambda }

func (r l2) Value(w []float64) float64 {
	s := 0.0
	for _, v := range w {
		s = math.FMA(v, v, s)
	}
	return r.lambda / 2 * s
}

func (r l2) AddGradient(dst, w []float64) {
	checkShape(len(dst), len(w), len(w))
	for j, v := range w {
		dst[j] = math.FMA(r.lambda, v, dst[j])
	}
}

type nonconvex struct{ lambda float64 }

// Nonconvex returns the regularizer lambda sum_j u_j/(1+u_j), u_j = w_j^2. lambda must be between 0 and
// 1e6. The regularizer shrinks small coordinates towards 0 and hardly changes large coordinates
// (Antoniadis, Gijbels & Nikolova 2011).
//
//	d/dw_j = 2 lambda w_j/(1+u_j)^2
//	d2/dw_j2 = 2 lambda (1-3u_j)/(1+u_j)^3, whose derivative in u_j is
//	12 lambda (u_j-1)/(1+u_j)^4: from 2 lambda at w_j = 0 down to -lambda/2 at
//	|w_j| = 1, then back to 0
//
// Smoothness is therefore 2 lambda, and Convexity is -lambda/2.
func Nonconvex(lambda float64) (Regularizer, error) {
	if err := checkLambda("nonconvex", lambda); err != nil {
		return nil, err
	}
	return nonconvex{lambda + 0}, nil
}

func (r nonconvex) Name() string        { return format("nonconvex", r.lambda) }
func (r nonconvex) Smoothness() float64 { return 2 * r.lambda }
func (r nonconvex) Convexity() float64  { return 0 - float64(r.lambda/2) }

func (r nonconvex) Value(w []float64) float64 {
	// u/(1+u) for u = v^2, also if v*v is 0 or +Inf
	return r.lambda * vector.Sum(w, func(v float64) float64 { return 1 / (1 + 1/float64(v*v)) })
}

func (r nonconvex) AddGradient(dst, w []float64) {
	checkShape(len(dst), len(w), len(w))
	for j, v := range w {
		q := math.FMA(v, v, 1)
		dst[j] = math.FMA(2*r.lambda, v/q/q, dst[j])
	}
}

func checkShape(dst, w, x int) {
	if dst != w || x != w {
		panic(fmt.Sprintf("loss: len(dst) = %d, len(w) = %d, len(x) = %d: must be equal", dst, w, x))
	}
}
