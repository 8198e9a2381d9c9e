//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shardedYAML is the configuration of a fit whose table is in partitions (shards), each held by a
// worker process.
const shardedYAML = `table: people
schema:
  columns:
    age: {number: [0, 100]}
    job: {category: [nurse, clerk]}
  target: {column: ill, classes: ["no", "yes"]}
model: {loss: logistic}
privacy: {epsilon: 1, delta: 1.0e-6, relation: replace-one}
`

// shardRows returns the rows of one partition of a table as text, with the header.
func shardRows(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("age,job,ill\n")
	for range n {
		age, ill := r.Float64()*110, "no"
		if age+20*r.NormFloat64() > 55 {
			ill = "yes"
		}
		fmt.Fprintf(&b, "%.3f,%s,%s\n", age, []string{"nurse", "clerk", ""}[r.IntN(3)], ill)
	}
	return b.String()
}

// watched collects the output of a process and signals on a channel when a text appears in it.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// find waits until the process's output matches a pattern, and returns the pattern's group.
func (w *watched) find(t *testing.T, pattern string) string {
	t.Helper()
	for late := time.After(patience); ; {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(w.String()); m != nil {
			return strings.Join(m[1:], "")
		}
		select {
		case <-w.more:
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatalf("no %s in %q", pattern, w.String())
		}
	}
}

// child is a process that a test has started.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	err   *watched
	done  chan int // its exit code
}

func spawn(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command("stillpoint", args...), err: &watched{more: make(chan struct{}, 1)},
		done: make(chan int, 1)}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, c.err, c.err
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdin = stdin
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.cmd.Wait()
		c.done <- c.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() { c.cmd.Process.Kill() })
	return c
}

// ends requires that the process ends with this exit code within the given time.
func (c *child) ends(t *testing.T, code int, within time.Duration) {
	t.Helper()
	c.endsAs(t, []int{code}, within)
}

// endsAs requires that the process ends with one of several exit codes within the given time.
func (c *child) endsAs(t *testing.T, codes []int, within time.Duration) {
	t.Helper()
	select {
	case got := <-c.done:
		if !slices.Contains(codes, got) {
			t.Errorf("%v: exit code %d: must be one of %v: %s", c.cmd.Args[1:], got, codes, c.err)
		}
	case <-time.After(within):
		t.Errorf("%v: goes on after %v: %s", c.cmd.Args[1:], within, c.err)
	}
}

func frame(text string) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) + text
}

// sharded is a fit whose table is in partitions, held by separate worker processes.
type sharded struct {
	t            *testing.T
	dir, address string
	key          string
	fit          *child
}

func newSharded(t *testing.T, shards int, args ...string) *sharded {
	t.Helper()
	return newShardedOf(t, shardedYAML, shards, args...)
}

func newShardedOf(t *testing.T, yaml string, shards int, args ...string) *sharded {
	t.Helper()
	s := &sharded{t: t, dir: t.TempDir()}
	writeFiles(t, s.dir, map[string]string{"people.yaml": yaml})
	s.key = succeeds(t, s.dir, "shard", "--new-key").stdout
	s.fit = spawn(t, s.dir, append([]string{"fit", "people.yaml", "--out", "out", "--shards", fmt.Sprint(shards)},
		args...)...)
	io.WriteString(s.fit.stdin, s.key)
	s.address = s.fit.err.find(t, `listening on (\S+) for|"address":"([^"]*)"`)
	return s
}

// worker starts a worker and sends it the key and its rows, divided into frames (pieces that start
// with their length). If whole is false, the frame that ends the rows is left out.
func (s *sharded) worker(partition int, rows string, whole bool) *child {
	s.t.Helper()
	c := spawn(s.t, s.dir, "shard", "--connect", s.address, "--partition", fmt.Sprint(partition), "--wait", wait.String())
	text := s.key
	for len(rows) > 0 {
		n := min(len(rows), 1000)
		text += frame(rows[:n])
		rows = rows[n:]
	}
	if whole {
		text += frame("")
	}
	go io.WriteString(c.stdin, text)
	return c
}

