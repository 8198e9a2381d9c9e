// Package sshsig makes and verifies SSH signatures of files, in the format of ssh-keygen -Y (PROTOCOL.sshsig of
// OpenSSH). This package verifies signatures of ssh-keygen, also from keys in hardware, and ssh-keygen verifies
// signatures of this package. A list in OpenSSH's format allowed_signers states whose signatures are accepted.
package sshsig

import "errors"

// Most is the largest size in bytes of a file with a signature, a key or a list of signers. Callers that read
// such files apply it.
const Most = 1 << 20

// ErrRefused reports that the text is not a signature of the file by an allowed signer.
var ErrRefused = errors.New("not a valid signature")

// ErrPassphrase reports that the key is protected by a passphrase. This package does not ask for
// one.
var ErrPassphrase = errors.New("is protected by a passphrase")

// Signer identifies who signed a file: the name in the list of signers, and the fingerprint of the
// key.
type Signer struct {
	Name        string `json:"signer"`
	Fingerprint string `json:"fingerprint"`
	Type        string `json:"key_type"`
}
