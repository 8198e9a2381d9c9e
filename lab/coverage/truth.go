package coverage

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// fit computes the coefficients of the rows without privacy, by Newton's method on indicators and the table's own
// numbers. It shares no code with the product. The result has an entry for each class and term; of several classes,
// the coefficients are those against the mean of the classes or, with intervals, against the first class.
func (d Design) fit(of []row) map[string]float64 {
	k := 1 // number of margins; of several classes the first has the margin 0
	if len(d.Classes) > 2 {
		k = len(d.Classes) - 1
	}
	names := d.terms()
	p := len(names)
	z := make([][]float64, 0, len(of))
	y, weight, offset := make([]float64, 0, len(of)), make([]float64, 0, len(of)), make([]float64, len(of))
	for _, r := range of {
		if math.IsNaN(r.y) {
			continue
		}
		u := 1.
		if w, ok := 0., false; d.Classes != nil {
			if w, ok = d.Weights[d.Classes[int(r.y)]]; ok {
				u = w
			}
		}
		if d.Rows > 0 {
			u /= float64(r.of)
		}
		if d.Surveyed {
			u *= r.x[len(d.Columns)]
		}
		if d.Exposed {
			offset[len(y)] = math.Log(r.x[len(d.Columns)])
		}
		x := d.features(r)
		if slices.ContainsFunc(d.gone, func(name string) bool { return x[slices.Index(names, name)] != 0 }) {
			continue
		}
		for j, name := range names {
			if slices.Contains(d.without, name) {
				x[j] = 0
			}
		}
		z, y, weight = append(z, x), append(y, r.y), append(weight, u)
	}
	// Standardised features, so that Newton's method is well conditioned.
	scale := make([]float64, p)
	for _, v := range z {
		for j := range v {
			scale[j] = max(scale[j], math.Abs(v[j]))
		}
	}
	for _, v := range z {
		for j := range v {
			v[j] /= max(scale[j], 1e-9)
		}
	}
	b := make([]float64, k*p)
	if d.Classes == nil {
		for _, v := range y {
			b[p-1] += v / float64(len(y))
		}
	}
	if d.counts() {
		b[p-1] = math.Log(b[p-1])
	}
	margins, mean := make([]float64, k), make([]float64, k)
	for range 200 {
		g, h := mat.NewVecDense(k*p, nil), mat.NewSymDense(k*p, nil)
		for i, v := range z {
			for m := range k {
				margins[m] = offset[i]
				for j := range v {
					margins[m] += v[j] * b[m*p+j]
				}
			}
			d.means(mean, margins)
			for m := range k {
				slope, curved := d.clipped(mean[m] - d.target(y[i], m))
				for j, v1 := range v {
					if v1 == 0 {
						continue
					}
					g.SetVec(m*p+j, g.AtVec(m*p+j)+weight[i]*slope*v1)
					for m2 := m; m2 < k; m2++ {
						curve := curved * weight[i] * d.curve(mean, m, m2) * v1
						for j2, v2 := range v {
							if a, c := m*p+j, m2*p+j2; c >= a {
								h.SetSym(a, c, h.At(a, c)+curve*v2)
							}
						}
					}
				}
			}
		}
		for j := range k * p {
			h.SetSym(j, j, h.At(j, j)+1e-9)
		}
		step := mat.NewVecDense(k*p, nil)
		var chol mat.Cholesky
		if !chol.Factorize(h) || chol.SolveVecTo(step, g) != nil {
			break
		}
		for j := range b {
			b[j] -= step.AtVec(j)
		}
		if mat.Norm(step, 2) < 1e-9 {
			break
		}
	}
	out := map[string]float64{}
	for j, name := range names {
		of := make([]float64, 0, k+1)
		if k > 1 {
			of = append(of, 0)
		}
		sum := 0.
		for m := range k {
			v := b[m*p+j] / max(scale[j], 1e-9)
			of, sum = append(of, v), sum+v
		}
		for m, v := range of {
			if d.Intervals && k > 1 && m == 0 {
				continue
			} else if k > 1 && !d.Intervals {
				v -= sum / float64(k+1)
			}
			out[d.class(m)+name] = v
		}
	}
	return out
}

// counts reports whether the mean has a logarithmic link. The fit is then Poisson's, which is that of the mean for any
// distribution.
func (d Design) counts() bool {
	name, _, _ := strings.Cut(d.Loss, "(")
	return slices.Contains([]string{"poisson", "gamma", "negbinomial"}, name)
}

// means sets the means of the targets given the margins.
func (d Design) means(mean, z []float64) {
	switch {
	case len(d.Classes) > 2:
		sum := 1.
		for m, v := range z {
			mean[m] = math.Exp(v)
			sum += mean[m]
		}
		for m := range mean {
			mean[m] /= sum
		}
	case d.Classes != nil:
		mean[0] = 1 / (1 + math.Exp(-z[0]))
	case d.counts():
		mean[0] = math.Exp(z[0])
	default:
		mean[0] = z[0]
	}
}

// target returns the target as margin m of the loss sees it.
func (d Design) target(y float64, m int) float64 {
	if len(d.Classes) > 2 {
		if int(y) == m+1 {
			return 1
		}
		return 0
	}
	return y
}

// clipped returns the slope of the loss for a difference between the mean and the target, and the factor of its
// derivative. The slopes of numbers are clipped at the parameter of the loss, in units of half of the target's range.
func (d Design) clipped(v float64) (slope, factor float64) {
	tau := .5
	if _, err := fmt.Sscanf(d.Loss, "pinball(%g)", &tau); err == nil || d.Loss == "absolute" {
		far := 2 * (math.Abs(v) + 1e-4*d.Most) // of a parabola above the loss (Hunter and Lange 2000)
		return v/far + .5 - tau, 1 / far
	}
	var at float64
	if _, err := fmt.Sscanf(d.Loss, "huber(%g)", &at); err != nil || math.Abs(v) <= at*d.Most/2 {
		return v, 1
	}
	return math.Copysign(at*d.Most/2, v), at * d.Most / 2 / math.Abs(v) // of a parabola above the loss
}

// curve returns the derivative of the mean of target m in margin m2.
func (d Design) curve(mean []float64, m, m2 int) float64 {
	switch {
	case d.Classes != nil && m == m2:
		return mean[m] * (1 - mean[m])
	case d.Classes != nil:
		return -mean[m] * mean[m2]
	case d.counts():
		return mean[0]
	}
	return 1
}