// TestFitOverProcesses: a fit over worker processes must end with a certificate that verifies, even if a
// worker is killed and another loses its parent while it reads, and both are started again.
func TestFitOverProcesses(t *testing.T) {
	rows := []string{shardRows(1, 1500), shardRows(2, 2500)}
	s := newSharded(t, 2)
	first := s.worker(0, rows[0], true)
	s.fit.err.find(t, "shard 0 is ready")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.fit.err.find(t, "shard 0 is lost")
	orphan := s.worker(1, rows[1][:20_000], false)
	time.Sleep(50 * time.Millisecond) // so that it is reading, or about to
	orphan.stdin.Close()
	orphan.ends(t, exitFailed, 10*time.Second)
	if text := orphan.err.String(); !strings.Contains(text, "standard input was closed") {
		t.Errorf("an orphan says %q", text)
	}
	again, second := s.worker(0, rows[0], true), s.worker(1, rows[1], true)
	s.fit.ends(t, 0, patience)
	again.ends(t, 0, 10*time.Second)
	second.ends(t, 0, 10*time.Second)
	if text := s.fit.err.String(); !strings.Contains(text, "records      4000") {
		t.Errorf("the fit says %s", text)
	}
	for _, secret := range []string{strings.TrimSpace(s.key), "1500", "2500", "1501", "2501"} {
		for _, c := range []*child{s.fit, first, orphan, again, second} {
			if strings.Contains(c.err.String(), secret) {
				t.Errorf("%v prints %s: %s", c.cmd.Args[1:], secret, c.err)
			}
		}
	}
	succeeds(t, s.dir, "verify", "out/certificate.json", "--model", "out/model.json")
}

// TestOtherRowsAreRefused tests a worker that is restarted with other rows than before: the fit
// must end with an error.
func TestOtherRowsAreRefused(t *testing.T) {
	rows := shardRows(1, 1500)
	s := newSharded(t, 2)
	first := s.worker(0, rows, true)
	s.fit.err.find(t, "shard 0 is ready")
	first.cmd.Process.Kill()
	s.fit.err.find(t, "shard 0 is lost")
	s.worker(0, strings.Replace(rows, "nurse", "clerk", 1), true)
	s.fit.ends(t, exitFailed, patience)
	if text := s.fit.err.String(); !strings.Contains(text,
		"shard 0: must have the same rows in the same order as before") {
		t.Errorf("the fit says %s", text)
	}
}

// TestUnitIsToldBeforeTheKey tests a program that runs a fit and must bring all rows of a unit into
// one partition. It must learn the unit's column before it gives the key that fit and workers
// share, and may take its time. Ctrl-C must end a fit that waits for its key.
func TestUnitIsToldBeforeTheKey(t *testing.T) {
	for unit, yaml := range map[string]string{
		"": shardedYAML, "person": strings.Replace(shardedYAML, "  target:", "  unit: {column: person, rows: 2}\n  target:",
			1),
	} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"people.yaml": yaml})
		fit := spawn(t, dir, "fit", "people.yaml", "--shards", "2", "--progress=json")
		if got := fit.err.find(t, `"event":"key","unit":"([^"]*)"`); got != unit {
			t.Errorf("the unit is %q: must be %q", got, unit)
		}
		fit.cmd.Process.Signal(syscall.SIGINT)
		fit.ends(t, exitInterrupted, soon)
	}
}

// TestUnitsOverProcesses: a schema with a unit must be fitted over partitions of whole units. If a unit has
// rows in two partitions, the fit must end before anything is charged, and must not reveal the unit.
func TestUnitsOverProcesses(t *testing.T) {
	yaml := strings.Replace(shardedYAML, "  target:", "  unit: {column: person, rows: 2}\n  target:", 1)
	named := func(seed uint64, people int, name func(i int) string) string {
		lines := strings.SplitAfter(shardRows(seed, 2*people), "\n")
		for i := range lines[:2*people+1] {
			lines[i] = map[bool]string{true: "person", false: name(i % people)}[i == 0] + "," + lines[i]
		}
		return strings.Join(lines, "")
	}
	first := named(1, 800, func(i int) string { return fmt.Sprintf("a%d", i) })
	for _, split := range []bool{false, true} {
		s := newShardedOf(t, yaml, 2)
		second := named(2, 700, func(i int) string {
			if split && i == 333 {
				return "a77"
			}
			return fmt.Sprintf("b%d", i)
		})
		s.worker(0, first, true)
		s.worker(1, second, true)
		if !split {
			s.fit.ends(t, 0, patience)
			succeeds(t, s.dir, "verify", "out/certificate.json", "--model", "out/model.json")
			continue
		}
		s.fit.ends(t, exitFailed, patience)
		if text := s.fit.err.String(); !strings.Contains(text, "a unit has rows in two partitions") ||
			strings.Contains(text, "a77") {
			t.Errorf("the fit says %s", text)
		}
		if _, err := os.Stat(filepath.Join(s.dir, "out", "ledger.jsonl")); !os.IsNotExist(err) {
			t.Errorf("something is charged: %v", err)
		}
	}
}

