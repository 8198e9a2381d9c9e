package synthetic

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// quantile returns the quantile of the standard normal distribution for q in (0, 1), within 1e-9 of its size
// (Acklam 2003, without the last refinement).
func quantile(q float64) float64 {
	if q > .5 {
		return -quantile(1 - q)
	}
	horner := func(x float64, c ...float64) (sum float64) {
		for _, v := range c {
			sum = float64(sum*x) + v
		}
		return sum
	}
	if q < .02425 {
		x := math.Sqrt(-2 * repromath.Log1p(q-1))
		return horner(x, -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838, -2.549732539343734,
			4.374664141464968, 2.938163982698783) /
			horner(x, 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996, 3.754408661907416, 1)
	}
	x := q - .5
	r := float64(x * x)
	return float64(x*horner(r, -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02,
		-3.066479806614716e+01, 2.506628277459239)) /
		horner(r, -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
			-1.328068155288572e+01, 1)
}

const leastEigenvalue = 1e-3 // of correlations

// positive returns the correlation matrix c of p rows with its eigenvalues raised to at least leastEigenvalue, and
// divided such that its diagonal is 1 again.
func positive(c []float64, p int) []float64 {
	out := raised(c, p, leastEigenvalue)
	size := vector.Make(p, func(i int) float64 { return math.Sqrt(out[i*p+i]) })
	for i := range p {
		for j := range p {
			out[i*p+j] /= float64(size[i] * size[j])
		}
	}
	return out
}

// raised returns the symmetric matrix c of p rows with its eigenvalues raised to at least least. They are found by
// Jacobi's rotations.
func raised(c []float64, p int, least float64) []float64 {
	a, v := append([]float64(nil), c...), make([]float64, p*p)
	for i := range p {
		v[i*p+i] = 1
	}
	const sweeps = 12 // convergence is quadratic: the rest is rounding
	for range sweeps {
		var off, on float64
		for i := range p {
			on += float64(a[i*p+i] * a[i*p+i])
			for j := range i {
				off += float64(a[i*p+j] * a[i*p+j])
				rotate(a, v, p, j, i)
			}
		}
		if off <= 1e-20*on {
			break
		}
	}
	out := make([]float64, p*p)
	for k := range p {
		value := max(a[k*p+k], least)
		for i := range p {
			along := float64(value * v[k*p+i])
			for j := range i + 1 {
				out[i*p+j] += float64(along * v[k*p+j])
			}
		}
	}
	for i := range p {
		for j := range i {
			out[j*p+i] = out[i*p+j]
		}
	}
	return out
}

// rotate makes entry (i, j) of the symmetric matrix a zero, and turns the rows of v with it.
func rotate(a, v []float64, p, i, j int) {
	if a[i*p+j] == 0 {
		return
	}
	theta := (a[j*p+j] - a[i*p+i]) / (2 * a[i*p+j])
	t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
	if theta < 0 {
		t = -t
	}
	cos := 1 / math.Sqrt(float64(t*t)+1)
	sin := t * cos
	turn := func(m []float64, x, y int) {
		u, w := m[x], m[y]
		m[x], m[y] = float64(cos*u)-float64(sin*w), float64(sin*u)+float64(cos*w)
	}
	for k := range p {
		turn(a, k*p+i, k*p+j)
	}
	for k := range p {
		turn(a, i*p+k, j*p+k)
	}
	a[i*p+j], a[j*p+i] = 0, 0
	for k := range p {
		turn(v, i*p+k, j*p+k)
	}
}

// cholesky returns the lower triangle L with L L' = c, for a positive definite matrix c of p rows.
func cholesky(c []float64, p int) []float64 {
	l := make([]float64, p*p)
	for i := range p {
		for j := range i + 1 {
			sum := c[i*p+j]
			for k := range j {
				sum -= float64(l[i*p+k] * l[j*p+k])
			}
			if i == j {
				l[i*p+i] = math.Sqrt(max(sum, 1e-9))
			} else {
				l[i*p+j] = sum / l[j*p+j]
			}
		}
	}
	return l
}
