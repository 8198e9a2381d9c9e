package curator

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Read returns the source of rows that a session would be opened over, of at most most rows.
func Read(ctx context.Context, c Config, most int) (row.Source, error) {
	return ReadKeyed(ctx, c, most, [32]byte{})
}

// ReadKeyed is Read with the seed of the key that determines which rows of a unit are kept.
func ReadKeyed(ctx context.Context, c Config, most int, seed [32]byte) (row.Source, error) {
	return read(ctx, c, most, coin.Simulated(seed).Keyed())
}

// OpenWatched is Open with seeded random bits and without noise. w gets every exchange, with the
// exact sum.
func OpenWatched(ctx context.Context, c Config, seed uint64, w kernel.Watcher) (*Session, error) {
	return openSeeded(ctx, c, seed, w, true)
}

// OpenNoisy is OpenWatched with noise from the seeded random bits.
func OpenNoisy(ctx context.Context, c Config, seed uint64, w kernel.Watcher) (*Session, error) {
	return openSeeded(ctx, c, seed, w, false)
}

func openSeeded(ctx context.Context, c Config, seed uint64, w kernel.Watcher, noiseless bool) (*Session, error) {
	rows, err := ReadKeyed(ctx, c, math.MaxInt32, seeded(seed))
	if err != nil {
		return nil, err
	}
	return over(rows, c, seed, w, noiseless)
}

// OpenOver is OpenWatched over rows in place of the configuration's.
func OpenOver(rows row.Source, c Config, seed uint64, w kernel.Watcher) (*Session, error) {
	return over(rows, c, seed, w, true)
}

func over(rows row.Source, c Config, seed uint64, w kernel.Watcher, noiseless bool) (*Session, error) {
	k, err := kernel.New(kernel.Config{
		Table: rows, Loss: c.Loss, Budget: c.Budget, Declared: c.Declared, Workers: c.workers(),
		Coins: coin.Simulated(seeded(seed)), Noiseless: noiseless, Watcher: w,
	})
	if err != nil {
		rows.Close()
		return nil, err
	}
	return &Session{wall: &wall{kernel: func() *kernel.Session { return k }}}, nil
}

func seeded(seed uint64) (key [32]byte) {
	binary.LittleEndian.PutUint64(key[:], seed)
	return key
}
