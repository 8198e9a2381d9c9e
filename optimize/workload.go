package optimize

import (
	"maps"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Workload says which queries a plan makes, by kind, and on how many records: what the time of a run follows
// from. It is public. It counts as follows.
//
//   - A query about all records is one pass over them. A query about a part of them counts as that part of a pass.
//   - A query of several terms counts once for each term, and a selection once for each candidate.
//   - A pass of stochastic gradient descent (Oracle.Stable) counts as a query for a gradient.
//
// Sizes of Poisson samples and, under add-or-remove, of drawn cohorts are random. A workload has their means. Of a
// run that may end early, or that leaves out queries whose answers are known, it has the most that the run makes.
type Workload struct {
	// Kinds has the load of each kind of which the plan makes queries.
	Kinds map[query.Kind]Load
	// Metrics is the number of metrics in which gradients are measured. The first query in a metric computes the
	// length of every row in it, in a further pass.
	Metrics float64
	// Block is the number of features in the block of such a metric if queries for squares of features precede it.
	Block int
	// Samples is the number of Poisson samples that are drawn, each with a coin for every record.
	Samples float64
	// Smoothing is the smoothing of the loss in queries of kinds that allow one. If radii fall during a run, its
	// radius is in the middle.
	Smoothing query.Smoothing
}

// Load is a number of queries and the number of passes over all records that they take together.
type Load struct{ Queries, Passes float64 }

// Count returns the workload with queries added: count queries of the kind k, each about the given share of the
// records. Workload w stays as it is.
func (w Workload) Count(k query.Kind, count, share float64) Workload {
	return w.Plus(Workload{Kinds: map[query.Kind]Load{k: {count, count * share}}})
}

// Plus returns the workload of both runs, w and v. It has the smoothing of w, or of v if w has none.
func (w Workload) Plus(v Workload) Workload {
	sum := Workload{Kinds: maps.Clone(w.Kinds), Metrics: w.Metrics + v.Metrics, Block: max(w.Block, v.Block),
		Samples: w.Samples + v.Samples, Smoothing: w.Smoothing}
	if !sum.Smoothing.On() {
		sum.Smoothing = v.Smoothing
	}
	if sum.Kinds == nil {
		sum.Kinds = map[query.Kind]Load{}
	}
	for k, more := range v.Kinds {
		if had := sum.Kinds[k]; had.Queries+more.Queries > 0 {
			sum.Kinds[k] = Load{had.Queries + more.Queries, had.Passes + more.Passes}
		}
	}
	return sum
}

// on returns the workload of a run on the given share of the records.
func (w Workload) on(share float64) Workload {
	kinds := map[query.Kind]Load{}
	for k, l := range w.Kinds {
		kinds[k] = Load{l.Queries, l.Passes * share}
	}
	w.Kinds = kinds
	return w
}
