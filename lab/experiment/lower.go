package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// This file has the instances of lower bounds whose rows are fingerprinting codes, and of the lower bound for two tables
// (Arora et al. 2023, Lemma 4; Menart et al. 2024, Theorems 6, 7 and 8). The papers' bounds leave constants open.
// CodesError has a bound with its constant, for mu-GDP in place of (epsilon, delta).

// Codes draws n rows: the first codes of them are corners of {-1, 1}^d over sqrt(d), and the others are 0. Coordinate j of
// a corner is 1 with probability (1 + P_j)/2, where P_j is uniform on [-1, 1].
func Codes(d, n, codes int, seed uint64) stationarity.Sample {
	r := rand.New(rand.NewPCG(seed, 0xc0de))
	p := make([]float64, d)
	for j := range p {
		p[j] = 2*r.Float64() - 1
	}
	s := rehearsal.NewSample(n)
	for i := range n {
		x := make([]float64, d)
		for j := range x {
			if i < codes {
				x[j] = 1
				if r.Float64() > (1+p[j])/2 {
					x[j] = -1
				}
			}
		}
		rehearsal.Add(&s, x, math.Sqrt(float64(d))*(1+0x1p-20), 0) // float32 may round up
	}
	return s
}

// CodesError returns a lower bound on the root mean square error of every mu-GDP estimate of the mean of n rows, of which
// the first codes are corners of {-1, 1}^d, drawn as in Codes but not divided by sqrt(d), and the others are 0. The mean
// square is over rows and noise. Neighbours differ in one row. With the best number of codes, sqrt(2 d/(3 m)) where that
// is large, it is d/(3 n sqrt(m)), m = e^(mu^2) - 1.
//
// Let c be the number of codes, x their mean, and o the estimate of x. For a coordinate with g(p) = E(o | P = p), S = E(o
// sum_i (x_i - P)) = E((1 - P^2) g'(P)) = E(2 P g(P)) by parts (Steinke and Ullman 2017). So E(o x) = S/2 + S/c, and E x^2 =
// 1/3 + 2/(3c). Over all coordinates
//
//	E ||o - x||^2 = E ||o||^2 + (1 + 2/c) (d/3 - sum_i E <o, x_i - P>)
//
// If row i is replaced by another one from the same distribution, <o, x_i - P> has mean 0 and a mean square of at most s =
// E ||o||^2. mu-GDP bounds the chi-square divergence between the two laws of o by m, so that the mean of each term is at
// most sqrt(m s). s - (c + 2) sqrt(m s) is at least -(c + 2)^2 m/4. The mean of all n rows is c/n times x.
func CodesError(d, n, codes int, mu float64) float64 {
	c := float64(codes)
	square := (1+2/c)*float64(d)/3 - (c+2)*(c+2)*math.Expm1(mu*mu)/4
	return c / float64(n) * math.Sqrt(max(square, 0))
}

// BestCodes returns the number of codes for which CodesError is largest, and this error.
func BestCodes(d, n int, mu float64) (codes int, bound float64) {
	for c := 1; c <= n && c*c <= d*n; c++ {
		if b := CodesError(d, n, c, mu); b > bound {
			codes, bound = c, b
		} else if b == 0 && c > 1 {
			break
		}
	}
	return codes, bound
}

// Growth is the loss <w,x> + R(||w||) with R' = min(Weight r^(Tau-1), Cap), for Tau >= 2. With Tau 2, Weight codes/n and Cap 4
// Weight it is the instance of Theorem 7 (Menart et al. 2024) for D = 1. With Weight and Cap 1 it is the first instance of
// the reduction behind Theorem 6, of growth Tau and of KL exponent Tau/(Tau-1). It does not use targets.
type Growth struct{ Tau, Weight, Cap, Gap float64 }

func (g Growth) Name() string        { return fmt.Sprintf("growth(%v,%v,%v)", g.Tau, g.Weight, g.Cap) }
func (g Growth) Target() loss.Target { return loss.Real }

func (g Growth) edge() float64 { return math.Pow(g.Cap/g.Weight, 1/(g.Tau-1)) }

