//go:build !small

package sshsig

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

const space = "a-namespace"

var file = []byte("what is signed\n")

// keys returns the text of one private key of each type, by type.
func keys(t *testing.T) map[string][]byte {
	t.Helper()
	list := map[string][]byte{}
	add := func(name string, key crypto.PrivateKey, err error) {
		if err != nil {
			t.Fatal(err)
		}
		block, err := ssh.MarshalPrivateKey(key, "")
		if err != nil {
			t.Fatal(err)
		}
		list[name] = pem.EncodeToMemory(block)
	}
	_, one, err := ed25519.GenerateKey(rand.Reader)
	add("ed25519", one, err)
	two, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	add("ecdsa", two, err)
	three, err := rsa.GenerateKey(rand.Reader, 2048)
	add("rsa", three, err)
	return list
}

func parsed(t *testing.T, text []byte) *Key {
	t.Helper()
	k, err := ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func signature(t *testing.T, k *Key) []byte {
	t.Helper()
	s, err := k.Sign(space, file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSignaturesVerify tests, for each type of key, that a signature verifies for its own file,
// namespace and signer only, and that a change of any byte of the signature is refused.
func TestSignaturesVerify(t *testing.T) {
	list := keys(t)
	for name, text := range list {
		k := parsed(t, text)
		s := signature(t, k)
		signers := []byte("# people\n\nada@example.org " + k.Public() + "\n")
		who, err := Verify(signers, space, file, s)
		if err != nil || who.Name != "ada@example.org" || who.Fingerprint != k.Fingerprint() {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		other := parsed(t, list[map[string]string{"ed25519": "ecdsa", "ecdsa": "rsa", "rsa": "ed25519"}[name]])
		for what, err := range map[string]error{
			"another file":      second(Verify(signers, space, append(bytes.Clone(file), ' '), s)),
			"another namespace": second(Verify(signers, "b", file, s)),
			"another signer":    second(Verify([]byte("bob "+other.Public()), space, file, s)),
			"two signatures":    second(Verify(signers, space, file, append(bytes.Clone(s), s...))),
			"no signature":      second(Verify(signers, space, file, []byte("no"))),
			"of a namespace":    second(Verify([]byte(`ada namespaces="b,c" `+k.Public()), space, file, s)),
		} {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if _, err := Verify([]byte(`ada namespaces="b,`+space+`" `+k.Public()), space, file, s); err != nil {
			t.Errorf("%s: a list of namespaces: %v", name, err)
		}
		p, _ := pem.Decode(s)
		for i := range p.Bytes {
			changed := bytes.Clone(p.Bytes)
			changed[i] ^= 1
			if who, err := Verify(signers, space, file,
				pem.EncodeToMemory(&pem.Block{Type: block, Bytes: changed})); !errors.Is(err, ErrRefused) {
				t.Errorf("%s: byte %d changed: %+v, %v", name, i, who, err)
			}
		}
	}
}

func second(_ Signer, err error) error { return err }

// TestOldAlgorithmsAreRefused tests that an RSA signature with SHA-1 is refused, although the key
// verifies it.
func TestOldAlgorithmsAreRefused(t *testing.T) {
	text := keys(t)["rsa"]
	plain, err := ssh.ParsePrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := plain.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, body(space, hash512, file), ssh.KeyAlgoRSA)
	if err != nil {
		t.Fatal(err)
	}
	w := wrapped{1, string(plain.PublicKey().Marshal()), space, "", hash512, string(ssh.Marshal(s))}
	old := pem.EncodeToMemory(&pem.Block{Type: block, Bytes: append([]byte(magic), ssh.Marshal(w)...)})
	if _, err := Verify([]byte("ada "+parsed(t, text).Public()), space, file, old); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "SHA-1") {
		t.Errorf("%v", err)
	}
}

// TestListsOfSigners tests that everything in a list other than names, namespaces and keys is an
// error, not ignored.
func TestListsOfSigners(t *testing.T) {
	k := parsed(t, keys(t)["ed25519"])
	for _, text := range []string{
		"", "# none\n", "ada\n", "ada key\n", "*@example.org " + k.Public(), `"ada" ` + k.Public(),
		`ada valid-before="20200101" ` + k.Public(), "ada cert-authority " + k.Public(), `ada namespaces="" ` + k.Public(),
		`ada namespaces="a",namespaces="b" ` + k.Public(),
	} {
		if who, err := Verify([]byte(text), space, file, signature(t, k)); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("%q: %+v, %v", text, who, err)
		}
	}
}

// TestCertificatesAreNoSigners tests that a list with a certificate of a key is an error that says so: whoever signs
// certificates would otherwise name signers.
func TestCertificatesAreNoSigners(t *testing.T) {
	for name, text := range keys(t) {
		k := parsed(t, text)
		c := &ssh.Certificate{Key: k.signer.PublicKey(), CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
		if err := c.SignCert(rand.Reader, k.signer); err != nil {
			t.Fatal(err)
		}
		line := "ada " + string(ssh.MarshalAuthorizedKey(c))
		for _, list := range []string{line, "ada " + k.Public() + "\n" + line} {
			who, err := Verify([]byte(list), space, file, signature(t, k))
			if err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no certificate of one") {
				t.Errorf("%s: %+v, error %v", name, who, err)
			}
		}
	}
}

// TestKeysAreNotQuoted tests that errors about a key contain nothing of it.
func TestKeysAreNotQuoted(t *testing.T) {
	for _, text := range []string{"", "secret",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"} {
		if _, err := ParseKey([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "c2Vj") {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("word"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKey(pem.EncodeToMemory(block)); !errors.Is(err, ErrPassphrase) {
		t.Errorf("%v", err)
	}
}

// TestAgainstSSHKeygen tests that OpenSSH verifies signatures made here, and that signatures of
// OpenSSH verify here.
func TestAgainstSSHKeygen(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("there is no ssh-keygen here")
	}
	for name, text := range keys(t) {
		dir := t.TempDir()
		at := func(n string) string { return filepath.Join(dir, n) }
		k := parsed(t, text)
		signers := "ada@example.org " + k.Public() + "\n"
		for n, b := range map[string][]byte{"key": text, "file": file, "file2": file, "signers": []byte(signers),
			"file.sig": signature(t, k)} {
			if err := os.WriteFile(at(n), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		verify := exec.Command(keygen, "-Y", "verify", "-f", at("signers"), "-I", "ada@example.org", "-n", space, "-s",
			at("file.sig"))
		verify.Stdin = bytes.NewReader(file)
		if out, err := verify.CombinedOutput(); err != nil {
			t.Errorf("%s: ssh-keygen -Y verify: %v: %s", name, err, out)
		}
		for _, hash := range []string{hash256, hash512} {
			os.Remove(at("file2.sig"))
			if out, err := exec.Command(keygen, "-Y", "sign", "-f", at("key"), "-n", space, "-O", "hashalg="+hash,
				at("file2")).CombinedOutput(); err != nil {
				t.Fatalf("%s: ssh-keygen -Y sign: %v: %s", name, err, out)
			}
			s, err := os.ReadFile(at("file2.sig"))
			if err != nil {
				t.Fatal(err)
			}
			if who, err := Verify([]byte(signers), space, file, s); err != nil || who.Name != "ada@example.org" {
				t.Errorf("%s, %s: %+v, %v", name, hash, who, err)
			}
		}
	}
}

// FuzzVerify tests, with arbitrary signatures and lists, that Verify does not panic and accepts
// only the file that was signed.
func FuzzVerify(f *testing.F) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		f.Fatal(err)
	}
	k := &Key{signer}
	s, err := k.Sign(space, file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("ada "+k.Public()), s)
	f.Fuzz(func(t *testing.T, signers, s []byte) {
		if who, err := Verify(signers, space, []byte("another file"), s); err == nil &&
			strings.Contains(string(signers), k.Public()) && who.Fingerprint == k.Fingerprint() {
			t.Errorf("accepted: %+v", who)
		}
	})
}

// TestWrappingsOfSignatures changes one part at a time of a sound signature's wrapping. Each error names the part.
func TestWrappingsOfSignatures(t *testing.T) {
	k := parsed(t, keys(t)["ed25519"])
	sign := func(format string) string {
		s, err := k.signer.Sign(rand.Reader, body(space, hash512, file))
		if err != nil {
			t.Fatal(err)
		}
		if format != "" {
			s.Format = format
		}
		return string(ssh.Marshal(s))
	}
	signers := []byte("ada " + k.Public() + "\n")
	for name, c := range map[string]struct {
		change func(*wrapped, *pem.Block)
		want   string
	}{
		"nothing":           {func(*wrapped, *pem.Block) {}, ""},
		"a header":          {func(_ *wrapped, b *pem.Block) { b.Headers = map[string]string{"Comment": "x"} }, "must be one SSH SIGNATURE"},
		"another block":     {func(_ *wrapped, b *pem.Block) { b.Type = "SSH" }, "must be one SSH SIGNATURE"},
		"version 0":         {func(w *wrapped, _ *pem.Block) { w.Version = 0 }, "must be of version 1"},
		"version 2":         {func(w *wrapped, _ *pem.Block) { w.Version = 2 }, "must be of version 1"},
		"a namespace":       {func(w *wrapped, _ *pem.Block) { w.Namespace = "file" }, `namespace = "file": must be "a-namespace"`},
		"a hash":            {func(w *wrapped, _ *pem.Block) { w.Hash = "md5" }, `hash = "md5": must be sha256 or sha512`},
		"the other hash":    {func(w *wrapped, _ *pem.Block) { w.Hash = hash256 }, "it is not of this file, or was altered"},
		"a key":             {func(w *wrapped, _ *pem.Block) { w.PublicKey = "key" }, "must hold a public key and a signature"},
		"SHA-1 by DSA":      {func(w *wrapped, _ *pem.Block) { w.Signature = sign("ssh-dss") }, `algorithm = "ssh-dss": must be one that does not rest on SHA-1`},
		"SHA-1 by RSA":      {func(w *wrapped, _ *pem.Block) { w.Signature = sign("ssh-rsa") }, `algorithm = "ssh-rsa": must be one that does not rest on SHA-1`},
		"another algorithm": {func(w *wrapped, _ *pem.Block) { w.Signature = sign("ecdsa-sha2-nistp256") }, "it is not of this file, or was altered"},
	} {
		w := wrapped{1, string(k.signer.PublicKey().Marshal()), space, "", hash512, sign("")}
		b := pem.Block{Type: block}
		c.change(&w, &b)
		b.Bytes = append([]byte(magic), ssh.Marshal(w)...)
		_, err := Verify(signers, space, file, pem.EncodeToMemory(&b))
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v: must say %q", name, err, c.want)
		}
	}
}

// TestWhoMaySign tests whose signature a list of signers allows: the name is that of the line with the key, and a line with
// namespaces allows these alone, each as a whole. An error names the line, counted from 1 with comments and empty lines.
func TestWhoMaySign(t *testing.T) {
	list := keys(t)
	k, other := parsed(t, list["ed25519"]), parsed(t, list["ecdsa"])
	s, stranger := signature(t, k), "it was made by key "+k.Fingerprint()+", which is not among the allowed signers"
	line := func(name, options string, k *Key) string {
		return strings.TrimSpace(name+" "+options) + " " + k.Public() + "\n"
	}
	for _, c := range []struct{ signers, name, want string }{
		{line("ada", "", k), "ada", ""},
		{line("eve", "", other) + line("ada", "", k), "ada", ""},
		{line("ada", "", k) + line("eve", "", other), "ada", ""},
		{line("ada", "", k) + line("eve", "", k), "ada", ""},
		{line("eve", "", other), "", stranger},
		{line("ada", `namespaces="a-namespace"`, k), "ada", ""},
		{line("ada", `namespaces="file,a-namespace"`, k), "ada", ""},
		{line("ada", `namespaces="a-namespace2"`, k), "", stranger},
		{line("ada", `namespaces="xa-namespace,file"`, k), "", stranger},
		{line("eve", `namespaces="file"`, k) + line("ada", "", k), "ada", ""},
		{line("ada", `namespaces="file" namespaces="a-namespace"`, k), "", "signers: line 1: must be NAME TYPE KEY"},
		{line("ada", `namespaces="file",namespaces="a-namespace"`, k), "", `signers: line 1: must have no option but namespaces="..."`},
		{line("ada", `cert-authority`, k), "", `signers: line 1: must have no option but namespaces="..."`},
		{line("ada", `namespaces=""`, k), "", `signers: line 1: must have no option but namespaces="..."`},
		{"# people\n\n" + line("ada*", "", k), "", "signers: line 3: must be NAME TYPE KEY, where NAME is one name and no pattern"},
		{"# people\n" + line("ad?", "", k), "", "signers: line 2: must be NAME TYPE KEY, where NAME is one name and no pattern"},
		{line("eve", "", other) + line("!ada", "", k), "", "signers: line 2: must be NAME TYPE KEY, where NAME is one name and no pattern"},
		{line(`"ada"`, "", k), "", "signers: line 1: must be NAME TYPE KEY, where NAME is one name and no pattern"},
		{"ada\n", "", "signers: line 1: must be NAME TYPE KEY, where NAME is one name and no pattern"},
		{"ada key\n", "", "signers: line 1: must be NAME TYPE KEY, as in a public key's file after the name"},
		{"", "", "signers: must list at least one"},
		{"# nobody\n", "", "signers: must list at least one"},
	} {
		who, err := Verify([]byte(c.signers), space, file, s)
		if who.Name != c.name || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %+v, %v: must be %q, %q", c.signers, who, err, c.name, c.want)
		}
	}
}
