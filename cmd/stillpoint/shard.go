package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/fitting"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// shardFlags are the flags of a fit whose table is in partitions, each read by a worker process.
type shardFlags struct {
	Shards int    `help:"Number of partitions of the table, each held by a worker (stillpoint shard). The key comes in the first line of standard input." placeholder:"N"`
	Listen string `help:"Address at which workers connect; port 0 means any. Without it, a free port that this machine alone reaches." placeholder:"HOST:PORT"`
}

// shards returns the partitioned table that the flags describe, or nil without --shards. It does not set the
// key that protects the connections.
func (f shardFlags) shards() (*fitting.Shards, error) {
	switch {
	case f.Shards == 0 && f.Listen != "":
		return nil, errors.New("--listen: is for --shards, which must be given with it")
	case f.Shards == 0:
		return nil, nil
	case f.Shards < 0:
		return nil, fmt.Errorf("--shards = %d: must be >= 1", f.Shards)
	}
	return &fitting.Shards{Count: f.Shards, Listen: f.Listen, Version: software()}, nil
}

// shardKey reads the key that a fit shares with its workers from the first line of r, which is standard
// input. It returns an error if the line is not a key of 64 hexadecimal digits.
func shardKey(r *bufio.Reader) (fitting.ShardKey, error) {
	const most = 100
	var line strings.Builder
	for line.Len() < most {
		b, err := r.ReadByte()
		if err != nil || b == '\n' {
			break
		}
		line.WriteByte(b)
	}
	key, err := fitting.ParseShardKey(strings.TrimSpace(line.String()))
	if err != nil {
		return key, errors.New("key: must come in the first line of standard input: 64 hexadecimal digits, drawn at " +
			"random for this fit alone (stillpoint shard --new-key writes some)")
	}
	return key, nil
}

// awaitKey reads the key as shardKey does. If the context ends before the key is read, awaitKey returns the context's
// error. It sets no time limit, since the program that writes the key may partition the table first.
func awaitKey(ctx context.Context, r *bufio.Reader) (fitting.ShardKey, error) {
	type read struct {
		key fitting.ShardKey
		err error
	}
	done := make(chan read, 1)
	go func() {
		key, err := shardKey(r)
		done <- read{key, err}
	}()
	select {
	case got := <-done:
		return got.key, got.err
	case <-ctx.Done():
		return fitting.ShardKey{}, ctx.Err()
	}
}

type keyEvent struct {
	Event string `json:"event"` // key: the fit waits for its key
	Unit  string `json:"unit"`  // column whose cells must decide a row's partition; empty if any will do
}

// tellUnit prints, with --progress=json, that the fit waits for its key, and by which column the program that
// started the fit must partition the table.
func (c *console) tellUnit(config *train.Config) {
	if c.json && config.Schema != nil {
		printLine(c.err, keyEvent{"key", config.Schema.Unit().Column})
	}
}

type listeningEvent struct {
	Event   string `json:"event"` // listening
	Address string `json:"address"`
	Shards  int    `json:"shards"`
}

type shardEvent struct {
	Event     string `json:"event"` // shard
	Partition int    `json:"partition"`
	Ready     bool   `json:"ready"` // true if a worker became ready, false if the partition lost its last worker
}

// tellShards sets functions of s that print the address at which workers connect, and an event when a worker
// of a partition becomes ready or a partition loses its last worker.
func (c *console) tellShards(s *fitting.Shards) {
	s.Listening = func(address string) {
		if c.json {
			printLine(c.err, listeningEvent{"listening", address, s.Count})
			return
		}
		fmt.Fprintf(c.err, "listening on %s for %d shards\n", safetext.Text(address), s.Count)
	}
	s.Told = func(e fitting.ShardEvent) {
		switch {
		case c.json:
			printLine(c.err, shardEvent{"shard", e.Partition, e.Ready})
		case e.Ready:
			fmt.Fprintf(c.err, "shard %d is ready\n", e.Partition)
		default:
			fmt.Fprintf(c.err, "shard %d is lost: the fit waits for another worker of this partition\n", e.Partition)
		}
	}
}

// keyPatience is the least time for which a worker waits for the line with its key. A key that is cut short, from a
// program that keeps the worker's standard input open, would otherwise leave the worker running for good.
var keyPatience = 30 * time.Second