// Constants returns the constants for rows of norm at most 1. The Hessian's largest eigenvalue is that along w at the edge.
func (g Growth) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:  1 + g.Cap,
		Curvature:  loss.CurvatureInterval{Hi: (g.Tau - 1) * g.Weight * math.Pow(g.edge(), g.Tau-2)},
		InitialGap: g.Gap, HessianLipschitz: math.Inf(1),
	}
}

func (g Growth) Value(w []float64, x []float32, _ float64) float64 {
	r, b := stationarity.Norm(w), g.edge()
	f := g.Weight / g.Tau * math.Pow(min(r, b), g.Tau)
	if r > b {
		f += g.Cap * (r - b)
	}
	for j, v := range x {
		f += w[j] * float64(v)
	}
	return f
}

func (g Growth) Gradient(dst, w []float64, x []float32, _ float64) {
	r, slope := stationarity.Norm(w), 0.
	if r > 0 {
		slope = min(g.Weight*math.Pow(r, g.Tau-1), g.Cap) / r
	}
	for j, v := range x {
		dst[j] = slope*w[j] + float64(v)
	}
}

// Family returns the family of the loss on Codes(d, n, codes, seed), each row for one record. For a mean x of the rows the
// minimum is -c^(-1/(Tau-1)) ||x||^q/q with c = Weight and q = Tau/(Tau-1), which is the convex conjugate of R at x.
func (g Growth) Family(d, n, codes int, seed uint64) *Family {
	f := &Family{Name: g.Name(), Sample: Codes(d, n, codes, seed), Loss: g, seed: seed}
	mean, q := make([]float64, d), g.Tau/(g.Tau-1)
	for _, x := range f.Sample.Rows {
		for j, v := range x {
			mean[j] += float64(v) / float64(n)
		}
	}
	minimum := -math.Pow(g.Weight, -1/(g.Tau-1)) * math.Pow(stationarity.Norm(mean), q) / q
	f.Minimum = &minimum
	return f
}

// Bound returns a lower bound on the mean excess risk of every mu-GDP algorithm over the families of Family: with e the
// least error of CodesError, in rows of norm 1, and G = codes/n,
//
//	(q-1)/2 G^(q-2) c^(-1/(Tau-1)) e^2.
//
// A point w estimates x by o = -grad R(w), and its excess risk is the Bregman divergence of R*, ||.||^q up to a factor,
// between x and o. Beyond ||o|| = G >= ||x|| the divergence falls towards the ball of radius G. In the ball the Hessian of
// ||.||^q/q is at least (q-1) G^(q-2). Beyond the edge the risk only rises, since its slope is at least ||x||.
func (g Growth) Bound(d, n, codes int, mu float64) float64 {
	q := g.Tau / (g.Tau - 1)
	e := CodesError(d, n, codes, mu) / math.Sqrt(float64(d))
	return (q - 1) / 2 * math.Pow(float64(codes)/float64(n), q-2) * math.Pow(g.Weight, -1/(g.Tau-1)) * e * e
}

// Lemma4 is the loss of Lemma 4 (Arora et al. 2023), with Lipschitz constant and smoothness 1: on the first half of the
// coordinates <w, x>, on the second the sum of h(w_j) sqrt(d) x_j with h' = v cut to 1/sqrt(d). The factor 1/2 that the
// page has before h, and its gradient has not, is left out.
type Lemma4 struct{}

// Name returns lemma4.
func (Lemma4) Name() string { return "lemma4" }

// Target returns Real. Targets are not used.
func (Lemma4) Target() loss.Target { return loss.Real }

// Constants returns the constants for rows that are corners of the cube over sqrt(d), or 0. The loss has no minimum; the
// gap is that of a step of length 1.
func (Lemma4) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Lo: -1, Hi: 1}, InitialGap: 1,
		HessianLipschitz: math.Inf(1)}
}

