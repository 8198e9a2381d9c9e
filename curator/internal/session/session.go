// Package session holds the rows, the secret random bits and the ledger, and answers queries with
// noise. Other packages cannot reach the rows.
//
// Package curator wraps this package with secret random bits for production. Package
// curator/simulate wraps it with seeded random bits, for experiments on data that needs no
// protection. Everything that matters to privacy is implemented once, in this package.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// ErrClosed is returned for a query to a closed session.
var ErrClosed = errors.New("curator: the session is closed")

// Config describes a session.
type Config struct {
	// Engine holds the rows and the loss. The session closes it.
	Engine engine.Engine
	Budget account.Budget
	// Unit describes the rows that make up a record. The ledger states it.
	Unit account.Unit
	// Filter describes the rows that are records. The ledger states it.
	Filter account.Filter
	// Declared is the public number of records under add-or-remove. It must be zero under
	// replace-one, where the number of rows is public.
	Declared float64
	// Workers is the number of goroutines for long noise vectors, at least 1.
	Workers int
	// Coins is the source of random bits for noise and for membership in cohorts and samples.
	Coins *coin.Secret
	// Noiseless leaves out the noise. It marks every event as simulated.
	Noiseless bool
	// Repeat is the number of records for which each row stands: the row is stored once and counted that many
	// times. Zero means one. Only simulations may set it above one.
	Repeat int
	// Absent lists rows that are left out of every sum, as if they were not in the table. They
	// still use random bits for membership. Only simulations may have absent rows.
	Absent []int
	// Before, if not nil, is called before the first event is charged. If it returns an error, the event is
	// not charged and not computed, and Before is called again before the next event.
	Before func(context.Context, account.View) error
	// Watcher receives a description of every release, the exact answer included (Exchange). nil
	// means no watcher. Only a session with simulated random bits may have one.
	Watcher Watcher
}

// Session answers queries about one table under one budget. It is safe for concurrent use.
type Session struct {
	// passage is held for reading while a query is answered, and for writing while the engine is replaced.
	passage sync.RWMutex
	table   atomic.Pointer[table]

	workers   int
	ledger    *account.Ledger
	declared  float64
	noiseless bool
	simulated bool
	repeat    int64
	absent    map[int32]bool
	watcher   Watcher
	permit    permit

	mu      sync.Mutex
	coins   *coin.Secret
	cohorts cohorts
	sample  sample
	closed  bool
}

// table is the engine that answers queries until it is replaced (Refine).
type table struct{ engine engine.Engine }

// mostTable is the largest number of rows of a table whose number of rows is public.
const mostTable = 1 << 40

// mostRows returns the largest allowed number of records, where each row counts Repeat times. This is mostTable under
// replace-one without repeated rows, and 2^31 - 1 in two other cases. If the number of rows is secret, grids have room
// for the sums of 2^31 - 1 records. If rows are repeated, records have numbers of 31 bits.
func (c Config) mostRows() int64 {
	if c.Budget.Relation() == account.ReplaceOne && c.Repeat <= 1 {
		return mostTable
	}
	return math.MaxInt32
}

