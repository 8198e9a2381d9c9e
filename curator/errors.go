package curator

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
)

// ErrClosed reports a question to a closed session.
var ErrClosed = kernel.ErrClosed

// ErrLoss reports that the loss panicked. What it panicked with is withheld.
var ErrLoss = engine.ErrLoss