// Value returns the loss of the row x at w.
func (Lemma4) Value(w []float64, x []float32, _ float64) (f float64) {
	root := math.Sqrt(float64(len(w)))
	for j, v := range w {
		if j < len(w)/2 {
			f += v * float64(x[j])
			continue
		}
		h := v * v / 2
		if a := math.Abs(v); a > 1/root {
			h = a/root - 1/(2*root*root)
		}
		f += h * root * float64(x[j])
	}
	return f
}

// Gradient sets dst to the gradient of the row's loss at w.
func (Lemma4) Gradient(dst, w []float64, x []float32, _ float64) {
	root := math.Sqrt(float64(len(w)))
	for j, v := range w {
		dst[j] = float64(x[j])
		if j >= len(w)/2 {
			dst[j] *= root * min(max(v, -1/root), 1/root)
		}
	}
}

// TwoTables is the loss of Theorem 8 (Menart et al. 2024) in one dimension. With z = w x it is a - z up to z = a, and (z -
// a)^Tau beyond, Tau = Kappa/(Kappa-1), where its slope ends at 1. a is (1/(n epsilon))^(1/(Tau-1))/2.
type TwoTables struct{ Kappa, Records, Epsilon float64 }

func (t TwoTables) tau() float64 { return t.Kappa / (t.Kappa - 1) }
func (t TwoTables) rho() float64 { return 1 / (t.Records * t.Epsilon) }
func (t TwoTables) at() float64  { return math.Pow(t.rho(), 1/(t.tau()-1)) / 2 }

func (t TwoTables) Name() string        { return fmt.Sprintf("two-tables(%v)", t.Kappa) }
func (t TwoTables) Target() loss.Target { return loss.Real }

// Constants returns the constants. The slope jumps at a, so that the curvature has no bound. The declared one, 2/a, only
// makes a step of gradient descent about as long as a.
func (t TwoTables) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Hi: 2 / t.at()}, InitialGap: t.at(),
		HessianLipschitz: math.Inf(1)}
}

func (t TwoTables) Value(w []float64, x []float32, _ float64) float64 {
	z, a, tau := w[0]*float64(x[0])-t.at(), 0., t.tau()
	if z <= 0 {
		return -z
	}
	if a = math.Pow(tau, -1/(tau-1)); z > a {
		return math.Pow(a, tau) + z - a
	}
	return math.Pow(z, tau)
}

func (t TwoTables) Gradient(dst, w []float64, x []float32, _ float64) {
	z, tau := w[0]*float64(x[0])-t.at(), t.tau()
	dst[0] = -float64(x[0])
	if z > 0 {
		dst[0] = float64(x[0]) * min(tau*math.Pow(z, tau-1), 1)
	}
}

// Family returns the table with (1 + rho)/2 of its rows 1 and the others -1, or with sign -1 the other table, rho = 1/(n
// epsilon). The numbers of rows must come out whole. The minimum, at sign a, is (1 - rho) a.
func (t TwoTables) Family(sign float64) *Family {
	n := int(t.Records)
	f := &Family{Name: t.Name(), Sample: rehearsal.NewSample(n), Loss: t, KL: optimize.KL{Kappa: t.Kappa, Gamma: 1}}
	for i := range n {
		x := -sign
		if float64(i) < math.Round((1+t.rho())/2*t.Records) {
			x = sign
		}
		rehearsal.Add(&f.Sample, []float64{x}, 1, 0)
	}
	minimum := (1 - t.rho()) * t.at()
	f.Minimum = &minimum
	return f
}

// Bound is the theorem's: no (epsilon, delta)-DP algorithm has a smaller mean excess risk on both tables, for epsilon up to
// log 2 and delta up to (1 - e^-epsilon)/16.
func (t TwoTables) Bound() float64 { return math.Pow(t.rho(), t.Kappa) / 4 }

// Session opens a simulated session over the family's rows, each for one record, in which every query may be asked.
func (f *Family) Session(b account.Budget, seed uint64) (*simulate.Session, error) {
	return simulate.Open(simulate.Config{Rows: f.Sample.Rows, Targets: f.Sample.Targets, Loss: f.Loss, Budget: b, Seed: seed,
		Workers: 1})
}
