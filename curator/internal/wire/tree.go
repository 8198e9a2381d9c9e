package wire

import (
	"context"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

const (
	// fan is the largest number of sums that a worker adds up at a time, its own included.
	fan = 8
	// mostHeld bounds the bytes of shards' sums that a session receives at the same time. Where all sums of a query
	// together take more, workers add them up in a tree.
	mostHeld = 64 << 20
	// piece is the number of numbers of a pad that one goroutine computes.
	piece = 1 << 15
)

// branch is the sum that a worker keeps for a query: over its own partition, and over those of the branches that it
// has added since. Each partition's sum has a pad of its own added, a key for which the session draws for each request.
type branch struct {
	part    *part
	by      *link
	seed    [32]byte
	address string // at which other workers reach the worker, and the name of its sum; empty: at none
	merged  []*branch
}

// unpad subtracts the pads of the branch from a sum, and returns their number.
func (b *branch) unpad(sum []int64) int {
	pad(sum, b.seed, -1)
	n := 1
	for _, m := range b.merged {
		n += m.unpad(sum)
	}
	return n
}

// askTree asks each shard as ask does, and lets workers add up the sums. The session receives one sum, and those of
// workers that others cannot reach, one after the other. A worker sees sums of others only under pads, which it
// cannot tell from random numbers. Each of the workers in a branch keeps the sum that it had when another took it: if
// the other is lost, the branch falls into its parts, and only the lost worker's partition is asked again. All shards
// are asked, then groups of fan sums added up, then groups of the results, and so on.
func (s *Shards) askTree(ctx context.Context, r request, mine [][]int32, size int) ([]int64, error) {
	s.trees.Lock()
	defer s.trees.Unlock()
	s.tree++
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &treeSum{Shards: s, request: r, mine: mine, stop: stop, parts: s.parts, total: make([]int64, size)}
	for ctx.Err() == nil && len(t.parts)+len(t.ready)+len(t.apart) > 0 {
		t.round(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if t.counted != len(s.parts) {
		return nil, errMessage
	}
	return t.total, nil
}

// treeSum is the sum of the answers of all shards to one request, which workers add up.
type treeSum struct {
	*Shards
	request request
	mine    [][]int32 // the members of each partition that the request is about; nil if it is about all
	stop    context.CancelCauseFunc

	mu      sync.Mutex // guards the fields below
	total   []int64    // the sum received so far, over a number of partitions
	counted int
	parts   []*part   // to be asked
	ready   []*branch // their sums can be added by workers
	apart   []*branch // no other worker reaches them
}

// round asks all partitions that are to be asked. Once none is, it adds up groups of branches, and then receives the sum
// of one branch.
func (t *treeSum) round(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	switch asked, groups := t.parts, t.ready; {
	case len(asked) > 0:
		t.parts = nil
		for _, p := range asked {
			all.Go(func() { t.hold(ctx, p) })
		}
	case len(groups) > 1:
		t.ready = nil
		for g := range slices.Chunk(groups, fan) {
			all.Go(func() { t.merge(ctx, g[0], g[1:]) })
		}
	default:
		left := append(t.apart, t.ready...)
		t.apart, t.ready = left[1:], nil
		t.give(ctx, left[0])
	}
}

// hold lets a worker compute the sum over a partition and keep it.
func (t *treeSum) hold(ctx context.Context, p *part) {
	r := t.request
	if r.what, r.id = asksHold, t.tree; t.mine != nil {
		r.members = t.mine[p.number]
	}
	got, err := t.askOne(ctx, p, r, -1)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch b := (&branch{part: p, by: got.by, seed: got.seed, address: string(got.text)}); {
	case err != nil:
		t.stop(err)
	case b.address == "":
		t.apart = append(t.apart, b)
	default:
		t.ready = append(t.ready, b)
	}
}

// merge lets the worker of the first branch add the sums of the others to its own.
func (t *treeSum) merge(ctx context.Context, first *branch, others []*branch) {
	var text []string
	for _, b := range others {
		text = append(text, b.address)
	}
	r := request{what: asksMerge, id: t.tree, encoded: []byte(strings.Join(text, "\n"))}
	got, err := first.by.ask(ctx, r, 0, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == errGone:
		t.ready = append(t.ready, others...)
		t.lost(first)
	case err != nil:
		t.stop(err)
	default:
		n := int(min(uint64(got.sum[0]), uint64(len(others))))
		first.merged, t.ready = append(first.merged, others[:n]...), append(t.ready, first)
		if n < len(others) { // the first does not reach it
			t.apart, t.ready = append(t.apart, others[n]), append(t.ready, others[n+1:]...)
		}
	}
}

// give receives the sum of a branch from its worker.
func (t *treeSum) give(ctx context.Context, b *branch) {
	switch got, err := b.by.ask(ctx, request{what: asksGive, id: t.tree}, 0, len(t.total)); {
	case err == errGone:
		t.lost(b)
	case err != nil:
		t.stop(err)
	default:
		add(t.total, got.sum)
		t.counted += b.unpad(t.total)
	}
}

// lost divides a branch whose worker is lost into its parts.
func (t *treeSum) lost(b *branch) {
	t.lose(b.part, b.by)
	t.ready = append(t.ready, b.merged...)
	t.parts = append(t.parts, b.part)
}

// add adds b to a.
func add(a, b []int64) {
	for j, v := range b {
		a[j] += v
	}
}

// fresh returns the key of a new pad.
func (s *Shards) fresh() [32]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secret.Key()
}

// pad adds the pad of a key to a sum, times sign, on all processors.
func pad(sum []int64, key [32]byte, sign int64) {
	var all sync.WaitGroup
	for i := 0; i < len(sum); i += piece {
		all.Go(func() { coin.Pad(key, i, sum[i:min(i+piece, len(sum))], sign) })
	}
	all.Wait()
}

// Peers is how workers of a session reach each other, to add up sums.
type Peers struct {
	// Listen listens for other workers until the context ends, and calls serve with each connection from one that has
	// proved its identity. It returns the address.
	Listen func(ctx context.Context, serve func(io.ReadWriteCloser)) (address string, err error)
	// Dial connects to a worker at its address.
	Dial func(ctx context.Context, address string) (io.ReadWriteCloser, error)
}

// kept is the sum that a worker keeps for the query with a number, with its pads. It is never changed: a worker that
// adds others' sums to it keeps a new one.
type kept struct {
	id   uint64
	name string // which the sum's key gives it: an address may lead to another worker, as within a tunnel
	sum  []int64
}

// hold keeps the padded sum of a query, in place of that of an earlier one. The answer is the address at which other
// workers reach this one, empty if it cannot listen. The caller holds turn.
func (w *worker) hold(q request, sum []int64, err error) result {
	if k := w.kept.Load(); err == nil && k != nil && k.id >= q.id {
		err = errMessage // nobody waits for this query any more
	}
	if err != nil {
		return result{err: err}
	}
	pad(sum, q.seed, 1)
	name := coin.Subkey(q.seed, "stillpoint: name of a padded sum")
	k := &kept{q.id, hex.EncodeToString(name[:8]), sum}
	w.kept.Store(k)
	if w.address == "" && w.held.Peers.Listen != nil {
		w.address, _ = w.held.Peers.Listen(w.ctx, w.lend)
	}
	if w.address == "" {
		return result{text: []byte{}}
	}
	return result{text: []byte(w.address + "#" + k.name)}
}

// lend sends the padded sum of a query to another worker, which asks for it by the query's number and its name.
func (w *worker) lend(rw io.ReadWriteCloser) {
	c := newConn(rw)
	defer c.close()
	defer context.AfterFunc(w.ctx, c.close)()
	c.guard(w.silence)
	k, body, err := c.receive()
	c.silence.Stop()
	if id, name, bad := readNumber(body); err == nil && bad == nil && k == ask {
		if own := w.kept.Load(); own != nil && own.id == id && own.name == string(name) {
			c.send(answer, result{sum: own.sum}.body())
		}
	}
}

// gives returns the padded sum that is kept for a query.
func (w *worker) gives(id uint64) result {
	if k := w.kept.Load(); k != nil && k.id == id {
		return result{sum: k.sum}
	}
	return result{err: errMessage}
}

// merge adds the padded sums of workers to the kept one; the request has an address in each line. It stops at the
// first address at which there is none. The answer is the number of sums that were added.
func (w *worker) merge(ctx context.Context, q request) result {
	own := w.gives(q.id)
	if own.err != nil {
		return own
	}
	n := int64(0)
	for address := range strings.FieldsSeq(string(q.encoded)) {
		r, err := w.borrow(ctx, address, q.id, len(own.sum))
		if err != nil || r.err != nil {
			break
		}
		add(r.sum, own.sum)
		own.sum = r.sum
		n++
	}
	w.kept.Store(&kept{q.id, w.kept.Load().name, own.sum})
	return result{sum: []int64{n}}
}

// borrow asks another worker for its padded sum of a query.
func (w *worker) borrow(ctx context.Context, address string, id uint64, size int) (result, error) {
	address, name, _ := strings.Cut(address, "#")
	rw, err := w.held.Peers.Dial(ctx, address)
	if err != nil {
		return result{}, err
	}
	c := newConn(rw)
	defer c.close()
	defer context.AfterFunc(ctx, c.close)()
	c.guard(w.silence)
	c.send(ask, numbered(id, []byte(name)))
	if k, body, err := c.receive(); err == nil && k == answer {
		return readResult(body, size)
	}
	return result{}, errMessage
}
