package optimize

import "github.com/stillpoint-dp/stillpoint/query"

// PrefixSum is a prefix sum ([query.Prefix]) that a run has opened: items are added one by one, and each
// addition releases a noisy sum of all items so far. The run counts the charges of these releases.
type PrefixSum struct {
	run *Run
	sum query.PrefixSum
}

// OpenPrefix opens a prefix sum. Only the items added later are charged.
func (r *Run) OpenPrefix(p query.Prefix) (*PrefixSum, error) {
	sum, err := r.oracle.OpenPrefix(p)
	return &PrefixSum{run: r, sum: sum}, err
}

// Add adds an item and returns the noisy sum of all items so far. The item is the sum of the terms
// over one cohort. If the problem has a smoothing, the terms are smoothed as in Run.Ask.
func (s *PrefixSum) Add(terms ...query.Term) (query.Release, error) {
	a, err := s.sum.Add(s.run.ctx, s.run.smoothed(terms)...)
	if err == nil {
		s.run.charge(terms[0].Cohort(), a.Charge)
	}
	return a, err
}
