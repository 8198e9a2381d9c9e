package experiment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
)

// child is the environment variable with the folder in which a child process runs smallSpec.
const child = "STILLPOINT_TEST_EXPERIMENT_FOLDER"

func TestMain(m *testing.M) {
	folder := os.Getenv(child)
	if folder == "" {
		os.Exit(m.Run())
	}
	s, err := experiment.ParseSpec([]byte(smallSpec))
	if err == nil {
		_, err = s.Run(context.Background(), folder, experiment.Options{Workers: 2})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runSpec(t *testing.T, s *experiment.Spec, folder string, o experiment.Options) experiment.Summary {
	t.Helper()
	summary, err := s.Run(context.Background(), folder, o)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func readRuns(t *testing.T, folder string) map[string]experiment.Finished {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, experiment.RunsFile))
	if err != nil {
		t.Fatal(err)
	}
	records, err := experiment.ReadFinished(folder)
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte{'\n'}); lines != len(records) {
		t.Errorf("%d lines, %d runs: one is doubled", lines, len(records))
	}
	all := map[string]experiment.Finished{}
	for _, r := range records {
		r.Seconds = 0
		all[r.Key] = r
	}
	return all
}

// smallRuns is the number of runs of smallSpec: 2 families x 2 sizes x 2 algorithms, each with 2
// settings on 2 tuning seeds and 3 measured runs.
const smallRuns = 2 * 2 * 2 * (2*2 + 3)

// TestKilledRunsLoseNothing kills the process again and again, at many times during its run. In the
// end the recorded runs must be the runs that an undisturbed process records: none missing,
// repeated or changed.
func TestKilledRunsLoseNothing(t *testing.T) {
	whole, folder := t.TempDir(), t.TempDir()
	start := time.Now()
	summary := runSpec(t, parseSpec(t, smallSpec), whole, experiment.Options{})
	life := time.Since(start)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kills := 0
	for attempt := 0; ; attempt++ {
		if attempt == 200 {
			t.Fatal("never done")
		}
		c := exec.Command(binary)
		c.Env = append(os.Environ(), child+"="+folder)
		var messages bytes.Buffer
		c.Stderr = &messages
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// Kill the process after it has recorded a new run, up to a twentieth of the whole duration
		// later.
		before := size(folder)
		died := make(chan error, 1)
		go func() { died <- c.Wait() }()
		var exit error
		alive := true
		for alive && size(folder) == before {
			select {
			case exit = <-died:
				alive = false
			case <-time.After(200 * time.Microsecond):
			}
		}
		if alive {
			time.Sleep(life / 20 * time.Duration(attempt%5) / 4)
			c.Process.Kill()
			exit = <-died
		}
		if exit == nil {
			break
		}
		if failed := (*exec.ExitError)(nil); !errors.As(exit, &failed) || failed.Exited() {
			t.Fatalf("%v: %s", exit, messages.String())
		}
		kills++
	}
	if kills < 3 {
		t.Errorf("%d kills: the runs are too short for this test", kills)
	}
	want, got := readRuns(t, whole), readRuns(t, folder)
	if len(want) != smallRuns || !reflect.DeepEqual(want, got) {
		t.Errorf("%d runs after %d kills, %d without: or they differ", len(got), kills, len(want))
	}
	again := runSpec(t, parseSpec(t, smallSpec), folder, experiment.Options{})
	for _, s := range []*experiment.Summary{&summary, &again} {
		for i := range s.Cells {
			s.Cells[i].Seconds = experiment.Quartiles{}
		}
	}
	if !reflect.DeepEqual(summary, again) {
		t.Errorf("summaries differ:\n%+v\n%+v", summary, again)
	}
}

