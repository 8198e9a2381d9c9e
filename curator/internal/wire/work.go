package wire

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/internal/codec"
)

var (
	// ErrLost reports that the session's process is gone, or has sent nothing for too long.
	ErrLost = errors.New("shard: the fit has ended without a word or cannot be reached")
	// ErrSpare reports that the fit has enough workers of this worker's partition.
	ErrSpare = errors.New("shard: the fit has enough workers of this partition: this one is not needed")
)

// Held is everything that a worker holds of its partition.
type Held struct {
	Engine engine.Engine
	// Digest is the digest of the rows in their order and, if records are units, of the units' tags
	// (keyed identifiers) in the order of the records.
	Digest Digest
	// Tags are the keyed identifiers of the partition's units, one for each record, in increasing
	// order. It is nil if each row is a record.
	Tags []Tag
	// Refine returns an engine over the same rows, whose features are computed by another configuration of
	// the session. The engine that Held had before is not closed.
	Refine func(configuration []byte) (engine.Engine, error)
	// Peers is how the worker reaches others, if it can.
	Peers Peers
}

// Build makes a worker's Held from the caller's configuration. It reads and encodes the rows of the
// partition. key is the key of this session for the digest of the rows and for the units' tags.
type Build func(ctx context.Context, configuration []byte, key [32]byte) (Held, error)

// Work serves one connection, c, as a worker. It builds the worker's engine and answers queries. Work returns nil once
// the session at the other side ends its work, ErrLost if the session is lost, ErrSpare if the session does not need
// this worker, and the context's error if the context ends. Work closes c and the engine.
func Work(ctx context.Context, c io.ReadWriteCloser, h Hello, build Build) error {
	m := newConn(c)
	defer m.close()
	defer context.AfterFunc(ctx, m.close)()
	s, err := present(m, h)
	if err == nil {
		err = (&worker{conn: m, running: map[uint64]context.CancelFunc{}, silence: s.silence}).run(ctx, s, build)
	}
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return err
}

// handshake is how long a worker waits for the session's configuration after it has introduced
// itself.
const handshake = 30 * time.Second

// present sends hello and returns the configuration that the session sends back. It returns ErrLost if the
// session sends nothing, ErrSpare if the worker is not needed, and an error with the session's text if the
// session refuses the worker.
func present(m *conn, h Hello) (setup, error) {
	m.guard(handshake)
	if m.send(hello, h.body()) != nil {
		return setup{}, ErrLost
	}
	k, body, err := m.receive()
	switch {
	case err != nil:
		return setup{}, ErrLost
	case k == end:
		return setup{}, ErrSpare
	case k == fault:
		return setup{}, errors.New(string(body))
	case k != configure:
		return setup{}, errMessage
	}
	return read[setup](body)
}

// worker answers the queries of one connection.
type worker struct {
	conn *conn
	held Held

	turn    sync.Mutex // held while a query is answered, since one answer uses all processors
	mu      sync.Mutex // guards running
	running map[uint64]context.CancelFunc
	all     sync.WaitGroup

	ctx     context.Context // of the work
	silence time.Duration
	last    []byte // the last long query
	kept    atomic.Pointer[kept]
	address string // at which other workers reach this one, once it listens
}

// run builds the engine and answers queries. It receives messages while rows are read, so that a
// message by which the session ends the work also ends the reading.
func (w *worker) run(ctx context.Context, s setup, build Build) error {
	ctx, stop := context.WithCancel(ctx)
	w.ctx = ctx
	w.conn.watch(s.silence)
	built := make(chan error, 1)
	go func() {
		h, err := build(ctx, s.blob, s.key)
		if err != nil {
			// If the session told the worker to end, the worker reports no fault, although it has not
			// read all of its rows.
			if ctx.Err() == nil {
				w.conn.send(fault, []byte(err.Error()))
			}
			w.conn.close()
		} else {
			w.held = h
			w.conn.send(ready, readyMessage{h.Engine.Len(), h.Engine.Dim(), h.Digest}.body())
		}
		built <- err
	}()
	ended := w.listen(ctx, built)
	stop()
	failed := <-built
	w.all.Wait()
	if w.held.Engine != nil {
		w.held.Engine.Close()
	}
	if failed != nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	return ended
}

// listen receives messages and starts the answers to queries until the session ends the work. It returns nil at
// the message end, ErrLost if the connection breaks, and an error for a message of another kind. Another goroutine
// builds the engine and sends the error of build, or nil, to the channel built. listen waits for it at the first
// query, and puts it back into the channel for later queries.
func (w *worker) listen(ctx context.Context, built chan error) error {
	for {
		k, body, err := w.conn.receive()
		if err != nil {
			return ErrLost
		}
		switch k {
		case end:
			return nil
		case cancel:
			if id, _, err := readNumber(body); err == nil {
				w.cancel(id)
			}
		case ask:
			// Queries come after the message ready, so the engine exists or its error is in built.
			failed := <-built
			built <- failed
			id, body, err := readNumber(body)
			if body, err = w.whole(body, err); failed != nil || err != nil {
				return errMessage
			}
			w.start(ctx, id, body)
		default:
			return errMessage
		}
	}
}

