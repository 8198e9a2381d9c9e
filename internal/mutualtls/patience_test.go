//go:build !small

package mutualtls

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// mute is a connection that sends only the first bytes that are written to it.
type mute struct {
	net.Conn
	left int
}

func (m *mute) Write(p []byte) (int, error) {
	send := p[:min(m.left, len(p))]
	m.left -= len(send)
	if _, err := m.Conn.Write(send); err != nil {
		return 0, err
	}
	return len(p), nil
}

// TestPatience tests that each side leaves another that stops before or within its greeting, that sends a byte now and
// then, or that does not even read, as soon as its patience ends. A listener also leaves a guest whom nobody fetches.
func TestPatience(t *testing.T) {
	listens, err := Key{1}.config(listening, connecting)
	if err != nil {
		t.Fatal(err)
	}
	connects, err := Key{1}.config(connecting, listening)
	if err != nil {
		t.Fatal(err)
	}
	type greeting func(net.Conn) *tls.Conn
	stops := func(after int) func(net.Conn, greeting) {
		return func(c net.Conn, as greeting) {
			as(&mute{c, after}).Handshake()
			io.Copy(io.Discard, c)
		}
	}
	others := map[string]func(net.Conn, greeting){
		"is silent":                     stops(0),
		"stops in the head of a record": stops(3),
		"stops in its greeting":         stops(100),
		"sends a byte now and then": func(c net.Conn, _ greeting) {
			go io.Copy(io.Discard, c)
			for _, b := range append([]byte{22, 3, 3, 1, 0}, make([]byte, 100)...) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(3 * time.Second)
			}
		},
		"does not read": func(net.Conn, greeting) {},
		"is not fetched": func(c net.Conn, as greeting) {
			as(c).Handshake()
			io.Copy(io.Discard, c)
		},
	}
	for name, other := range others {
		for side, as := range map[string]greeting{
			"connects": func(c net.Conn) *tls.Conn { return tls.Server(c, listens) },
			"listens":  func(c net.Conn) *tls.Conn { return tls.Client(c, connects) },
		} {
			if name == "is not fetched" && side == "connects" {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				own, theirs := net.Pipe()
				var ended sync.WaitGroup
				ended.Go(func() { other(theirs, as) })
				began := time.Now()
				if side == "connects" {
					if c, err := greet(t.Context(), own, "here", connects); c != nil || err == nil {
						t.Errorf("the other side %s: a connection, error %v", name, err)
					}
				} else {
					l := &Listener{tls: listens, met: make(chan net.Conn)}
					l.open, l.shut = context.WithCancel(t.Context())
					l.meet(own)
					l.shut()
				}
				if took := time.Since(began); took != patience {
					t.Errorf("the side that %s leaves one that %s after %v", side, name, took)
				}
				if _, err := own.Write([]byte{0}); err != io.ErrClosedPipe {
					t.Errorf("the side that %s leaves one that %s with an open connection: %v", side, name, err)
				}
				theirs.Close()
				ended.Wait()
			})
		}
	}
}
