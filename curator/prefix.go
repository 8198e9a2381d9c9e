package curator

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
	"github.com/stillpoint-dp/stillpoint/query"
)

// PrefixSum is an open prefix sum over cohorts of a session's records. It is
// safe for concurrent use. Like a Session it is one pointer, and printing or
// encoding one shows nothing.
type PrefixSum struct {
	wall *prefixWall
}

type prefixWall struct {
	kernel func() *kernel.Prefix
}

var _ query.PrefixSum = (*PrefixSum)(nil)

// Add takes the terms' mean over their cohort as the next item and returns the
// sum of all items so far, with exactly rounded Gaussian noise: adding to one
// prefix sum N times costs a record, which is in one item only, about as much
// as the logarithm of N answers. Items may depend on the answers before them.
//
// The charge is reserved before anything is computed and is never given back.
// An item is refused, uncharged, if its cohort is that of all records or has
// been in this prefix sum before, if there have been as many items as were
// declared, or if its sensitivity exceeds the declared one; over budget, Add
// returns an *account.BudgetError. An item that fails once it is charged is
// left out: its cohort is used up, and the sum is what it was.
func (p *PrefixSum) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	return p.wall.kernel().Add(ctx, terms...)
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

// LogValue is a fixed text.
func (PrefixSum) LogValue() slog.Value { return slog.StringValue(redactedPrefix) }
