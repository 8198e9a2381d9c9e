package wire_test

import (
	"context"
	"encoding/binary"
	"flag"
	"io"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/wire"
	"github.com/stillpoint-dp/stillpoint/loss"
)

var long = flag.Bool("long", false, "try every layout of rows")

// TestAnotherProcess tests that an engine whose rows are in another process returns the integers of
// the reference engine, for every kind of query and form of loss, and refuses what engines refuse.
// Without the flag -long it only makes passes, since TestSeveralShards asks for sums.
func TestAnotherProcess(t *testing.T) {
	p, sources := start(t), map[string]rowtest.Make{"memory": rowtest.Table}
	whole := func(s row.Source, l loss.Loss, workers int) (engine.Engine, error) {
		return apart(t, p, s, l, workers, s.Len())
	}
	if *long {
		enginetest.Run(t, whole, sources, true)
	} else {
		enginetest.RunPasses(t, whole, sources)
	}
}

// TestSeveralShardsInATree tests that the sums of several shards that their workers add up, in another process, are
// those of the reference engine.
func TestSeveralShardsInATree(t *testing.T) {
	p := start(t)
	enginetest.RunSums(t, func(s row.Source, l loss.Loss, workers int) (engine.Engine, error) {
		n := s.Len()
		return apartBy(t, 1, p, s, l, workers, n/3, n/3, n-n/5, n)
	}, map[string]rowtest.Make{"memory": rowtest.Table}, *long)
}

// TestSeveralShards tests that the sums of several shards (workers with parts of the rows) add up to
// the sums of the reference engine. One shard has no rows.
func TestSeveralShards(t *testing.T) {
	p := start(t)
	enginetest.RunSums(t, func(s row.Source, l loss.Loss, workers int) (engine.Engine, error) {
		n := s.Len()
		return apart(t, p, s, l, workers, n/3, n/3, n-n/5, n)
	}, map[string]rowtest.Make{"memory": rowtest.Table}, *long)
}

// apart returns the engine over the rows of a source, in shards. Each shard ends before the row
// with one of the given numbers.
func apart(t testing.TB, p *process, s row.Source, l loss.Loss, workers int, ends ...int) (engine.Engine, error) {
	t.Helper()
	return apartBy(t, 0, p, s, l, workers, ends...)
}

// apartBy returns what apart does. The session receives at most held bytes of sums at the same time; 0 means the
// bound of the package.
func apartBy(t testing.TB, held int, p *process, s row.Source, l loss.Loss, workers int, ends ...int) (engine.Engine, error) {
	t.Helper()
	jobs := make([][]byte, len(ends))
	conns := make(chan io.ReadWriteCloser, len(ends))
	first := 0
	for i, end := range ends {
		jobs[i] = jobOf(t, s, l, workers, first, end).encoded(t)
		first = end
		c, err := p.dial(i, 0)
		if err != nil {
			return nil, err
		}
		conns <- c
	}
	c := patient(l, s.Layout().Dim(), len(ends))
	c.Configuration, c.Held = bundle(jobs), held
	e, err := wire.Gather(context.Background(), c, accepting(conns))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { e.Close() })
	return e, nil
}

// bundle returns the configuration that all workers get: the job of each partition.
func bundle(jobs [][]byte) (b []byte) {
	for _, j := range jobs {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(j)))
		b = append(b, j...)
	}
	return b
}

// jobIn returns a partition's job from the configuration b.
func jobIn(b []byte, partition int) []byte {
	for ; partition > 0; partition-- {
		b = b[4+binary.LittleEndian.Uint32(b):]
	}
	return b[4:][:binary.LittleEndian.Uint32(b)]
}
