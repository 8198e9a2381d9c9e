//go:build small

package mutualtls

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSmall reports that this program has no connections.
var errSmall = errors.New("sealed: workers on other machines need a program that was built without -tags small")

// Listener stands for the listener of a whole build. There is none in this build.
type Listener struct{}

// Listen returns an error.
func Listen(string, Key) (*Listener, error) { return nil, errSmall }

// Beside returns an error.
func Beside(context.Context, io.ReadWriteCloser, Key, func(io.ReadWriteCloser)) (string, error) {
	return "", errSmall
}

// Address returns "".
func (*Listener) Address() string { return "" }

// Accept returns an error.
func (*Listener) Accept(context.Context) (io.ReadWriteCloser, error) { return nil, errSmall }

// Close does nothing.
func (*Listener) Close() error { return nil }

// Dial returns an error.
func Dial(context.Context, string, Key, time.Duration) (io.ReadWriteCloser, error) {
	return nil, errSmall
}
