package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestFilesAreReplacedWhole tests what a written file, the files that it is made from, and the folder hold afterwards: a file
// is replaced whole or stays, a link keeps leading to its file, and no file that is read is written over.
func TestFilesAreReplacedWhole(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		make   func(at func(string) string) error // beside the file "in" with the text "in"
		path   string
		err    error // of the writing
		want   string
		fails  bool
		others string // the names of the folder afterwards
	}{
		"a new file":               {nil, "out", nil, "new", false, "in out"},
		"an old file":              {func(at func(string) string) error { return os.WriteFile(at("out"), []byte("longer than new"), 0o600) }, "out", nil, "new", false, "in out"},
		"a failure":                {func(at func(string) string) error { return os.WriteFile(at("out"), []byte("old"), 0o600) }, "out", failed, "old", true, "in out"},
		"a failure of a new file":  {nil, "out", failed, "", true, "in"},
		"the file that is read":    {nil, "in", nil, "in", true, "in"},
		"a link to the file":       {func(at func(string) string) error { return os.Symlink("in", at("out")) }, "out", nil, "in", true, "in out"},
		"another name of the file": {func(at func(string) string) error { return os.Link(at("in"), at("out")) }, "out", nil, "in", true, "in out"},
		"a link to another": {func(at func(string) string) error {
			return errors.Join(os.WriteFile(at("file"), []byte("old"), 0o600), os.Symlink("file", at("out")))
		}, "out", nil, "new", false, "file in out"},
		"what an earlier one left": {func(at func(string) string) error { return os.WriteFile(at("out.partial"), []byte("left"), 0o600) }, "out", nil, "new", false, "in out"},
		"a link in its place":      {func(at func(string) string) error { return os.Symlink("in", at("out.partial")) }, "out", nil, "new", false, "in out"},
		"a folder":                 {func(at func(string) string) error { return os.Mkdir(at("out"), 0o700) }, "out", nil, "", true, "in out"},
		"no folder":                {nil, "none/out", nil, "", true, "in"},
	} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		err := os.WriteFile(at("in"), []byte("in"), 0o600)
		if err == nil && c.make != nil {
			err = c.make(at)
		}
		if err != nil {
			t.Skip(err)
		}
		err = writeFile(at(c.path), []string{at("none"), at("in")}, func(w io.Writer) error {
			_, err := io.WriteString(w, "new")
			return errors.Join(err, c.err)
		})
		text, _ := os.ReadFile(at(c.path))
		in, _ := os.ReadFile(at("in"))
		list, _ := os.ReadDir(dir)
		var names []string
		for _, e := range list {
			names = append(names, e.Name())
		}
		if (err != nil) != c.fails || string(text) != c.want || string(in) != "in" || strings.Join(names, " ") != c.others {
			t.Errorf("%s: %v, %q, the file that is read %q, names %q: must be %q, %q", name, err, text, in, names, c.want, c.others)
		}
		if info, err := os.Lstat(at("out")); name == "a link to another" && (err != nil || info.Mode()&fs.ModeSymlink == 0) {
			t.Errorf("%s: the link is gone: %v, %v", name, info, err)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if err := writeFile("/dev/full", nil, writes([]byte("new"))); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full device: %v", err)
	}
	if err := writeFile("/dev/null", nil, writes([]byte("new"))); err != nil {
		t.Error(err)
	}
}

