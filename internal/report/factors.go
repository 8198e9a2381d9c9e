package report

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Noise hides each small eigenvalue of the second moment of many numbers, but not their sum. Draws of noise about an estimate
// have directions of almost no variance, along which steps cover nothing. factored therefore draws from a family of moments: a
// third as many common factors as features, and a share of each variance, own, that the feature has for itself.

// ownShares are the shares that are tried, sureOwn is the posterior probability of the shares from the one taken on, and lowDraws
// the number of draws for each share. mostFactored is the most numbers, and leastSeen the largest ridge over their mean variance.
// cautious is the part of the share that is used: numbers in pairs have less for themselves than factors tell.
const sureOwn, lowDraws, mostFactored, leastSeen, cautious = .75, 12, 120, 1.2, .75

// guessed is by how much the noise of many numbers is widened: it follows from one estimate of their second moment.
const guessed = 1.3

// A run is thorough if it covers the share mostHardly of the way along a direction of curvature hardly. mostTold bounds
// the noise of the second moment, relative to the numbers' mean variance, from which their own share is estimated.
const hardly, mostHardly, mostTold = .01, .85, .4

// thorough reports whether the steps cover nearly all of the way also along directions in which rows vary little.
func (l *trace) thorough() bool {
	_, share := l.respond(hardly)
	return share >= mostHardly
}

var ownShares = []float64{.8, .6, .4, .3, .2, .13, .08, .05, .03}

// manyNumbers returns the features that are numbers or dates, if the moments of rows are drawn by factored, and
// otherwise nil. At least half of manyColumns are then numbers, without curves. With a large ridge, a run that is not
// thorough covers little of the way along any small eigenvalue, and such moments would state too little noise.
func (x *structure) manyNumbers(rows *mat.SymDense, ridge, sigma float64, thorough bool) (list []int) {
	d, sum := rows.SymmetricDim(), 0.
	if x == nil || len(x.hats) > 0 || x.plain || d <= manyColumns || !(x.shared > 0) {
		return nil
	}
	for j, level := range x.levels[:d-1] {
		if !level {
			list = append(list, j)
			sum += rows.At(j, j) - math.Pow(rows.At(j, d-1)/x.shared, 2)
		}
	}
	n := float64(len(list))
	if n < manyColumns/2 || n > mostFactored || ridge*n > leastSeen*sum && !(thorough && sigma*n <= mostTold*sum) {
		return nil
	}
	return list
}

// drawnFactors draws the second moment of features with the given variances, of which each has the share own for itself.
func drawnFactors(variances []float64, own float64, coins *rand.Rand) *mat.SymDense {
	d := len(variances)
	z, out := mat.NewDense(d, max(d/3, 1), nil), mat.NewSymDense(d, nil)
	z.Apply(func(i, _ int, _ float64) float64 {
		return coins.NormFloat64() * math.Sqrt(variances[i]/float64(max(d/3, 1)))
	}, z)
	out.SymOuterK(1-own, z)
	for i, v := range variances {
		out.SetSym(i, i, out.At(i, i)+own*v)
	}
	return out
}

// lower returns the sum of the lower half of the eigenvalues.
func lower(of *mat.SymDense) float64 {
	var e mat.EigenSym
	e.Factorize(of, false)
	return vector.Total(e.Values(nil)[:of.SymmetricDim()/2])
}

// own returns the share of the variances that numbers have for themselves. The lower half of the eigenvalues of their released
// covariance tells it.
func own(covariance *mat.SymDense, variances []float64, sigma float64) (share float64) {
	seen, at, total := lower(covariance), make([]float64, len(ownShares)), 0.
	for i, share := range ownShares {
		coins := rand.New(rand.NewPCG(7, 8)) // the same draws for each share
		mean, square := 0., 0.
		for range lowDraws {
			v := lower(noisy(drawnFactors(variances, share, coins), sigma, coins))
			mean, square = mean+v/lowDraws, square+v*v/lowDraws
		}
		variance := (square-mean*mean)*lowDraws/(lowDraws-1) + .2*sigma*sigma*float64(len(variances))
		at[i] = math.Exp(-(mean-seen)*(mean-seen)/(2*variance)) / math.Sqrt(variance)
		total += at[i]
	}
	sum := 0.
	for i := 0; i < len(at) && (i == 0 || sum < sureOwn*total); i++ {
		sum, share = sum+at[i], ownShares[i]
	}
	return share * cautious
}

