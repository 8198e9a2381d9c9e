package curator

import "github.com/stillpoint-dp/stillpoint/curator/internal/kernel"

// ErrClosed reports a question to a closed session.
var ErrClosed = kernel.ErrClosed
