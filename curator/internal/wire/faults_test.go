package wire_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/wire"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// cluster is a table in three partitions, whose workers are goroutines of the test.
type cluster struct {
	t     *testing.T
	rows  row.Source
	loss  loss.Loss
	jobs  [][]byte
	conns chan io.ReadWriteCloser
	local engine.Engine
}

const features = 3

func newCluster(t *testing.T) *cluster {
	t.Helper()
	const n = 50
	c := &cluster{t: t, loss: enginetest.Named(t, "logistic"), conns: make(chan io.ReadWriteCloser, 10)}
	c.rows = rowtest.Table(t, rowtest.Dense(features), 8, rowtest.Records(n, rowtest.Dense(features), 3, true))
	first := 0
	for _, end := range []int{20, 21, n} {
		c.jobs = append(c.jobs, jobOf(t, c.rows, c.loss, 2, first, end).encoded(t))
		first = end
	}
	local, err := engine.New(c.rows, c.loss, 2)
	if err != nil {
		t.Fatal(err)
	}
	c.local = local
	return c
}

// hand is a worker of a cluster of workers, with the worker's end of the connection.
type hand struct {
	conn net.Conn // at the worker's end
	done chan error
}

// feed starts a worker of a partition. If wrap is not nil, the worker uses what wrap returns as its
// end of the connection.
func (c *cluster) feed(partition int, job []byte, wrap func(net.Conn) io.ReadWriteCloser) *hand {
	near, far := net.Pipe()
	h := &hand{conn: far, done: make(chan error, 1)}
	rw := io.ReadWriteCloser(far)
	if wrap != nil {
		rw = wrap(far)
	}
	go func() {
		h.done <- wire.Work(context.Background(), rw, wire.Hello{Version: "test", Partition: partition},
			func(_ context.Context, _ []byte, key [32]byte) (wire.Held, error) {
				return built(job, key)
			})
	}()
	c.conns <- near
	return h
}

// gather returns the engine over the cluster's workers.
func (c *cluster) gather(change func(*wire.Config)) *wire.Shards {
	c.t.Helper()
	config := patient(c.loss, features, len(c.jobs))
	if change != nil {
		change(&config)
	}
	e, err := wire.Gather(context.Background(), config, accepting(c.conns))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { e.Close() })
	return e
}

func question(t testing.TB, w ...float64) query.Question {
	t.Helper()
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, 50), w, 1))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

var (
	whole   = []float64{.3, -2, 1}
	members = []int32{3, 20, 49, 21, 5, 33, 20}
)

// same tests that an engine answers as an engine over all rows does.
func (c *cluster) same(e engine.Engine, what string) {
	c.t.Helper()
	for _, m := range [][]int32{nil, members} {
		want, err := c.local.Sum(context.Background(), question(c.t, whole...), 1e6, m)
		if err != nil {
			c.t.Fatal(err)
		}
		got, err := e.Sum(context.Background(), question(c.t, whole...), 1e6, m)
		if err != nil || !slices.Equal(got.Residual, want.Residual) {
			c.t.Errorf("%s: %v, %v: must be %v", what, got.Residual, err, want.Residual)
		}
	}
}

