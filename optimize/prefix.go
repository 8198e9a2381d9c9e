package optimize

import "github.com/stillpoint-dp/stillpoint/query"

// PrefixSum is an open prefix sum whose charges are counted by its run.
type PrefixSum struct {
	run *Run
	sum query.PrefixSum
}

// OpenPrefix opens a prefix sum. Opening charges nothing.
func (r *Run) OpenPrefix(p query.Prefix) (*PrefixSum, error) {
	sum, err := r.oracle.OpenPrefix(p)
	return &PrefixSum{run: r, sum: sum}, err
}

// Add adds an item, the sum of terms that may be smoothed as in Ask, and returns the noisy sum of all
// items.
func (s *PrefixSum) Add(terms ...query.Term) (query.Release, error) {
	a, err := s.sum.Add(s.run.ctx, s.run.smoothed(terms)...)
	if err == nil {
		s.run.charge(terms[0].Cohort(), a.Charge)
	}
	return a, err
}
