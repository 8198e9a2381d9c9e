package wire

import (
	"bufio"
	"bytes"
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

// dismiss sends a last message, waits at most a second until the other side has closed the
// connection, and then closes the connection. Closing at once while received bytes are unread could
// drop the message.
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
