package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counts counts the messages of a kind that arrive at a connection until it is closed, and answers nothing.
func counts(c net.Conn, k kind) func() int {
	var mu sync.Mutex
	n := 0
	go func() {
		for {
			var head [5]byte
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, c, int64(head[0])); err != nil {
				return
			}
			mu.Lock()
			if kind(head[4]) == k {
				n++
			}
			mu.Unlock()
		}
	}()
	return func() int {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// TestTimesOfConnections tests, on a clock of its own, how long each side waits: a worker 30 seconds for its configuration, a
// session one second until a worker that it sends away has left, and either side for the time of silence, in which it sends five
// signs of life itself.
func TestTimesOfConnections(t *testing.T) {
	closed := func(t *testing.T, c net.Conn) bool {
		_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
		_, err := c.Write([]byte{0})
		return errors.Is(err, io.ErrClosedPipe)
	}
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		told, began := counts(theirs, hello), time.Now()
		if _, err := present(newConn(ours), Hello{Version: "v"}); !errors.Is(err, ErrLost) || time.Since(began) != 30*time.Second || told() != 1 {
			t.Errorf("a session that says nothing: %v after %v, %d introductions", err, time.Since(began), told())
		}
		if !closed(t, theirs) {
			t.Error("a session that says nothing: the connection stays open")
		}
	})
	for leaves, want := range map[time.Duration]time.Duration{0: time.Second, 300 * time.Millisecond: 300 * time.Millisecond, time.Minute: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			told, began := counts(theirs, end), time.Now()
			if leaves > 0 {
				defer time.AfterFunc(leaves, func() { theirs.Close() }).Stop()
			}
			newConn(ours).dismiss(end, nil)
			if took := time.Since(began); took != want || told() != 1 || leaves != 300*time.Millisecond && !closed(t, theirs) {
				t.Errorf("a worker that leaves after %v: sent away in %v, told %d times: must be %v", leaves, took, told(), want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		const silence = 50 * time.Second
		ours, theirs := net.Pipe()
		beats := counts(theirs, beat)
		m := newConn(ours)
		ended := make(chan time.Duration, 1)
		began := time.Now()
		m.watch(silence)
		go func() {
			_, _, err := m.receive()
			if err == nil {
				t.Error("a message of nobody")
			}
			ended <- time.Since(began)
		}()
		time.Sleep(silence - time.Second)
		if n := beats(); n != 4 {
			t.Errorf("%d signs of life in the time of silence: must be 4, and the fifth at its end", n)
		}
		if _, err := theirs.Write([]byte{0, 0, 0, 0, byte(beat)}); err != nil {
			t.Fatal(err)
		}
		if took := <-ended; took != 2*silence-time.Second {
			t.Errorf("silent from %v on, and left after %v", silence-time.Second, took)
		}
		if n := beats(); n != 9 {
			t.Errorf("%d signs of life: must be one each 10 seconds", n)
		}
	})
}
