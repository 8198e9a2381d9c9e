package curator

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/wire"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/mutualtls"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Shards is a table in partitions. Each partition is held by a worker (Serve), in another process or on
// another machine. A session over Shards gives the same answers, to the bit, as a session over one table with
// the partitions' rows in the order of the partitions' numbers.
//
// Workers send exact sums, and the session sends the row numbers of cohorts. Connections are therefore
// encrypted, and authenticated by a key that the session and its workers share. Whoever has the key can ask
// the workers for exact sums, so the key must be guarded as the table is.
//
// A query waits for all partitions. If a worker is lost, the query waits for another worker of that
// partition, which must hold the same rows in the same order.
//
// If the schema has a unit, all rows of a unit must be in one partition. This must hold for every table that could have
// been given, not only for the given one. It holds if the unit's cell alone determines the partition of a row. Open
// compares keyed tags of the units, and refuses a table of which a unit has rows in two partitions.
//
// The fields are those of stillpoint.Shards, which documents them.
type Shards struct {
	Count             int
	Listen            string
	Key               ShardKey
	Version           string
	Silence, Patience time.Duration
	Listening         func(address string)
	Told              func(ShardEvent)
}

// ShardEvent reports that a worker of a partition became ready, or that a partition lost its last ready worker.
type ShardEvent struct {
	Partition int
	Ready     bool
}

// Default values of Shards.Silence and Shards.Patience, and the limits of Silence. Session and workers send a
// sign of life five times in each period of Silence.
const (
	defaultSilence  = time.Minute
	defaultPatience = 10 * time.Minute
	leastSilence    = 100 * time.Millisecond
	mostSilence     = 24 * time.Hour
)

// ShardKey is a key of 256 bits that a session and its workers share. Printing it shows nothing.
type ShardKey struct{ open func() mutualtls.Key }

// NewShardKey returns a fresh key.
func NewShardKey() (ShardKey, error) {
	s, err := coin.NewSecret()
	if err != nil {
		return ShardKey{}, err
	}
	key := mutualtls.Key(s.Key())
	return ShardKey{func() mutualtls.Key { return key }}, nil
}

// ParseShardKey returns the key that 64 hexadecimal digits encode. A key with fewer than 12 different bytes
// is refused: it was not drawn at random.
func ParseShardKey(text string) (ShardKey, error) {
	raw, err := hex.DecodeString(text)
	key := mutualtls.Key{}
	if err != nil || len(raw) != len(key) {
		return ShardKey{}, fmt.Errorf("curator: shards: key: must be %d hexadecimal digits", 2*len(key))
	}
	different := map[byte]bool{}
	for _, b := range raw {
		different[b] = true
	}
	if len(different) < 12 {
		return ShardKey{}, errors.New("curator: shards: key: must be drawn at random for this fit")
	}
	copy(key[:], raw)
	return ShardKey{func() mutualtls.Key { return key }}, nil
}

// Reveal returns the key in the form that ParseShardKey reads, to be given to a worker on its standard input.
// The key must not be put into an argument, an environment variable, a file or a log.
func (k ShardKey) Reveal() string {
	if k.open == nil {
		return ""
	}
	key := k.open()
	return hex.EncodeToString(key[:])
}

// assignment is the configuration that a session sends to its workers.
type assignment struct {
	Schema *dataset.Schema `json:"schema"`
	CSV    dataset.CSV     `json:"csv"`
	Loss   string          `json:"loss"`
	Reduce string          `json:"reduce,omitempty"`
}

// assign returns the session's assignment to its workers, encoded. It is an error if the loss's name does not
// determine the loss, since a worker makes the loss from its name.
func (c Config) assign() ([]byte, error) {
	same, err := loss.Parse(c.Loss.Name())
	if err != nil || same.Name() != c.Loss.Name() || fmt.Sprintf("%T", same) != fmt.Sprintf("%T", c.Loss) {
		return nil, fmt.Errorf("curator: shards: loss %s: must be one that package loss makes by its name", c.Loss.Name())
	}
	a := assignment{Schema: c.Schema, CSV: c.CSV, Loss: c.Loss.Name()}
	if c.Reduce != nil {
		a.Reduce = c.Reduce.Name()
	}
	return json.Marshal(a)
}