func size(folder string) int64 {
	info, err := os.Stat(filepath.Join(folder, experiment.RunsFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestTornLineIsDropped truncates the file at every length and continues from there.
func TestTornLineIsDropped(t *testing.T) {
	s := parseSpec(t, strings.Replace(smallSpec, "[tanh, slow-tail]", "[slow-tail]", 1))
	folder := t.TempDir()
	path := filepath.Join(folder, experiment.RunsFile)
	runSpec(t, s, folder, experiment.Options{Workers: 1})
	want := readRuns(t, folder)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for _, cut := range []int{last, last + 1, last + 20, len(text) - 2, len(text) - 1, 0, 1} {
		if err := os.WriteFile(path, text[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		if left, err := experiment.ReadFinished(folder); err != nil || len(left) != bytes.Count(text[:cut], []byte{'\n'}) {
			t.Fatalf("cut at %d: %d runs, %v", cut, len(left), err)
		}
		runSpec(t, s, folder, experiment.Options{Workers: 1})
		if got := readRuns(t, folder); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d of %d: %d runs: want %d", cut, len(text), len(got), len(want))
		}
	}
	// Damage that no crash can cause is an error.
	for _, change := range []struct{ old, new, want string }{
		{`"seed":1`, `"seed":7`, "the line was changed"}, {`"seed"`, `"sed"`, "unknown field"}, {"{", "", "line 1"},
	} {
		broken := strings.Replace(string(text), change.old, change.new, 1)
		if err := os.WriteFile(path, []byte(broken), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(context.Background(), folder, experiment.Options{}); err == nil ||
			!strings.Contains(err.Error(), change.want) {
			t.Errorf("%q for %q: %v", change.new, change.old, err)
		}
		if after, _ := os.ReadFile(path); string(after) != broken {
			t.Error("a file that cannot be read was changed")
		}
	}
}

// TestRecordsRepeat tests that every line of a file can be repeated from the line alone, also if
// its run shared a plan with others.
func TestRecordsRepeat(t *testing.T) {
	folder := t.TempDir()
	sampled := "  - {name: dp-sgd, settings: {steps: 4, sampling: .25}}\n"
	runSpec(t, parseSpec(t, strings.Replace(smallSpec, ", slow-tail", "", 1)+sampled), folder, experiment.Options{})
	for _, r := range readRuns(t, folder) {
		again, err := r.Trial.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		again.Seconds = 0
		// Runs are compared as JSON.
		a, _ := json.Marshal(r)
		b, _ := json.Marshal(again)
		if !bytes.Equal(a, b) {
			t.Errorf("%s\nthen %s", a, b)
		}
	}
}

// TestEveryAlgorithmRepeats tests that the name of an algorithm, its output rule and the seed
// determine a run, for every algorithm and output rule, also under auto.
func TestEveryAlgorithmRepeats(t *testing.T) {
	for i, name := range train.Algorithms() {
		for k, output := range []string{"", "last", "random"} {
			if testing.Short() && (i+k)%3 > 0 {
				continue
			}
			settings := map[string]any{"algorithm": name}
			if output != "" {
				settings["output"] = output
			}
			text, err := json.Marshal(settings)
			if err != nil {
				t.Fatal(err)
			}
			c := experiment.Trial{
				Family: "logistic", Dim: 4, Rows: 40, Repeat: 20, Epsilon: 1, Delta: 1e-5, Relation: "replace-one",
				Label: name, Settings: text, Seed: 3,
			}
			a, err := c.Run(context.Background())
			if err != nil {
				t.Logf("%s, output %q: %v", name, output, err)
				continue
			}
			b, err := c.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			a.Seconds, b.Seconds = 0, 0
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s, output %q: %+v, then %+v", name, output, a.Outcome, b.Outcome)
			}
			c.Seed = 4
			if other, err := c.Run(context.Background()); err != nil || other.Outcome.GradientNorm == a.Outcome.GradientNorm {
				t.Errorf("%s, output %q: another seed gives the same, %v", name, output, err)
			}
		}
	}
}

// TestRandomOutput tests that the drawn iterate varies with the seed: it is neither always the start nor
// always the last iterate, and the start is drawn as often as any other iterate. With 3 iterates, 60 runs
// miss one of them with probability below 3 (2/3)^60 < 1e-10.
func TestRandomOutput(t *testing.T) {
	c := experiment.Trial{
		Family: "huber-mean", Dim: 3, Rows: 10, Repeat: 100000, Epsilon: 8, Delta: 1e-6, Relation: "replace-one",
		Label: "x", Settings: json.RawMessage(`{"algorithm":"gd","output":"random","step_scale":0.5,"steps":3}`),
	}
	seen := map[int]int{}
	for seed := range uint64(60) {
		c.Seed = seed
		r, err := c.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		// With almost no noise each step halves the gradient.
		start := r.Outcome.Series[0].GradientNorm
		seen[int(math.Round(math.Log2(start/r.Outcome.GradientNorm)))]++
	}
	if len(seen) != 3 || seen[0] == 0 || seen[1] == 0 || seen[2] == 0 {
		t.Errorf("iterates drawn: %v: want the first three", seen)
	}
}

// TestCancelledRunsStop tests that a cancelled call keeps the recorded runs, and that a later call
// continues from them.
func TestCancelledRunsStop(t *testing.T) {
	folder := t.TempDir()
	s := parseSpec(t, smallSpec)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := s.Run(ctx, folder, experiment.Options{Workers: 2, Progress: func(p experiment.Progress) {
		if p.Done == 9 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := len(readRuns(t, folder)); n < 9 || n > 11 {
		t.Errorf("%d runs were recorded: want 9 and what was under way", n)
	}
	first := true
	runSpec(t, s, folder, experiment.Options{Progress: func(p experiment.Progress) {
		if first && (p.Done < 9 || p.Of != smallRuns) {
			t.Errorf("starts at %+v", p)
		}
		first = false
	}})
	if n := len(readRuns(t, folder)); n != smallRuns {
		t.Errorf("%d runs: want %d", n, smallRuns)
	}
}

// TestProgressAddsUp tests that progress goes from zero to all runs in steps of one, with an
// expected remaining time from the first finished run on.
func TestProgressAddsUp(t *testing.T) {
	var seen []experiment.Progress
	s := parseSpec(t, smallSpec)
	runSpec(t, s, t.TempDir(), experiment.Options{Progress: func(p experiment.Progress) { seen = append(seen, p) }})
	for i, p := range seen {
		if p.Of != smallRuns || i > 0 && (p.Done < seen[i-1].Done || p.Done > seen[i-1].Done+1) ||
			p.Done > 0 && p.Done < p.Of && p.Left <= 0 {
			t.Errorf("%d: %+v", i, p)
		}
	}
	if seen[0].Done != 0 || seen[len(seen)-1] != (experiment.Progress{Done: smallRuns, Of: smallRuns}) {
		t.Errorf("from %+v to %+v", seen[0], seen[len(seen)-1])
	}
}

// TestPlansComeFirst tests that a plan that fails is reported before any run and before any file is
// written.
func TestPlansComeFirst(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "runs")
	for old, new := range map[string]string{
		"steps: [20, 40]": "multiplier: [-1]", "name: storm": "name: strom", "[tanh, slow-tail]": "[tanh, slow-tale]",
		"rows: 30": "rows: 31", "epsilons: [1]": "epsilons: [-1]",
	} {
		s := parseSpec(t, strings.Replace(smallSpec, old, new, 1))
		if _, err := s.Run(context.Background(), folder, experiment.Options{}); err == nil {
			t.Errorf("%s: no error", new)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a folder is there (%v)", new, err)
		}
	}
}
