package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/certificate"
)

// scriptCommands are the commands that test scripts may use besides testscript's own.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":     exits,
	"refuses":   refuses,
	"unchanged": unchanged,
	"snapshot":  snapshot,
	"keys":      keys,
	"within":    within,
	"ledger":    ledgerHas,
	"replace":   replace,
	"alters":    alters,
	"reseal":    reseal,
	"simulated": simulated,
	"gzip":      gzipTo,
	"damage":    damage,
	"head":      headTo,
	"lines":     lines,
	"returns":   returns,
	"sshkey":    sshkey,
}

func check(ts *testscript.TestScript, ok bool, format string, args ...any) {
	if !ok {
		ts.Fatalf(format, args...)
	}
}

// runs executes a command of a test script and returns its exit code.
func runs(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	code := 0
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	stderr := ts.ReadFile("stderr")
	check(ts, !strings.Contains(stderr, "goroutine "), "a panic")
	check(ts, (code == 0) == !strings.Contains("\n"+stderr, "\nstillpoint: "), "exit code %d: the message does not fit",
		code)
	return code
}

// exits makes the script command "exits CODE COMMAND...": it runs a command and requires this exit
// code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) > 1, "usage: exits CODE COMMAND...")
	if got := strconv.Itoa(runs(ts, args[1:])); got != args[0] {
		ts.Fatalf("exit code %s: must be %s", got, args[0])
	}
}

// refuses makes the script command "refuses OLD NEW PATTERN": it runs fit on people.yaml with OLD
// replaced by NEW. The fit must fail with exit code 1, print nothing to standard output and a
// message that matches PATTERN, and leave no file behind.
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 3, "usage: refuses OLD NEW PATTERN")
	const file = "refused.yaml"
	path := ts.MkAbs(file)
	substitute(ts, "people.yaml", path, args[0], args[1])
	defer os.Remove(path)
	for _, out := range [][]string{nil, {"--out", "new"}, {"--out", "new", "--overwrite"}} {
		exits(ts, false, slices.Concat([]string{"1", "stillpoint", "fit", file}, out))
		check(ts, ts.ReadFile("stdout") == "", "something on standard output")
		matched, err := regexp.MatchString(args[2], ts.ReadFile("stderr"))
		ts.Check(err)
		check(ts, matched, "standard error does not match %q", args[2])
		unchangedBut(ts, file)
	}
}

// seen stores the files of a test script's folder as they were at the start or at the last
// snapshot.
type seen struct{ files map[string]string }

type seenKey struct{}

func remember(dir string, values map[any]any) (err error) {
	s := new(seen)
	s.files, err = listing(dir)
	values[seenKey{}] = s
	return err
}

// snapshot stores the files of the folder for later calls of unchanged.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 0, "usage: snapshot")
	files, err := listing(ts.Getenv("WORK"))
	ts.Check(err)
	ts.Value(seenKey{}).(*seen).files = files
}

// unchanged requires that no file or folder has appeared, vanished or changed since the start or the last
// snapshot.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 0, "usage: unchanged")
	unchangedBut(ts, "")
}

func unchangedBut(ts *testscript.TestScript, but string) {
	now, err := listing(ts.Getenv("WORK"))
	ts.Check(err)
	delete(now, but)
	before := ts.Value(seenKey{}).(*seen).files
	for _, path := range slices.Sorted(maps.Keys(now)) {
		was, existed := before[path]
		check(ts, existed, "%s was left behind", path)
		check(ts, was == now[path], "%s was changed", path)
	}
	check(ts, len(now) == len(before), "a file has vanished")
}

// listing returns the contents of all files below a folder by their paths.
func listing(dir string) (map[string]string, error) {
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if entry.Name() == ".tmp" || entry.Name() == "tmp" {
			return fs.SkipDir
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name] = entry.Type().String()
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			files[name] += fmt.Sprintf(" %x", sha256.Sum256(text))
			return err
		}
		return nil
	})
	return files, err
}

func object(ts *testscript.TestScript, file string) map[string]any {
	var o map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &o))
	return o
}

// keys makes the script command "keys FILE KEY...": it requires that a file is a JSON object with
// exactly these keys.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) > 1, "usage: keys FILE KEY...")
	got := slices.Sorted(maps.Keys(object(ts, args[0])))
	want := slices.Sorted(slices.Values(args[1:]))
	check(ts, slices.Equal(got, want), "%s has the keys %q: must have %q", args[0], got, want)
}

// within makes the script command "within FILE KEY LOW HIGH": it requires that a member of a JSON
// object is a number in [LOW, HIGH].
func within(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 4, "usage: within FILE KEY LOW HIGH")
	x, isNumber := object(ts, args[0])[args[1]].(float64)
	low, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	high, err := strconv.ParseFloat(args[3], 64)
	ts.Check(err)
	check(ts, isNumber && x >= low && x <= high, "%s = %v: must be in [%v, %v]", args[1], x, low, high)
}

