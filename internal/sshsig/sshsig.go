//go:build !small

package sshsig

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	magic   = "SSHSIG"
	block   = "SSH SIGNATURE"
	hash512 = "sha512"
	hash256 = "sha256"
)

// wrapped is a signature file's content after the magic preamble, with the fields of the format in
// order.
type wrapped struct {
	Version   uint32
	PublicKey string
	Namespace string
	Reserved  string
	Hash      string
	Signature string
}

// signed is the content over which a signature is computed, after the magic preamble.
type signed struct {
	Namespace string
	Reserved  string
	Hash      string
	Digest    string
}

// body returns the bytes over which a signature of the file is computed. hash names the hash of the file:
// hash256, or hash512 for any other value.
func body(namespace, hash string, file []byte) []byte {
	var sum []byte
	if hash == hash256 {
		of := sha256.Sum256(file)
		sum = of[:]
	} else {
		of := sha512.Sum512(file)
		sum = of[:]
	}
	return append([]byte(magic), ssh.Marshal(signed{namespace, "", hash, string(sum)})...)
}

// Key is a private key.
type Key struct{ signer ssh.Signer }

// ParseKey reads a private key in OpenSSH's format, or in another format that ssh-keygen reads. The
// error never quotes the text. It is ErrPassphrase for a key with a passphrase.
func ParseKey(text []byte) (*Key, error) {
	s, err := ssh.ParsePrivateKey(text)
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, errors.New("must be a private SSH key, as ssh-keygen makes it")
	}
	if s.PublicKey().Type() == ssh.KeyAlgoRSA { // the default of an RSA key is to sign with SHA-1
		of, ok := s.(ssh.AlgorithmSigner)
		if !ok {
			return nil, errors.New("must be a key that signs with SHA-512")
		}
		if s, err = ssh.NewSignerWithAlgorithms(of, []string{ssh.KeyAlgoRSASHA512}); err != nil {
			return nil, errors.New("must be a key that signs with SHA-512")
		}
	}
	return &Key{s}, nil
}

// Fingerprint returns the SHA-256 fingerprint of the public key, as ssh-keygen -l prints it.
func (k *Key) Fingerprint() string { return ssh.FingerprintSHA256(k.signer.PublicKey()) }

// Public returns the public key in the form of a line of authorized_keys.
func (k *Key) Public() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.signer.PublicKey())))
}

// Sign returns the armored signature of a file. The namespace states the purpose: the signature
// verifies only under the same namespace.
func (k *Key) Sign(namespace string, file []byte) ([]byte, error) {
	var s *ssh.Signature
	var err error
	if of, ok := k.signer.(ssh.AlgorithmSigner); ok && k.signer.PublicKey().Type() == ssh.KeyAlgoRSA {
		s, err = of.SignWithAlgorithm(rand.Reader, body(namespace, hash512, file), ssh.KeyAlgoRSASHA512)
	} else {
		s, err = k.signer.Sign(rand.Reader, body(namespace, hash512, file))
	}
	if err != nil {
		return nil, err
	}
	w := wrapped{1, string(k.signer.PublicKey().Marshal()), namespace, "", hash512, string(ssh.Marshal(s))}
	return pem.EncodeToMemory(&pem.Block{Type: block, Bytes: append([]byte(magic), ssh.Marshal(w)...)}), nil
}

// Verify returns the allowed signer who made the signature of a file under a namespace. signers is the text
// of the list of allowed signers. If the signature is not accepted, the error wraps ErrRefused. If the list
// is invalid, Verify returns an error that does not wrap ErrRefused.
func Verify(signers []byte, namespace string, file, signature []byte) (Signer, error) {
	allowed, err := parseSigners(signers)
	if err != nil {
		return Signer{}, err
	}
	p, rest := pem.Decode(signature)
	if p == nil || p.Type != block || len(bytes.TrimSpace(rest)) > 0 || len(p.Headers) > 0 {
		return Signer{}, fmt.Errorf("%w: must be one SSH SIGNATURE, as stillpoint or ssh-keygen -Y sign writes it",
			ErrRefused)
	}
	text, ok := bytes.CutPrefix(p.Bytes, []byte(magic))
	var w wrapped
	if !ok || ssh.Unmarshal(text, &w) != nil || w.Version != 1 {
		return Signer{}, fmt.Errorf("%w: must be of version 1 of the format", ErrRefused)
	}
	if w.Namespace != namespace {
		return Signer{}, fmt.Errorf("%w: namespace = %q: must be %q: it was made for something else", ErrRefused, w.Namespace,
			namespace)
	}
	if w.Hash != hash512 && w.Hash != hash256 {
		return Signer{}, fmt.Errorf("%w: hash = %q: must be sha256 or sha512", ErrRefused, w.Hash)
	}
	key, err := ssh.ParsePublicKey([]byte(w.PublicKey))
	var s ssh.Signature
	if err != nil || ssh.Unmarshal([]byte(w.Signature), &s) != nil {
		return Signer{}, fmt.Errorf("%w: must hold a public key and a signature", ErrRefused)
	}
	// The algorithms ssh-rsa and ssh-dss use SHA-1.
	if s.Format == ssh.KeyAlgoRSA || s.Format == "ssh-dss" {
		return Signer{}, fmt.Errorf("%w: algorithm = %q: must be one that does not rest on SHA-1", ErrRefused, s.Format)
	}
	if err := key.Verify(body(namespace, w.Hash, file), &s); err != nil {
		return Signer{}, fmt.Errorf("%w: it is not of this file, or was altered", ErrRefused)
	}
	who := Signer{"", ssh.FingerprintSHA256(key), key.Type()}
	for _, a := range allowed {
		if bytes.Equal(a.key.Marshal(), key.Marshal()) && a.allows(namespace) {
			who.Name = a.name
			return who, nil
		}
	}
	return Signer{}, fmt.Errorf("%w: it was made by key %s, which is not among the allowed signers", ErrRefused,
		who.Fingerprint)
}

// allowed is a line of a list of signers: a name, a key, and the namespaces for which the key may
// sign.
type allowed struct {
	name       string
	key        ssh.PublicKey
	namespaces string // "" for any
}

func (a allowed) allows(namespace string) bool {
	return a.namespaces == "" || slices.Contains(strings.Split(a.namespaces, ","), namespace)
}

// parseSigners reads lines NAME [namespaces="A,B"] TYPE KEY, and skips empty lines and comments. Any option
// other than namespaces is an error: ignoring the option could allow more than the line allows. A list
// without a signer is an error.
func parseSigners(text []byte) (list []allowed, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fault := func(rule string) error { return fmt.Errorf("signers: line %d: must %s", i+1, rule) }
		name, rest, ok := strings.Cut(line, " ")
		if !ok || strings.ContainsAny(name, `"*?!`) {
			return nil, fault("be NAME TYPE KEY, where NAME is one name and no pattern")
		}
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
		if err != nil {
			return nil, fault("be NAME TYPE KEY, as in a public key's file after the name")
		}
		a := allowed{name: name, key: key}
		for _, o := range options {
			value, ok := strings.CutPrefix(o, "namespaces=")
			if !ok || a.namespaces != "" || len(value) < 3 || value[0] != '"' || value[len(value)-1] != '"' {
				return nil, fault(`have no option but namespaces="..."`)
			}
			a.namespaces = value[1 : len(value)-1]
		}
		if _, certified := key.(*ssh.Certificate); certified {
			return nil, fault("hold a key, and no certificate of one")
		}
		list = append(list, a)
	}
	if len(list) == 0 {
		return nil, errors.New("signers: must list at least one")
	}
	return list, nil
}
