package stillpoint

import (
	"context"
	"io"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
)

// Shards is a table in partitions that workers hold in other processes and on other machines (ServeShard). A fit waits
// for all partitions. If a worker is lost, the fit waits for another worker of that partition, which must hold the same
// rows in the same order. If the schema has a unit, the unit's cell alone must determine the partition of a row.
type Shards struct {
	// Count is the number of partitions, at least one. They are numbered from zero.
	Count int
	// Listen is the address HOST:PORT at which workers connect. Empty means any free port of this machine, for
	// workers on this machine alone. Port 0 means any free port.
	Listen string
	// Key is the key that workers must have. NewShardKey makes a fresh one for a fit.
	Key ShardKey
	// Version is the version of the program. Workers must have the same version, since the bits of sums may differ
	// between versions.
	Version string
	// Silence is how long a worker may send nothing before it counts as lost, from a tenth of a second to a day; zero
	// means a minute. Patience is how long a query waits while a partition has no worker; zero means ten minutes. The
	// time in which a worker reads its rows does not count.
	Silence, Patience time.Duration
	// Listening, if not nil, is called with the listening address once workers can connect.
	Listening func(address string)
	// Told, if not nil, is called when a worker of a partition becomes ready, and when a partition loses its last
	// ready worker. Several goroutines call it. It must not block.
	Told func(ShardEvent)
}

// ShardEvent reports that a worker of a partition became ready, or that a partition lost its last worker.
type ShardEvent struct {
	Partition int
	// Ready is true if a worker of the partition is ready, and false if the partition's last worker is lost.
	Ready bool
}

// ShardKey is the key of 256 bits that a fit and its workers share. Printing it shows nothing.
type ShardKey struct{ key curator.ShardKey }

// Reveal returns the key as 64 hexadecimal digits, and "" for the zero ShardKey.
func (k ShardKey) Reveal() string { return k.key.Reveal() }

// ShardWorker is a worker: it holds the rows of one partition and answers the fit.
type ShardWorker struct {
	// Connect is the address HOST:PORT at which the fit listens, and Key the fit's key.
	Connect string
	Key     ShardKey
	// Version is the version of the program, as in Shards.
	Version string
	// Partition is the number of the partition, from zero. Attempt counts the workers that were started for it, from
	// zero.
	Partition, Attempt int
	// Paths are the files of the partition, and Reader a stream of text in their place. The fit tells the workers the
	// text format of files. The text of a stream has commas between cells, double quotes around cells and decimal
	// points. Every file or stream begins with the header.
	Paths  []string
	Reader io.Reader
	// Workers is the number of goroutines that compute on the rows; zero means one for each processor.
	Workers int
	// Memory, if not 0, limits the memory for the rows, in bytes. Further rows are written to a private file in
	// Folder, which is not encrypted. An empty Folder means the system's folder for temporary files.
	Memory int64
	Folder string
	// Wait is how long ServeShard keeps trying to connect while no fit listens at the address.
	Wait time.Duration
}

// Errors of ServeShard, which answers a fit for one partition.
var (
	// ErrShardLost reports that the connection to the fit was lost before the fit told the worker to end.
	ErrShardLost = curator.ErrShardLost
	// ErrShardSpare reports that the fit has enough workers for the partition already.
	ErrShardSpare = curator.ErrShardSpare
)

// NewShardKey returns a fresh key for one fit.
func NewShardKey() (ShardKey, error) {
	key, err := curator.NewShardKey()
	return ShardKey{key}, err
}

// ParseShardKey returns the key of 64 hexadecimal digits, as ShardKey.Reveal writes it.
func ParseShardKey(text string) (ShardKey, error) {
	key, err := curator.ParseShardKey(text)
	return ShardKey{key}, err
}

// ServeShard reads the rows of one partition and answers the queries of the fit that has the worker's key. It
// returns nil when the fit ends, and an error if the connection is lost or the context ends. The rows stay in
// this process. ServeShard sends the number of rows, a keyed digest and exact sums over an encrypted
// connection; the fit adds the noise. Call Silence first.
func ServeShard(ctx context.Context, w ShardWorker) error {
	return curator.Serve(ctx, curator.Worker{Connect: w.Connect, Key: w.Key.key, Version: w.Version, Partition: w.Partition,
		Attempt: w.Attempt, Paths: w.Paths, Reader: w.Reader, Workers: w.Workers, Memory: w.Memory, Folder: w.Folder,
		Wait: w.Wait})
}

// curators returns the table as package curator describes it; nil for nil.
func (s *Shards) curators() *curator.Shards {
	if s == nil {
		return nil
	}
	c := &curator.Shards{Count: s.Count, Listen: s.Listen, Key: s.Key.key, Version: s.Version, Silence: s.Silence,
		Patience: s.Patience, Listening: s.Listening}
	if s.Told != nil {
		c.Told = func(e curator.ShardEvent) { s.Told(ShardEvent(e)) }
	}
	return c
}
