package curator

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

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
