package experiment

import "github.com/stillpoint-dp/stillpoint/lab/measure"

// Eigenvalue is the smallest eigenvalue of a Hessian, computed by Lanczos's method. The Hessian has an
// eigenvalue within Residual of Value.
type Eigenvalue struct {
	Value    float64 `json:"value"`
	Residual float64 `json:"residual"`
}

// leastEigenvalue returns the smallest eigenvalue of the Hessian of the family's objective at w, on
// all rows.
func leastEigenvalue(f *Family, w []float64) (*Eigenvalue, error) {
	pair, err := measure.LambdaMin(f.Loss, f.Regularizer, f.Sample, w)
	return &Eigenvalue{finite(pair.Value), finite(pair.Residual)}, err
}

// SecondOrder says how many runs ended at second-order stationary points, for the gap that the
// specification sets.
type SecondOrder struct {
	Eigenvalue Quartiles `json:"least_eigenvalue"`
	// Near is the fraction of runs with a gradient norm of at most gap^2 and no eigenvalue below
	// -gap/2. Tables name it S1.
	Near float64 `json:"near"`
	// Close is the fraction of runs with a gradient norm of at most gap^2/4 and no eigenvalue below -gap/2.
	// Tables name it S2.
	Close float64 `json:"close"`
}

// secondOrder returns, for the specification's gap, the fractions of the runs that ended at second-order
// points. It returns nil if gap is 0.
func secondOrder(gap float64, runs []Finished) *SecondOrder {
	if gap == 0 {
		return nil
	}
	var out SecondOrder
	values := make([]float64, len(runs))
	for i, r := range runs {
		o := r.Outcome
		values[i] = o.Curvature.Value
		if o.Curvature.Value < -gap/2 {
			continue
		}
		if o.GradientNorm <= gap*gap {
			out.Near += 1 / float64(len(runs))
		}
		if o.GradientNorm <= gap*gap/4 {
			out.Close += 1 / float64(len(runs))
		}
	}
	out.Eigenvalue = quartiles(values)
	return &out
}
