package curator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Session answers queries about the records of one table under one budget. It is safe for
// concurrent use. Printing or encoding it shows nothing about records.
//
// A Session is a pointer to a closure, never to data. Package fmt, given a verb that does not fit the type,
// follows a pointer in an unexported field once and prints the data it points to. Package reflect reads data
// behind any pointers, including unexported fields. Neither calls closures nor looks into them.
type Session struct {
	wall *opaqueSession
}

// opaqueSession hides the part of a session that can reach the records (session.Session) in a closure, into which
// neither fmt nor reflect can look.
type opaqueSession struct {
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

// Draw returns a cohort of size records that were in no cohort before, chosen uniformly by secret random bits. It
// returns an error under add-or-remove, after a call of DrawEach, and if fewer than size records are left.
func (s *Session) Draw(size int) (query.Cohort, error) { return s.wall.session().Draw(size) }

// DrawEach returns a cohort that each record not yet in a cohort joins with probability p, by its own secret random
// bits. Only the expected size is public. It works for both relations, and is the only way to draw under add-or-remove.
func (s *Session) DrawEach(p float64) (query.Cohort, error) { return s.wall.session().DrawEach(p) }

// Follow makes the session draw Poisson samples by a schedule, and replaces the session's budget by the schedule's. It
// must be called before the first query, since no lossless privacy filter for amplification by sampling is known.
func (s *Session) Follow(schedule *account.Schedule) error { return s.wall.session().Follow(schedule) }

// Sample draws the next Poisson sample of the session's schedule. Each record joins the sample by its own secret random
// bits. Only the sample's expected size is public. One query may be made on the sample, with the schedule's noise.
func (s *Session) Sample() (query.Cohort, error) { return s.wall.session().Sample() }

// Dim returns the number of features of a record, which follows from the schema. With a unit, a record has
// the features of the largest number of rows of a unit (loss.RecordFeatures).
func (s *Session) Dim() int { return s.wall.session().Dim() }

// PublicSeed returns a fresh seed of public random bits, from which optimizers draw, for example, the
// number of an iterate or a direction. It is independent of the noise, whose random bits are secret.
func (s *Session) PublicSeed() (uint64, error) { return coin.PublicSeed() }

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

// PrefixSum is a sequence of noisy prefix sums that a session has opened: each item is a mean over a cohort of the
// session's records, and after each item the sum of all items so far is released. It is safe for concurrent use. Like a
// Session it is one pointer, and printing or encoding it shows nothing about records.
type PrefixSum struct {
	wall *prefixWall
}

type prefixWall struct {
	session func() *session.Prefix
}

var _ query.PrefixSum = (*PrefixSum)(nil)

// Add appends the terms' mean over their cohort as the next item. It returns the sum of all items so far,
// with exactly rounded Gaussian noise. Each record is in one item only. N items of a prefix sum cost about as
// much of the budget as log N separate answers. Items may depend on earlier answers.
//
// The charge is reserved before anything is computed and is never given back. Add refuses an item without
// charging it in four cases: the item's cohort is the cohort of all records, the cohort is already in this
// prefix sum, the declared number of items is reached, or the item's sensitivity exceeds the declared
// sensitivity. Over budget, Add returns an *account.BudgetError. If an item fails after it is charged, the
// sum stays as it was, and the item's cohort cannot be used again.
func (p *PrefixSum) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	return p.wall.session().Add(ctx, terms...)
}

const redactedPrefix = "curator.PrefixSum{records withheld}"

// String returns a fixed text.
func (PrefixSum) String() string { return redactedPrefix }

// GoString returns a fixed text.
func (PrefixSum) GoString() string { return redactedPrefix }

// Format writes a fixed text for every verb.
func (PrefixSum) Format(f fmt.State, _ rune) { io.WriteString(f, redactedPrefix) }

// MarshalJSON writes a fixed text.
func (PrefixSum) MarshalJSON() ([]byte, error) { return []byte(`"` + redactedPrefix + `"`), nil }

// LogValue returns a fixed text.
func (PrefixSum) LogValue() slog.Value { return slog.StringValue(redactedPrefix) }