// config returns the configuration by which a worker encodes its rows. It returns an error if the schema is
// missing, or if the names of the loss and the projection do not determine them for this schema.
func (a assignment) config() (c Config, err error) {
	if a.Schema == nil {
		return c, errors.New("curator: shard: must be told a schema")
	}
	c.Schema, c.CSV = a.Schema, a.CSV
	if c.Loss, err = loss.Parse(a.Loss); err != nil {
		return c, err
	}
	if a.Reduce != "" {
		if c.Reduce, err = dataset.ParseProjection(a.Reduce, a.Schema.Dim()); err != nil {
			return c, err
		}
	}
	return c, matches(c.Loss, c.Schema)
}

// gather waits until all shards are ready and returns the engine over them.
func (c Config) gather(ctx context.Context, key [32]byte) (engine.Engine, error) {
	s := *c.Shards
	switch {
	case c.Rows != nil || c.Reader != nil || len(c.paths()) > 0:
		return nil, errors.New("curator: shards: must not be given beside a path, rows or a reader")
	case c.Memory != 0:
		return nil, errors.New("curator: shards: memory: must be left out: each worker has its own")
	case s.Key.open == nil:
		return nil, errors.New("curator: shards: key: must be given")
	case s.Silence != 0 && !(s.Silence >= leastSilence && s.Silence <= mostSilence):
		return nil, fmt.Errorf("curator: shards: silence = %v: must be between %v and %v, or 0 for %v", s.Silence,
			leastSilence, mostSilence, defaultSilence)
	case s.Patience < 0:
		return nil, errors.New("curator: shards: patience: must be >= 0")
	}
	told, err := c.assign()
	if err != nil {
		return nil, err
	}
	s.Listen = cmp.Or(s.Listen, "127.0.0.1:0")
	l, err := mutualtls.Listen(s.Listen, s.Key.open())
	if err != nil {
		return nil, fmt.Errorf("curator: shards: %w", err)
	}
	if s.Listening != nil {
		s.Listening(l.Address())
	}
	w := wire.Config{
		Count: s.Count, Loss: c.Loss, Dim: loss.RecordFeatures(c.Loss, c.features()), Version: s.Version, Key: key,
		Configuration: told,
		Units:         c.Schema.Unit() != (dataset.Unit{}),
		Silence:       cmp.Or(s.Silence, defaultSilence), Patience: cmp.Or(s.Patience, defaultPatience), Held: heldSums,
	}
	if s.Told != nil {
		w.Told = func(e wire.Event) { s.Told(ShardEvent(e)) }
	}
	e, err := wire.Gather(ctx, w, func(ctx context.Context) (io.ReadWriteCloser, error) { return l.Accept(ctx) })
	if err != nil {
		l.Close()
		return nil, err
	}
	return &listening{e, l}, nil
}

// heldSums bounds the bytes of shards' sums that a session receives at the same time; 0 means a bound of package wire.
var heldSums int

// listening is the engine over shards, with the listener to which their workers connect.
type listening struct {
	*wire.Shards
	listener *mutualtls.Listener
}

// Close tells the workers that the fit has ended, and stops listening.
func (l *listening) Close() error { return errors.Join(l.Shards.Close(), l.listener.Close()) }

// Worker describes a worker, which holds the rows of one partition of a session's table (Shards). The fields are those
// of stillpoint.ShardWorker, which documents them. BlockRows is as in Config. If Memory sets a limit, the private file
// is always made, since the number of rows of a partition is secret.
type Worker struct {
	Connect            string
	Key                ShardKey
	Version            string
	Partition, Attempt int
	Paths              []string
	Reader             io.Reader
	Workers, BlockRows int
	Memory             int64
	Folder             string
	Wait               time.Duration
}

// Errors of Serve.
var (
	// ErrShardLost reports that the session is out of reach, or silent for too long, and has not ended its
	// workers.
	ErrShardLost = wire.ErrLost
	// ErrShardSpare reports that the session has enough workers for the partition.
	ErrShardSpare = wire.ErrSpare
)

