package wire_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/wire"
)

// TestPatienceWhileRowsAreRead tests that queries wait for a partition whose worker reads its rows,
// for longer than the patience, also when the rows are read again. Queries do not wait for a
// partition whose worker is lost while it reads.
func TestPatienceWhileRowsAreRead(t *testing.T) {
	c := newCluster(t)
	const patience = 200 * time.Millisecond
	// slow starts a worker that reads its rows until the channel is closed, and returns its connection
	// once it reads.
	slow := func(partition int, until <-chan struct{}) (conn net.Conn, reads <-chan struct{}) {
		began := make(chan struct{})
		near, far := net.Pipe()
		go wire.Work(context.Background(), far, wire.Hello{Version: "test", Partition: partition},
			func(ctx context.Context, told []byte, key [32]byte) (wire.Held, error) {
				close(began)
				select {
				case <-until:
				case <-ctx.Done():
					return wire.Held{}, ctx.Err()
				}
				return built(c.jobs[partition], key)
			})
		c.conns <- near
		return near, began
	}
	later := func() <-chan struct{} {
		until := make(chan struct{})
		time.AfterFunc(3*patience, func() { close(until) })
		return until
	}
	c.feed(0, c.jobs[0], nil)
	c.feed(1, c.jobs[1], nil)
	conn, _ := slow(2, later())
	e := c.gather(func(w *wire.Config) { w.Patience = patience })
	c.same(e, "read slowly")
	again, reads := slow(2, later())
	<-reads // from here on the session knows the worker that reads
	conn.Close()
	c.same(e, "read again slowly")
	again.Close()
	lost, _ := slow(2, nil)
	time.AfterFunc(patience, func() { lost.Close() })
	if _, err := e.Sum(context.Background(), question(t, whole...), 1e6, nil); err == nil ||
		!strings.Contains(err.Error(), "no worker") {
		t.Errorf("asked: %v", err)
	}
}
