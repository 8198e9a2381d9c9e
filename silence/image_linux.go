package silence

import (
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// noImage prevents core dumps: to a file by the limit on core files, through a pipe by making the
// process not dumpable.
func noImage() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	// Nothing can be dumped, so a crash may end in SIGABRT, which shells report.
	debug.SetTraceback("crash")
	return nil
}
