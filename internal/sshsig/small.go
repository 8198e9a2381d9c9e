//go:build small

package sshsig

import "errors"

var errSmall = errors.New("signatures need a program that was built without -tags small")

// Key stands for the private key of a whole build. There is none in this build.
type Key struct{}

// ParseKey returns an error.
func ParseKey([]byte) (*Key, error) { return nil, errSmall }

// Fingerprint returns "".
func (*Key) Fingerprint() string { return "" }

// Public returns "".
func (*Key) Public() string { return "" }

// Sign returns an error.
func (*Key) Sign(string, []byte) ([]byte, error) { return nil, errSmall }

// Verify returns an error that does not wrap ErrRefused.
func Verify([]byte, string, []byte, []byte) (Signer, error) { return Signer{}, errSmall }