// independent returns the second moment that rows with such numbers would have if their columns were independent, with the
// estimated second moment rows and the release g, and the share of the variances that the numbers have for themselves.
func (x *structure) independent(g, rows *mat.SymDense, numbers []int, sigma float64) (apart *inference.Spectrum,
	share float64, err error) {
	d := rows.SymmetricDim()
	last, square := d-1, x.shared*x.shared
	of := mat.NewSymDense(d, nil)
	for j := range d {
		for k := range j + 1 {
			of.SetSym(j, k, rows.At(j, last)*rows.At(k, last)/square)
		}
		of.SetSym(j, j, rows.At(j, j))
	}
	x.separate(of)
	covariance, variances := mat.NewSymDense(len(numbers), nil), make([]float64, len(numbers))
	for i, j := range numbers {
		variances[i] = max(rows.At(j, j)-rows.At(j, last)*rows.At(j, last)/square, .3*sigma)
		of.SetSym(j, j, rows.At(j, last)*rows.At(j, last)/square+variances[i])
		for n, k := range numbers[:i+1] {
			covariance.SetSym(i, n, g.At(j, k)-g.At(j, last)*g.At(k, last)/square)
		}
	}
	if apart, err = inference.Decompose(of); err != nil {
		return nil, 0, errNoEigenvalues
	}
	return apart, own(covariance, variances, sigma), nil
}

// leastApart is the least eigenvalue that counts as variation, relative to the largest. varied bounds eigenvalues below
// by leastOwn times the share of the variances that the numbers have for themselves.
const leastApart, leastOwn = 1e-8, .2

// varied returns the estimate rows with a least variance along each direction. Where noise makes an eigenvalue 0, a
// long run would otherwise be said to have much noise.
func (x *structure) varied(g, rows *mat.SymDense, numbers []int, sigma float64) (*mat.SymDense, error) {
	r, share, err := x.independent(g, rows, numbers, sigma)
	if err != nil {
		return nil, err
	}
	least := leastApart * r.Values[len(r.Values)-1]
	e, err := inference.Decompose(inference.Between(r.With(func(v float64) float64 {
		if v <= least {
			return 0
		}
		return 1 / math.Sqrt(v)
	}), rows))
	if err != nil {
		return nil, errNoEigenvalues
	}
	return inference.Between(r.With(func(v float64) float64 { return math.Sqrt(max(v, 0)) }),
		e.With(func(v float64) float64 { return max(v, leastOwn*share) })), nil
}

// factored returns second moments that rows with these numbers may have, given the release g and the estimate rows. Each starts
// as a draw S0 from the family of factors, and is the matrix that a Wishart prior with the mode S0 and twice as many degrees of
// freedom as directions r makes likeliest, given the release plus as much noise again. It has the eigenvectors of X, which is the
// latter less r sigma^2 S0^-1, and in place of an eigenvalue x the root of s - r sigma^2/s = x.
func (x *structure) factored(g, rows *mat.SymDense, numbers []int, sigma float64) (list []*mat.SymDense, err error) {
	r, share, err := x.independent(g, rows, numbers, sigma)
	if err != nil {
		return nil, err
	}
	d := len(r.Values)
	directions, ones := 0., make([]float64, d)
	least := leastApart * r.Values[d-1]
	for i, v := range r.Values {
		if ones[i] = 1; v > least {
			directions++
		}
	}
	root := r.With(func(v float64) float64 { return math.Sqrt(max(v, least)) })
	coins := rand.New(rand.NewPCG(5, 6)) // fixed seed: the draws only approximate an expectation
	for range momentsOf(d) {
		var inverse mat.SymDense
		var c mat.Cholesky
		if !c.Factorize(inference.Between(root, drawnFactors(ones, share, coins))) || c.InverseTo(&inverse) != nil {
			return nil, errNoEigenvalues
		}
		inverse.ScaleSym(-directions*sigma*sigma, &inverse)
		inverse.AddSym(&inverse, noisy(g, sigma, coins))
		r, err := inference.Decompose(&inverse)
		if err != nil {
			return nil, errNoEigenvalues
		}
		list = append(list, r.With(func(v float64) float64 { return (v + math.Sqrt(v*v+4*directions*sigma*sigma)) / 2 }))
	}
	return list, nil
}