// wait is how long the tests' workers look for a fit that has gone. A fit may end before a worker has
// connected to it.
const wait = 3 * time.Second

// soon is how long a test waits for the end of a process. On an idle machine processes that have connected
// to the fit end within two seconds, and the others after wait.
const soon = wait + 10*time.Second

// TestInterruptEndsTheShards: Ctrl-C must soon end a fit that waits for its shards, and its workers. The
// death of the fit must end the workers, too.
func TestInterruptEndsTheShards(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		s := newSharded(t, 2, "--progress=json")
		reading := s.worker(0, shardRows(1, 300), false)
		ready := s.worker(1, shardRows(1, 300), true)
		s.fit.err.find(t, `"partition":1,"ready":true`)
		if err := s.fit.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		code, worker := exitInterrupted, 0
		if signal == syscall.SIGKILL {
			code, worker = -1, exitFailed
		}
		s.fit.ends(t, code, soon)
		// This worker may have lost the fit while it said who it is, or found nobody to connect to.
		reading.endsAs(t, []int{worker, exitFailed, exitSystem}, soon)
		ready.ends(t, worker, soon)
	}
}

// TestAttendedFit tests a fit that is told to end with the program that started it: if that program
// ends, the fit and its workers must end as well.
func TestAttendedFit(t *testing.T) {
	s := newSharded(t, 2, "--attended")
	ready := s.worker(0, shardRows(1, 300), true)
	s.fit.err.find(t, "shard 0 is ready")
	s.fit.stdin.Close()
	s.fit.ends(t, exitInterrupted, soon)
	ready.ends(t, 0, soon)
}

// TestInterruptWhileAShardIsStalled: Ctrl-C must end a fit that waits for an unresponsive worker, long
// before the minute after which the worker counts as lost. The fit must save its steps so far.
func TestInterruptWhileAShardIsStalled(t *testing.T) {
	s := newShardedOf(t, shardedYAML+"train: {algorithm: gd, steps: 100000}\n", 1, "--progress=json")
	stalled := s.worker(0, shardRows(1, 3000), true)
	s.fit.err.find(t, `"event":"step","step":3,`)
	for _, signal := range []func() error{
		func() error { return stalled.cmd.Process.Signal(syscall.SIGSTOP) },
		func() error { time.Sleep(100 * time.Millisecond); return s.fit.cmd.Process.Signal(syscall.SIGINT) },
	} {
		if err := signal(); err != nil {
			t.Fatal(err)
		}
	}
	s.fit.ends(t, exitInterrupted, soon)
	if err := stalled.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stalled.ends(t, 0, soon) // when it continues, it learns that it was told to end
	if out := s.fit.err.String(); !strings.Contains(out, "the model of these steps is saved") {
		t.Errorf("the fit says %s", out)
	}
	succeeds(t, s.dir, "verify", "out/certificate.json", "--model", "out/model.json")
}

// TestShardUsage: a missing or wrong flag must be reported before the command waits for anything.
func TestShardUsage(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"people.yaml": shardedYAML, "data.yaml": strings.Replace(shardedYAML, "table: people",
			"table: people\ndata: people.csv", 1),
		"nameless.yaml": strings.Replace(shardedYAML, "table: people", "", 1),
		"phased.yaml":   shardedYAML + "train: {algorithm: recursive, inner: phased-sgd}\n",
		"part.csv":      shardRows(1, 10),
	})
	key := succeeds(t, dir, "shard", "--new-key").stdout
	for _, test := range []struct {
		stdin, want string
		args        []string
	}{
		{"", "first line of standard input", []string{"fit", "people.yaml", "--shards", "2"}},
		{strings.Repeat("0", 64) + "\n", "first line of standard input", []string{"fit", "people.yaml", "--shards", "2"}},
		{key, "data: must be left out", []string{"fit", "data.yaml", "--shards", "2"}},
		{key, "table: must give the table a public name", []string{"fit", "nameless.yaml", "--shards", "2"}},
		{key, "phased-sgd", []string{"fit", "phased.yaml", "--shards", "2"}},
		{key, "--listen: is for --shards", []string{"fit", "people.yaml", "--listen", "127.0.0.1:0"}},
		{key, "--attended: is for --shards", []string{"fit", "data.yaml", "--attended"}},
		{key, "--shards = -1", []string{"fit", "people.yaml", "--shards=-1"}},
		{key, "data: must name the table", []string{"fit", "people.yaml"}},
		{"", "privacy.records: must be given", []string{"plan", "people.yaml", "--shards", "2"}},
		{key, "--connect: must be", []string{"shard", "part.csv"}},
		{"", "first line of standard input", []string{"shard", "--connect", "127.0.0.1:1", "part.csv"}},
		{key, "connection refused", []string{"shard", "--connect", "127.0.0.1:1", "--wait", "0s", "part.csv"}},
		{key, "partition", []string{"shard", "--connect", "127.0.0.1:1", "--partition=-1", "part.csv"}},
		{key, "--folder: is for", []string{"shard", "--connect", "127.0.0.1:1", "--folder", ".", "part.csv"}},
		{key, "--threads", []string{"shard", "--connect", "127.0.0.1:1", "--threads=-1", "part.csv"}},
	} {
		c := spawn(t, dir, test.args...)
		io.WriteString(c.stdin, test.stdin)
		c.stdin.Close()
		select {
		case code := <-c.done:
			if code == 0 || !strings.Contains(c.err.String(), test.want) ||
				strings.Contains(c.err.String(), strings.TrimSpace(key)) {
				t.Errorf("%v: exit code %d: %s: must say %q", test.args, code, c.err, test.want)
			}
		case <-time.After(patience):
			t.Errorf("%v: waits", test.args)
		}
	}
}

