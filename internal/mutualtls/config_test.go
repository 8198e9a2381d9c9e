//go:build !small

package mutualtls

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// TestWhoIsVerified tests each rule about the other side of a connection alone, and the settings of a side.
func TestWhoIsVerified(t *testing.T) {
	own, err := Key{1}.config(listening, connecting)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := Key{1}.config(connecting, listening)
	if err != nil {
		t.Fatal(err)
	}
	right, err := x509.ParseCertificate(theirs.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	mirrored, err := x509.ParseCertificate(own.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	another := &x509.Certificate{PublicKey: curve.Public()}
	for name, s := range map[string]tls.ConnectionState{
		"":                  {Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{right}},
		"no certificate":    {Version: tls.VersionTLS13},
		"two certificates":  {Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{right, right}},
		"its own key":       {Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{mirrored}},
		"a key of a curve":  {Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{another}},
		"an old version":    {Version: tls.VersionTLS12, PeerCertificates: []*x509.Certificate{right}},
		"a resumed session": {Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{right}, DidResume: true},
	} {
		if err := own.VerifyConnection(s); (err == nil) != (name == "") || err != nil && !errors.Is(err, ErrStranger) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []*tls.Config{own, theirs} {
		if c.MinVersion != tls.VersionTLS13 || !c.SessionTicketsDisabled || c.ClientAuth != tls.RequireAnyClientCert ||
			!c.InsecureSkipVerify || len(c.Certificates) != 1 {
			t.Errorf("%+v", c)
		}
	}
	if day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !right.NotBefore.Equal(day) || right.NotAfter.Year() != 9999 ||
		right.SerialNumber.Int64() != 1 {
		t.Errorf("valid from %v to %v, number %v", right.NotBefore, right.NotAfter, right.SerialNumber)
	}
}

// TestPlacesThatFail tests the errors of listening and connecting: an address that is taken or is none, a side that
// speaks something else, one that says nothing until the context ends, and a second Close.
func TestPlacesThatFail(t *testing.T) {
	l := listen(t, Key{1})
	for _, address := range []string{l.Address(), "no address"} {
		if again, err := Listen(address, Key{1}); again != nil || err == nil {
			t.Errorf("listening at %s: %v, %v", address, again, err)
		}
	}
	talk, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()
	met := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := talk.Accept()
			if err != nil {
				return
			}
			met <- c
		}
	}()
	address := talk.Addr().String()
	go func() {
		c := <-met
		c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		c.Close()
	}()
	if c, err := Dial(t.Context(), address, Key{1}, 0); c != nil || err == nil || errors.Is(err, ErrStranger) ||
		!strings.HasPrefix(err.Error(), "sealed: "+address+": ") {
		t.Errorf("a side that speaks something else: %v, %v", c, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() { c := <-met; stop(); time.Sleep(50 * time.Millisecond); c.Close() }()
	if c, err := Dial(ctx, address, Key{1}, 0); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("a side that says nothing: %v, %v", c, err)
	}
	began := time.Now()
	if c, err := Dial(t.Context(), "127.0.0.1:1", Key{1}, 300*time.Millisecond); c != nil || err == nil ||
		time.Since(began) < 300*time.Millisecond {
		t.Errorf("nobody there: %v, %v after %v", c, err, time.Since(began))
	}
	broken := &Listener{tcp: refused{l.tcp}}
	broken.open, broken.shut = context.WithCancel(context.Background())
	if err := broken.Close(); !errors.Is(err, errRefused) {
		t.Errorf("a Close that fails: %v", err)
	}
	if err := broken.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if _, err := Beside(t.Context(), unnamed{}, Key{1}, nil); err == nil {
		t.Error("a connection without an address")
	}
	if _, err := Beside(t.Context(), unnamed{address: "192.0.2.1:9"}, Key{1}, nil); err == nil {
		t.Error("a connection at an address of no machine")
	}
}

var errRefused = errors.New("refused")

type refused struct{ net.Listener }

func (refused) Close() error { return errRefused }

type unnamed struct {
	net.Conn
	address string
}

func (u unnamed) LocalAddr() net.Addr { return u }
func (unnamed) Network() string       { return "tcp" }
func (u unnamed) String() string      { return u.address }

// flaky is a listener whose first calls of Accept fail.
type flaky struct {
	net.Listener
	left chan struct{}
}

func (f flaky) Accept() (net.Conn, error) {
	select {
	case <-f.left:
		return nil, errRefused
	default:
		return f.Listener.Accept()
	}
}

// TestAcceptGoesOn tests that a listener that cannot accept for a while, as with too many open files, tries again, not
// at once and not for longer than a second.
func TestAcceptGoesOn(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Key{1}.config(listening, connecting)
	if err != nil {
		t.Fatal(err)
	}
	l := &Listener{tcp: flaky{tcp, make(chan struct{}, 3)}, tls: c, met: make(chan net.Conn)}
	l.open, l.shut = context.WithCancel(context.Background())
	for range 3 {
		l.tcp.(flaky).left <- struct{}{}
	}
	began := time.Now()
	l.all.Go(l.accept)
	defer l.Close()
	go Dial(t.Context(), tcp.Addr().String(), Key{1}, 0)
	if c, err := l.Accept(t.Context()); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 8*time.Second {
		t.Errorf("accepted after %v: must be three pauses of a tenth of a second later", took)
	}
}
