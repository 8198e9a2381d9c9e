package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// kind says what a message between the session and a worker (a process that holds one partition's
// rows) contains.
type kind byte

const (
	// hello is a worker's first message: version, partition, attempt.
	hello kind = iota + 1
	// configure is the reply to hello. It contains the time for which either side may send nothing, the
	// session's key for digests and tags, and the caller's configuration.
	configure
	// ready says that a worker has all rows of its partition. It contains the number of rows, their number of
	// features and their digest.
	ready
	// fault says that a worker cannot become ready or is not accepted, and contains the reason.
	fault
	// ask contains a query, and answer contains a worker's reply to it. cancel says that nobody
	// waits for the answer any more.
	ask
	answer
	cancel
	// beat says only that the sender is alive.
	beat
	// end tells a worker that no query will follow: the session has ended, or the worker is not needed.
	end
)

// The body of a message must be shorter than mostBytes. The largest message is a query with members among
// 2^31 rows. The members take one bit for each row, 2^28 bytes.
const mostBytes = 1 << 30

// mostBody is the largest size of a query or of a sum, in bytes. In a message, a number and a byte
// precede the query or the sum.
const mostBody = mostBytes - 16

var errMessage = errors.New("wire: message: must be one of this protocol")

// conn sends and receives messages. A message is the length of its body in 4 bytes, its kind and
// its body.
type conn struct {
	c io.ReadWriteCloser
	r *bufio.Reader

	mu   sync.Mutex // guards w
	w    *bufio.Writer
	once sync.Once
	done chan struct{} // closed by close
	// silence is the timer that closes the connection once no bytes have arrived for the duration limit. It
	// is nil before the first call of guard.
	silence *time.Timer
	limit   time.Duration
}

func newConn(c io.ReadWriteCloser) *conn {
	m := &conn{c: c, w: bufio.NewWriterSize(c, 1<<12), done: make(chan struct{})}
	m.r = bufio.NewReaderSize(m, 1<<14)
	return m
}

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.c.Read(p)
	if n > 0 && c.silence != nil {
		c.silence.Reset(c.limit)
	}
	return n, err
}

// guard makes the connection close once nothing has arrived for the duration limit. It must be called by
// the goroutine that receives.
func (c *conn) guard(limit time.Duration) {
	if c.silence != nil {
		c.silence.Stop()
	}
	c.limit = limit
	c.silence = time.AfterFunc(limit, c.close)
}

// watch calls guard, and sends beats (messages without content) five times in each period of limit,
// so that the other side does not count this one as lost.
func (c *conn) watch(limit time.Duration) {
	c.guard(limit)
	go func() {
		t := time.NewTicker(limit / 5)
		defer t.Stop()
		for {
			select {
			case <-c.done:
				return
			case <-t.C:
				if c.send(beat, nil) != nil {
					return
				}
			}
		}
	}()
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.done)
		c.c.Close()
	})
}

// dismiss sends a last message, waits at most a second until the other side has closed the connection, and then closes
// the connection. Closing at once while received bytes are unread could drop the message.
func (c *conn) dismiss(k kind, body []byte) {
	t := time.AfterFunc(time.Second, c.close)
	defer t.Stop()
	if c.send(k, body) == nil {
		io.Copy(io.Discard, c.r)
	}
	c.close()
}

// send sends a message, whose body may be in pieces. If sending fails, send closes the connection and returns the error.
func (c *conn) send(k kind, pieces ...[]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, b := range pieces {
		n += len(b)
	}
	if n >= mostBytes {
		return errors.New("wire: message: too long")
	}
	var head [5]byte
	binary.LittleEndian.PutUint32(head[:], uint32(n))
	head[4] = byte(k)
	c.w.Write(head[:])
	for _, b := range pieces {
		c.w.Write(b)
	}
	err := c.w.Flush()
	if err != nil {
		c.close()
	}
	return err
}

// receive returns the next message that is not a beat (a message that says only that the sender is
// alive).
func (c *conn) receive() (kind, []byte, error) {
	for {
		var head [5]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			return 0, nil, err
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n >= mostBytes {
			return 0, nil, errMessage
		}
		// The buffer grows with the bytes that arrive, not with the length that the message claims.
		var body bytes.Buffer
		if _, err := io.CopyN(&body, c.r, int64(n)); err != nil {
			return 0, nil, io.ErrUnexpectedEOF
		}
		if k := kind(head[4]); k != beat {
			return k, body.Bytes(), nil
		}
	}
}

// errGone reports that a worker is gone: its connection was closed, broke, or sent nothing for too long.
var errGone = errors.New("wire: the worker is gone")

// link is the session's end of the connection to a ready worker.
type link struct {
	conn *conn

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan []byte
	gone    bool
	form    *rowForm // what the worker computes features by; nil: as it began

	order sync.Mutex // held while a query is sent
	text  uint64     // the number of the last query that was sent; 0: none
}

func newLink(m *conn) *link { return &link{conn: m, waiting: map[uint64]chan []byte{}} }

// listen passes each answer to the goroutine that waits for it, and drops answers for which nobody waits. listen
// returns when the connection is closed or breaks, or when a message is not an answer.
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
func (l *link) refined(ctx context.Context, f *rowForm) error {
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
