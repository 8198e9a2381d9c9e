package curator

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Stable answers with the noisy average of the iterates of one pass of projected
// SGD over a cohort. What Ask promises of charges and errors holds here.
//
// It is the one answer whose sensitivity is not enforced: it rests on the
// convexity and the declared smoothness of the loss. So it is refused for losses
// other than the library's own that are proven to have them, for steps longer
// than 2/(L1 + Lambda), and under add-or-remove; and its event has the basis
// account.Stability and names the loss, as certificates then do.
func (s *Session) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	return s.wall.kernel().Stable(ctx, q)
}

// TakesStable says why Stable would refuse a loss, or nil: passes trust a loss's
// convexity and smoothness, and take those for which both are proven.
func TakesStable(l loss.Loss) error { return engine.Proven(l) }