// whole returns a request with the end that it lacks, which the last long query has.
func (w *worker) whole(body []byte, err error) ([]byte, error) {
	if err != nil || len(body) == 0 {
		return nil, errMessage
	}
	if body[0] == asksRest {
		c, n := codec.Codec{B: body[1:], Reads: true}, 0
		if c.Count(&n, len(w.last)); c.Bad || len(c.B) == 0 {
			return nil, errMessage
		}
		body = slices.Concat(c.B, w.last[len(w.last)-n:])
		w.last = body
	}
	return body, nil
}

func (w *worker) cancel(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stop := w.running[id]; stop != nil {
		stop()
	}
}

// start answers a query in a new goroutine.
func (w *worker) start(ctx context.Context, id uint64, body []byte) {
	ctx, stop := context.WithCancel(ctx)
	w.mu.Lock()
	w.running[id] = stop
	w.mu.Unlock()
	w.all.Go(func() {
		r := w.answer(ctx, body)
		stop()
		w.mu.Lock()
		delete(w.running, id)
		w.mu.Unlock()
		if !errors.Is(r.err, context.Canceled) {
			w.conn.send(answer, numbered(id, r.body()))
		}
	})
}

func (w *worker) answer(ctx context.Context, body []byte) result {
	w.turn.Lock()
	defer w.turn.Unlock()
	q, err := readRequest(body, w.held.Engine.Len())
	if err != nil {
		return result{err: err}
	}
	switch q.what {
	case asksRefined:
		return w.refine(q.encoded)
	case asksMerge:
		return w.merge(ctx, q)
	case asksGive:
		return w.gives(q.id)
	}
	sum, err := q.answered(ctx, w.held)
	if q.what == asksHold {
		return w.hold(q, sum, err)
	}
	return result{sum: sum, err: err}
}

// refine replaces the worker's engine. The answer is the number of features of a row. The caller holds turn.
func (w *worker) refine(configuration []byte) result {
	e, err := w.held.Refine(configuration)
	if err != nil {
		return result{err: err}
	}
	w.held.Engine = e
	return result{sum: []int64{int64(e.Dim())}}
}

// Tag is a keyed tag of a unit: a pseudorandom function of the text that names the unit, under a key
// of the session. Equal units have equal tags in all partitions. Different units have equal tags with
// a probability of 2^-128 for each pair.
type Tag [2]uint64

// Compare returns -1, 0 or 1 if t is before, equal to or after the other tag in the order of tags.
func (t Tag) Compare(u Tag) int { return cmp.Or(cmp.Compare(t[0], u[0]), cmp.Compare(t[1], u[1])) }

// ErrSplit reports that some unit has rows in two partitions. Its text reveals neither the unit, nor the
// number of such units, nor the partitions.
var ErrSplit = errors.New("shards: a unit has rows in two partitions: must have all of them in one (partition the " +
	"table by the unit's column)")

// mostTags limits the number of tags that are in memory during their comparison, over all partitions.
const mostTags = 1 << 22

// tagNumbers returns tags in the form of a worker's answer to a query: two integers for each tag.
func tagNumbers(tags []Tag) []int64 {
	numbers := make([]int64, 0, 2*len(tags))
	for _, t := range tags {
		numbers = append(numbers, int64(t[0]), int64(t[1]))
	}
	return numbers
}

// cursor reads the sorted tags (keyed identifiers) of a partition's units one after the other. The
// worker sends them in batches.
type cursor struct {
	of    *part
	ahead []int64 // tags that are fetched, two numbers each
	next  int     // the number of the first tag that is not fetched
}

func (c *cursor) tag() Tag { return Tag{uint64(c.ahead[0]), uint64(c.ahead[1])} }

// If no fetched tag is left, fetch asks the worker for the next batch of tags. The argument most is the
// largest number of tags of a batch. fetch reports whether there is a next tag.
func (c *cursor) fetch(ctx context.Context, s *Shards, most int) (bool, error) {
	if len(c.ahead) > 0 {
		return true, nil
	}
	n := min(most, c.of.holds.rows-c.next)
	if n == 0 {
		return false, nil
	}
	r, err := s.askOne(ctx, c.of, request{what: asksTags, from: c.next, count: n}, 2*n)
	c.ahead, c.next = r.sum, c.next+n
	return err == nil, err
}

// disjoint returns ErrSplit if two partitions have a unit in common. It merges the sorted tags (keyed
// identifiers of units) of all partitions and requires that they strictly increase. If a tag does
// not, it is in two partitions, or a worker has not sorted its tags.
func (s *Shards) disjoint(ctx context.Context) error {
	most := min(max(mostTags/len(s.parts), 64), 1<<16)
	var merged []*cursor // in the order of their next tags
	put := func(c *cursor) error {
		more, err := c.fetch(ctx, s, most)
		if more {
			at, _ := slices.BinarySearchFunc(merged, c.tag(), func(other *cursor, t Tag) int { return other.tag().Compare(t) })
			merged = slices.Insert(merged, at, c)
		}
		return err
	}
	for _, p := range s.parts {
		if err := put(&cursor{of: p}); err != nil {
			return err
		}
	}
	var last Tag
	for first := true; len(merged) > 0; first = false {
		c := merged[0]
		t := c.tag()
		if !first && t.Compare(last) <= 0 {
			return ErrSplit
		}
		last, c.ahead = t, c.ahead[2:]
		merged = merged[1:]
		if err := put(c); err != nil {
			return err
		}
	}
	return nil
}