type shardCommand struct {
	Files []string `arg:"" optional:"" help:"Files of the partition, CSV or Parquet. Without them the rows come over standard input, in frames." placeholder:"FILE"`

	Connect   string        `help:"Address at which the fit listens." placeholder:"HOST:PORT"`
	Partition int           `help:"Number of the partition, from 0." placeholder:"I"`
	Attempt   int           `help:"How many workers the partition had before this one. Messages state it."`
	Gigabytes float64       `help:"Largest memory for the rows; more rows go to a private file." placeholder:"GB"`
	Folder    string        `help:"Folder of that file, on a disk that may hold records." placeholder:"DIR"`
	Threads   int           `help:"Number of threads; all processors if left out."`
	Wait      time.Duration `help:"Time to keep trying while no fit listens." default:"30s"`
	NewKey    bool          `help:"Write a fresh key and end." name:"new-key"`
}

func (f *shardCommand) Run(ctx context.Context, c *console) error {
	if f.NewKey {
		key, err := fitting.NewShardKey()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.out, key.Reveal())
		return err
	}
	memory := train.Memory{Gigabytes: train.Positive(f.Gigabytes)}
	switch {
	case f.Connect == "":
		return errors.New("--connect: must be the address at which the fit listens")
	case !(f.Gigabytes >= 0 && f.Gigabytes <= 9e9):
		return fmt.Errorf("--gigabytes = %v: must be > 0 and at most 9e9, or be left out for all", f.Gigabytes)
	case f.Folder != "" && f.Gigabytes == 0:
		return errors.New("--folder: is for rows beyond --gigabytes, which must be given with it")
	case f.Threads < 0:
		return fmt.Errorf("--threads = %d: must be >= 1, or be left out for all processors", f.Threads)
	}
	stdin := bufio.NewReaderSize(os.Stdin, 1<<16)
	limit := max(f.Wait, keyPatience)
	timed, stop := context.WithTimeout(ctx, limit)
	key, err := awaitKey(timed, stdin)
	stop()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("key: no line came within %v: must be the first line of standard input, ended by a newline", limit)
	}
	if err != nil {
		return err
	}
	collect(memory)
	w := fitting.ShardWorker{
		Connect: f.Connect, Key: key, Version: software(), Partition: f.Partition, Attempt: f.Attempt,
		Paths: f.Files, Workers: f.Threads, Memory: int64(math.Ceil(f.Gigabytes * 1e9)), Folder: f.Folder, Wait: f.Wait,
	}
	ctx, orphaned := context.WithCancelCause(ctx)
	defer orphaned(nil)
	if len(f.Files) == 0 {
		w.Reader = &frames{r: stdin, gone: func() { orphaned(errOrphaned) }}
	}
	switch err := fitting.ServeShard(ctx, w); {
	case errors.Is(err, fitting.ErrShardSpare):
		c.note("spare", "the fit has enough workers of this partition; this one is not needed")
		return nil
	case err != nil && context.Cause(ctx) == errOrphaned:
		return errOrphaned
	default:
		return err
	}
}

// errOrphaned reports that standard input was closed: the process that writes this worker's rows has ended.
var errOrphaned = errors.New("shard: standard input was closed: the process that gave the rows has ended")

// mostFrame is the largest length of a frame, in bytes (see [frames]).
const mostFrame = 1 << 28

// frames is a reader of a worker's rows from standard input. The text comes in frames: 4 bytes with a length,
// little-endian, then as many bytes of text. A frame of length 0 ends the table. If standard input is closed
// before that frame, the writing process was killed and the table is not whole: Read calls gone and returns
// errOrphaned instead of io.EOF. If standard input is closed after the table, gone is called too.
type frames struct {
	r    *bufio.Reader
	gone func()
	left uint32
	over bool
}

func (f *frames) Read(p []byte) (int, error) {
	if f.over {
		return 0, io.EOF
	}
	if f.left == 0 {
		var head [4]byte
		if _, err := io.ReadFull(f.r, head[:]); err != nil {
			f.gone()
			return 0, errOrphaned
		}
		f.left = binary.LittleEndian.Uint32(head[:])
		if f.left > mostFrame {
			return 0, fmt.Errorf("shard: frame: must be at most %d bytes long", mostFrame)
		}
		if f.left == 0 {
			f.over = true
			go func() {
				io.Copy(io.Discard, f.r)
				f.gone()
			}()
			return 0, io.EOF
		}
	}
	n, err := f.r.Read(p[:min(len(p), int(f.left))])
	f.left -= uint32(n)
	if err != nil {
		f.gone()
		return n, errOrphaned
	}
	return n, nil
}
