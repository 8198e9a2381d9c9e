package curator

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Read returns what a session would be opened over, of at most so many rows.
func Read(ctx context.Context, c Config, most int) (row.Source, error) {
	return ReadKeyed(ctx, c, most, [32]byte{})
}

// ReadKeyed is Read with the seed of the key that settles which rows of a unit are kept.
func ReadKeyed(ctx context.Context, c Config, most int, seed [32]byte) (row.Source, error) {
	return read(ctx, c, most, coin.Simulated(seed).Keyed())
}
