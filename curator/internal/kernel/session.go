// Package kernel holds the rows, the secret random bits and the ledger, and answers queries with
// noise. Other packages cannot reach the rows.
//
// Package curator wraps it with secret random bits for production. Package curator/simulate wraps
// it with seeded ones, for experiments on data that needs no protection. Everything that matters to
// privacy is implemented once, here.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// ErrClosed is returned for a query to a closed session.
var ErrClosed = errors.New("curator: the session is closed")

// Config describes a session.
type Config struct {
	Table  row.Source
	Loss   loss.Loss
	Budget account.Budget
	// Unit describes the rows that make up a record. It is for the ledger.
	Unit account.Unit
	// Filter describes the rows that are records. It is for the ledger.
	Filter account.Filter
	// Declared is the public number of records under add-or-remove. It must be zero under
	// replace-one, where the number of rows is public.
	Declared float64
	// Workers is the number of goroutines for a pass and for long noise vectors, at least 1.
	Workers int
	// Coins is the source of random bits for noise and for membership in cohorts and samples.
	Coins *coin.Secret
	// Noiseless leaves the noise out. It marks every event as simulated.
	Noiseless bool
	// Repeat is the number of records for which each row stands, without storing it again; zero
	// means one. Only simulations may set it above one.
	Repeat int
	// Absent lists rows that consume their random bits for membership but are left out of every
	// sum, as if they were not in the table. Only simulations may have them.
	Absent []int
	// Before, if not nil, is called before the first event is charged. If it returns an error, the
	// event is refused, and Before is called again before the next event.
	Before func(context.Context, account.View) error
	// Watcher receives every exchange; nil means none. Only a session with simulated random bits
	// may have one.
	Watcher Watcher
}

// Session answers queries about one table under one budget. It is safe for concurrent use.
type Session struct {
	engine    engine.Engine
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

// New returns a session, or an error that names the invalid field of c.
func New(c Config) (*Session, error) {
	relation := c.Budget.Relation()
	switch {
	case c.Table == nil || c.Table.Len() == 0 && relation != account.AddOrRemove:
		return nil, errors.New("curator: the table has no rows")
	case c.Table.Len() > math.MaxInt32/max(c.Repeat, 1):
		return nil, fmt.Errorf("curator: the table has more than %d rows", math.MaxInt32)
	case !relation.Valid():
		return nil, fmt.Errorf("curator: budget: relation = %v: must be replace-one or add-or-remove", relation)
	case relation == account.ReplaceOne && c.Declared != 0:
		return nil, fmt.Errorf("curator: declared records = %v: must be 0 under replace-one, where the number of rows is public", c.Declared)
	case relation == account.AddOrRemove && !(c.Declared >= 1 && c.Declared <= math.MaxInt32):
		return nil, fmt.Errorf("curator: declared records = %v: must be between 1 and 2^31 under add-or-remove", c.Declared)
	}
	if c.Watcher != nil && !c.Coins.Simulated() {
		return nil, errors.New("curator: watcher: secret coins must not be watched")
	}
	if len(c.Absent) > 0 && !c.Coins.Simulated() {
		return nil, errors.New("curator: absent rows: must be none under secret coins")
	}
	e, err := engine.New(c.Table, c.Loss, c.Workers)
	if err != nil {
		return nil, err
	}
	s := &Session{
		engine:    e,
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
	for _, i := range c.Absent {
		if i < 0 || i >= c.Table.Len() {
			return nil, fmt.Errorf("curator: absent rows: row %d: must be one of the table's %d", i, c.Table.Len())
		}
		s.absent[int32(i)] = true
	}
	if relation == account.ReplaceOne {
		s.declared = float64(c.Table.Len()) * float64(s.repeat)
	}
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
func (s *Session) Dim() int { return s.engine.Table().Layout().Dim() }

// parameters returns the number of the loss's parameters.
func (s *Session) parameters() int { return s.engine.Parameters() }

// Ledger returns a view of the session's ledger.
func (s *Session) Ledger() account.View { return s.ledger.View() }

// Ask answers a query. The charge is reserved in the ledger before anything is computed and is
// never given back. Over budget it returns an *account.BudgetError and computes nothing.
func (s *Session) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	return through(ctx, s, func() (release[query.Release], error) { return s.question(q) })
}

// question describes the release of an answer.
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
		asked: q, members: members, grid: g, event: event, sums: []query.Question{q}, scale: sumScale(q, g), lift: lifting(q), score: score,
		answer: func(exact []int64, n *noises) query.Release {
			n.add(exact, g.bits)
			return meanOf(q, g, exact, event.Charge)
		},
	}, nil
}

// present returns the members that are not absent, nil for all rows.
func (s *Session) present(members []int32) []int32 {
	if len(s.absent) == 0 {
		return members
	}
	if members == nil {
		members = make([]int32, s.engine.Table().Len())
		for i := range members {
			members[i] = int32(i)
		}
	}
	return slices.DeleteFunc(slices.Clone(members), func(i int32) bool { return s.absent[i] })
}

// law returns the grid of a query and the event of its answer.
func (s *Session) law(q query.Question) (grid, account.Event, error) {
	if z, sampling, ok := s.sampleOf(q.Cohort()); ok {
		g, err := gridFor(q, 1, 1/(z*z), s.room(q))
		if err != nil {
			return grid{}, account.Event{}, err
		}
		e, err := account.SampledEvent(q.Name(), sampling, g.sensitivity, g.sigma)
		return g, e, err
	}
	g, err := newGrid(q, s.ledger.Budget().Relation(), s.room(q))
	if err != nil {
		return grid{}, account.Event{}, err
	}
	e, err := account.GaussianEvent(q.Name(), q.Cohort().ID(), g.sensitivity, g.sigma)
	return g, e, err
}

// meanOf converts noisy integers to the mean over the declared size, and adds the public centre
// once. All of this is post-processing.
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

// mostRows is a public bound on the number of rows.
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
	return s.engine.Table().Close()
}

// members validates the query against this session and returns the row numbers it concerns, nil for
// all.
func (s *Session) members(q query.Question) ([]int32, error) {
	if q.Dim() == 0 {
		return nil, errors.New("curator: question: must be made by query.New")
	}
	if err := s.pointed(q); err != nil {
		return nil, err
	}
	if err := engine.Answers(s.engine.Loss(), q); err != nil {
		return nil, err
	}
	if q.Cohort().ID()&sampleBit != 0 {
		return s.sampled(q)
	}
	return s.rowsOf(q.Cohort())
}

// pointed returns an error unless a query's points have one coordinate for each parameter (for each
// feature, if the query needs no loss) and its metric has one dimension for each feature.
func (s *Session) pointed(q query.Question) error {
	want, each := s.parameters(), "parameter"
	if q.Facts().Losses == query.NoLoss {
		want, each = s.Dim(), "feature"
	}
	if q.PointDim() != want {
		return fmt.Errorf("curator: question: point has %d coordinates: must have %d, one a %s", q.PointDim(), want, each)
	}
	if m := q.Terms()[0].Metric(); q.Facts().Metric && m.Dim() != s.Dim() {
		return fmt.Errorf("curator: question: metric of dimension %d: must have %d, one a feature", m.Dim(), s.Dim())
	}
	return nil
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
