//go:build !small

package mutualtls

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestBeside tests that a process listens at the address of a connection of its own, that processes with the key reach it
// and others do not, and that it no longer listens once the context has ended.
func TestBeside(t *testing.T) {
	key := Key{1, 2, 3}
	l, err := Listen("127.0.0.1:0", key)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Dial(t.Context(), l.Address(), key, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithCancel(t.Context())
	address, err := Beside(ctx, c, key, func(rw io.ReadWriteCloser) {
		io.WriteString(rw, "hello")
		rw.Close()
	})
	if host, _, bad := net.SplitHostPort(address); err != nil || bad != nil || host != "127.0.0.1" {
		t.Fatalf("%q, %v", address, err)
	}
	for range 3 {
		other, err := Dial(t.Context(), address, key, 0)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(other); string(text) != "hello" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	if _, err := Dial(t.Context(), address, Key{9}, 0); !errors.Is(err, ErrStranger) {
		t.Errorf("with another key: %v", err)
	}
	stop()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		other, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		other.Close()
		if time.Now().After(end) {
			t.Fatal("it listens after the end of the context")
		}
	}
}
