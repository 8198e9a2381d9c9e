package runfolder

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// lossy returns the configuration of a fit over two shards, and a function that ends the worker of the
// second.
func lossy(t *testing.T, changes ...string) (c *train.Config, lose func()) {
	t.Helper()
	c = config(t, 600, changes...)
	c.Data, c.Table = nil, "people"
	key, err := curator.NewShardKey()
	if err != nil {
		t.Fatal(err)
	}
	ctx, lose := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	t.Cleanup(workers.Wait)
	t.Cleanup(lose)
	c.Shards = &curator.Shards{Count: 2, Key: key, Patience: 300 * time.Millisecond, Listening: func(address string) {
		for i, until := range []context.Context{context.Background(), ctx} {
			w := curator.Worker{Connect: address, Key: key, Partition: i, Reader: strings.NewReader(shard(i))}
			workers.Go(func() { _ = curator.Serve(until, w) })
		}
	}}
	return c, lose
}

// shard returns a table of 600 records; those of two shards differ.
func shard(i int) string {
	text := people(600 + i)
	if i == 0 {
		return text
	}
	header, rows, _ := strings.Cut(text, "\n")
	_, rows, _ = strings.Cut(rows, "\n")
	return header + "\n" + rows
}

// TestLostShards tests fits that lose a shard for good. Before the budget is reserved, the error must say
// that nothing was charged, and nothing must be left. After that it must be a ChargedError that names the
// partition, the ledger and the command that recovers the fit. The charge must stay, and Recover must save
// the steps made.
func TestLostShards(t *testing.T) {
	for _, relation := range []string{"replace-one", "add-or-remove, records: 1200"} {
		c, lose := lossy(t, "replace-one", relation, "privacy:", "train: {algorithm: gd, steps: 100000}\nprivacy:")
		steps := 0
		_, err := fit(t.Context(), c, options{Out: "out", Software: "stillpoint test", Step: func(train.Step) {
			if steps++; steps == 3 {
				lose()
			}
		}})
		charged, ok := errors.AsType[*ChargedError](err)
		if !ok || charged.Folder != "out" {
			t.Fatalf("%s: %v: must be a ChargedError of the folder", relation, err)
		}
		wantError(t, err, "shard 1: no worker for 300ms: must have one again within that time; "+
			"the whole budget stays charged in out/ledger.jsonl; stillpoint recover out saves the model in the journal there")
		if entries, err := readLedger("out/ledger.jsonl"); err != nil || len(entries) != 2 || !(entries[0].Mu > 0) {
			t.Errorf("%s: ledger %+v, %v", relation, entries, err)
		}
		if r, err := Recover(t.Context(), "out", RecoverOptions{}); err != nil || !r.Files || r.Step < 3 || r.Complete {
			t.Errorf("%s: recovered %+v, %v", relation, r, err)
		}

		c, lose = lossy(t, "replace-one", relation)
		lose()
		_, err = fit(t.Context(), c, options{Out: "out", Software: "stillpoint test"})
		wantError(t, err, "shard 1: no worker for 300ms: must have one again within that time: nothing was charged")
		empty(t)
	}
}
