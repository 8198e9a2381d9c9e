package certificate

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestErrorsArePrintable: whatever value or name a forger writes, the error text consists of
// printable characters.
func TestErrorsArePrintable(t *testing.T) {
	const evil = `"\u001b]0;x\u0007\u009b2J\u202e\u2028\n"`
	tried := 0
	var walk func(root, n *node, path string)
	try := func(root *node, path string, n *node, changed node) {
		before := *n
		*n = changed
		data := root.sealed(t)
		*n = before
		_, err := verdict(data)
		if err == nil {
			return // the member may hold any text
		}
		tried++
		for _, r := range err.Error() {
			if !unicode.IsPrint(r) {
				t.Errorf("%s: %U in %q", path, r, err)
				return
			}
		}
	}
	walk = func(root, n *node, path string) {
		if path != "" {
			try(root, path, n, node{leaf: evil})
			try(root, path, n, node{leaf: "[" + evil + "]"})
		}
		if n.keys != nil {
			key, err := strconv.Unquote(evil)
			if err != nil {
				t.Fatal(err)
			}
			more := *n
			more.insert(len(n.items), key, &node{leaf: "1"})
			try(root, path+" with a member", n, more)
		}
		for i, item := range n.items {
			walk(root, item, memberName(n, path, i))
		}
	}
	for _, c := range []*Certificate{mustNew(t, stableParams(t)), scheduled(t)} {
		root := parseNode(t, c.text)
		walk(root, root, "")
	}
	if tried < 150 {
		t.Errorf("only %d refused", tried)
	}
}

// TestZeroIsAbsent: a file must be refused if it writes the value zero for a member that must then be
// absent.
func TestZeroIsAbsent(t *testing.T) {
	for key, zero := range map[string]string{"sampling": "0", "epsilon": "-0.0", "basis": `""`, "loss": `""`,
		"simulated": "false"} {
		root := parseNode(t, mustNew(t, params(t)).text)
		e := root.get("events").items[1]
		e.insert(len(e.items), key, &node{leaf: zero})
		_, err := verdict(root.sealed(t))
		if err == nil || kindOf(t, err) != ErrMalformed || !strings.Contains(err.Error(), "events[1]."+key) {
			t.Errorf("%s = %s: %v", key, zero, err)
		}
	}
}

// TestReadsNoMore: if a file does not begin as a certificate, Read returns an error without reading the
// rest of the file into memory.
func TestReadsNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(path, []byte("column\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<24); err != nil { // a file of zero bytes
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(path)
	runtime.ReadMemStats(&after)
	if kindOf(t, err) != ErrMalformed || !strings.Contains(err.Error(), "object") {
		t.Errorf("got %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes for a file of 2^24 that is none", used)
	}
}
