package describe

import "math"

// distribution has the cumulative masses of hats. at[j] is the sum of the masses of the hats up to knot j, an average
// of the distribution function over the cell from knot j to knot j+1: at most its value at knot j+1, and at least its
// value at knot j.
type distribution struct {
	knots    []float64
	masses   []float64
	at       []float64
	variance float64
	of       estimate // the sum of all masses
}

// cumulated returns the cumulative masses of hats whose sum is known up to the noise of the estimate of.
func cumulated(knots, masses []float64, variance float64, of estimate) distribution {
	f := distribution{knots: knots, masses: masses, variance: variance, of: of}
	rest := of.value
	for _, m := range masses {
		rest -= m
	}
	var sum float64
	for _, m := range masses[:len(masses)-1] {
		sum += m + rest/float64(len(masses))
		f.at = append(f.at, sum)
	}
	return f
}

// deviation returns the standard deviation of the noise of at[j] - q times the sum of the masses.
func (f distribution) deviation(j int, q float64) float64 {
	n := float64(len(f.knots))
	below := float64(j + 1)
	r := below / n
	return math.Sqrt(f.variance*(below*(1-r)*(1-r)+(n-below)*r*r) + (r-q)*(r-q)*f.of.variance)
}

// quantile returns the number below which the share q of the numbers is, with an interval: the cells at which a test
// of that hypothesis does not reject it, counted from either end. z is the tests' quantile. Where no test rejects, the
// interval ends at the column's bound. The estimate is within the range in.
func (f distribution) quantile(q, z float64, in span) Value {
	v := Value{Low: f.knots[0], High: f.knots[len(f.knots)-1]}
	for j, sum := range f.at {
		if !(q*f.of.value-sum > z*f.deviation(j, q)) {
			break
		}
		v.Low = f.knots[j]
	}
	for j := len(f.at) - 1; j >= 0; j-- {
		if !(f.at[j]-q*f.of.value > z*f.deviation(j, q)) {
			break
		}
		v.High = f.knots[j+1]
	}
	v.Estimate = min(max(f.atom(f.point(q, in)), v.Low), v.High)
	return v
}

// outer returns the share of the numbers beyond either of two quantiles that are as far out as the noise allows: the
// intervals of quantiles further out would have no outer end.
func (f distribution) outer() float64 {
	return min(.005+2*f.deviation(len(f.at)/2, .5)/f.of.value, .25)
}

// atom returns the number x or, if nearly all numbers near x are at one knot, that knot.
func (f distribution) atom(x float64) float64 {
	for k := 1; k < len(f.knots)-1; k++ {
		if f.knots[k-1] < x && x < f.knots[k+1] && f.masses[k] > 4*(max(f.masses[k-1], 0)+max(f.masses[k+1], 0)) {
			return f.knots[k]
		}
	}
	return x
}

// point returns the estimate of a quantile: the averages of the distribution function over cells, made monotone, are
// taken for its values in their middles and joined by lines. A cell outside of the range is a point at its end.
func (f distribution) point(q float64, in span) float64 {
	rising := isotonic(f.at)
	x, share := in.low, 0.
	for j, sum := range rising {
		left, right := max(f.knots[j], in.low), min(f.knots[j+1], in.high)
		middle, next := left+(right-left)/2, sum/f.of.value
		if next >= q {
			if next == share {
				return middle
			}
			return x + (middle-x)*(q-share)/(next-share)
		}
		x, share = middle, max(next, 0)
	}
	if share >= 1 {
		return in.high
	}
	return x + (in.high-x)*(q-share)/(1-share)
}

// isotonic returns the rising numbers that are nearest to the given ones, by pooling neighbours.
func isotonic(v []float64) []float64 {
	type block struct {
		sum float64
		n   int
	}
	var blocks []block
	for _, x := range v {
		blocks = append(blocks, block{x, 1})
		for k := len(blocks); k > 1 && blocks[k-2].sum*float64(blocks[k-1].n) >= blocks[k-1].sum*float64(blocks[k-2].n); k-- {
			blocks[k-2] = block{blocks[k-2].sum + blocks[k-1].sum, blocks[k-2].n + blocks[k-1].n}
			blocks = blocks[:k-1]
		}
	}
	var rising []float64
	for _, b := range blocks {
		for range b.n {
			rising = append(rising, b.sum/float64(b.n))
		}
	}
	return rising
}
