// Package crashsafe prevents a process that has read private records from showing the records when it
// crashes.
//
// When a process fails (an unrecovered panic, a stack overflow, no memory left, SIGQUIT and similar
// signals), the Go runtime writes a traceback of all goroutines. The arguments and registers in the
// traceback may be cells and labels of records. The runtime writes the traceback to file descriptor 2,
// whatever the program does, and writes more details if an environment variable (GOTRACEBACK, GODEBUG) asks
// for them. The system may also write a core dump. [Crashes] prevents the traceback and the core dump.
//
// # For a service
//
// A program that trains on private records calls Crashes first in main, before it opens a table:
//
//	stderr, err := crashsafe.Crashes()
//	if err != nil {
//		fmt.Fprintln(os.Stderr, err)
//		os.Exit(1)
//	}
//
// Afterwards os.Stderr is a private copy of the standard error, for the program's own messages. The
// program remains responsible for its own output: it must not log recovered panics or stacks (net/http
// logs the panics of handlers through package log), serve net/http/pprof or write profiles of
// goroutines, or call debug.SetCrashOutput or runtime.Stack.
package crashsafe

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

// crashes runs its function only once and then returns the same results. After the first call file descriptor 2 is the
// null device, so a second run would return a copy of the null device as the standard error.
var crashes = sync.OnceValues(func() (*os.File, error) {
	if err := debug.SetCrashOutput(nil, debug.CrashOptions{}); err != nil {
		return nil, fmt.Errorf("crashsafe: crash output: must be given up: %w", err)
	}
	if err := noImage(); err != nil {
		return nil, fmt.Errorf("crashsafe: images of the memory: must be turned off: %w", err)
	}
	private, err := divert(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("crashsafe: standard error: must lead to the null device: %w", err)
	}
	os.Stderr = private
	return private, nil
})

// Crashes makes the process discard everything that the runtime writes when the process crashes, for the
// rest of the process's life and whatever the environment sets. It returns a private copy of the standard
// error for the program's own messages, and assigns this copy to os.Stderr. If Crashes returns an error, a
// crash may show records, so the program must not read any.
//
//   - File descriptor 2 (on Windows, the standard error handle) becomes the null
//     device. Everything written to the descriptor itself is lost: print and println,
//     and the standard logger of package log until log.SetOutput is called.
//   - The system writes no core dump: the soft and hard limits on core files are 0,
//     and children inherit them. On Linux the process is also "not dumpable", since
//     core dumps piped to a program ignore the limit. Other processes of the same user can
//     then neither attach a debugger or tracer nor read the process's memory below /proc;
//     root can.
//   - On Linux a crash ends the process by SIGABRT, for which a shell says
//     "Aborted" (exit code 134), instead of by the runtime's exit code 2, which
//     many programs use for wrong usage. On other systems, which may keep a
//     report of an aborted process, the exit code stays 2.
//
// Crashes may be called more than once. Later calls change nothing and return the results of the first
// call.
func Crashes() (*os.File, error) { return crashes() }