// New returns a session, or an error that names the invalid field of c.
func New(c Config) (*Session, error) {
	relation := c.Budget.Relation()
	switch {
	case c.Engine == nil || c.Engine.Len() == 0 && relation != account.AddOrRemove:
		return nil, errors.New("curator: the table has no rows")
	case int64(c.Engine.Len()) > c.mostRows()/int64(max(c.Repeat, 1)):
		return nil, fmt.Errorf("curator: the table has more than %d rows", c.mostRows())
	case c.Workers < 1:
		return nil, fmt.Errorf("curator: workers = %d: must be >= 1", c.Workers)
	case !relation.Valid():
		return nil, fmt.Errorf("curator: budget: relation = %v: must be replace-one or add-or-remove", relation)
	case relation == account.ReplaceOne && c.Declared != 0:
		return nil, fmt.Errorf("curator: declared records = %v: must be 0 under replace-one, where the number of "+
			"rows is public", c.Declared)
	case relation == account.AddOrRemove && !(c.Declared >= 1 && c.Declared <= math.MaxInt32):
		return nil, fmt.Errorf("curator: declared records = %v: must be between 1 and 2^31 under add-or-remove", c.Declared)
	}
	if c.Watcher != nil && !c.Coins.Simulated() {
		return nil, errors.New("curator: watcher: secret coins must not be watched")
	}
	if len(c.Absent) > 0 && !c.Coins.Simulated() {
		return nil, errors.New("curator: absent rows: must be none under secret coins")
	}
	s := &Session{
		workers:   c.Workers,
		declared:  c.Declared,
		coins:     c.Coins,
		noiseless: c.Noiseless,
		simulated: c.Noiseless || c.Coins.Simulated() || c.Repeat > 1,
		absent:    make(map[int32]bool),
		repeat:    int64(max(c.Repeat, 1)),
		watcher:   c.Watcher,
		permit:    permit{ask: c.Before, given: c.Before == nil},
	}
	s.table.Store(&table{c.Engine})
	for _, i := range c.Absent {
		if i < 0 || i >= c.Engine.Len() {
			return nil, fmt.Errorf("curator: absent rows: row %d: must be one of the table's %d", i, c.Engine.Len())
		}
		s.absent[int32(i)] = true
	}
	if relation == account.ReplaceOne {
		s.declared = float64(c.Engine.Len()) * float64(s.repeat)
	}
	var err error
	s.ledger, err = account.OpenLedger(c.Budget, account.Records{
		Count: int64(s.declared), Unit: c.Unit, Filter: c.Filter, Simulated: s.simulated,
	})
	if err != nil {
		return nil, fmt.Errorf("curator: %w", err)
	}
	return s, nil
}

// All returns the cohort of all records.
func (s *Session) All() query.Cohort { return query.NewCohort(account.Everyone, s.declared) }

// Dim returns the number of features.
func (s *Session) Dim() int { return s.engine().Dim() }

// engine returns the engine that answers queries.
func (s *Session) engine() engine.Engine { return s.table.Load().engine }

// Refine replaces the engine by one over the same records, which change makes of the present engine. The features
// of rows, and their number, may differ. Refine waits for queries that are being answered, and later queries wait
// for it. It releases nothing and charges nothing: change must depend on public facts and released answers alone.
// The sensitivity of a query is enforced for the rows of the new engine as for those of the old one. Cohorts,
// samples and the ledger stay as they are. A prefix sum that was opened before takes no further items. If Refine
// returns an error, the engine stays as it was.
func (s *Session) Refine(change func(engine.Engine) (engine.Engine, error)) error {
	s.passage.Lock()
	defer s.passage.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	before := s.engine()
	next, err := change(before)
	if err != nil {
		return err
	}
	if next.Len() != before.Len() || next.Loss().Name() != before.Loss().Name() {
		return errors.New("curator: refine: must keep the records and the loss")
	}
	s.table.Store(&table{next})
	return nil
}

// parameters returns the number of the loss's parameters.
func (s *Session) parameters() int { return s.engine().Parameters() }

// Ledger returns a view of the session's ledger.
func (s *Session) Ledger() account.View { return s.ledger.View() }

// Ask answers a query. The charge is reserved in the ledger before anything is computed and is never given back. If the
// charge would exceed the budget, Ask returns an *account.BudgetError and computes nothing.
func (s *Session) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	return through(ctx, s, func() (release[query.Release], error) { return s.question(q) })
}

// question describes the release of the answer to a query, before anything is computed.
func (s *Session) question(q query.Question) (r release[query.Release], err error) {
	members, err := s.members(q)
	if err != nil {
		return r, err
	}
	g, event, err := s.law(q)
	if err != nil {
		return r, err
	}
	score, err := scoring(g, q)
	if err != nil {
		return r, err
	}
	return release[query.Release]{
		asked: q, members: members, grid: g, event: event, sums: []query.Question{q}, scale: sumScale(q, g), lift: lifting(q),
		score: score,
		answer: func(exact []int64, n *noises) query.Release {
			n.add(exact, g.bits)
			return meanOf(q, g, exact, event.Charge)
		},
	}, nil
}

