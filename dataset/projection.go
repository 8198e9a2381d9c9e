package dataset

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Projection is a public linear map from rows to shorter rows (Johnson and Lindenstrauss 1984): a
// matrix of k rows with entries 1/sqrt(k) and -1/sqrt(k) drawn from a seed (Achlioptas 2003). It preserves
// the inner products of rows to within about 1/sqrt(k), and therefore, approximately, the functions that a
// generalised linear model can represent. The matrix does not depend on data.
//
// A mapped row longer than 1 is scaled down to length 1, so the constants of a loss remain valid. Arora et al. (2023,
// Algorithm 4) allow mapped rows of length 2, and rely on longer rows being improbable. Here no bound relies on chance.
type Projection struct {
	dim, size int
	seed      uint64
}

// ParseProjection parses jl(k) or jl(k,seed), for rows of the given number of features. k must be from 1 to
// features-1 and at most 2^20. seed must be below 2^53 and is 1 if it is not given.
func ParseProjection(name string, features int) (*Projection, error) {
	rule := fmt.Errorf("dataset: projection %q: must be jl(k), with k from 1 to below the %d features, or jl(k,seed)",
		name, features)
	list, ok := strings.CutPrefix(strings.ReplaceAll(name, " ", ""), "jl(")
	list, closed := strings.CutSuffix(list, ")")
	if !ok || !closed {
		return nil, rule
	}
	size, seed, given := strings.Cut(list, ",")
	p := &Projection{dim: features, seed: 1}
	var err error
	if p.size, err = strconv.Atoi(size); err != nil || p.size < 1 || p.size >= features || p.size > maxTerms {
		return nil, rule
	}
	if given {
		if p.seed, err = strconv.ParseUint(seed, 10, 53); err != nil {
			return nil, rule
		}
	}
	return p, nil
}

// Name returns the projection in the form that ParseProjection parses.
func (p *Projection) Name() string { return fmt.Sprintf("jl(%d,%d)", p.size, p.seed) }

// Size returns k, the number of features of a mapped row.
func (p *Projection) Size() int { return p.size }

// Serves returns an error unless the projection is for rows of the given number of features.
func (p *Projection) Serves(features int) error {
	if p.size < 1 || p.dim != features {
		return fmt.Errorf("dataset: projection of %d features to %d: must be of %d", p.dim, p.size, features)
	}
	return nil
}

// signs returns one bit for each of 64 entries in the matrix column of feature j: the entries in rows
// 64 word to 64 word + 63. A set bit is a minus sign.
func (p *Projection) signs(j, word int) uint64 {
	const golden = 0x9e3779b97f4a7c15
	return mix(mix(p.seed*golden+uint64(j)) + uint64(word)*golden)
}

// entries calls f with the row index and the sign of each entry in the matrix column of feature j.
func (p *Projection) entries(j int, f func(i int, negative bool)) {
	for word := 0; word*64 < p.size; word++ {
		signs := p.signs(j, word)
		for i := word * 64; i < min(p.size, word*64+64); i++ {
			f(i, signs&1 != 0)
			signs >>= 1
		}
	}
}

// Map maps the row x and writes the result to dst[:Size]. scratch must hold at least Size numbers. The norm
// of the result is at most NormBound: Map ends with the last step of [Map.Encode], for which the package
// comment proves this bound.
func (p *Projection) Map(dst []float32, scratch []float64, x []float32) {
	sums := scratch[:p.size]
	clear(sums)
	for j, v := range x[:p.dim] {
		if v == 0 {
			continue
		}
		p.entries(j, func(i int, negative bool) {
			if negative {
				sums[i] -= float64(v)
			} else {
				sums[i] += float64(v)
			}
		})
	}
	scale, square := math.Sqrt(float64(p.size)), 0.0
	for i, s := range sums {
		sums[i] = s / scale
		square += float64(sums[i] * sums[i])
	}
	norm := math.Sqrt(max(square, 1))
	for i, s := range sums {
		dst[i] = float32(s / norm)
	}
}

// Lift returns the coefficients of the original features that give the same margins as the weights w of mapped rows: it
// applies the transposed matrix to the weights of each margin. It panics unless len(w) is a multiple of Size.
func (p *Projection) Lift(w []float64) []float64 {
	if len(w)%p.size != 0 {
		panic(fmt.Sprintf("dataset: %d weights of rows mapped to %d", len(w), p.size))
	}
	scale := math.Sqrt(float64(p.size))
	out := make([]float64, len(w)/p.size*p.dim)
	for k := range len(w) / p.size {
		for j := range p.dim {
			sum := 0.0
			p.entries(j, func(i int, negative bool) {
				if negative {
					sum -= w[k*p.size+i]
				} else {
					sum += w[k*p.size+i]
				}
			})
			out[k*p.dim+j] = sum / scale
		}
	}
	return out
}

// mix is splitmix64's finalizer (Steele, Lea and Flood 2014): a change of any bit of h changes
// about half of the bits of the result.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
