package crashsafe

import (
	"os"
	"os/exec"
	"syscall"
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

const inherited = "inherited"

func init() {
	other[inherited] = func(uint64, string) {
		flags, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_GETFD, 0)
		if err != nil {
			flags = 2
		}
		os.Exit(flags & unix.FD_CLOEXEC)
	}
}

// TestStandardErrorIsNotInherited tests that the programs that a silent process starts do not get its standard error beside
// the null device.
func TestStandardErrorIsNotInherited(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), wayVariable+"="+inherited, silentVariable+"=1")
	c.Run()
	if got := c.ProcessState.ExitCode(); got != unix.FD_CLOEXEC {
		t.Errorf("flags %d: must be %d", got, unix.FD_CLOEXEC)
	}
}

// TestCrashesEndByAnAbort: a silent process that crashes ends by SIGABRT, whatever the environment says of tracebacks. Without
// silence a panic ends it with the exit code 2.
func TestCrashesEndByAnAbort(t *testing.T) {
	for _, way := range []string{"panic", "nil", "unlock"} {
		for _, traceback := range []string{"none", "single", "system"} {
			_, state := crash(t, t.TempDir(), way, traceback, true)
			if s := state.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != unix.SIGABRT || s.CoreDump() {
				t.Errorf("GOTRACEBACK=%s, %s: it ends as %v: must be by SIGABRT, without a core dump", traceback, way, state)
			}
		}
		if _, state := crash(t, t.TempDir(), way, "single", false); state.ExitCode() != 2 {
			t.Errorf("%s, without silence: it ends as %v", way, state)
		}
	}
}
