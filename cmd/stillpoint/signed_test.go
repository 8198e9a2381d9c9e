package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"
)

// sshkey makes the script command "sshkey FILE SIGNERS NAME [PASSPHRASE]": it writes a new private
// key to FILE, and adds its public key under NAME to the list of signers.
func sshkey(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) >= 3, "usage: sshkey FILE SIGNERS NAME [PASSPHRASE]")
	_, key, err := ed25519.GenerateKey(rand.Reader)
	ts.Check(err)
	block, err := ssh.MarshalPrivateKey(key, "")
	if len(args) > 3 {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(args[3]))
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(block), 0o600))
	public, err := ssh.NewPublicKey(key.Public())
	ts.Check(err)
	list, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = list.WriteString(args[2] + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public))) + "\n")
	ts.Check(err)
	ts.Check(list.Close())
}
