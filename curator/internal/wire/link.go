package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
)

// errGone reports that a worker is gone: its connection was closed, broke, or sent nothing for too long.
var errGone = errors.New("wire: the worker is gone")

// link is the session's end of the connection to a ready worker.
type link struct {
	conn *conn

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan []byte
	gone    bool
	form    *form // what the worker computes features by; nil: as it began

	order sync.Mutex // held while a query is sent
	text  uint64     // the number of the last query that was sent; 0: none
}

func newLink(m *conn) *link { return &link{conn: m, waiting: map[uint64]chan []byte{}} }

// listen passes each answer to the goroutine that waits for it, and drops answers for which nobody
// waits. listen returns when the connection is closed or breaks, or when a message is not an
// answer.
func (l *link) listen() {
	for {
		k, body, err := l.conn.receive()
		if err != nil || k != answer {
			break
		}
		id, body, err := readNumber(body)
		if err != nil {
			break
		}
		l.mu.Lock()
		to := l.waiting[id]
		delete(l.waiting, id)
		l.mu.Unlock()
		if to != nil {
			to <- body
		}
	}
	l.conn.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	for _, to := range l.waiting {
		close(to)
	}
	l.waiting = nil
}

// refined makes the worker compute features in the given form, unless it does so already. Errors are those of ask,
// or the worker's.
func (l *link) refined(ctx context.Context, f *form) error {
	l.mu.Lock()
	done := f.configuration == nil || l.form == f
	l.mu.Unlock()
	if done {
		return nil
	}
	got, err := l.ask(ctx, request{what: asksRefined, encoded: f.configuration}, 0, 1)
	if err != nil {
		return err
	}
	if got.sum[0] != int64(f.dim) {
		return errDim
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.form = f
	return nil
}

// ask sends a query to a worker with some number of rows and returns its answer, a sum of size integers, or a text if
// size is negative. The error is the worker's, if its answer is one. ask returns errGone if the worker is gone before it
// has answered, or sends a malformed answer. It returns the context's error if the context ends.
func (l *link) ask(ctx context.Context, r request, rows, size int) (result, error) {
	body := r.body(rows)
	if err := fits(len(body) + len(r.encoded)); err != nil {
		return result{}, err
	}
	l.mu.Lock()
	if l.gone {
		l.mu.Unlock()
		return result{}, errGone
	}
	id, to := l.next, make(chan []byte, 1)
	l.next++
	l.waiting[id] = to
	l.mu.Unlock()
	if l.send(id, r, body) != nil {
		return result{}, errGone
	}
	select {
	case <-ctx.Done():
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
		l.conn.send(cancel, numbered(id, nil))
		return result{}, ctx.Err()
	case b, ok := <-to:
		if !ok {
			return result{}, errGone
		}
		r, err := readResult(b, size)
		if err != nil {
			l.conn.close()
			return result{}, errGone
		}
		return r, r.err
	}
}

// send sends a query with a number, without the end that it shares with the query that the worker was sent last.
func (l *link) send(id uint64, r request, body []byte) error {
	l.order.Lock()
	defer l.order.Unlock()
	end := 0
	if r.text > 0 {
		if l.text == r.text-1 {
			end = r.shared
		}
		body = append(binary.AppendUvarint([]byte{asksRest}, uint64(end)), body...)
		l.text = r.text
	}
	return l.conn.send(ask, numbered(id, body), r.encoded[:len(r.encoded)-end])
}
