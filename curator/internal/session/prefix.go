package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/noise"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Prefix is a sequence of noisy prefix sums that a session has opened. Each item is charged to its own cohort before it
// is computed. The charge covers the item's part in this answer and in every later answer.
type Prefix struct {
	session *Session
	// table is the session's table when the sum was opened.
	table *table
	spec  query.Prefix
	grid  grid

	mu        sync.Mutex
	mechanism mechanism
	used      map[uint64]bool
	centre    []float64
}

// mechanism computes noisy prefix sums from integer items. It is linear: its noisy state is an integer matrix times the
// items, plus noise, in units of 2^-q grid steps. The method law returns the integer q.
type mechanism interface {
	// law returns q and the largest squared norm of a column of the mechanism's matrix.
	law() (q int, square uint64)
	// items returns the number of items that were added.
	items() int
	// add adds the next item to the noisy state, and noise that it draws by calling normals. normals
	// returns integers in units of 2^-q grid steps, where q is the result of law. Their standard deviation
	// is 2^(bits+q) of these units, hence 2^bits grid steps, for the grid's number bits. add returns the
	// noisy prefix sum in the items' unit, and the standard deviation of the prefix sum's noise as a
	// multiple of 2^bits grid steps. The prefix sum is a function of the noisy state alone.
	add(item []int64, normals func() []int64) (prefix []float64, deviation float64)
}

// OpenPrefix opens a prefix sum. It charges nothing.
func (s *Session) OpenPrefix(spec query.Prefix) (*Prefix, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	m := newMechanism(spec)
	t := s.table.Load()
	parameters := t.engine.Parameters()
	g, err := newPrefixGrid(spec, m, s.ledger.Budget().Relation(), parameters, min(s.mostRows(), crowd*s.declared))
	if err != nil {
		return nil, err
	}
	return &Prefix{
		session: s, table: t, spec: spec, grid: g,
		mechanism: m, used: make(map[uint64]bool), centre: make([]float64, parameters),
	}, nil
}

// crowd is a multiple of the declared number of records, for tables whose number of records is secret. Sums
// over up to 8 times the declared number of records stay below 2^61, a quarter of the largest int64. A sum
// over more than 32 times the declared number of records may wrap. Such a sum is useless, but remains
// private, because it is a function of sum + noise modulo 2^64.
const crowd = 8

func newMechanism(spec query.Prefix) mechanism {
	if spec.Factorization == query.Tree {
		return newTree(spec.Items)
	}
	return newToeplitz(spec.Items)
}

