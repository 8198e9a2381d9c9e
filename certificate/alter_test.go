package certificate

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestEveryAlterationIsRefused changes the decoded file in one place at a time. Every change is
// refused.
func TestEveryAlterationIsRefused(t *testing.T) {
	c := mustNew(t, params(t))
	root := parseNode(t, c.text)
	if !bytes.Equal(root.file(t), c.text) {
		t.Fatalf("the test's own writer disagrees:\n%s\n%s", root.file(t), c.text)
	}
	all := root.alterations("")
	if len(all) < 1500 {
		t.Fatalf("only %d alterations", len(all))
	}
	list := some(all)
	kinds := make(map[error]int)
	for _, a := range list {
		a.do()
		data := root.file(t)
		a.undo()
		if bytes.Equal(data, c.text) {
			t.Errorf("%s: changes nothing", a.name)
			continue
		}
		_, err := verdict(data)
		if err == nil {
			t.Errorf("%s: accepted", a.name)
			continue
		}
		kinds[kindOf(t, err)]++
		if kindOf(t, err) == ErrUnsound {
			t.Errorf("%s: %v: an altered file is not called altered", a.name, err)
		}
	}
	if least := len(list) / 10; kinds[ErrAltered] < least || kinds[ErrMalformed] < least {
		t.Errorf("kinds of refusal: %v", kinds)
	}
	if !bytes.Equal(root.file(t), c.text) {
		t.Fatal("undo does not restore the file")
	}
}

// TestEveryByteIsGuarded changes one byte of the file at a time. Every change is refused, even
// one that does not change the meaning.
func TestEveryByteIsGuarded(t *testing.T) {
	text := mustNew(t, params(t)).text
	places := make([]int, len(text))
	for i := range places {
		places[i] = i
	}
	for _, i := range some(places) {
		for _, b := range []byte{text[i] ^ 1, text[i] ^ 0x20, ' ', '0', '"'} {
			if b == text[i] {
				continue
			}
			data := bytes.Clone(text)
			data[i] = b
			if _, err := verdict(data); err == nil {
				t.Fatalf("byte %d changed from %q to %q: accepted", i, text[i], b)
			} else {
				kindOf(t, err)
			}
		}
		data := append(bytes.Clone(text[:i]), text[i+1:]...)
		if _, err := verdict(data); err == nil {
			t.Fatalf("byte %d, %q, dropped: accepted", i, text[i])
		}
		if _, err := verdict(text[:i]); err == nil {
			t.Fatalf("cut at byte %d: accepted", i)
		}
	}
	for _, more := range []string{" ", "\n", "{}", "null", "\x00"} {
		if _, err := verdict(append(bytes.Clone(text), more...)); err == nil {
			t.Errorf("with %q after it: accepted", more)
		}
	}
}

func TestReformattedIsAltered(t *testing.T) {
	c := mustNew(t, params(t))
	var compact bytes.Buffer
	parseNode(t, c.text).text(&compact)
	for name, data := range map[string][]byte{
		"compact": compact.Bytes(),
		"CRLF":    bytes.ReplaceAll(c.text, []byte("\n"), []byte("\r\n")),
		"tabs":    bytes.ReplaceAll(c.text, []byte("  "), []byte("\t")),
	} {
		if _, err := verdict(data); !errors.Is(err, ErrAltered) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecondChecksumLine: a file with a second line that looks like the checksum's line is
// refused. With such a line the published shell command and Verify would compute the checksum
// of different texts.
func TestSecondChecksumLine(t *testing.T) {
	c := mustNew(t, params(t))
	head := strings.Replace(string(c.text), `      "T": 40,`, "  \"checksum\": 40,", 1)
	head = head[:strings.LastIndex(head, checksumStart)]
	if _, err := verdict(seal([]byte(head))); !errors.Is(err, ErrAltered) {
		t.Errorf("got %v", err)
	}
}
