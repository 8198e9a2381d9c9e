package curator

import "github.com/stillpoint-dp/stillpoint/curator/internal/kernel"

// ErrClosed reports a query to a closed session.
var ErrClosed = kernel.ErrClosed
