//go:build !small

package mutualtls

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func listen(t *testing.T, k Key) *Listener {
	t.Helper()
	l, err := Listen("127.0.0.1:0", k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestConnection tests that bytes arrive unchanged in both directions, and that the plain bytes do
// not occur on the wire.
func TestConnection(t *testing.T) {
	l := listen(t, Key{1})
	tap := newTap(t, l.Address())
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept(context.Background())
		if err == nil {
			_, err = io.Copy(c, c)
			c.Close()
		}
		done <- err
	}()
	c, err := Dial(context.Background(), tap.address, Key{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("a record of somebody "), 1000)
	go func() {
		c.Write(sent)
		c.(*tls.Conn).CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if seen := tap.seen(); len(seen) < 2*len(sent) || bytes.Contains(seen, []byte("a record")) {
		t.Errorf("%d bytes on the wire show what was sent", len(seen))
	}
}

// tap forwards the bytes of one connection and keeps a copy of them.
type tap struct {
	address string
	mu      sync.Mutex
	bytes   []byte
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &tap{address: l.Addr().String()}
	go func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		go p.copy(far, near)
		p.copy(near, far)
	}()
	return p
}

func (p *tap) copy(to, from net.Conn) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		p.bytes = append(p.bytes, b[:n]...)
		p.mu.Unlock()
		to.Write(b[:n])
		if err != nil {
			to.Close()
			return
		}
	}
}

func (p *tap) seen() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// TestStrangers tests that both sides refuse somebody without the key, or with the key in the same
// role, and that a listener still accepts connections after it has refused one.
func TestStrangers(t *testing.T) {
	k := Key{1}
	l := listen(t, k)
	if _, err := Dial(context.Background(), l.Address(), Key{2}, 0); !errors.Is(err, ErrStranger) {
		t.Errorf("a listener with another key: %v", err)
	}
	own, err := Key{2}.config(connecting, listening)
	if err != nil {
		t.Fatal(err)
	}
	mirrored, err := k.config(listening, connecting)
	if err != nil {
		t.Fatal(err)
	}
	old, err := k.config(connecting, listening)
	if err != nil {
		t.Fatal(err)
	}
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	for name, c := range map[string]*tls.Config{
		"another key":    {Certificates: own.Certificates, InsecureSkipVerify: true},
		"no certificate": {InsecureSkipVerify: true},
		"its own role":   {Certificates: mirrored.Certificates, InsecureSkipVerify: true},
		"an old version": {Certificates: old.Certificates, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12,
			MaxVersion: tls.VersionTLS12},
	} {
		c, err := tls.Dial("tcp", l.Address(), c)
		if err == nil {
			c.SetDeadline(time.Now().Add(5 * time.Second))
			_, err = c.Read(make([]byte, 1)) // with TLS 1.3 a client learns only now that it is refused
			c.Close()
		}
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%s: %v", name, err)
		}
	}
	plain, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	plain.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	defer plain.Close()
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if c, err := l.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stranger was accepted: %v, %v", c, err)
	}
	go Dial(context.Background(), l.Address(), k, 0)
	long, end := context.WithTimeout(context.Background(), 20*time.Second)
	defer end()
	if c, err := l.Accept(long); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}

// TestClose tests that a closed listener accepts nobody, and that Close does not wait for a
// connection that sends nothing.
func TestClose(t *testing.T) {
	l := listen(t, Key{1})
	silent, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("closing took %v", d)
	}
	if _, err := l.Accept(context.Background()); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := Dial(context.Background(), l.Address(), Key{1}, 0); err == nil || errors.Is(err, ErrStranger) {
		t.Errorf("a listener that is gone: %v", err)
	}
}

// TestDialWaits tests that Dial waits until somebody listens at the address.
func TestDialWaits(t *testing.T) {
	l := listen(t, Key{1})
	address := l.Address()
	l.Close()
	again := make(chan *Listener, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		l, err := Listen(address, Key{1})
		if err != nil {
			t.Error(err)
		}
		again <- l
		if l != nil {
			l.Accept(context.Background())
		}
	})
	c, err := Dial(context.Background(), address, Key{1}, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if l := <-again; l != nil {
		l.Close()
	}
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, stop)
	if _, err := Dial(ctx, address, Key{1}, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestEveryByteOfTheKey tests that keys that differ in one byte, or in two, anywhere, are different keys for both
// sides.
func TestEveryByteOfTheKey(t *testing.T) {
	k := Key{}
	for i := range k {
		k[i] = byte(7 * i)
	}
	l := listen(t, k)
	for i := range k {
		for _, j := range []int{i, (i + 1) % len(k), (i + 16) % len(k)} {
			other := k
			other[i] ^= 1 << (i % 8)
			if other[j] ^= 0x80; i == j && i%8 == 7 {
				other[j] = k[j] + 1
			}
			if _, err := Dial(t.Context(), l.Address(), other, 0); !errors.Is(err, ErrStranger) {
				t.Fatalf("bytes %d and %d differ: error %v", i, j, err)
			}
			for _, r := range []role{listening, connecting} {
				if bytes.Equal(other.pair(r), k.pair(r)) {
					t.Errorf("bytes %d and %d differ: the same pair as %s", i, j, r)
				}
			}
		}
	}
}

// TestNobodyIsLeft tests that a closed listener has closed its connections when Close returns, whether they have
// introduced themselves or not, and that a side that cannot connect closes its own.
func TestNobodyIsLeft(t *testing.T) {
	closed := func(c net.Conn) bool {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err := c.Read(make([]byte, 1))
		return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	}
	l := listen(t, Key{1})
	silent, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	met, err := Dial(t.Context(), l.Address(), Key{1}, 0) // nobody accepts it
	if err != nil {
		t.Fatal(err)
	}
	defer met.Close()
	time.Sleep(50 * time.Millisecond) // until the listener knows whom it has met
	var left atomic.Bool
	l.all.Go(func() {
		<-l.open.Done()
		time.Sleep(20 * time.Millisecond)
		left.Store(true)
	})
	if err := l.Close(); err != nil || !left.Load() {
		t.Errorf("closed, with an error %v, before all goroutines have ended: %v", err, !left.Load())
	}
	for name, c := range map[string]net.Conn{"silent": silent, "met": met} {
		if !closed(c) {
			t.Errorf("the %s connection is open", name)
		}
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		_, _ = Dial(t.Context(), plain.Addr().String(), Key{1}, 0)
	}()
	c, err := plain.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	for began := time.Now(); time.Since(began) < 10*time.Second; {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1<<10)); errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		} else if err != nil {
			return
		}
	}
	t.Error("a side that could not connect left its connection open")
}

// TestStrangersLeaveTheirPlaces tests that more strangers than may introduce themselves at once, one after the other, keep
// nobody out.
func TestStrangersLeaveTheirPlaces(t *testing.T) {
	l := listen(t, Key{1})
	for range guests + 20 {
		c, err := net.Dial("tcp", l.Address())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	go func() {
		if c, err := Dial(ctx, l.Address(), Key{1}, 0); err == nil {
			_ = c.Close()
		}
	}()
	c, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
