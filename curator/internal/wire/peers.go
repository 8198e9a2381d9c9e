package wire

import (
	"context"
	"encoding/hex"
	"io"
	"strings"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

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
