package curator_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// instructions is a GODEBUG setting that turns off processor instructions, for a child process.
const instructions = "cpu.avx512f=off,cpu.avx2=off"

// TestKernelsAddUpAlike: a process without the processor instructions that kernels and exponentials use
// must compute the same integers as this process, for worlds (random tables with their schemas and losses)
// of every kind.
func TestKernelsAddUpAlike(t *testing.T) {
	const child = "STILLPOINT_TEST_DIGEST"
	if os.Getenv(child) != "" {
		fmt.Println("digest " + digest(t))
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestKernelsAddUpAlike$", "-test.short="+fmt.Sprint(testing.Short()))
	c.Env = append(os.Environ(), child+"=1", "GODEBUG="+instructions)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "digest " + digest(t); !strings.Contains(string(out), want) {
		t.Errorf("without instructions of this processor: %s: must be %s", out, want)
	}
}

// digest hashes all answers about some worlds.
func digest(t *testing.T) string {
	worlds := 60
	if testing.Short() {
		worlds = 20
	}
	sum := sha256.New()
	for i := range worlds {
		w := anyWorld(subject{}).Example(i)
		if !w.records(t) {
			continue
		}
		c := w.config(t)
		for _, a := range w.answers(t, c.Loss, frame{}, w.open(c)) {
			fmt.Fprintln(sum, i, a.name, a.cohort, a.err, a.Exact, a.Scores, a.Event)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
