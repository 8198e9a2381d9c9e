package mechanism

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
)

// The tests of this package use a slow second implementation, which is in this file and works
// without grids of losses, Fourier transforms or the laws' own code. It exists because few exact
// values are published. It gives an exact value for every mechanism, count and epsilon that a test
// draws.

func refNormal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

func refDensity(bumps []component, x float64) float64 {
	var sum float64
	for _, b := range bumps {
		sum += b.weight * math.Exp(-(x-b.mean)*(x-b.mean)/2)
	}
	return sum / math.Sqrt(2*math.Pi)
}

func refLoss(l mixtureLaw, x float64) float64 {
	top := func(bumps []component) float64 {
		most, sum := math.Inf(-1), 0.0
		for _, b := range bumps {
			most = max(most, math.Log(b.weight)-(x-b.mean)*(x-b.mean)/2)
		}
		for _, b := range bumps {
			sum += math.Exp(math.Log(b.weight) - (x-b.mean)*(x-b.mean)/2 - most)
		}
		return most + math.Log(sum)
	}
	return top(l.p) - top(l.q)
}

// refTail returns the probability of x > t for x drawn from a mixture of Gaussians of variance 1.
func refTail(bumps []component, t float64) float64 {
	var sum float64
	for _, b := range bumps {
		sum += b.weight * refNormal(b.mean-t)
	}
	return sum
}

// refHockey returns the hockey-stick divergence H(e^epsilon) of one mixture law, for any epsilon. The
// law's losses increase with x, so the best test is x > t for the t with loss L(t) = epsilon.
func refHockey(l mixtureLaw, epsilon float64) float64 {
	lo, hi := -1000.0, 1000.0
	for range 200 {
		if mid := (lo + hi) / 2; refLoss(l, mid) < epsilon {
			lo = mid
		} else {
			hi = mid
		}
	}
	return refTail(l.p, hi) - math.Exp(epsilon)*refTail(l.q, hi)
}

// refTwo returns the hockey-stick divergence H of the composition of the laws a and b: the
// expectation, over the loss of a, of the divergence of b at the rest of epsilon.
func refTwo(a, b mixtureLaw, epsilon float64) float64 {
	const lo, hi, n = -14.0, 40.0, 5400
	step := (hi - lo) / n
	var sum float64
	for k := range n {
		x := lo + (float64(k)+.5)*step
		if p := refDensity(a.p, x); p > 1e-25 {
			sum += p * refHockey(b, epsilon-refLoss(a, x))
		}
	}
	return sum * step
}

// refMany returns the hockey-stick divergence H of the composition of several laws by inversion of
// the moment generating function M(s) = E_P e^(s L) along Re s = theta:
//
//	H(e^epsilon) = (1/pi) integral_0^inf Re( M(s) e^(-s epsilon)/(s (s+1)) ) dt,   s = theta + i t.
//
// M is a trapezoidal sum over x, and the integral over t is one too; both converge faster than any
// power of the step.
func refMany(laws []mixtureLaw, counts []float64, epsilon, theta, reach float64, n int) float64 {
	type node struct{ loss, log float64 }
	nodes := make([][]node, len(laws))
	for i, l := range laws {
		lo, hi := math.Inf(1), math.Inf(-1)
		var m float64
		for _, b := range append(append([]component(nil), l.p...), l.q...) {
			lo, hi, m = min(lo, b.mean), max(hi, b.mean), max(m, math.Abs(b.mean))
		}
		lo, hi = lo-9.5, hi+9.5+theta*m
		steps := int((hi-lo)*(16+2*m)) + 1
		step := (hi - lo) / float64(steps)
		for k := range steps {
			x := lo + float64(k)*step
			loss := refLoss(l, x)
			nodes[i] = append(nodes[i], node{loss, math.Log(refDensity(l.p, x)*step) + theta*loss})
		}
	}
	value := func(t float64) float64 {
		s := complex(theta, t)
		log := -s * complex(epsilon, 0)
		for i := range laws {
			var top = math.Inf(-1)
			for _, a := range nodes[i] {
				top = max(top, a.log)
			}
			var re, im float64
			for _, a := range nodes[i] {
				if a.log < top-45 {
					continue
				}
				e := math.Exp(a.log - top)
				sin, cos := math.Sincos(t * a.loss)
				re += e * cos
				im += e * sin
			}
			log += complex(counts[i], 0) * (complex(top, 0) + cmplx.Log(complex(re, im)))
		}
		return real(cmplx.Exp(log) / (s * (s + 1)))
	}
	step := reach / float64(n)
	sum := value(0) / 2
	for k := 1; k <= n; k++ {
		sum += value(float64(k) * step)
	}
	return sum * step / math.Pi
}

// refResponses returns the delta of n uses of randomized response with epsilon0: the loss is (2k-n)
// epsilon0, k binomial.
func refResponses(n int, epsilon0, epsilon float64) float64 {
	p := 1 / (1 + math.Exp(-epsilon0))
	var sum float64
	for k := range n + 1 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		loss := float64(2*k-n) * epsilon0
		if loss > epsilon {
			sum -= math.Exp(a-b-c+float64(k)*math.Log(p)+float64(n-k)*math.Log1p(-p)) * math.Expm1(epsilon-loss)
		}
	}
	return sum
}

// refLaplace and refBoundedRange return the delta at epsilon of one use of the Laplace and of the
// least private bounded-range mechanism with parameter epsilon0.
func refLaplace(epsilon0, epsilon float64) float64 {
	return max(0, -math.Expm1((epsilon-epsilon0)/2))
}

func refBoundedRange(epsilon0, epsilon float64) float64 {
	value := func(t float64) float64 { // the pair of two atoms at t and t - epsilon0
		p := (math.Exp(epsilon0) - math.Exp(t)) / math.Expm1(epsilon0)
		return p * -math.Expm1(epsilon-t)
	}
	lo, hi := epsilon, epsilon0
	for range 100 {
		if a, b := lo+(hi-lo)/3, hi-(hi-lo)/3; value(a) < value(b) {
			lo = a
		} else {
			hi = b
		}
	}
	return value(lo)
}

func refSampled(multiplier, q float64, r Relation) [2]mixtureLaw {
	mu := 1 / multiplier
	zero, one := component{1 - q, 0}, component{q, mu}
	if r == ReplaceOne {
		l := mixtureLaw{[]component{zero, one}, []component{zero, {q, -mu}}}
		return [2]mixtureLaw{l, l}
	}
	return [2]mixtureLaw{
		{[]component{zero, one}, []component{{1, 0}}},
		{[]component{{1, 0}}, []component{zero, {q, -mu}}},
	}
}

func logUniformInt(r *rand.Rand, lo, hi int) int {
	return int(logUniform(r, float64(lo), float64(hi)+.999))
}
