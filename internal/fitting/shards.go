package fitting

import "github.com/stillpoint-dp/stillpoint/curator"

// Types of package curator for a table in partitions.
type (
	Shards      = curator.Shards
	ShardKey    = curator.ShardKey
	ShardEvent  = curator.ShardEvent
	ShardWorker = curator.Worker
)

// Functions and errors of package curator for a table in partitions.
var (
	NewShardKey   = curator.NewShardKey
	ParseShardKey = curator.ParseShardKey
	ServeShard    = curator.Serve
	ErrShardLost  = curator.ErrShardLost
	ErrShardSpare = curator.ErrShardSpare
)
