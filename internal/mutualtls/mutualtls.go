//go:build !small

package mutualtls

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"time"
)

// role is a side of a connection: the one that connects or the one that listens.
type role string

const (
	listening  role = "stillpoint: the side that listens"
	connecting role = "stillpoint: the side that connects"
)

// pair returns the key pair that a role derives from the shared key.
func (k Key) pair(r role) ed25519.PrivateKey {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(r))
	return ed25519.NewKeyFromSeed(mac.Sum(nil))
}

// config returns the TLS configuration of the side whose role is own, for a connection to the side
// whose role is other. The other side is verified by its public key alone. Package crypto/tls verifies that
// the other side has the private key.
func (k Key) config(own, other role) (*tls.Config, error) {
	private := k.pair(own)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(nil, template, template, private.Public(), private)
	if err != nil {
		return nil, fmt.Errorf("sealed: %w", err)
	}
	want := k.pair(other).Public().(ed25519.PublicKey)
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: private}},
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // names and authorities are not verified; VerifyConnection verifies the key
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) != 1 {
				return ErrStranger
			}
			got, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !bytes.Equal(got, want) || s.Version != tls.VersionTLS13 || s.DidResume {
				return ErrStranger
			}
			return nil
		},
	}, nil
}

// patience is the time limit of a handshake. guests is the largest number of simultaneous
// handshakes.
const patience, guests = 10 * time.Second, 256

// Listener accepts connections from processes that have its key.
type Listener struct {
	tcp  net.Listener
	tls  *tls.Config
	met  chan net.Conn
	open context.Context // ends when the listener is closed
	shut context.CancelFunc
	once sync.Once
	all  sync.WaitGroup
}

// Listen listens at an address HOST:PORT for processes that have the key k. Port 0 means any port that is
// free.
func Listen(address string, k Key) (*Listener, error) {
	c, err := k.config(listening, connecting)
	if err != nil {
		return nil, err
	}
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	l := &Listener{tcp: tcp, tls: c, met: make(chan net.Conn)}
	l.open, l.shut = context.WithCancel(context.Background())
	l.all.Go(l.accept)
	return l, nil
}

// Beside listens at any free port of the address that a connection has on this machine, until the context ends. It
// calls serve with each connection from a process that has the key k, and returns the address.
func Beside(ctx context.Context, c net.Conn, k Key, serve func(io.ReadWriteCloser)) (string, error) {
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	if err != nil {
		return "", err
	}
	l, err := Listen(net.JoinHostPort(host, "0"), k)
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	go func() {
		for c, err := l.Accept(ctx); err == nil; c, err = l.Accept(ctx) {
			go serve(c)
		}
	}()
	return l.Address(), nil
}

// Address returns the address at which l listens, with its port.
func (l *Listener) Address() string { return l.tcp.Addr().String() }

// accept starts a handshake with each incoming connection, until Close. A connection from somebody
// without the key is closed.
func (l *Listener) accept() {
	slots := make(chan struct{}, guests)
	for {
		c, err := l.tcp.Accept()
		if err != nil {
			select {
			case <-l.open.Done():
				return
			case <-time.After(100 * time.Millisecond): // a temporary error, such as too many open files
				continue
			}
		}
		select {
		case slots <- struct{}{}:
		case <-l.open.Done():
			c.Close()
			return
		}
		l.all.Go(func() {
			defer func() { <-slots }()
			l.meet(c)
		})
	}
}

func (l *Listener) meet(c net.Conn) {
	ctx, stop := context.WithTimeout(l.open, patience)
	defer stop()
	s := tls.Server(c, l.tls)
	if s.HandshakeContext(ctx) != nil {
		c.Close()
		return
	}
	select {
	case l.met <- s:
	case <-ctx.Done():
		c.Close()
	}
}

// Accept returns the next connection whose handshake has succeeded. It returns net.ErrClosed after Close, and
// the error of ctx if ctx ends first.
func (l *Listener) Accept(ctx context.Context) (net.Conn, error) {
	select {
	case c := <-l.met:
		return c, nil
	case <-l.open.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close stops listening. Connections that were accepted stay open.
func (l *Listener) Close() error {
	var err error
	l.once.Do(func() {
		l.shut()
		err = l.tcp.Close()
		l.all.Wait()
	})
	return err
}

// Dial connects to a Listener. If nobody listens at the address, it tries again until the duration
// until has passed or the context ends. The error is ErrStranger if the listener has another key.
func Dial(ctx context.Context, address string, k Key, until time.Duration) (net.Conn, error) {
	c, err := k.config(connecting, listening)
	if err != nil {
		return nil, err
	}
	tcp, err := reach(ctx, address, time.Now().Add(until))
	if err != nil {
		return nil, err
	}
	return greet(ctx, tcp, address, c)
}

// greet makes the handshake of a side that connects. It closes the connection if the handshake fails.
func greet(ctx context.Context, tcp net.Conn, address string, c *tls.Config) (net.Conn, error) {
	timed, stop := context.WithTimeout(ctx, patience)
	defer stop()
	s := tls.Client(tcp, c)
	if err := s.HandshakeContext(timed); err != nil {
		tcp.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, ErrStranger) {
			return nil, ErrStranger
		}
		return nil, fmt.Errorf("sealed: %s: %w", address, err)
	}
	return s, nil
}

func reach(ctx context.Context, address string, until time.Time) (net.Conn, error) {
	d := net.Dialer{Timeout: patience}
	for {
		tcp, err := d.DialContext(ctx, "tcp", address)
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return tcp, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
