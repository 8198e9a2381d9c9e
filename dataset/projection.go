package dataset

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Projection is a public linear map from rows to shorter ones (Johnson and Lindenstrauss
// 1984): a matrix of entries +-1/sqrt(k) made from a seed (Achlioptas 2003), which keeps
// the inner products of rows, and so what a generalised linear model can express, within
// about 1/sqrt(k). No data chooses it.
//
// A mapped row longer than 1 is cut to that, keeping its direction, so a loss's constants
// stay what they are. Arora et al. (2023, Algorithm 4) let mapped rows have length 2 and
// count on longer ones being improbable; here nothing rests on chance.
type Projection struct {
	dim, size int
	seed      uint64
}

// ParseProjection reads jl(k) or jl(k,seed), for rows of so many features.
func ParseProjection(name string, features int) (*Projection, error) {
	rule := fmt.Errorf("dataset: projection %q: must be jl(k), with k from 1 to below the %d features, or jl(k,seed)", name, features)
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

// Name is what ParseProjection reads.
func (p *Projection) Name() string { return fmt.Sprintf("jl(%d,%d)", p.size, p.seed) }

// Size is k, the length of mapped rows.
func (p *Projection) Size() int { return p.size }

// Serves returns an error unless the map is for rows of so many features.
func (p *Projection) Serves(features int) error {
	if p.size < 1 || p.dim != features {
		return fmt.Errorf("dataset: projection of %d features to %d: must be of %d", p.dim, p.size, features)
	}
	return nil
}

// signs returns 64 entries' signs of the column of feature j: those from 64 word on.
func (p *Projection) signs(j, word int) uint64 {
	const golden = 0x9e3779b97f4a7c15
	return mix(mix(p.seed*golden+uint64(j)) + uint64(word)*golden)
}

// entries calls f with each row of the matrix and its sign for feature j.
func (p *Projection) entries(j int, f func(i int, negative bool)) {
	for word := 0; word*64 < p.size; word++ {
		signs := p.signs(j, word)
		for i := word * 64; i < min(p.size, word*64+64); i++ {
			f(i, signs&1 != 0)
			signs >>= 1
		}
	}
}

// Map writes the mapped row x to dst[:Size]; scratch needs as many. Its norm is below
// NormBound: as for [Map.Encode], whose last step this repeats.
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

// Lift returns the coefficients of features that give each margin of the weights of
// mapped rows: the transposed map, a margin at a time.
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

// mix is splitmix64's finalizer (Steele, Lea and Flood 2014): every bit of h changes
// about half of the result's.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
