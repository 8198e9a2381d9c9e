package crashsafe

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

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

// denied names the action that exits with 0 if Crashes returns the error of a system that keeps the process dumpable, with
// 1 if not, and with 2 if no such system can be had.
const denied = "denied"

func init() {
	other[denied] = func(uint64, string) {
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PRCTL, Jf: 3},
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // the lower half of the first argument
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.PR_SET_DUMPABLE, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		runtime.LockOSThread() // the filter is for the threads that have no new privileges
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			os.Exit(2)
		}
		if _, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
			uintptr(unsafe.Pointer(&program))); no != 0 {
			os.Exit(2)
		}
		stderr, err := Crashes()
		if errors.Is(err, unix.EPERM) && stderr == nil {
			os.Exit(0)
		}
		os.Exit(1)
	}
}

// TestDumpableProcessIsAnError: where the system does not let a process be out of others' reach, Crashes says so.
func TestDumpableProcessIsAnError(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), wayVariable+"="+denied)
	out, _ := c.CombinedOutput()
	switch c.ProcessState.ExitCode() {
	case 0:
	case 2:
		t.Skip("the system filters no calls")
	default:
		t.Errorf("%v: %s", c.ProcessState, out)
	}
}
