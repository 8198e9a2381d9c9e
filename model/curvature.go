package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// curvaturePoints is the most points (vectors of margins) over which Curvature takes its mean. Their number times that of
// the margins is at most mostCoordinates, since a report asks for many such means.
const curvaturePoints, mostCoordinates = 1000, 10_000

// Curvature estimates the mean, over records, of the loss's second derivative in the margins. It is a square
// matrix with a row and a column for each margin. Curvature reads no records. It assumes that margins are Gaussian
// with the given mean and covariance, and that targets follow the model's own predictions:
//
//   - Classes occur with the predicted probabilities, each divided by the class's weight; the probabilities of a
//     record then sum to 1 again.
//   - Counts are equal to the predicted rates.
//   - Numbers differ from the predictions by Gaussian residuals. For a smooth loss, their standard
//     deviation is chosen so that the root mean square of the loss's slopes is slope. For a loss
//     whose slope jumps, it is chosen so that the least mean loss, over all shifts of the
//     predictions, is value.
//
// ok is false if the mean cannot be estimated in this way: for networks, for losses that are not convex, for several
// margins of a loss other than softmax, for losses of classes whose slope jumps, and for targets with a weight or an
// exposure, because the mean weight or exposure is not known.
func (m *Model) Curvature(mean []float64, covariance [][]float64, slope, value float64) (curvature [][]float64, ok bool) {
	l, k := m.loss, loss.Count(m.loss)
	kinked, jumps := l.(loss.Kinked)
	if jumps && l.Target() == loss.Real && len(mean) == 1 && l.Constants().Curvature.Lo >= 0 && value > 0 {
		curvature := curvatureOfKinks(kinked, value)
		return [][]float64{{curvature}}, curvature > 0
	}
	if k == 0 || k != len(mean) || jumps || l.Constants().Curvature.Lo < 0 || loss.RowWeighted(l) ||
		loss.LeastExposure(l) > 0 {
		return nil, false
	}
	curvature = vector.Make(k, func(int) []float64 { return make([]float64, k) })
	of, weights := loss.Unweighted(l), classWeights(l)
	var around []target
	if of.Target() == loss.Real && !hasRate(of) {
		if around, ok = residualsOf(l, slope); !ok {
			return nil, false
		}
	}
	_, multinomial := of.(interface{ Multinomial() })
	one, is := l.(loss.RankOne)
	if !is && !multinomial {
		return nil, false
	}
	root, normals, sum := cholesky(covariance), make([]float64, k), 0.
	coins := rand.New(rand.NewPCG(1, 2)) // not for privacy: random points at which a mean replaces an integral
	points := min(curvaturePoints, max(mostCoordinates/k, 1))
	for n := range points {
		z := slices.Clone(mean)
		if k == 1 { // quantile number n of a standard normal
			normals[0] = math.Sqrt2 * math.Erfinv((2*float64(n)+1)/curvaturePoints-1)
		} else {
			for i := range normals {
				normals[i] = coins.NormFloat64()
			}
		}
		for i, row := range root {
			z[i] += vector.Dot(row[:i+1], normals[:i+1])
		}
		list := targets(of, weights, z, around)
		whole := vector.Sum(list, func(y target) float64 { return y.weight })
		if multinomial { // the second derivative is the same for every class, and the weights of classes cancel
			addMultinomial(curvature, probabilities(of.(margins), z), 1/whole)
			sum++
			continue
		}
		for i := range list {
			list[i].weight /= whole
			sum += list[i].weight
		}
		addCurvature(curvature, one, z[0], list)
	}
	for _, row := range curvature {
		for j := range row {
			if row[j] /= sum; math.IsNaN(row[j]) || math.IsInf(row[j], 0) {
				return nil, false
			}
		}
	}
	return curvature, true
}

// classWeights returns the class weights of a loss, or nil if it has none.
func classWeights(l loss.Loss) []float64 {
	if w, ok := l.(interface{ Weights() loss.Weights }); ok {
		return w.Weights().Classes
	}
	return nil
}

// linked is a loss of counts or of positive numbers, whose prediction is a rate. Rate returns the expected count or
// number at a margin, as a fraction of the largest possible one. With exposures, Rate is for the largest exposure. It
// may exceed 1.
type linked interface{ Rate(z float64) float64 }

// target is a possible target y of a record. weight is proportional to its probability.
type target struct{ y, weight float64 }

// targets returns the possible targets of a record with margins z. For classes, the weight of a target is the predicted
// probability of the class, divided by the class's weight if weights is not nil. For a count, the only target is the
// expected count, mapped to [-1, 1]. For another numeric target, targets returns the residuals around z[0].
func targets(of loss.Loss, weights, z []float64, around []target) []target {
	likely := func(class int, p float64) float64 {
		if weights != nil {
			p /= weights[class]
		}
		return p
	}
	switch {
	case hasRate(of):
		least, rate := 0., min(1, of.(linked).Rate(z[0]))
		if of, ok := of.(interface{ LeastValue() float64 }); ok {
			least = of.LeastValue()
		}
		return []target{{2*(max(rate, least)-least)/(1-least) - 1, 1}}
	case of.Target() == loss.Binary:
		p := 1 / (1 + math.Exp(-z[0]))
		return []target{{-1, likely(0, 1-p)}, {1, likely(1, p)}}
	case of.Target() == loss.Classes:
		list := make([]target, len(z))
		for k, p := range probabilities(of.(margins), z) {
			list[k] = target{float64(k), likely(k, p)}
		}
		return list
	}
	list := slices.Clone(around)
	for i := range list {
		list[i].y += z[0]
	}
	return list
}

