package curator

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// PrefixSum is a sequence of noisy prefix sums that a session has opened: each item is a mean over a
// cohort of the session's records, and after each item the sum of all items so far is released. It is
// safe for concurrent use. Like a Session it is one pointer, and printing or encoding it shows
// nothing about records.
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
// Clipping enforces the sensitivity of every other answer, but not of this one. The sensitivity of this
// answer depends on the convexity and the declared smoothness of the loss. Stable therefore accepts only
// losses of the library for which both are proven. It returns an error for other losses, for steps longer
// than 2/(L1 + Lambda), with the loss's smoothness L1 and the query's L2 regularization Lambda, and under
// add-or-remove. The event in the ledger has the basis account.Stability and names the loss, and so does
// the certificate.
func (s *Session) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	return s.wall.session().Stable(ctx, q)
}

// TakesStable returns nil if Stable accepts a loss, or an error with the reason: the loss's
// convexity and smoothness are not both proven.
func TakesStable(l loss.Loss) error { return engine.Proven(l) }