// cut is a connection that is closed once the worker has written a number of bytes.
type cut struct {
	net.Conn
	mu   sync.Mutex
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(c.left, len(p))
	c.left -= n
	if n > 0 {
		if _, err := c.Conn.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	if n < len(p) {
		c.Conn.Close()
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// TestLostAnywhere tests that another worker takes the place of a worker whose messages break off, wherever
// they break off, and that the sums are still the sums over all rows.
func TestLostAnywhere(t *testing.T) {
	for left := 0; left < 260; left += 1 + left/40 {
		c := newCluster(t)
		c.feed(0, c.jobs[0], nil)
		c.feed(1, c.jobs[1], nil)
		h := c.feed(2, c.jobs[2], func(conn net.Conn) io.ReadWriteCloser { return &cut{Conn: conn, left: left} })
		again := make(chan bool)
		go func() {
			<-h.done
			c.feed(2, c.jobs[2], nil)
			close(again)
		}()
		c.same(c.gather(nil), "cut off")
		h.conn.Close()
		<-again
	}
}

// still is a connection on which the worker falls silent when the test says so.
type still struct {
	net.Conn
	silent chan struct{}
}

func (s *still) Write(p []byte) (int, error) {
	select {
	case <-s.silent:
		return len(p), nil // and nothing arrives
	default:
		return s.Conn.Write(p)
	}
}

// TestStalled tests that a worker that is silent for too long counts as lost, though its connection
// is open. A worker that waits in reserve takes its place.
func TestStalled(t *testing.T) {
	c := newCluster(t)
	s := &still{silent: make(chan struct{})}
	c.feed(0, c.jobs[0], nil)
	c.feed(1, c.jobs[1], func(conn net.Conn) io.ReadWriteCloser { s.Conn = conn; return s })
	c.feed(2, c.jobs[2], nil)
	var mu sync.Mutex
	var told []wire.Event
	e := c.gather(func(w *wire.Config) {
		w.Silence = time.Second
		w.Told = func(e wire.Event) { mu.Lock(); told = append(told, e); mu.Unlock() }
	})
	c.same(e, "before")
	close(s.silent)
	go func() {
		time.Sleep(100 * time.Millisecond)
		c.feed(1, c.jobs[1], nil)
	}()
	c.same(e, "after")
	mu.Lock()
	defer mu.Unlock()
	if len(told) < 4 {
		t.Errorf("told %v", told)
	}
}

// TestOtherRows tests that a replacement worker with other rows, or with the same rows in another
// order, ends the session's work. No query is answered from then on.
func TestOtherRows(t *testing.T) {
	for name, job := range map[string]func(c *cluster) []byte{
		"another row": func(c *cluster) []byte {
			other := jobOf(t, c.rows, c.loss, 2, 21, 50)
			other.Rows[7].Rows[1]++
			return other.encoded(t)
		},
		"another order": func(c *cluster) []byte {
			other := jobOf(t, c.rows, c.loss, 2, 21, 50)
			other.Rows[3], other.Rows[4] = other.Rows[4], other.Rows[3]
			return other.encoded(t)
		},
		"a row less": func(c *cluster) []byte { return jobOf(t, c.rows, c.loss, 2, 22, 50).encoded(t) },
	} {
		for _, reserve := range []bool{false, true} {
			c := newCluster(t)
			var h *hand
			for i := range c.jobs {
				h = c.feed(i, c.jobs[i], nil)
			}
			e := c.gather(nil)
			c.same(e, name)
			if !reserve {
				h.conn.Close()
				<-h.done
			}
			c.feed(2, job(c), nil)
			deadline := time.Now().Add(10 * time.Second)
			for {
				sum, err := e.Sum(context.Background(), question(t, whole...), 1e6, nil)
				if errors.Is(err, wire.ErrOther) && sum.Residual == nil {
					if strings.ContainsAny(strings.TrimPrefix(err.Error(), "shard 2"), "0123456789") {
						t.Errorf("the error tells a number: %v", err)
					}
					break
				}
				if err != nil || !reserve || time.Now().After(deadline) {
					t.Fatalf("%s: %v, %v", name, sum, err)
				}
			}
		}
	}
}

// TestPartitionsTwice tests that no session has two partitions of the same rows, wherever they are among the
// partitions, that the error tells no number, and that partitions without rows may be alike.
func TestPartitionsTwice(t *testing.T) {
	for name, test := range map[string]struct {
		jobs []int // which job each partition has; -1: one without rows
		want error
	}{
		"apart": {[]int{0, 1, 2}, nil}, "neighbours": {[]int{0, 0, 2}, wire.ErrTwice}, "the ends": {[]int{2, 1, 2}, wire.ErrTwice},
		"a single row": {[]int{1, 0, 1}, wire.ErrTwice}, "three": {[]int{2, 2, 2}, wire.ErrTwice},
		"without rows": {[]int{-1, 0, -1}, nil}, "beside rows": {[]int{0, -1, 0}, wire.ErrTwice},
	} {
		c := newCluster(t)
		for i, j := range test.jobs {
			encoded := jobOf(t, c.rows, c.loss, 2, 0, 0).encoded(t)
			if j >= 0 {
				encoded = c.jobs[j]
			}
			c.feed(i, encoded, nil)
		}
		e, err := wire.Gather(t.Context(), patient(c.loss, features, len(test.jobs)), accepting(c.conns))
		if !errors.Is(err, test.want) || test.want != nil && (e != nil || strings.ContainsAny(err.Error(), "0123456789")) {
			t.Errorf("%s: error %v: must be %v, without numbers", name, err, test.want)
		}
		if e != nil {
			e.Close()
		}
	}
}

// TestDuplicates tests that one of several workers of a partition gets the queries, one waits in
// reserve, and the others are sent away. The worker in reserve takes over at once.
func TestDuplicates(t *testing.T) {
	c := newCluster(t)
	hands := []*hand{c.feed(0, c.jobs[0], nil), c.feed(1, c.jobs[1], nil), c.feed(2, c.jobs[2], nil)}
	e := c.gather(func(w *wire.Config) { w.Patience = 10 * time.Second })
	hands = append(hands, c.feed(2, c.jobs[2], nil), c.feed(2, c.jobs[2], nil))
	var away *hand
	select {
	case err := <-hands[3].done:
		if !errors.Is(err, wire.ErrSpare) && err != nil {
			t.Error(err)
		}
		away = hands[3]
	case err := <-hands[4].done:
		if !errors.Is(err, wire.ErrSpare) && err != nil {
			t.Error(err)
		}
		away = hands[4]
	case <-time.After(10 * time.Second):
		t.Fatal("three workers of one partition are kept")
	}
	c.same(e, "with duplicates")
	hands[2].conn.Close()
	c.same(e, "after the first is gone")
	e.Close()
	for i, h := range hands {
		if h == away || i == 2 {
			continue
		}
		if err := <-h.done; err != nil {
			t.Errorf("worker %d is told %v at the end", i, err)
		}
	}
}

// TestManyAtOnce tests that queries made at the same time each get their own answer.
func TestManyAtOnce(t *testing.T) {
	c := newCluster(t)
	for i := range c.jobs {
		c.feed(i, c.jobs[i], nil)
	}
	e := c.gather(nil)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			q := question(t, float64(i), 1, -2)
			want, _ := c.local.Sum(context.Background(), q, 1e6, nil)
			got, err := e.Sum(context.Background(), q, 1e6, nil)
			if err != nil || !slices.Equal(got.Residual, want.Residual) {
				t.Errorf("%v, %v: must be %v", got.Residual, err, want.Residual)
			}
		})
	}
	all.Wait()
}

