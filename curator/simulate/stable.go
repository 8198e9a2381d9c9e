package simulate

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Stable takes a pass of SGD as curator.Session.Stable does, with simulated
// coins.
func (s *Session) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	return s.kernel.Stable(ctx, q)
}
