package simulate

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Stable makes a pass of SGD as curator.Session.Stable does, with simulated random bits.
func (s *Session) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	return s.session.Stable(ctx, q)
}