// TestCancelled tests that nobody waits for the answer to a query whose context has ended, and that
// the late answer to it is not taken for the answer to the next query.
func TestCancelled(t *testing.T) {
	c := newCluster(t)
	for i := range c.jobs {
		c.feed(i, c.jobs[i], nil)
	}
	e := c.gather(nil)
	for range 20 {
		ctx, stop := context.WithCancel(context.Background())
		time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, stop)
		sum, err := e.Sum(ctx, question(t, 9, 9, 9), 1e6, nil)
		if err != nil && (!errors.Is(err, context.Canceled) || sum.Residual != nil) {
			t.Fatal(err)
		}
		c.same(e, "after a question that nobody waits for")
	}
}

// TestEveryShardOrNone tests that there is no answer while a partition has no worker, even if all
// members are in other partitions.
func TestEveryShardOrNone(t *testing.T) {
	c := newCluster(t)
	var h *hand
	for i := range c.jobs {
		h = c.feed(i, c.jobs[i], nil)
	}
	e := c.gather(func(w *wire.Config) { w.Patience = 300 * time.Millisecond })
	c.same(e, "whole")
	h.conn.Close()
	<-h.done
	for _, m := range [][]int32{nil, members, {1, 2}} {
		sum, err := e.Sum(context.Background(), question(t, whole...), 1e6, m)
		if err == nil || sum.Residual != nil || !strings.Contains(err.Error(), "shard 2: no worker") {
			t.Errorf("%v, %v", sum.Residual, err)
		}
	}
	c.feed(2, c.jobs[2], nil)
	c.same(e, "whole again")
}

