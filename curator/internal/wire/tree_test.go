package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// valued is an engine whose sums are random numbers that its seed and the members determine.
type valued struct {
	counted
	seed, size int
	fails      error
	heard      func(query.Question)
}

func (v valued) vector(members []int32) []int64 {
	chosen := uint64(v.n)
	for _, m := range slices.Sorted(slices.Values(members)) {
		chosen = chosen*31 + uint64(m)
	}
	r := rand.New(rand.NewPCG(uint64(v.seed), chosen))
	sum := make([]int64, v.size)
	for j := range sum {
		sum[j] = r.Int64N(1000) - 500
	}
	return sum
}

func (v valued) Sum(_ context.Context, q query.Question, _ float64, members []int32) (engine.Sum, error) {
	v.heard(q)
	return engine.Sum{Residual: v.vector(members)}, v.fails
}

// web is a network of workers within this process. Workers can be killed, and addresses be out of reach.
type web struct {
	t       *testing.T
	size    int
	rows    int
	conns   chan io.ReadWriteCloser // to the session
	mu      sync.Mutex
	next    int
	listens map[string]chan net.Conn
	apart   map[int]bool                       // partitions whose workers no other reaches
	hidden  map[int]bool                       // partitions whose workers cannot listen
	astray  map[int]bool                       // partitions whose addresses lead to another worker
	lent    [][]byte                           // what workers sent each other
	got     atomic.Int64                       // bytes that the session received
	sent    atomic.Int64                       // bytes that it sent
	steps   atomic.Int64                       // messages from workers to the session, and connections between workers
	killAt  atomic.Int64                       // the step at which the worker that takes it is killed; 0: never
	stop    atomic.Pointer[context.CancelFunc] // is called in place of the kill, if not nil
	killed  chan int                           // partitions whose workers were killed
	fails   map[int]error                      // errors of partitions' engines
	asked   []byte                             // the question that engines must be asked; nil: any
}

func newWeb(t *testing.T, size int) *web {
	return &web{t: t, size: size, rows: 10, conns: make(chan io.ReadWriteCloser, 1000), listens: map[string]chan net.Conn{},
		killed: make(chan int, 1000)}
}

// heard tests that an engine is asked what it must be.
func (w *web) heard(q query.Question) {
	if b, err := q.AppendBinary(nil); err != nil || w.asked != nil && !slices.Equal(b, w.asked) {
		w.t.Errorf("a worker was asked another question than the session asked, %v", err)
	}
}

// tap is an end of a connection. Its bytes are counted, and a step may close it.
type tap struct {
	net.Conn
	of    *web
	to    *atomic.Int64
	from  *atomic.Int64
	kills func()
}

func (c *tap) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.from.Add(int64(n))
	return n, err
}

func (c *tap) Write(p []byte) (int, error) {
	if c.kills != nil && len(p) > 5 && c.of.steps.Add(1) == c.of.killAt.Load() {
		if stop := c.of.stop.Load(); stop != nil {
			(*stop)()
			return c.Conn.Write(p)
		}
		c.kills()
		return 0, io.ErrClosedPipe
	}
	c.to.Add(int64(len(p)))
	return c.Conn.Write(p)
}

