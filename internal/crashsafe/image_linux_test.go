package crashsafe

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// dumpable names the action that exits with the process's dumpable flag as exit code.
const dumpable = "dumpable"

func init() {
	other[dumpable] = func(uint64, string) {
		is, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil {
			is = 2
		}
		os.Exit(is)
	}
}

// TestMemoryIsOutOfReach: a silent process must not be dumpable. Then no core dump is piped to a
// program, and other processes of the user cannot read its memory.
func TestMemoryIsOutOfReach(t *testing.T) {
	for silent, want := range map[string]int{"1": 0, "": 1} {
		c := exec.Command(os.Args[0])
		c.Dir = t.TempDir()
		c.Env = append(os.Environ(), wayVariable+"="+dumpable, silentVariable+"="+silent)
		c.Run()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Errorf("silent %q: dumpable is %d: must be %d", silent, got, want)
		}
	}
}
