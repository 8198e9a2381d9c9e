package curator

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Read returns what a session would be opened over, of at most so many rows.
func Read(ctx context.Context, c Config, most int) (row.Source, error) { return read(ctx, c, most) }
