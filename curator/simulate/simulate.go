// Package simulate (not frozen) opens sessions with seeded random bits or without noise, over rows that are generated
// or declared public. The sessions run the same code as sessions over real records, so that experiments
// measure the real behaviour. Every event that they write is marked as simulated, and a certificate with
// such an event does not verify. Simulated sessions protect nobody's privacy.
package simulate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Config describes a simulated session.
type Config struct {
	// Rows are rows of equal length and of norm at most 1, and Targets their targets. A row of larger norm, or a target
	// that is not finite, makes a faulty record, which contributes zero to every answer.
	Rows    [][]float32
	Targets []float64
	// Absent lists the numbers of rows that are left out of every sum, although random bits are drawn for
	// them as for all rows. A session with one absent row gives the answers on the table without this row,
	// for the same random bits.
	Absent []int
	// Repeat is the number of times that each row counts. Each copy is a record of its own. Zero means once.
	Repeat int
	Loss   loss.Loss
	Budget account.Budget
	// Declared is the public number of records under add-or-remove.
	Declared float64
	// Seed determines all random bits.
	Seed uint64
	// Noiseless leaves out the noise.
	Noiseless bool
	// Workers and BlockRows are as in curator.Config.
	Workers, BlockRows int
}

// Session is a simulated session. It satisfies optimize.Oracle, and its methods do what those of curator.Session of the
// same names do, with simulated random bits. The events of its ledger are marked as simulated.
type Session struct {
	*simulated
	table  *row.Table // guarded by the session's Refine
	config Config     // without rows and targets
}

type simulated = session.Session

// Open returns a simulated session.
func Open(c Config) (*Session, error) { return Watched(c, nil) }

// Watched returns a simulated session that shows w each exchange and releases the answer that w returns. A nil w sees
// none and changes none.
func Watched(c Config, w func(Exchange) (any, error)) (*Session, error) {
	dim := 0
	if len(c.Rows) > 0 {
		dim = len(c.Rows[0])
	}
	t, err := row.NewTable(dim, c.BlockRows)
	if err != nil {
		return nil, err
	}
	if len(c.Targets) != len(c.Rows) {
		return nil, fmt.Errorf("simulate: %d targets: must be as many as rows, %d", len(c.Targets), len(c.Rows))
	}
	for i, x := range c.Rows {
		t.Append(x, c.Targets[i], true)
	}
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], c.Seed)
	e, err := engine.New(t, c.Loss, c.Workers)
	if err != nil {
		return nil, err
	}
	k, err := session.New(session.Config{
		Engine: e, Budget: c.Budget, Declared: c.Declared, Workers: c.Workers,
		Coins: coin.Simulated(seed), Noiseless: c.Noiseless, Repeat: c.Repeat, Absent: c.Absent, Watcher: w,
	})
	if err != nil {
		return nil, err
	}
	c.Rows, c.Targets = nil, nil
	return &Session{k, t, c}, nil
}

// Refine replaces every row by another one for the same record, as curator.Session.Refine does by another schema.
// change must return a new row of dim features for the row x. It must depend on x, on public facts and on released
// answers alone, and is not called for faulty records.
func (s *Session) Refine(dim int, change func(x []float32) []float32) error {
	return s.simulated.Refine(func(engine.Engine) (engine.Engine, error) {
		t, err := row.NewTable(dim, s.config.BlockRows)
		if err != nil {
			return nil, err
		}
		from := s.table.Layout()
		for r, i := s.table.Reader(), 0; i < s.table.Blocks(); i++ {
			b, err := r.Block(i)
			if err != nil {
				return nil, err
			}
			for j, y := range b.Targets {
				if y != y {
					t.Append(nil, 0, false)
					continue
				}
				t.Append(change(slices.Clone(b.Rows[j*from.Stride():][:from.Dim()])), y, true)
			}
		}
		e, err := engine.New(t, s.config.Loss, s.config.Workers)
		if err == nil {
			s.table = t
		}
		return e, err
	})
}

// OpenPrefix opens a prefix sum as curator.Session.OpenPrefix does, with simulated random bits.
func (s *Session) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	k, err := s.simulated.OpenPrefix(p)
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Exchange is one release as a watcher sees it, with the exact answer before noise. Its fields are Asked, Prefix,
// Members, Event, Scale, Bits, Exact, Scores, Noisy and Released. An audit compares those of neighbouring tables.
type Exchange = session.Exchange