// start starts a worker of a partition, which ends at kill.
func (w *web) start(partition int) (kill func()) {
	near, far := net.Pipe()
	w.mu.Lock()
	w.next++
	address := fmt.Sprint("worker-", w.next)
	listens := make(chan net.Conn)
	w.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	var once sync.Once
	kill = func() {
		once.Do(func() {
			stop()
			far.Close()
			w.killed <- partition
		})
	}
	peers := Peers{Listen: func(inner context.Context, serve func(io.ReadWriteCloser)) (string, error) {
		if w.hidden[partition] {
			return "", errors.New("no port")
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.listens[address] = listens
		go func() {
			for {
				select {
				case c := <-listens:
					go serve(&tap{Conn: c, of: w, to: new(atomic.Int64), from: new(atomic.Int64), kills: kill})
				case <-inner.Done():
					return
				}
			}
		}()
		return address, nil
	}, Dial: func(inner context.Context, to string) (io.ReadWriteCloser, error) {
		w.mu.Lock()
		at := w.listens[to]
		w.mu.Unlock()
		mine, theirs := net.Pipe()
		select {
		case at <- theirs:
			return &heard{Conn: mine, of: w}, nil
		case <-time.After(50 * time.Millisecond):
			return nil, errors.New("nobody listens")
		case <-inner.Done():
			return nil, inner.Err()
		}
	}}
	if w.astray[partition] {
		listen := peers.Listen
		peers.Listen = func(ctx context.Context, serve func(io.ReadWriteCloser)) (string, error) {
			_, err := listen(ctx, serve)
			return "worker-1", err // that of partition 0
		}
	}
	if w.apart[partition] {
		listen := peers.Listen
		peers.Listen = func(ctx context.Context, serve func(io.ReadWriteCloser)) (string, error) {
			_, err := listen(ctx, serve)
			return "elsewhere", err
		}
	}
	w.conns <- &tap{Conn: near, of: w, to: &w.sent, from: &w.got}
	toSession := &tap{Conn: far, of: w, to: new(atomic.Int64), from: new(atomic.Int64), kills: kill}
	go Work(ctx, toSession, Hello{Version: "test", Partition: partition},
		func(context.Context, []byte, [32]byte) (Held, error) {
			return Held{Engine: valued{counted{n: w.rows}, partition, w.size, w.fails[partition], w.heard}, Peers: peers,
				Digest: Digest{byte(partition), byte(partition >> 8), 1}}, nil
		})
	return kill
}

// heard is a worker's end of a connection to another, whose messages are kept.
type heard struct {
	net.Conn
	of *web
	b  []byte
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.b = append(h.b, p[:n]...)
	return n, err
}

func (h *heard) Close() error {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if h.b != nil {
		h.of.lent = append(h.of.lent, h.b)
		h.b = nil
	}
	return h.Conn.Close()
}

// gather returns the engine over workers of count partitions, which add up sums if held is 1.
func (w *web) gather(count, held int) *Shards {
	w.t.Helper()
	c := Config{Count: count, Loss: loss.Logistic(), Dim: 2, Version: "test", Silence: 20 * time.Second,
		Patience: 20 * time.Second, Held: held}
	s, err := Gather(w.t.Context(), c, func(ctx context.Context) (io.ReadWriteCloser, error) {
		select {
		case c := <-w.conns:
			return c, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// want returns the sum over count partitions.
func (w *web) want(count int, mine [][]int32) []int64 {
	total := make([]int64, w.size)
	for i := range count {
		var m []int32
		if mine != nil {
			m = mine[i]
		}
		for j, v := range (valued{counted{n: w.rows}, i, w.size, nil, nil}).vector(m) {
			total[j] += v
		}
	}
	return total
}

func (w *web) ask(s *Shards, members []int32) ([]int64, error) {
	return s.ask(w.t.Context(), request{encoded: asked(w.t)}, members, w.size)
}

func asked(t *testing.T) []byte {
	t.Helper()
	q, err := query.New(1, query.GradientAt(query.NewCohort(0, 50), []float64{0, 0}, 1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := q.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTreeIsTheSum tests that the sum that workers add up is that of all shards to the bit, for numbers of shards
// around powers of fan, about all rows and about members, with workers that others do not reach, that cannot listen, or
// whose address leads to another.
func TestTreeIsTheSum(t *testing.T) {
	for _, count := range []int{2, 3, fan, fan + 1, 2 * fan, fan*fan + 1} {
		for _, apart := range []string{"", "some", "all", "hidden", "astray"} {
			w := newWeb(t, 100)
			w.apart, w.hidden, w.astray = map[int]bool{}, map[int]bool{}, map[int]bool{}
			for i := range count {
				w.apart[i] = apart == "all" || apart == "some" && i%5 == 1
				w.hidden[i] = apart == "hidden" && i%3 == 0
				w.astray[i] = apart == "astray" && i%3 == 1
				w.start(i)
			}
			if apart == "all" && count > 2*fan {
				continue // dials of others are waited for
			}
			s := w.gather(count, 1)
			for range 2 {
				if got, err := w.ask(s, nil); err != nil || !slices.Equal(got, w.want(count, nil)) {
					t.Errorf("%d shards, %s apart: %v, %v", count, apart, got, err)
				}
			}
			members := []int32{3, 19, 3, 10}
			mine, err := s.split(members)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := w.ask(s, members); err != nil || !slices.Equal(got, w.want(count, mine)) {
				t.Errorf("%d shards, %s apart, of members: %v, %v", count, apart, got, err)
			}
			if n := s.tree; n != 3 {
				t.Errorf("%d sums were added up by workers: must be 3", n)
			}
		}
	}
}

// TestTreeSurvives tests that the sum is that of all shards, each once, when the worker that takes a step (a message
// to the session, or to another worker) is killed at it, whichever step that is. Partitions have a second worker from
// the beginning (a speculative copy), or get one when the first is killed.
func TestTreeSurvives(t *testing.T) {
	const count = fan + 3
	for _, spare := range []bool{false, true} {
		last := false
		for at := int64(1); !last; at++ {
			w := newWeb(t, 40)
			for i := range count {
				w.start(i)
			}
			s := w.gather(count, 1)
			if spare {
				for i := range count {
					w.start(i)
				}
				for _, p := range s.parts {
					for n := 0; n < 2; {
						p.mu.Lock()
						n = len(p.links)
						p.mu.Unlock()
						time.Sleep(time.Millisecond)
					}
				}
			}
			done := make(chan bool)
			go func() {
				for {
					select {
					case p := <-w.killed:
						if !spare {
							w.start(p)
						}
					case <-done:
						return
					}
				}
			}()
			w.steps.Store(0)
			w.killAt.Store(at)
			got, err := w.ask(s, nil)
			if err != nil || !slices.Equal(got, w.want(count, nil)) {
				t.Fatalf("killed at step %d, spare %v: %v, %v", at, spare, got, err)
			}
			last = w.steps.Load() < at
			if testing.Short() {
				at += 4
			}
			close(done)
			s.Close()
		}
	}
}

// TestTreeIsCancelled tests that a query that is cancelled at any step has no answer, and that the next one's is right.
func TestTreeIsCancelled(t *testing.T) {
	const count = fan + 3
	w := newWeb(t, 40)
	for i := range count {
		w.start(i)
	}
	s := w.gather(count, 1)
	for at := int64(1); ; at++ {
		ctx, stop := context.WithCancel(t.Context())
		w.stop.Store(&stop)
		w.steps.Store(0)
		w.killAt.Store(at)
		got, err := s.ask(ctx, request{encoded: asked(t)}, nil, w.size)
		stop()
		if err == nil && w.steps.Load() < at {
			return
		}
		if !errors.Is(err, context.Canceled) && (err != nil || !slices.Equal(got, w.want(count, nil))) {
			t.Errorf("cancelled at step %d: %v, %v", at, got, err)
		}
		w.killAt.Store(0)
		if got, err := w.ask(s, nil); err != nil || !slices.Equal(got, w.want(count, nil)) {
			t.Fatalf("after one that was cancelled at step %d: %v, %v", at, got, err)
		}
	}
}

// TestTreeShowsNoSums tests that workers' messages to each other are no sums: under their pads, each bit of each
// number is 1 half of the time, and two answers to the same query differ. A wrong alarm has a probability below 1e-9.
func TestTreeShowsNoSums(t *testing.T) {
	w := newWeb(t, 1000)
	const count = 12
	for i := range count {
		w.start(i)
	}
	s := w.gather(count, 1)
	for range 2 {
		if _, err := w.ask(s, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	seen := map[int64]bool{}
	numbers, ones := 0, 0
	for _, b := range w.lent {
		r, err := readResult(b[5:], w.size)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.sum {
			if seen[v] {
				t.Error("a number was sent twice")
			}
			seen[v] = true
			numbers++
			ones += bits.OnesCount64(uint64(v))
		}
	}
	// The number of ones of n fair bits is within 7 standard deviations of n/2.
	if n := float64(64 * numbers); numbers != 2*(count-1)*w.size || (float64(ones)-n/2)*(float64(ones)-n/2) > 49*n/4 {
		t.Errorf("%d ones in %d numbers: must be random", ones, numbers)
	}
}

// TestSessionReceivesOneSum tests that the session receives one sum, and some bytes from each worker, however many
// shards there are.
func TestSessionReceivesOneSum(t *testing.T) {
	for _, count := range []int{9, 40} {
		w := newWeb(t, 5000)
		for i := range count {
			w.start(i)
		}
		s := w.gather(count, 1)
		w.got.Store(0)
		if _, err := w.ask(s, nil); err != nil {
			t.Fatal(err)
		}
		if got, most := w.got.Load(), int64(8*w.size+100*count); got > most {
			t.Errorf("%d shards: %d bytes: must be at most %d", count, got, most)
		}
	}
}

// TestTreeFails tests that the error of one shard is the query's, and that the next query is answered.
func TestTreeFails(t *testing.T) {
	const count = 10
	w := newWeb(t, 50)
	w.fails = map[int]error{7: row.ErrUnread}
	for i := range count {
		w.start(i)
	}
	s := w.gather(count, 1)
	for range 2 {
		if got, err := w.ask(s, nil); got != nil || !errors.Is(err, row.ErrUnread) {
			t.Errorf("%v, %v: must be %v", got, err, row.ErrUnread)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.ask(ctx, request{encoded: asked(t)}, nil, w.size); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestMetricsAreSentOnce tests that a query that ends as the one before is sent without that end, that workers answer
// it as it is, and that a worker that is new gets all of it.
func TestMetricsAreSentOnce(t *testing.T) {
	const dim = 200
	r := rand.New(rand.NewPCG(1, 2))
	p := make([]float64, dim*dim)
	for i := range dim {
		for j := range i + 1 {
			p[i*dim+j] = r.NormFloat64()
			p[j*dim+i] = p[i*dim+j]
		}
		p[i*dim+i] += 50
	}
	var metrics []query.Metric
	for range 2 {
		p[0]++
		m, err := query.NewMetric(dim, p)
		if err != nil {
			t.Fatal(err)
		}
		metrics = append(metrics, m)
	}
	encoded := func(m int) []byte {
		at := make([]float64, dim)
		for j := range at {
			at[j] = r.NormFloat64()
		}
		q, err := query.New(1, query.GradientInMetric(query.NewCohort(0, 50), at, 1, 1, metrics[m]))
		if err != nil {
			t.Fatal(err)
		}
		b, err := q.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, held := range []int{0, 1} {
		w := newWeb(t, 100)
		kill := w.start(0)
		w.start(1)
		s := w.gather(2, held)
		var bytes []int64
		for i := range 4 {
			if i == 2 {
				kill()
				w.start(0)
			}
			w.sent.Store(0)
			w.asked = encoded(0)
			got, err := s.ask(t.Context(), request{encoded: w.asked}, nil, w.size)
			if err != nil || !slices.Equal(got, w.want(2, nil)) {
				t.Fatalf("%v, %v", got, err)
			}
			bytes = append(bytes, w.sent.Load())
		}
		if bytes[1] > 2*(8*dim+200) || bytes[2] < bytes[0]/2 || bytes[3] > 2*bytes[1] {
			t.Errorf("queries took %v bytes: the second and the fourth must take those of their point", bytes)
		}
		r := request{encoded: encoded(1)}
		s.follows(&r) // a query that ended before it was sent
		w.asked = encoded(1)
		if got, err := s.ask(t.Context(), request{encoded: w.asked}, nil, w.size); err != nil ||
			!slices.Equal(got, w.want(2, nil)) {
			t.Errorf("after a query that was not sent: %v, %v", got, err)
		}
	}
}

// TestALateSumIsNotKept tests that the sum of an earlier query, which a worker computes late, does not take the place
// of a later one's, and that a sum is given by its own number alone.
func TestALateSumIsNotKept(t *testing.T) {
	w := &worker{}
	if r := w.hold(request{id: 3}, []int64{5}, nil); r.err != nil {
		t.Fatal(r.err)
	}
	want := w.gives(3).sum[0]
	for _, id := range []uint64{2, 3} {
		if r := w.hold(request{id: id}, []int64{7}, nil); r.err == nil {
			t.Errorf("the sum of query %d was kept after that of query 3", id)
		}
	}
	if r := w.gives(3); r.err != nil || r.sum[0] != want || w.gives(2).err == nil || w.gives(4).err == nil {
		t.Errorf("%v: must be %d, of query 3 alone", r, want)
	}
}
