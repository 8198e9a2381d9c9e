package curator

import "github.com/stillpoint-dp/stillpoint/curator/internal/session"

// ErrClosed reports a query to a closed session.
var ErrClosed = session.ErrClosed
