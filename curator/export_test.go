package curator

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
)

// Read returns the encoded rows over which a session would be opened, as a source of at most most
// rows.
func Read(ctx context.Context, c Config, most int) (row.Source, error) {
	return ReadKeyed(ctx, c, most, [32]byte{})
}

// ReadKeyed returns what Read returns, for a chosen seed of the key that determines which rows of a
// unit are kept.
func ReadKeyed(ctx context.Context, c Config, most int, seed [32]byte) (row.Source, error) {
	s, err := read(ctx, c, most, coin.Simulated(seed).Keyed())
	if err != nil {
		return nil, err
	}
	return c.records(s)
}

// OpenWatched opens a session with seeded random bits and without noise. The watcher w gets a
// description of every release, with the exact sum.
func OpenWatched(ctx context.Context, c Config, seed uint64, w session.Watcher) (*Session, error) {
	return openSeeded(ctx, c, seed, w, true)
}

// OpenNoisy opens a session with noise from seeded random bits. The watcher w gets a description of
// every release, with the exact sum.
func OpenNoisy(ctx context.Context, c Config, seed uint64, w session.Watcher) (*Session, error) {
	return openSeeded(ctx, c, seed, w, false)
}

func openSeeded(ctx context.Context, c Config, seed uint64, w session.Watcher, noiseless bool) (*Session, error) {
	rows, err := read(ctx, c, math.MaxInt32, coin.Simulated(seeded(seed)).Keyed())
	if err != nil {
		return nil, err
	}
	e, err := c.first(rows)
	if err != nil {
		return nil, err
	}
	return c.seeded(e, seed, w, noiseless, refiner(c, rows.held))
}

// AddUp makes the workers of sessions over shards add up their sums in trees, however small these are, until the
// returned function is called.
func AddUp() (restore func()) {
	heldSums = 1
	return func() { heldSums = 0 }
}

// OpenShards opens a session with noise from seeded random bits over the configuration's shards.
func OpenShards(ctx context.Context, c Config, seed uint64) (*Session, error) {
	e, err := c.gather(ctx, coin.Simulated(seeded(seed)).Key())
	if err != nil {
		return nil, err
	}
	return c.seeded(e, seed, nil, false, refiner(c, shared))
}

// OpenOver opens a session without noise over the given rows in place of the configuration's. The
// watcher w gets a description of every release, with the exact sum.
func OpenOver(rows row.Source, c Config, seed uint64, w session.Watcher) (*Session, error) {
	e, err := engine.New(rows, timed(c.Loss, c.Schema.Target()), c.workers())
	if err != nil {
		return nil, err
	}
	return c.seeded(e, seed, w, true, nil)
}

func (c Config) seeded(e engine.Engine, seed uint64, w session.Watcher, noiseless bool,
	refine refining) (*Session, error) {
	k, err := session.New(session.Config{
		Engine: e, Budget: c.Budget, Declared: c.Declared, Workers: c.workers(),
		Coins: coin.Simulated(seeded(seed)), Noiseless: noiseless, Watcher: w,
	})
	if err != nil {
		e.Close()
		return nil, err
	}
	return &Session{wall: &opaqueSession{session: func() *session.Session { return k }, refine: refine}}, nil
}

func seeded(seed uint64) (key [32]byte) {
	binary.LittleEndian.PutUint64(key[:], seed)
	return key
}