// addMultinomial adds to the matrix curvature that of a class with probabilities p, diag(p) - p p', times weight.
func addMultinomial(curvature [][]float64, p []float64, weight float64) {
	for i, row := range curvature {
		row[i] += weight * p[i]
		for j := range row {
			row[j] -= weight * p[i] * p[j]
		}
	}
}

// residuals returns residualPoints targets of weight 1: evenly spaced quantiles of a Gaussian with mean z and
// the given standard deviation.
func residuals(z, deviation float64) []target {
	list := make([]target, residualPoints)
	for i := range list {
		q := math.Sqrt2 * math.Erfinv((2*float64(i)+1)/residualPoints-1)
		list[i] = target{z - deviation*q, 1}
	}
	return list
}

const residualPoints = 200

// addCurvature adds to the 1 x 1 matrix curvature the loss's second derivatives at the margin z and the targets of a list,
// times the targets' weights.
func addCurvature(curvature [][]float64, l loss.RankOne, z float64, list []target) {
	dst, at, y := make([]float64, len(list)), make([]float64, len(list)), make([]float64, len(list))
	for i, t := range list {
		at[i], y[i] = z, t.y
	}
	l.Curvatures(dst, at, y)
	for i, t := range list {
		curvature[0][0] += t.weight * dst[i]
	}
}

// residualsOf returns Gaussian residuals of the standard deviation at which the root mean square of the loss's
// slopes is slope. If no standard deviation up to 2 is large enough, it is 2. ok is false if the loss is
// not a loss.RankOne or slope is not > 0.
func residualsOf(l loss.Loss, slope float64) (around []target, ok bool) {
	one, is := l.(loss.RankOne)
	if !is || !(slope > 0) {
		return nil, false
	}
	at := func(deviation float64) float64 {
		dst, square := []float64{0}, 0.
		for _, y := range residuals(0, deviation) {
			one.Slopes(dst, []float64{0}, []float64{y.y})
			square += dst[0] * dst[0] / residualPoints
		}
		return math.Sqrt(square)
	}
	const high = 2. // most margins and all targets are between -1 and 1
	if at(high) < slope {
		return residuals(0, high), true
	}
	return residuals(0, vector.Halve(high, 0, 60, func(v float64) bool { return at(v) < slope })), true
}

// curvatureOfKinks returns the second derivative of the mean loss in a common shift of all predictions, for a loss
// whose slope jumps and for Gaussian residuals. The standard deviation of the residuals, at most 4, is chosen so that
// the least mean loss over all shifts is value. The derivative is taken at the shift with this least loss. It follows
// from the density of the residuals at the jumps. curvatureOfKinks returns 0 if the standard deviation is 0.
func curvatureOfKinks(l loss.Kinked, value float64) float64 {
	mean := func(of func(dst, z, y []float64), shift, deviation float64) float64 {
		dst, sum := []float64{0}, 0.
		for _, y := range residuals(shift, deviation) {
			// The margin is shift, and the target is the residual y.y - shift, whose mean is 0.
			of(dst, []float64{shift}, []float64{y.y - shift})
			sum += dst[0] / residualPoints
		}
		return sum
	}
	best := func(deviation float64) (shift float64) {
		low, high := -4*deviation, 4*deviation
		for range 50 {
			if shift = (low + high) / 2; mean(l.Slopes, shift, deviation) < 0 {
				low = shift
			} else {
				high = shift
			}
		}
		return shift
	}
	low := vector.Halve(4, 0, 40, func(v float64) bool { return mean(l.Values, best(v), v) < value })
	shift, h := best(low), low*kinkWidth
	if !(h > 0) {
		return 0
	}
	return (mean(l.Slopes, shift+h, low) - mean(l.Slopes, shift-h, low)) / (2 * h)
}

// kinkWidth is half the width of the interval over which the density of residuals is averaged, in standard
// deviations of the residuals.
const kinkWidth = .2

// cholesky returns the lower triangular Cholesky factor of the covariance matrix a. A negative pivot counts
// as 0, and the column of a pivot 0 is 0 below the diagonal.
func cholesky(a [][]float64) [][]float64 {
	root := make([][]float64, len(a))
	for i := range a {
		root[i] = make([]float64, len(a))
		for j := 0; j <= i; j++ {
			v := a[i][j]
			for k := range j {
				v -= root[i][k] * root[j][k]
			}
			switch {
			case i == j:
				root[i][i] = math.Sqrt(max(v, 0))
			case root[j][j] > 0:
				root[i][j] = v / root[j][j]
			}
		}
	}
	return root
}
