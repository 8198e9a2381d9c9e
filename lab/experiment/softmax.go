package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// softmaxClasses is the number of classes in Softmax. softmaxL2 is the convexity of its
// regularizer.
const (
	softmaxClasses = 3
	softmaxL2      = .01
)

// Softmax is the softmax loss of three classes + (.01/2)||w||^2, with d/3 features for each class. It is
// strongly convex, so kappa = 2 and gamma = 1/sqrt(.02). Rows have norm 1. A row's class is the index of
// the largest of three planted margins plus Gumbel noise. The planted margins have standard deviation 2.
func Softmax(d, rows int, seed uint64) (*Family, error) {
	if d%softmaxClasses != 0 {
		return nil, fmt.Errorf("experiment: softmax: dimension = %d: must be a multiple of its %d classes", d, softmaxClasses)
	}
	f, err := newFamily(inClasses, 0x50f7, d/softmaxClasses, rows, seed, "softmax",
		fmt.Sprintf("softmax(%d)", softmaxClasses), fmt.Sprintf("l2(%v)", softmaxL2))
	if err != nil {
		return nil, err
	}
	f.KL = optimize.KL{Kappa: 2, Gamma: 1 / math.Sqrt(2*softmaxL2)}
	f.Minimum, err = f.minimise()
	return f, err
}

func inClasses(r *rand.Rand, d int) population {
	planted := make([][]float64, softmaxClasses)
	for k := range planted {
		planted[k] = make([]float64, d)
		for j := range planted[k] {
			planted[k][j] = 2 * r.NormFloat64()
		}
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		for range n {
			x := make([]float64, d)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			norm := stationarity.Norm(x) * (1 + 0x1p-20) // float32 may round up
			class, most := 0, math.Inf(-1)
			for k := range planted {
				z := -math.Log(-math.Log(r.Float64())) // Gumbel noise, whose differences have the logistic distribution
				for j := range x {
					z += planted[k][j] * x[j] / norm
				}
				if z > most {
					class, most = k, z
				}
			}
			rehearsal.Add(&s, x, norm, float64(class))
		}
		return s
	}
}

// minimise returns the minimum of a strongly convex objective. It runs accelerated gradient descent until
// ||grad F||^2/(2m) is at most 10^-15, where m is the regularizer's convexity. This number bounds the error
// of the minimum. minimise returns an error if 10,000 steps are not enough.
func (f *Family) minimise() (*float64, error) {
	m, smooth := f.Regularizer.Convexity(), f.Regularizer.Smoothness()+f.Loss.Constants().Curvature.Hi
	beta := (math.Sqrt(smooth) - math.Sqrt(m)) / (math.Sqrt(smooth) + math.Sqrt(m))
	w, last := make([]float64, f.Dim()), make([]float64, f.Dim())
	for range 10_000 {
		y := make([]float64, len(w))
		for j := range y {
			y[j] = w[j] + beta*(w[j]-last[j])
		}
		g, err := stationarity.Gradient(f.Loss, f.Regularizer, f.Sample, y)
		if err != nil {
			return nil, err
		}
		if norm := stationarity.Norm(g); norm*norm <= 2*m*1e-15 {
			least, err := stationarity.Objective(f.Loss, f.Regularizer, f.Sample, y)
			return &least, err
		}
		copy(last, w)
		for j := range w {
			w[j] = y[j] - g[j]/smooth
		}
	}
	return nil, fmt.Errorf("experiment: %s: the minimum was not found", f.Name)
}