// TestStrangersShard tests a worker with another key than the fit's: it must report that and end, also while its
// standard input stays open, and the fit must continue.
func TestStrangersShard(t *testing.T) {
	s := newSharded(t, 1)
	mine := s.key
	s.key = succeeds(t, s.dir, "shard", "--new-key").stdout
	stranger := s.worker(0, shardRows(1, 10), true)
	stranger.ends(t, exitFailed, patience)
	if text := stranger.err.String(); !strings.Contains(text, "key: must be the key of the fit that listens at "+s.address) {
		t.Errorf("a stranger says %q", text)
	}
	s.key = mine
	s.worker(0, shardRows(1, 4000), true)
	s.fit.ends(t, 0, patience)
}

// TestAFileForTwoPartitions tests that a fit refuses a table of which two workers hold the same rows, before
// anything is charged, and says it without a number.
func TestAFileForTwoPartitions(t *testing.T) {
	s := newSharded(t, 2)
	rows := shardRows(1, 1500)
	first, second := s.worker(0, rows, true), s.worker(1, rows, true)
	s.fit.ends(t, exitFailed, patience)
	first.ends(t, 0, 10*time.Second)
	second.ends(t, 0, 10*time.Second)
	if text := s.fit.err.String(); !strings.Contains(text, "two partitions hold the same rows") || strings.Contains(text, "1500") {
		t.Errorf("the fit says %q", text)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "out", "ledger.jsonl")); err == nil {
		t.Error("a table that is refused is charged")
	}
}

// TestAKeyThatIsCutShort tests that a worker whose standard input stays open, with a key that has no end or is not
// there, ends with an error about the key.
func TestAKeyThatIsCutShort(t *testing.T) {
	old := keyPatience
	keyPatience = 50 * time.Millisecond
	defer func() { keyPatience = old }()
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	for _, text := range []string{"", "0123", strings.Repeat("ab", 32)} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		os.Stdin = r
		io.WriteString(w, text)
		f := shardCommand{Connect: "127.0.0.1:1"}
		done := make(chan error, 1)
		go func() { done <- f.Run(t.Context(), &console{}) }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "key: no line came within 50ms") {
				t.Errorf("%q: error %v", text, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%q: the worker waits on", text)
		}
		w.Close()
	}
}

// TestAKeyMayComeLate tests that a worker waits for its key for the longer of its own patience and --wait.
func TestAKeyMayComeLate(t *testing.T) {
	old, stdin := keyPatience, os.Stdin
	defer func() { keyPatience, os.Stdin = old, stdin }()
	for _, times := range [][2]time.Duration{{10 * time.Second, 10 * time.Millisecond}, {10 * time.Millisecond, 10 * time.Second}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		keyPatience, os.Stdin = times[0], r
		f := shardCommand{Connect: "127.0.0.1:1", Wait: times[1]}
		done := make(chan error, 1)
		go func() { done <- f.Run(t.Context(), &console{}) }()
		select {
		case err := <-done:
			t.Errorf("patience %v, --wait %v: error %v, before the key", times[0], times[1], err)
		case <-time.After(200 * time.Millisecond):
			io.WriteString(w, "no key\n")
			if err := <-done; err == nil || strings.Contains(err.Error(), "no line came") {
				t.Errorf("patience %v, --wait %v: a line that is no key: error %v", times[0], times[1], err)
			}
		}
		w.Close()
		r.Close()
	}
}