// TestFingerprintsOfTables computes the fingerprint of a small table by hand, and tests that tables that differ have others,
// also where their texts one after the other are the same.
func TestFingerprintsOfTables(t *testing.T) {
	of := func(text, key string) string {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sum, err := fingerprint(t.Context(), path, dataset.CSV{}, key)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	var b bytes.Buffer
	b.WriteString("inner k")
	for _, row := range [][]string{{"a", "bc"}, {"1", ""}} {
		b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(row))))
		for _, cell := range row {
			b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(cell))))
			b.WriteString(cell)
		}
	}
	inner := sha256.Sum256(b.Bytes())
	outer := sha256.Sum256(append([]byte("outer k"), inner[:]...))
	if got, want := of("a,bc\n1,\n", "k"), hex.EncodeToString(outer[:]); got != want {
		t.Errorf("%s: must be %s", got, want)
	}
	if of("a,bc\n1,\n", "k") != of("\"a\",bc\r\n1,\"\"\r\n", "k") {
		t.Error("the same table, written in another way, has another fingerprint")
	}
	seen := map[string]string{}
	for _, c := range [][2]string{{"a,bc\n1,\n", "k"}, {"a,bc\n1,\n", "l"}, {"ab,c\n1,\n", "k"}, {"a,bc\n,1\n", "k"}, {"a,bc\n", "k"}, {"a,bc\n1,\n1,\n", "k"},
		{"a,bc\n1\n", "k"}, {"a,bc\n1,,\n", "k"}, {"x,bc\n1,\n", "k"}} {
		sum := of(c[0], c[1])
		if before, is := seen[sum]; is {
			t.Errorf("%q and %q have one fingerprint", c, before)
		}
		seen[sum] = fmt.Sprint(c)
	}
}

// TestFormatsOfNames tests the format of predictions by the name of their file.
func TestFormatsOfNames(t *testing.T) {
	for name, want := range map[string]string{"": "csv", "p": "csv", "p.csv": "csv", "p.parquet": "parquet", "P.PARQUET": "parquet", "p.arrow": "arrow",
		"p.feather": "arrow", "a.b/p.Feather": "arrow", "p.parquet.csv": "csv", "parquet": "csv", "p.arrow.gz": "csv"} {
		if got := formatOf(name); got != want {
			t.Errorf("%q: %s: must be %s", name, got, want)
		}
	}
}

// TestKeysOfShards tests which first lines of standard input are a key, and how much of the input is read for it.
func TestKeysOfShards(t *testing.T) {
	sum := sha256.Sum256([]byte("a key"))
	key := hex.EncodeToString(sum[:])
	for text, want := range map[string]bool{key + "\n": true, key: true, key + "\r\nrows": true, " " + key + " \n": true, strings.Repeat(" ", 36) + key + "\n": true,
		strings.Repeat(" ", 37) + key + "\n": false, "\n" + key + "\n": false, key[1:] + "\n": false, key + "0\n": false, "": false,
		strings.Repeat("ab", 32) + "\n": false} {
		r := bufio.NewReader(strings.NewReader(text))
		k, err := shardKey(r)
		if (err == nil) != want || want && k.Reveal() != key || err != nil && strings.Contains(err.Error(), key[:8]) {
			t.Errorf("%q: %v", text, err)
		}
	}
	r := bufio.NewReader(strings.NewReader(key + "\nrows"))
	if _, err := shardKey(r); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rows" {
		t.Errorf("after the key there is %q", rest)
	}
}

// TestFramesOfRows tests the text that frames hold: up to a frame without bytes, after which the end of the input is told. An
// end before it, within a frame or between two, is an error, as is a frame that is too long.
func TestFramesOfRows(t *testing.T) {
	frame := func(text string) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) + text
	}
	long := string(binary.LittleEndian.AppendUint32(nil, mostFrame+1)) + "text"
	largest := string(binary.LittleEndian.AppendUint32(nil, mostFrame)) + "text"
	for name, c := range map[string]struct{ input, text, err string }{
		"two frames":    {frame("a,b\n") + frame("1,2\n") + frame(""), "a,b\n1,2\n", ""},
		"no frame":      {frame(""), "", ""},
		"what follows":  {frame("a\n") + frame("") + frame("b\n"), "a\n", ""},
		"no end":        {frame("a\n"), "a\n", errOrphaned.Error()},
		"half a frame":  {frame("a,b\n")[:6], "a,", errOrphaned.Error()},
		"half a length": {frame("a\n") + "\x01\x00", "a\n", errOrphaned.Error()},
		"nothing":       {"", "", errOrphaned.Error()},
		"too long":      {long, "", "shard: frame: must be at most 268435456 bytes long"},
		"the longest":   {largest, "text", errOrphaned.Error()},
	} {
		gone := make(chan bool, 9)
		f := &frames{r: bufio.NewReader(strings.NewReader(c.input)), gone: func() { gone <- true }}
		text, err := io.ReadAll(f)
		if string(text) != c.text || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %q, %v: must be %q, %q", name, text, err, c.text, c.err)
		}
		if name != "too long" {
			<-gone // also after the last frame, when the input ends
		}
	}
}