// Stable answers with the noisy average of the iterates of one pass of projected SGD over a cohort.
// Charges and errors are as for Ask.
//
// Clipping enforces the sensitivity of every other answer, but not of this one. The sensitivity of this answer depends
// on the convexity and the declared smoothness of the loss. Stable therefore accepts only losses of the library for
// which both are proven. It returns an error for other losses, for steps longer than 2/(L1 + Lambda), with the loss's
// smoothness L1 and the query's L2 regularization Lambda, and under add-or-remove. The event in the ledger has the
// basis account.Stability and names the loss, and so does the certificate.
func (s *Session) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	return s.wall.session().Stable(ctx, q)
}

// TakesStable returns nil if Stable accepts a loss, or an error with the reason: the loss's
// convexity and smoothness are not both proven.
func TakesStable(l loss.Loss) error { return engine.Proven(l) }

// Refine makes the session answer later queries about rows of another schema, in which features that are computed
// when rows are read are computed differently: curves may have other knots. The schema must refine the session's
// present schema (dataset.Schema.Refines): what is stored of rows does not change, and no row is read again. The
// number of features may change, and with it Dim.
//
// Refine charges nothing and releases nothing. The schema must follow from public facts and from released answers
// alone. The answers to later queries are then an adaptive composition of Gaussian mechanisms, as the answers of
// any optimizer are, since the bound on the norm of a row holds for every schema and is enforced for each row
// whenever it is read.
//
// Refine waits for queries that are being answered, and queries wait for Refine. Cohorts, samples, the schedule
// and the ledger stay as they are. A prefix sum that was opened before takes no further items. Over Shards every
// worker computes the features by the refined schema from its next query on, and so does a worker that takes the
// place of a lost one. Config.Reserve must not call Refine.
//
// Refine returns an error, and changes nothing, if the schema does not refine the present one, if the session is
// closed, and if its rows are reduced (Config.Reduce): a reduced row does not store the numbers from which hats
// are computed.
func (s *Session) Refine(schema *dataset.Schema) error {
	if schema == nil {
		return errors.New("curator: refine: schema: must be given")
	}
	own := *schema
	return s.wall.session().Refine(func(e engine.Engine) (engine.Engine, error) { return s.wall.refine(e, &own) })
}

// refining returns the engine that replaces the engine e when a session's schema is refined. It may return e,
// changed. Calls follow each other (session.Session.Refine).
type refining func(e engine.Engine, schema *dataset.Schema) (engine.Engine, error)

// refiner returns the refining of a session of configuration c. make returns the engine of a configuration that
// differs from c in the schema alone.
func refiner(c Config, make func(c Config, e engine.Engine) (engine.Engine, error)) refining {
	return func(e engine.Engine, schema *dataset.Schema) (engine.Engine, error) {
		if c.Reduce != nil {
			return nil,
				errors.New("curator: refine: must not be called where rows are reduced: they store no numbers of columns")
		}
		refined := c
		refined.Schema = schema
		if err := schema.Refines(c.Schema); err != nil {
			return nil, fmt.Errorf("curator: refine: %w", err)
		}
		if err := probe(loss.RowLoss(c.Loss), refined.features()); err != nil {
			return nil, err
		}
		next, err := make(refined, e)
		if err == nil {
			c = refined
		}
		return next, err
	}
}

// held returns the engine of this process that takes the place of another one over the same stored table.
func (s *stored) held(c Config, _ engine.Engine) (engine.Engine, error) { return c.engine(s) }

// shared tells the shards of the engine e the configuration's schema.
func shared(c Config, e engine.Engine) (engine.Engine, error) {
	told, err := json.Marshal(c.Schema)
	if err != nil {
		return nil, err
	}
	return e, e.(*listening).Refine(told, loss.RecordFeatures(c.Loss, c.features()))
}

// refined returns the engine of a worker whose session has refined its schema. told is what shared sends.
func (c Config) refined(told []byte, of *stored) (engine.Engine, error) {
	schema := new(dataset.Schema)
	if err := json.Unmarshal(told, schema); err != nil {
		return nil, errors.New("curator: shard: must be told a schema: use the same version on both sides")
	}
	return refiner(c, of.held)(nil, schema)
}