// Add adds the next item and returns the noisy sum of all items so far. A refused item is not charged and changes
// nothing. An item that fails after it was charged, for example by a cancelled context, stays charged and uses up its
// cohort. Such an item is not counted: the sum and the number of items stay as they were.
//
// Concurrent calls run one after the other, in any order.
func (p *Prefix) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	q, err := query.New(p.spec.Charge, terms...)
	if err != nil {
		return query.Release{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return through(ctx, p.session, func() (release[query.Release], error) { return p.item(q) })
}

// item describes the release of the noisy prefix sum that includes one more item, before anything is
// computed.
func (p *Prefix) item(q query.Question) (r release[query.Release], err error) {
	c := q.Cohort()
	if c.ID() == account.Everyone {
		return r,
			errors.New("curator: prefix sum: cohort of all records: an item must have a cohort of its own (Draw or DrawEach)")
	}
	members, err := p.session.rowsOf(c)
	if err != nil {
		return r, err
	}
	scale, err := p.admit(q)
	if err != nil {
		return r, err
	}
	name := fmt.Sprintf("%v sum of %d: %s", p.spec.Factorization, p.spec.Items, q.Name())
	event, err := account.GaussianEvent(name, c.ID(), p.grid.sensitivity, p.grid.sigma)
	if err != nil {
		return r, err
	}
	return release[query.Release]{
		asked: q, prefix: p.spec, members: members, grid: p.grid, event: event,
		reserved: func() { p.used[c.ID()] = true },
		sums:     []query.Question{q}, scale: scale,
		answer: func(item []int64, n *noises) query.Release { return p.release(q, item, n, event.Charge) },
	}, nil
}

// admit checks an item against the declared specification. It returns an error if the item is not a vector
// with one coordinate for each feature, if the item's cohort was used before, or if all declared items were
// added. It also returns an error if the item's sensitivity exceeds the declared sensitivity, or if its
// contributions exceed the limit of exact arithmetic, or if the session was refined since the sum was opened.
//
// Otherwise admit returns the number of grid steps in a unit of one record's contribution. A prefix sum adds items of
// several cohorts, so contributions are divided by the size of their cohort before they are rounded.
func (p *Prefix) admit(q query.Question) (scale float64, err error) {
	if p.table != p.session.table.Load() {
		return 0, errors.New("curator: prefix sum: was opened before the session was refined: open another")
	}
	if err := p.session.pointed(q); err != nil {
		return 0, err
	}
	if !q.May(query.Item) {
		return 0, fmt.Errorf("curator: prefix sum: %s: items must be vectors with one coordinate a feature", q.Name())
	}
	c := q.Cohort()
	if p.used[c.ID()] {
		return 0, fmt.Errorf("curator: prefix sum: cohort %d: used before: a record must be in one item only", c.ID())
	}
	if p.mechanism.items() == p.spec.Items {
		return 0, fmt.Errorf("curator: prefix sum: has had all of its %d items", p.spec.Items)
	}
	if s := clips(p.session.ledger.Budget().Relation()) * q.Clip() / c.Size(); !(s <= p.spec.Sensitivity) {
		return 0, fmt.Errorf("curator: prefix sum: item of sensitivity %v (clip norm %v, cohort of %v): must be at "+
			"most the declared %v", s, q.Clip(), c.Size(), p.spec.Sensitivity)
	}
	scale = p.grid.scale / c.Size()
	if steps := float64(reach(q)*scale*(1+slack(p.session.parameters()))) + 1; !(steps <= maxContribution) {
		return 0, fmt.Errorf("curator: prefix sum: cohort of %v: contributions of norm %v are too large beside their "+
			"clip norm %v", c.Size(), reach(q), q.Clip())
	}
	return scale, nil
}

// release adds the item and returns the noisy prefix sum, with the public centres of all items added. All
// records of an item have the same centre.
func (p *Prefix) release(q query.Question, item []int64, n *noises, charge float64) query.Release {
	shift, _ := p.mechanism.law()
	steps, deviation := p.mechanism.add(item, func() []int64 { return n.normals(len(item), p.grid.bits+shift) })
	mean := make([]float64, len(steps))
	for j, c := range engine.CentreVector(q) {
		p.centre[j] += c
		mean[j] = p.centre[j] + steps[j]/p.grid.scale
	}
	return query.Release{Mean: mean, Sigma: deviation * math.Ldexp(1, p.grid.bits) / p.grid.scale, Charge: charge}
}

// newPrefixGrid chooses the grid of a prefix sum, in units of a mean: scale is the number of steps in a
// unit of an item. One record moves its item by at most D(1+slack) scale + sqrt(d) steps, where D is the
// declared sensitivity, slack bounds relative rounding errors and d is the number of coordinates. The noisy
// state is the mechanism's matrix times the items, plus noise. One record therefore moves the noisy state
// by at most this distance times the norm of a column of the matrix. This product is the sensitivity of the
// event that each item is charged. docs/explanation/exactness.md derives the grid. newPrefixGrid returns an
// error if no number of bits keeps contributions and sums within their limits.
func newPrefixGrid(spec query.Prefix, m mechanism, r account.Relation, dim int, rows float64) (grid, error) {
	shift, square := m.law()
	// The factor 1 + 2^-49 covers the rounding of divisions by the cohort's size, in this file and
	// in the check of an item's sensitivity.
	bound := spec.Sensitivity * (1 + slack(dim)) * (1 + 0x1p-49)
	one := move{bound: bound, root: math.Sqrt(float64(dim)), column: columnNorm(shift, square), charge: spec.Charge}
	g, ok := one.grid(min(one.startBits(), noise.MaxBits-shift), func(g grid) bool {
		// The norm of a contribution's centre is at most the clip norm.
		most := float64(2*bound*g.scale) + 1
		// No row is in two items, and no entry of the mechanism's matrix exceeds 2^shift.
		total := math.Ldexp(float64(bound/clips(r)*g.scale)+1, shift) * rows
		return most <= maxContribution && total <= maxTotal
	})
	if !ok {
		return grid{}, fmt.Errorf("curator: prefix sum: charge = %v: no exact grid for %d items, %d coordinates and %.0f "+
			"records", spec.Charge, spec.Items, dim, rows)
	}
	return g, nil
}

// columnNorm returns the norm of a column of a prefix sum's matrix, whose entries are integers over 2^q:
// sqrt(square)/2^q, rounded up. The conversion, the root and the product have a relative error of less than 3/2^53.
func columnNorm(q int, square uint64) float64 {
	return math.Ldexp(math.Sqrt(float64(square))*(1+0x1p-50), -q)
}

// tree is the binary tree mechanism (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011). A prefix of t
// items is divided into blocks by the binary expansion of t, with the largest block first. Each block is a node of the
// tree. The last block ends at item t, and no earlier prefix has this block. The noise of each node is therefore drawn
// when the node's last item is added, and dropped when a larger block contains the node. If the number of items is a
// power of two, the last item completes the block of all items.
//
// Item 1 is in one node of each size 1, 2, 4, ... up to the number of items. No item is in more
// nodes.
type tree struct {
	most, taken int
	sum         []int64
	// nodes[j] is the noise of the current prefix's block of 2^j items, nil if the prefix has no
	// such block.
	nodes [][]int64
}

func newTree(items int) *tree {
	return &tree{most: items, nodes: make([][]int64, bits.Len(uint(items)))}
}

func (m *tree) law() (q int, square uint64) { return 0, uint64(bits.Len(uint(m.most))) }

func (m *tree) items() int { return m.taken }

func (m *tree) add(item []int64, normals func() []int64) (prefix []float64, deviation float64) {
	if m.sum == nil {
		m.sum = make([]int64, len(item))
	}
	for j, v := range item {
		m.sum[j] += v
	}
	m.taken++
	level := bits.TrailingZeros(uint(m.taken))
	clear(m.nodes[:level])
	m.nodes[level] = normals()
	noisy := append([]int64(nil), m.sum...)
	for _, noise := range m.nodes {
		for j, v := range noise {
			noisy[j] += v
		}
	}
	prefix = make([]float64, len(noisy))
	for j, v := range noisy {
		prefix[j] = float64(v)
	}
	return prefix, math.Sqrt(float64(bits.OnesCount(uint(m.taken))))
}

// toeplitz is the square-root mechanism (Fichtenberger, Henzinger and Upadhyay 2023). The matrix A
// that sums items is the square of E, the lower triangular Toeplitz matrix with binom(2k, k)/4^k on
// diagonal k. For items x the noisy state is z = E x + noise, and the prefix sums are A E^-1 z.
//
// E is rounded to multiples of 2^-q, so that z is an integer in units of 2^-q. From then on E means the
// rounded matrix. The charge follows from the largest norm of a column of the rounded matrix, and A E^-1 is
// computed from the rounded matrix. The rounding therefore adds a little noise and has no other effect.
type toeplitz struct {
	q int
	// coef[k] is the integer on diagonal k of 2^q E, for the rounded E.
	coef []int64
	// square is the sum of the squares of coef.
	square uint64
	// back holds the first column of A E^-1, the matrix from noisy states to prefix sums. It has only
	// the entries that the prefix sums so far have needed.
	back []float64
	// variance is the sum of the squares of back.
	variance float64
	// past holds the items.
	past [][]int64
	// noisy holds the noisy state after each item, in grid steps.
	noisy [][]float64
}

func newToeplitz(items int) *toeplitz {
	m := &toeplitz{q: max(16, bits.Len(uint(items-1))+4), coef: make([]int64, items)}
	for k, e := 0, 1.0; k < items; k++ {
		m.coef[k] = int64(math.Round(math.Ldexp(e, m.q)))
		m.square += uint64(m.coef[k] * m.coef[k])
		e *= float64(2*k+1) / float64(2*k+2)
	}
	return m
}

func (m *toeplitz) law() (q int, square uint64) { return m.q, m.square }

func (m *toeplitz) items() int { return len(m.past) }

func (m *toeplitz) add(item []int64, normals func() []int64) (prefix []float64, deviation float64) {
	m.past = append(m.past, item)
	t := len(m.past)
	z := normals()
	for s, x := range m.past {
		c := m.coef[t-1-s]
		for j, v := range x {
			z[j] += c * v
		}
	}
	state := make([]float64, len(z))
	for j, v := range z {
		state[j] = math.Ldexp(float64(v), -m.q)
	}
	m.noisy = append(m.noisy, state)
	m.extend()
	// From here on, the function reads only the noisy state.
	prefix = make([]float64, len(z))
	for s, state := range m.noisy {
		b := m.back[t-1-s]
		for j, v := range state {
			prefix[j] += float64(b * v)
		}
	}
	return prefix, math.Sqrt(m.variance)
}

// extend computes the next entry of b and adds its square to the variance. b is the first column of the
// matrix A E^-1, where A is the matrix of prefix sums and E is its rounded square root, with the entry
// E_i on the whole i-th diagonal. The product of b and E is a column of ones, which gives the recursion
// b_k = 1 - sum_{i=1..k} E_i b_{k-i}. A rounding error in one entry of b reaches the later entries
// multiplied by coefficients of E^-1, whose absolute values have a sum below 2.
func (m *toeplitz) extend() {
	b := 1.0
	for i := len(m.back); i > 0; i-- {
		b -= float64(math.Ldexp(float64(m.coef[i]), -m.q) * m.back[len(m.back)-i])
	}
	m.back = append(m.back, b)
	m.variance += float64(b * b)
}