// TestLimitsOfTheHeap tests that a command takes the limit of its memory from the configuration, and keeps a smaller one.
func TestLimitsOfTheHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		had       int64
		gigabytes float64
		want      int64
	}{{1 << 62, 2, 2200000000 + 8<<20}, {1 << 30, 2, 1 << 30}, {1 << 62, 0, 1 << 62}, {3 << 30, .5, 550000000 + 8<<20}} {
		debug.SetMemoryLimit(c.had)
		collect(train.Memory{Gigabytes: train.Positive(c.gigabytes)})
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%v gigabytes, before %d bytes: %d: must be %d", c.gigabytes, c.had, got, c.want)
		}
	}
}

// TestFieldsOfMessages tests the field and the rule that programs are told of an error's text.
func TestFieldsOfMessages(t *testing.T) {
	for message, want := range map[string][2]string{
		"c.yaml: train.steps = 0: must be >= 1":          {"train.steps", "must be >= 1"},
		"dataset: columns.age = [1, 0]: must be ordered": {"columns.age", "must be ordered"},
		"epsilon: needs a value":                         {"epsilon", "needs a value"},
		"output out: is a file: must be a folder":        {"", ""},
		"cuts[2] = 3: must rise":                         {"cuts[2]", "must rise"},
		"nothing of this kind":                           {"", ""},
		"a: must be b: must be c":                        {"a", "must be b: must be c"},
		"loss: is of units\nof rows":                     {"loss", "is of units\nof rows"},
	} {
		field, rule := broken(message)
		if field != want[0] || rule != want[1] {
			t.Errorf("%q: %q, %q: must be %q", message, field, rule, want)
		}
	}
}

// TestErrorsOfTheSystem tests which errors are faults of the system, and which are names that the user gave.
func TestErrorsOfTheSystem(t *testing.T) {
	of := func(err error) error { return fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "p", Err: err}) }
	for _, c := range []struct {
		err  error
		want int
	}{{of(syscall.ENOSPC), exitSystem}, {of(syscall.EIO), exitSystem}, {of(syscall.EACCES), exitSystem}, {of(syscall.ENOENT), exitFailed},
		{of(syscall.EEXIST), exitFailed}, {of(syscall.ENOTDIR), exitFailed}, {of(syscall.EISDIR), exitFailed}, {of(syscall.ENAMETOOLONG), exitFailed},
		{of(syscall.ELOOP), exitFailed}, {of(syscall.EINVAL), exitFailed}, {errors.New("a rule"), exitFailed}, {fmt.Errorf("x: %w", budget.ErrStore), exitSystem},
		{fmt.Errorf("x: %w", budget.ErrChain), exitRefused}, {fmt.Errorf("x: %w", errMoved), exitUsage}} {
		if got := exitCode(c.err); got != c.want && runtime.GOOS != "windows" {
			t.Errorf("%v: exit code %d: must be %d", c.err, got, c.want)
		}
	}
}

// TestBarsOfBudgets tests the bar of a budget: at least one character for each part, and as many as its width.
func TestBarsOfBudgets(t *testing.T) {
	for _, c := range []struct {
		spent, open float64
		want        string
	}{{0, 0, "[..........]"}, {1, 0, "[##########]"}, {.5, 0, "[#####.....]"}, {.5, .5, "[+++++.....]"}, {.5, .2, "[###++.....]"}, {.001, 0, "[#.........]"},
		{.501, .001, "[#####+....]"}, {1.5, .5, "[#####+++++]"}, {3, 0, "[##########]"}, {.001, .001, "[+.........]"}} {
		if got := bar(&budget.Dataset{Spent: 2 * c.spent, Open: 2 * c.open, Charge: 2}, 10); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
