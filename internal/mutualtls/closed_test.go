//go:build !small

package mutualtls

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// ends fails the test unless the other side of a connection closes it soon.
func ends(t *testing.T, what string, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: the connection stays open", what)
	}
}

// TestConnectionsAreClosed tests that a connection of somebody who does not speak the protocol is closed, and so is one
// that has the key and is not accepted before the listener is closed. One that was accepted stays open.
func TestConnectionsAreClosed(t *testing.T) {
	l := listen(t, Key{1})
	c, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	ends(t, "a stranger", c)
	first, err := Dial(t.Context(), l.Address(), Key{1}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	accepted, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	second, err := Dial(t.Context(), l.Address(), Key{1}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	time.Sleep(100 * time.Millisecond) // the listener ends the handshake after the other side
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ends(t, "one that is not accepted", second)
	if _, err := accepted.Write([]byte("x")); err != nil {
		t.Errorf("one that was accepted: %v", err)
	}
	if n, err := first.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("one that was accepted: %v", err)
	}
}

// TestAConnectionIsMadeOnce tests that a connection to somebody who listens is made once and at once, however long it
// may be tried.
func TestAConnectionIsMadeOnce(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	met := make(chan net.Conn, 99)
	go func() {
		for c, err := tcp.Accept(); err == nil; c, err = tcp.Accept() {
			met <- c
			_ = c.Close()
		}
	}()
	began := time.Now()
	if c, err := Dial(t.Context(), tcp.Addr().String(), Key{1}, 30*time.Second); c != nil || err == nil || errors.Is(err, ErrStranger) {
		t.Errorf("%v, %v: must be that the other side ends the connection", c, err)
	}
	if took := time.Since(began); took > 15*time.Second || len(met) != 1 {
		t.Errorf("%d connections in %v: must be one at once", len(met), took)
	}
}