// present returns the members without the absent rows. nil members stand for all rows.
func (s *Session) present(members []int32) []int32 {
	if len(s.absent) == 0 {
		return members
	}
	if members == nil {
		members = make([]int32, s.engine().Len())
		for i := range members {
			members[i] = int32(i)
		}
	}
	return slices.DeleteFunc(slices.Clone(members), func(i int32) bool { return s.absent[i] })
}

// law returns the grid on which a query's answer is rounded and released, and the ledger event of the
// answer. For a query on a Poisson sample, the schedule determines the noise. For other queries, the charge
// that the query offers determines it.
func (s *Session) law(q query.Question) (grid, account.Event, error) {
	if z, sampling, ok := s.sampleOf(q.Cohort()); ok {
		g, err := gridFor(q, 1, 1/(z*z), s.mostRecords(q))
		if err != nil {
			return grid{}, account.Event{}, err
		}
		e, err := account.SampledEvent(q.Name(), sampling, g.sensitivity, g.sigma)
		return g, e, err
	}
	g, err := newGrid(q, s.ledger.Budget().Relation(), s.mostRecords(q))
	if err != nil {
		return grid{}, account.Event{}, err
	}
	e, err := account.GaussianEvent(q.Name(), q.Cohort().ID(), g.sensitivity, g.sigma)
	return g, e, err
}

// meanOf converts the noisy integers of a sum to a noisy mean, by dividing by the cohort's declared size. It adds the
// query's public centre once, unless the answer is a norm. All of this is post-processing.
func meanOf(q query.Question, g grid, noisy []int64, charge float64) query.Release {
	size := q.Cohort().Size()
	mean := make([]float64, q.Dim())
	if !q.Facts().Normed {
		mean = engine.CentreVector(q)
	}
	for j, v := range noisy {
		mean[j] += float64(v) / g.scale / size
	}
	return query.Release{Mean: mean, Sigma: math.Ldexp(1, g.bits) / g.scale / size, Charge: charge}
}

// mostRows returns a public upper bound on the number of records.
func (s *Session) mostRows() float64 {
	if s.ledger.Budget().Relation() == account.ReplaceOne {
		return s.declared
	}
	return math.MaxInt32
}

// Close ends the ledger, forgets the cohorts and releases the memory or files of the rows. Further
// queries return ErrClosed. The ledger stays readable.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.ledger.End()
	s.cohorts = cohorts{}
	return s.engine().Close()
}

// members validates the query against this session. It returns the row numbers of the query's
// cohort or sample. nil stands for all rows.
func (s *Session) members(q query.Question) ([]int32, error) {
	if q.Dim() == 0 {
		return nil, errors.New("curator: question: must be made by query.New")
	}
	if err := cmp.Or(s.pointed(q), engine.Answers(s.engine().Loss(), q)); err != nil {
		return nil, err
	}
	if q.Cohort().ID()&sampleBit != 0 {
		return s.sampled(q)
	}
	return s.rowsOf(q.Cohort())
}

// pointed returns an error unless a query's points and metric fit the session. Points must have one
// coordinate for each parameter or, if the query needs no loss, for each feature. The metric must
// have one dimension for each feature, or for each parameter of a loss with a score.
func (s *Session) pointed(q query.Question) error {
	want, each := s.parameters(), "parameter"
	if q.Facts().Losses == query.NoLoss {
		want, each = s.Dim(), "feature"
	}
	if q.PointDim() != want {
		return fmt.Errorf("curator: question: point has %d coordinates: must have %d, one a %s", q.PointDim(), want, each)
	}
	return engine.MetricFits(s.engine().Loss(), q, s.Dim(), s.parameters())
}

// rowsOf returns the row numbers of a cohort. For all records it returns nil. For an empty cohort
// it returns an empty slice that is not nil.
func (s *Session) rowsOf(c query.Cohort) ([]int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if c == s.All() {
		return nil, nil
	}
	members, err := s.cohorts.members(c)
	if members == nil && err == nil {
		members = []int32{}
	}
	return members, err
}
