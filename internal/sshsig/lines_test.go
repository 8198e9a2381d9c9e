//go:build !small

package sshsig

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestLinesOfSigners tests the forms that a line of a list of signers may have, the namespaces that each allows, and
// that an error names the line.
func TestLinesOfSigners(t *testing.T) {
	k := parsed(t, keys(t)["ed25519"])
	sign := func(namespace string) []byte {
		s, err := k.Sign(namespace, file)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	signed := map[string][]byte{"a": sign("a"), "ab": sign("ab"), space: sign(space)}
	for list, want := range map[string]string{ // the namespaces that the list allows
		"ada KEY":                                             "a ab " + space,
		"ada KEY\n":                                           "a ab " + space,
		"ada KEY\r\n":                                         "a ab " + space,
		"  \t ada KEY \t\n \t \n":                             "a ab " + space,
		" # none\r\n\r\n\t# none\nada KEY":                    "a ab " + space,
		"ada KEY a comment\n":                                 "a ab " + space,
		`ada namespaces="a" KEY`:                              "a",
		`ada namespaces="ab" KEY`:                             "ab",
		`ada namespaces="a,ab" KEY`:                           "a ab",
		`ada namespaces="ab,a" KEY`:                           "a ab",
		`ada namespaces="a*" KEY`:                             "",
		`ada namespaces="` + space + `" KEY`:                  space,
		"ada namespaces=\"a\" KEY\nada namespaces=\"ab\" KEY": "a ab",
	} {
		for namespace, s := range signed {
			who, err := Verify([]byte(strings.ReplaceAll(list, "KEY", k.Public())), namespace, file, s)
			if allowed := strings.Contains(" "+want+" ", " "+namespace+" "); allowed != (err == nil) ||
				!allowed && !errors.Is(err, ErrRefused) || allowed && (who.Name != "ada" || who.Fingerprint != k.Fingerprint()) {
				t.Errorf("%q for %s: %+v, %v: must be allowed %v", list, namespace, who, err, allowed)
			}
		}
	}
	const option = `have no option but namespaces="..."`
	for list, want := range map[string]string{
		"ada KEY\n# two\n\nbob":                 "line 4: must be NAME TYPE KEY, where NAME is one name and no pattern",
		"ada KEY\nbob KE":                       "line 2: must be NAME TYPE KEY, as in a public key's file after the name",
		"ada KEY\n\n!bob KEY":                   "line 3: must be NAME TYPE KEY, where NAME is one name and no pattern",
		"b?b KEY":                               "line 1: must be NAME TYPE KEY, where NAME is one name and no pattern",
		`ada namespaces="" KEY`:                 "line 1: must " + option,
		`ada namespaces=a KEY`:                  "line 1: must " + option,
		`ada namespaces=abc KEY`:                "line 1: must " + option,
		`ada namespaces="a"b KEY`:               "line 1: must " + option,
		`ada namespaces=b"a" KEY`:               "line 1: must " + option,
		`ada namespaces KEY`:                    "line 1: must " + option,
		`ada Namespaces="a" KEY`:                "line 1: must " + option,
		`ada no-touch-required KEY`:             "line 1: must " + option,
		`ada namespaces="a",verify KEY`:         "line 1: must " + option,
		`ada namespaces="a",namespaces="b" KEY`: "line 1: must " + option,
		" \n\r\n#":                              "must list at least one",
	} {
		who, err := Verify([]byte(strings.ReplaceAll(list, "KEY", k.Public())), "a", file, signed["a"])
		if err == nil || errors.Is(err, ErrRefused) || err.Error() != "signers: "+want {
			t.Errorf("%q: %+v, %v: must be %s", list, who, err, want)
		}
	}
}

// dumb is a signer that fails.
type dumb struct{ ssh.Signer }

var errDumb = errors.New("the key is not here")

func (dumb) Sign(io.Reader, []byte) (*ssh.Signature, error) { return nil, errDumb }

// TestSignersThatFail tests that the error of a key is told, and that nothing is taken for a signature then.
func TestSignersThatFail(t *testing.T) {
	k := parsed(t, keys(t)["ed25519"])
	if s, err := (&Key{dumb{k.signer}}).Sign(space, file); s != nil || !errors.Is(err, errDumb) {
		t.Errorf("%q, %v: must be %v", s, err, errDumb)
	}
}

// TestNothingBesideASignature tests that a file has one signature and white space, and no other byte after it.
func TestNothingBesideASignature(t *testing.T) {
	k := parsed(t, keys(t)["ed25519"])
	signers, s := []byte("ada "+k.Public()), signature(t, k)
	for after, want := range map[string]error{"": nil, "\n": nil, " \r\n\t": nil, "x": ErrRefused, "\nx\n": ErrRefused, "-": ErrRefused} {
		if _, err := Verify(signers, space, file, append(bytes.Clone(s), after...)); !errors.Is(err, want) {
			t.Errorf("%q after a signature: %v: must be %v", after, err, want)
		}
	}
}
