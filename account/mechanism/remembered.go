package mechanism

import "sync"

// remembered keeps results of searches that are asked for again and again with the same arguments: a
// budget, a cap and a certificate each convert the same epsilon and delta. The zero value is empty.
type remembered[K comparable] struct {
	lock    sync.Mutex
	results map[K]float64
}

// mostRemembered is the number of results after which all are forgotten, so that a long search over many
// arguments needs little memory.
const mostRemembered = 256

// of returns the result for k and whether it is known.
func (r *remembered[K]) of(k K) (float64, bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	v, ok := r.results[k]
	return v, ok
}

// keep keeps the result v for k.
func (r *remembered[K]) keep(k K, v float64) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.results == nil || len(r.results) >= mostRemembered {
		r.results = map[K]float64{}
	}
	r.results[k] = v
}
