//go:build !small

package mutualtls

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is a listener to which silent strangers connect without end.
type crowd struct {
	mu   sync.Mutex
	came []net.Conn
	shut chan struct{}
}

func (c *crowd) Accept() (net.Conn, error) {
	select {
	case <-c.shut:
		return nil, net.ErrClosed
	default:
	}
	ours, theirs := net.Pipe()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.came = append(c.came, theirs)
	return ours, nil
}

func (c *crowd) Close() error   { close(c.shut); return nil }
func (c *crowd) Addr() net.Addr { return unnamed{} }

// TestGuests tests that 256 strangers may introduce themselves at a time, each for 10 seconds: the next one waits until one
// of them has gone. Close leaves none of them, nor the one that waits.
func TestGuests(t *testing.T) {
	listens, err := Key{1}.config(listening, connecting)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{shut: make(chan struct{})}
		l := &Listener{tcp: c, tls: listens, met: make(chan net.Conn)}
		l.open, l.shut = context.WithCancel(t.Context())
		l.all.Go(l.accept)
		count := func() int {
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.came)
		}
		if n := count(); n != 256+1 {
			t.Errorf("%d strangers at once: must be 256, and one that waits", n)
		}
		c.came[17].Close()
		if n := count(); n != 256+2 {
			t.Errorf("%d strangers after one has gone: must be one more", n)
		}
		time.Sleep(10*time.Second - 1)
		if n := count(); n != 256+2 {
			t.Errorf("%d strangers before 10 seconds: must be as many as before", n)
		}
		time.Sleep(time.Nanosecond)
		if n := count(); n != 2*256+2 {
			t.Errorf("%d strangers after 10 seconds: must be 256 more", n)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		for i, theirs := range c.came {
			if _, err := theirs.Write([]byte{0}); err == nil {
				t.Errorf("stranger %d is left after Close", i)
			}
		}
	})
}
