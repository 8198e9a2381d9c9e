package curator

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Session answers questions about the records of one table under one budget.
// It is safe for concurrent use. Printing or encoding one shows nothing.
//
// It is one pointer to a wall, never to anything that holds values: with a verb
// that does not fit, fmt follows a pointer behind an unexported field, once, and
// prints what it finds there. Package reflect reads whatever pointers lead to,
// unexported fields included; it neither calls nor looks into a closure.
type Session struct {
	wall *wall
}

// wall stands between whatever follows a Session's pointer and the records.
type wall struct {
	kernel func() *kernel.Session
}

// Ask answers a question with exactly rounded Gaussian noise. The charge is
// reserved in the ledger before anything is computed and is never given back:
// not after an error or a cancelled context. Over budget it returns an
// *account.BudgetError and computes nothing. A record on which the loss panics is
// faulty, like a malformed one.
//
// Errors speak of the question, never of records.
func (s *Session) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	return s.wall.kernel().Ask(ctx, q)
}

// OpenPrefix opens a prefix sum: a *PrefixSum. It charges nothing; each item
// does.
func (s *Session) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	k, err := s.wall.kernel().OpenPrefix(p)
	if err != nil {
		return nil, err
	}
	return &PrefixSum{wall: &prefixWall{kernel: func() *kernel.Prefix { return k }}}, nil
}

// Select returns the index of one of a selection's candidates, drawn exactly by
// the exponential mechanism: the lower its score, the likelier. What Ask
// promises of charges and errors holds here; the charge is that of
// account.SelectionMu.
func (s *Session) Select(ctx context.Context, sel query.Selection) (int, error) {
	return s.wall.kernel().Select(ctx, sel)
}

// All returns the cohort of all records.
func (s *Session) All() query.Cohort { return s.wall.kernel().All() }

// Draw returns a cohort of size records that no cohort had before, chosen
// uniformly by secret coins. It is refused under add-or-remove.
func (s *Session) Draw(size int) (query.Cohort, error) { return s.wall.kernel().Draw(size) }

// DrawEach returns a cohort that every record not yet in a cohort joins by its
// own secret coin of probability p. Only the expected size is told. It serves
// both relations, and is the only way to draw under add-or-remove.
func (s *Session) DrawEach(p float64) (query.Cohort, error) { return s.wall.kernel().DrawEach(p) }

// Follow has the session draw Poisson samples by a schedule, fixed before the
// first question: amplification has no lossless filter. The budget is then the
// schedule's.
func (s *Session) Follow(schedule *account.Schedule) error { return s.wall.kernel().Follow(schedule) }

// Sample draws the next Poisson sample of the schedule that the session follows: every record joins by its own secret coin. Only the expected size
// is told. One question may be asked of it, with the schedule's noise.
func (s *Session) Sample() (query.Cohort, error) { return s.wall.kernel().Sample() }

// Dim returns the number of features of a record, which the schema fixes: of a row or,
// where it has a unit, of all that a unit's record has room for (loss.RecordFeatures).
func (s *Session) Dim() int { return s.wall.kernel().Dim() }

// PublicSeed returns a fresh seed of public coins: of those by which optimizers draw an
// iterate or a direction. It has nothing to do with the noise, whose coins are secret.
func (s *Session) PublicSeed() (uint64, error) {
	p, err := coin.NewPublic()
	if err != nil {
		return 0, err
	}
	return p.Uint64(), nil
}

// Ledger returns a view of the session's ledger: what was charged, never what was
// answered. Nothing that is assigned to the view changes what the session may
// charge.
func (s *Session) Ledger() account.View { return s.wall.kernel().Ledger() }

// Close refuses all further questions and gives up what the rows are kept in. The
// ledger remains readable.
func (s *Session) Close() error { return s.wall.kernel().Close() }

const redacted = "curator.Session{records withheld}"

// String returns a fixed text.
func (Session) String() string { return redacted }

// GoString returns a fixed text.
func (Session) GoString() string { return redacted }

// Format writes a fixed text for every verb.
func (Session) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// MarshalJSON writes a fixed text.
func (Session) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue is a fixed text.
func (Session) LogValue() slog.Value { return slog.StringValue(redacted) }
