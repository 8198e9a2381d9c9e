package optimizetest

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// OpenPrefix opens a prefix sum. The noise of its partial sums has the correlations of the factorization of
// p, and is computed from the factorization's definition. OpenPrefix returns an error if p is not valid.
func (o *Oracle) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &prefix{oracle: o, p: p, nodes: map[[2]int][]float64{}}, nil
}

type prefix struct {
	oracle *Oracle
	p      query.Prefix
	sum    []float64
	items  int
	// nodes has the noise drawn so far. For the tree factorization, the key is the height of a node and the
	// node's number at this height. For the Toeplitz factorization, it is 0 and the number of a column.
	nodes map[[2]int][]float64
}

// Add adds the sum of the terms as the next item and returns the noisy sum of all items so far. It returns an error if
// the prefix sum has all its items already, or if the item's sensitivity exceeds the declared one.
func (s *prefix) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	o := s.oracle
	if err := ctx.Err(); err != nil {
		return query.Release{}, err
	}
	q, err := query.New(s.p.Charge, terms...)
	if err != nil {
		return query.Release{}, err
	}
	sensitivity := o.neighbours() * q.Clip() / q.Cohort().Size()
	if s.items == s.p.Items || q.Cohort().Everyone() || sensitivity > s.p.Sensitivity*(1+1e-12) {
		return query.Release{}, fmt.Errorf("optimizetest: prefix sum: item %d of sensitivity %v: is not one of %d within %v",
			s.items+1, sensitivity, s.p.Items, s.p.Sensitivity)
	}
	rows, err := o.members(q.Cohort())
	if err != nil {
		return query.Release{}, err
	}
	sigma := s.p.Sensitivity / math.Sqrt(s.p.Charge) * (1 + 0x1p-50)
	event, err := account.GaussianEvent(q.Name(), q.Cohort().ID(), s.p.Sensitivity, sigma)
	if err != nil {
		return query.Release{}, err
	}
	if err := o.ledger.Reserve(event); err != nil {
		return query.Release{}, err
	}
	item, _ := o.mean(q, rows)
	if s.sum == nil {
		s.sum = make([]float64, len(item))
	}
	addTo(s.sum, 1, item)
	s.items++
	out := append([]float64(nil), s.sum...)
	if !o.config.Noiseless {
		s.addNoise(out, sigma)
	}
	return query.Release{Mean: out, Sigma: s.p.Sigma(s.items), Charge: event.Charge}, nil
}

func (s *prefix) addNoise(out []float64, sigma float64) {
	if s.p.Factorization == query.Tree {
		// The binary expansion of the number of items states which nodes of the tree cover the items. The sum has
		// the noise of these nodes.
		sigma *= math.Sqrt(float64(bits.Len(uint(s.p.Items))))
		for rest := s.items; rest > 0; rest &= rest - 1 {
			height := bits.TrailingZeros(uint(rest))
			addTo(out, sigma, s.node(height, rest>>height, len(out)))
		}
		return
	}
	// Row t of the square root of the summing matrix has the first t coefficients of (1-x)^(-1/2), in reverse
	// order. The column of largest norm has all coefficients.
	var column float64
	root := make([]float64, s.p.Items)
	for k, e := 0, 1.; k < s.p.Items; k++ {
		root[k], column = e, column+e*e
		e *= float64(2*k+1) / float64(2*k+2)
	}
	for k := range s.items {
		addTo(out, sigma*math.Sqrt(column)*root[s.items-1-k], s.node(0, k, len(out)))
	}
}

func (s *prefix) node(height, number, dim int) []float64 {
	key := [2]int{height, number}
	if s.nodes[key] == nil {
		v := make([]float64, dim)
		for j := range v {
			v[j] = s.oracle.noise.NormFloat64()
		}
		s.nodes[key] = v
	}
	return s.nodes[key]
}
