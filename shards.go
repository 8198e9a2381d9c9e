package stillpoint

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/curator"
)

// Types of package curator for a table in partitions, which workers in other processes hold.
type (
	// Shards is a table in partitions that workers hold in other processes and on other machines.
	Shards = curator.Shards
	// ShardKey is the key that a fit and its workers share.
	ShardKey = curator.ShardKey
	// ShardEvent reports that a worker of a partition became ready, or that a partition lost its last worker.
	ShardEvent = curator.ShardEvent
	// ShardWorker is a worker: it holds the rows of one partition and answers the fit.
	ShardWorker = curator.Worker
)

// Errors of ServeShard, which answers a fit for one partition.
var (
	// ErrShardLost reports that the connection to the fit was lost before the fit told the worker to end.
	ErrShardLost = curator.ErrShardLost
	// ErrShardSpare reports that the fit has enough workers for the partition already.
	ErrShardSpare = curator.ErrShardSpare
)

// NewShardKey returns a fresh key for one fit.
func NewShardKey() (ShardKey, error) { return curator.NewShardKey() }

// ParseShardKey returns the key of 64 hexadecimal digits, as ShardKey.Reveal writes it.
func ParseShardKey(text string) (ShardKey, error) { return curator.ParseShardKey(text) }

// ServeShard reads the rows of one partition and answers the queries of the fit that has the worker's key. It
// returns nil when the fit ends, and an error if the connection is lost or the context ends. The rows stay in
// this process. ServeShard sends the number of rows, a keyed digest and exact sums over an encrypted
// connection; the fit adds the noise. Call Silence first.
func ServeShard(ctx context.Context, w ShardWorker) error { return curator.Serve(ctx, w) }