// ledgerHas makes the script command "ledger FILE ENTRY...": it requires that a ledger has these
// entries in this order, and that reservations state the whole mu.
func ledgerHas(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) > 1, "usage: ledger FILE ENTRY...")
	var got []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var e struct {
			Entry, Relation    string
			Epsilon, Delta, Mu float64
		}
		ts.Check(json.Unmarshal([]byte(line), &e))
		mu, err := mechanism.GaussianMu(e.Epsilon, e.Delta)
		ts.Check(err)
		check(ts, e.Mu == mu && e.Relation != "", "%s: mu must be %v", line, mu)
		got = append(got, e.Entry)
	}
	check(ts, slices.Equal(got, args[1:]), "%s: entries %q", args[0], got)
}

// returns makes the script command "returns FILE": it replaces the line ends of a file by CR.
func returns(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 1, "usage: returns FILE")
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

// replace makes the script command "replace FILE OLD NEW": it replaces the only occurrence of OLD
// in a file; \n stands for a newline.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 3, "usage: replace FILE OLD NEW")
	substitute(ts, args[0], ts.MkAbs(args[0]), args[1], args[2])
}

// alters makes the script command "alters OLD NEW": it replaces the first OLD in a certificate. The
// command verify must refuse the result.
func alters(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 2, "usage: alters OLD NEW")
	const original, altered = "people-fit/certificate.json", "altered.json"
	text := ts.ReadFile(original)
	check(ts, strings.Contains(text, args[0]), "%q: must be in %s", args[0], original)
	ts.Check(os.WriteFile(ts.MkAbs(altered), []byte(strings.Replace(text, args[0], args[1], 1)), 0o666))
	exits(ts, false, []string{"4", "stillpoint", "verify", altered})
	check(ts, ts.ReadFile("stdout") == "", "something on standard output")
}

func substitute(ts *testscript.TestScript, file, path, before, after string) {
	text := ts.ReadFile(file)
	before, after = strings.ReplaceAll(before, `\n`, "\n"), strings.ReplaceAll(after, `\n`, "\n")
	check(ts, strings.Count(text, before) == 1, "%q: must be in %s once", before, file)
	ts.Check(os.WriteFile(path, []byte(strings.Replace(text, before, after, 1)), 0o666))
}

// reseal makes the script command "reseal FILE": it recomputes the checksum of a certificate, as a
// forger would.
func reseal(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 1, "usage: reseal FILE")
	text := []byte(ts.ReadFile(args[0]))
	at := bytes.LastIndex(text, []byte(`  "checksum"`))
	head := text[:at]
	sum := sha256.Sum256(slices.Concat(head, []byte("}\n")))
	sealed := fmt.Appendf(slices.Clone(head), "  \"checksum\": \"sha256:%x\"\n}\n", sum)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), sealed, 0o666))
}

// simulated makes the script command "simulated FILE": it writes the certificate of a run with
// simulated random bits.
func simulated(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 1, "usage: simulated FILE")
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	ts.Check(err)
	event, err := account.GaussianEvent("gradient", account.Everyone, 2, 20)
	ts.Check(err)
	event.Simulated, event.Relation = true, account.ReplaceOne
	c, err := certificate.FromJournal(account.Journal{
		Budget: budget, Records: account.Records{Count: 10, Simulated: true}, Events: []account.Event{event},
	}, certificate.Params{
		Software: "test", Algorithm: certificate.Algorithm{Name: "gd"}, Complete: true, ModelSHA256: strings.Repeat("0", 64),
	})
	ts.Check(err)
	ts.Check(c.Write(ts.MkAbs(args[0])))
}

// gzipTo makes the script command "gzip FILE OUT [BYTES]": it compresses a file and keeps only the
// given number of bytes.
func gzipTo(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) >= 2, "usage: gzip FILE OUT [BYTES]")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(z.Close())
	keep := b.Len()
	if len(args) > 2 {
		keep, err = strconv.Atoi(args[2])
		ts.Check(err)
		check(ts, keep < b.Len(), "%d bytes: must be fewer than the %d there are", keep, b.Len())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes()[:keep], 0o666))
}

// damage makes the script command "damage FILE OFFSET": it overwrites 40 bytes of a file.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 2, "usage: damage FILE OFFSET")
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := []byte(ts.ReadFile(args[0]))
	copy(text[at:at+40], bytes.Repeat([]byte{0xff}, 40))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o666))
}

// headTo makes the script command "head N FILE OUT": it copies the first N lines of a file.
func headTo(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 3, "usage: head N FILE OUT")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	parts := strings.SplitAfterN(ts.ReadFile(args[1]), "\n", n+1)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Join(parts[:n], "")), 0o666))
}

// lines makes the script command "lines FILE N": it requires that a file has N lines.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, !neg && len(args) == 2, "usage: lines FILE N")
	got := strconv.Itoa(strings.Count(ts.ReadFile(args[0]), "\n"))
	check(ts, got == args[1], "%s has %s lines: must have %s", args[0], got, args[1])
}