// TestNotGathered tests that there is no engine while a partition has no worker, if a worker's rows
// have another number of features, or if a worker cannot read its rows. Workers of other versions,
// and workers of partitions that do not exist, are told so and change nothing.
func TestNotGathered(t *testing.T) {
	c := newCluster(t)
	c.feed(0, c.jobs[0], nil)
	config := patient(c.loss, features, len(c.jobs))
	config.Patience = 200 * time.Millisecond
	if _, err := wire.Gather(context.Background(), config, accepting(c.conns)); err == nil ||
		!strings.Contains(err.Error(), "no worker") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := wire.Gather(ctx, patient(c.loss, features, 3), accepting(c.conns)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c.feed(0, c.jobs[0], nil)
	if _, err := wire.Gather(context.Background(), patient(c.loss, features+1, 1), accepting(c.conns)); err == nil ||
		!strings.Contains(err.Error(), "number of features") {
		t.Error(err)
	}
	c.feed(0, []byte("no rows"), nil)
	if _, err := wire.Gather(context.Background(), patient(c.loss, features, 1), accepting(c.conns)); err == nil ||
		!strings.Contains(err.Error(), "shard 0: ") {
		t.Error(err)
	}
	near, far := net.Pipe()
	c.conns <- near
	told := make(chan error, 1)
	go func() { told <- wire.Work(context.Background(), far, wire.Hello{Version: "old"}, build(0)) }()
	next, last := net.Pipe()
	c.conns <- next
	newer := make(chan error, 1)
	go func() { newer <- wire.Work(context.Background(), last, wire.Hello{Version: "zzz"}, build(0)) }()
	lone := c.feed(3, c.jobs[0], nil)
	for i := range c.jobs {
		c.feed(i, c.jobs[i], nil)
	}
	c.same(c.gather(nil), "beside others")
	if err := <-told; err == nil || !strings.Contains(err.Error(), `version "old"`) {
		t.Error(err)
	}
	if err := <-newer; err == nil || !strings.Contains(err.Error(), `version "zzz"`) {
		t.Error(err)
	}
	if err := <-lone.done; err == nil || !strings.Contains(err.Error(), "partition") {
		t.Error(err)
	}
}

// TestFitEndsWorkers tests that workers end when the session's process is gone.
func TestFitEndsWorkers(t *testing.T) {
	near, far := net.Pipe()
	done := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		done <- wire.Work(context.Background(), far, wire.Hello{Version: "test"},
			func(ctx context.Context, _ []byte, _ [32]byte) (wire.Held, error) {
				close(started)
				<-ctx.Done() // rows are being read
				return wire.Held{}, ctx.Err()
			})
	}()
	conns := make(chan io.ReadWriteCloser, 1)
	conns <- near
	ctx, stop := context.WithCancel(context.Background())
	go func() { <-started; stop() }()
	if _, err := wire.Gather(ctx, patient(enginetest.Named(t, "logistic"), features, 1), accepting(conns)); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Second):
		t.Error("a worker goes on reading rows for a fit that has ended")
	}
}

// TestKilled tests that a worker process that is killed while it computes an answer is replaced by
// another.
func TestKilled(t *testing.T) {
	c := newCluster(t)
	config := patient(c.loss, features, len(c.jobs))
	config.Configuration = bundle(c.jobs)
	first, second := start(t), start(t)
	dial := func(p *process, partition int) {
		conn, err := p.dial(partition, 0)
		if err != nil {
			t.Error(err)
			return
		}
		c.conns <- conn
	}
	for i := range c.jobs {
		dial(first, i)
	}
	config.Told = func(e wire.Event) {
		if !e.Ready {
			go dial(second, e.Partition)
		}
	}
	e, err := wire.Gather(context.Background(), config, accepting(c.conns))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	time.AfterFunc(time.Millisecond, func() { first.cmd.Process.Kill() })
	for range 40 {
		c.same(e, "killed")
	}
}

// FuzzWorker tests that the session's process neither panics nor waits longer than its patience,
// whatever a worker sends.
func FuzzWorker(f *testing.F) {
	f.Add([]byte("\x14\x00\x00\x00\x01stillpoint shard\x01\x00\x00test"))
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		conns := make(chan io.ReadWriteCloser, 1)
		conns <- near
		go func() {
			go io.Copy(io.Discard, far)
			far.Write(b)
			far.Close()
		}()
		config := patient(enginetest.Named(t, "logistic"), features, 1)
		config.Patience = 5 * time.Millisecond
		if e, err := wire.Gather(context.Background(), config, accepting(conns)); err == nil {
			e.Close()
		}
	})
}