// Serve connects to a session, reads the rows of a partition and answers the session's queries. It returns
// nil once the session ends, ErrShardLost if the session is lost, ErrShardSpare if the session does not
// need this worker, and the context's error if the context ends. The rows are read once, after the session
// has sent its configuration, by the same code as a session's own rows. They stay in this process. Serve
// sends the number of rows, a keyed digest of them, and exact sums.
func Serve(ctx context.Context, w Worker) error {
	if w.Key.open == nil {
		return errors.New("curator: shard: key: must be given")
	}
	if w.Partition < 0 || w.Attempt < 0 {
		return errors.New("curator: shard: partition and attempt: must be >= 0")
	}
	c, err := mutualtls.Dial(ctx, w.Connect, w.Key.open(), w.Wait)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, mutualtls.ErrStranger) {
			return fmt.Errorf("curator: shard: key: must be the key of the fit that listens at %s: that one has another: %w",
				w.Connect, err)
		}
		return fmt.Errorf("curator: shard: %w", err)
	}
	peers := wire.Peers{Listen: func(ctx context.Context, serve func(io.ReadWriteCloser)) (string, error) {
		return mutualtls.Beside(ctx, c, w.Key.open(), serve)
	}, Dial: func(ctx context.Context, address string) (io.ReadWriteCloser, error) {
		return mutualtls.Dial(ctx, address, w.Key.open(), 0)
	}}
	hello := wire.Hello{Version: w.Version, Partition: w.Partition, Attempt: w.Attempt}
	return wire.Work(ctx, c, hello, func(ctx context.Context, told []byte, key [32]byte) (wire.Held, error) {
		var a assignment
		if err := json.Unmarshal(told, &a); err != nil {
			return wire.Held{}, errors.New("curator: shard: must be told a configuration: use the same version on both sides")
		}
		c, err := a.config()
		if err != nil {
			return wire.Held{}, err
		}
		c.Paths, c.Reader = w.Paths, w.Reader
		c.Workers, c.BlockRows, c.Memory, c.Folder = w.Workers, w.BlockRows, w.Memory, w.Folder
		if c.Reader != nil {
			c.CSV = dataset.CSV{}
		}
		held, err := c.encode(ctx, key)
		held.Peers = peers
		return held, err
	})
}

// partition holds the tags (keyed identifiers) of a partition's units while its rows are read.
type partition struct {
	key  *coin.Keyed
	tags []wire.Tag // tags[i] is the tag of record i
}

// mark sets the tags, the keyed identifiers, of the units. index maps each unit's name to its number.
func (p *partition) mark(index map[string]int) {
	p.tags = make([]wire.Tag, len(index))
	for unit, record := range index {
		p.tags[record] = p.key.Tag(unit)
	}
}

// Labels of the keys that are derived from the key of a session with workers. The key itself decides
// which rows of a unit are kept, as in a session over one table.
const (
	labelDigest = "stillpoint: digest of a partition"
	labelTags   = "stillpoint: tags of units"
)

// hold reads a partition. It returns an engine over the partition's rows, the sorted tags of its units, and
// a keyed digest of the rows and tags.
func (c Config) hold(ctx context.Context, key [32]byte) (h wire.Held, err error) {
	c.partition = &partition{key: coin.NewKeyed(coin.Subkey(key, labelTags))}
	rows, err := read(ctx, c, mostRows, coin.NewKeyed(key))
	if err != nil {
		return wire.Held{}, err
	}
	digest := coin.NewDigest(coin.Subkey(key, labelDigest))
	records, err := c.records(rows)
	if err == nil {
		err = row.Encode(records, func(b []byte) { digest.Write(b) })
	}
	if err != nil {
		rows.rows.Close()
		return wire.Held{}, err
	}
	h.Tags = c.partition.tags
	for _, t := range h.Tags {
		digest.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, t[0]), t[1]))
	}
	digest.Sum(h.Digest[:0])
	slices.SortFunc(h.Tags, wire.Tag.Compare)
	h.Engine, err = c.first(rows)
	h.Refine = func(told []byte) (engine.Engine, error) { return c.refined(told, rows) }
	return h, err
}

// encode reads a partition as the method hold does, but returns at once if the context ends, even
// while a stream yields nothing.
func (c Config) encode(ctx context.Context, key [32]byte) (wire.Held, error) {
	type made struct {
		held wire.Held
		err  error
	}
	done := make(chan made, 1)
	go func() {
		held, err := c.hold(ctx, key)
		done <- made{held, err}
	}()
	select {
	case <-ctx.Done():
		go func() {
			if m := <-done; m.err == nil {
				m.held.Engine.Close()
			}
		}()
		return wire.Held{}, ctx.Err()
	case m := <-done:
		return m.held, m.err
	}
}
