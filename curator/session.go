package curator

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Session answers queries about the records of one table under one budget. It is safe for
// concurrent use. Printing or encoding it shows nothing about records.
//
// A Session is a pointer to a closure, never to data. Package fmt, given a verb that does not fit the type,
// follows a pointer in an unexported field once and prints the data it points to. Package reflect reads data
// behind any pointers, including unexported fields. Neither calls closures nor looks into them.
type Session struct {
	wall *wall
}

// wall hides the part of a session that can reach the records (session.Session) in a closure, into which
// neither fmt nor reflect can look.
type wall struct {
	session func() *session.Session
	refine  refining
}

// Ask answers a query with exactly rounded Gaussian noise. The charge is reserved in the ledger
// before anything is computed and is never given back, not even after an error or a cancelled
// context. Over budget, Ask returns an *account.BudgetError and computes nothing. A record on which
// the loss panics counts as faulty, like a malformed record.
//
// Errors describe the query, never records.
func (s *Session) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	return s.wall.session().Ask(ctx, q)
}

// OpenPrefix opens a prefix sum and returns it as a *PrefixSum. Opening charges nothing; each item is charged
// when it is added.
func (s *Session) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	k, err := s.wall.session().OpenPrefix(p)
	if err != nil {
		return nil, err
	}
	return &PrefixSum{wall: &prefixWall{session: func() *session.Prefix { return k }}}, nil
}

// Select returns the index of one of a selection's candidates, drawn exactly by the exponential mechanism: a
// candidate of lower score is more likely. Charges and errors are as for Ask; the charge is the one that
// mechanism.SelectionMu returns.
func (s *Session) Select(ctx context.Context, sel query.Selection) (int, error) {
	return s.wall.session().Select(ctx, sel)
}

// All returns the handle of the cohort that consists of all records.
func (s *Session) All() query.Cohort { return s.wall.session().All() }

// Draw returns a cohort of size records that were in no cohort before, chosen uniformly by secret
// random bits. It returns an error under add-or-remove, after a call of DrawEach, and if fewer than
// size records are left.
func (s *Session) Draw(size int) (query.Cohort, error) { return s.wall.session().Draw(size) }

// DrawEach returns a cohort that each record not yet in a cohort joins with probability p, by its
// own secret random bits. Only the expected size is public. It works for both relations, and is the
// only way to draw under add-or-remove.
func (s *Session) DrawEach(p float64) (query.Cohort, error) { return s.wall.session().DrawEach(p) }

// Follow makes the session draw Poisson samples by a schedule, and replaces the session's budget by the
// schedule's. It must be called before the first query, since no lossless privacy filter for amplification by
// sampling is known.
func (s *Session) Follow(schedule *account.Schedule) error { return s.wall.session().Follow(schedule) }

// Sample draws the next Poisson sample of the session's schedule. Each record joins the sample by its own
// secret random bits. Only the sample's expected size is public. One query may be made on the sample, with
// the schedule's noise.
func (s *Session) Sample() (query.Cohort, error) { return s.wall.session().Sample() }

// Dim returns the number of features of a record, which follows from the schema. With a unit, a record has
// the features of the largest number of rows of a unit (loss.RecordFeatures).
func (s *Session) Dim() int { return s.wall.session().Dim() }

// PublicSeed returns a fresh seed of public random bits, from which optimizers draw, for example, the
// number of an iterate or a direction. It is independent of the noise, whose random bits are secret.
func (s *Session) PublicSeed() (uint64, error) {
	p, err := coin.NewPublic()
	if err != nil {
		return 0, err
	}
	return p.Uint64(), nil
}

// Ledger returns a view of the session's ledger: its charges, never its answers. Assignments to the
// view do not change the session's budget.
func (s *Session) Ledger() account.View { return s.wall.session().Ledger() }

// Close makes the session refuse all further queries and releases the storage of the rows. The
// ledger remains readable.
func (s *Session) Close() error { return s.wall.session().Close() }

const redacted = "curator.Session{records withheld}"

// String returns a fixed text.
func (Session) String() string { return redacted }

// GoString returns a fixed text.
func (Session) GoString() string { return redacted }

// Format writes a fixed text for every verb.
func (Session) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// MarshalJSON writes a fixed text.
func (Session) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue returns a fixed text.
func (Session) LogValue() slog.Value { return slog.StringValue(redacted) }

// ErrClosed reports a query to a closed session.
var ErrClosed = session.ErrClosed
