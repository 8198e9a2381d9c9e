// Package silence keeps a process that holds records from showing them when it
// crashes.
//
// The Go runtime ends a process that fails (a panic nobody recovers, a stack
// that overflows, no memory left, SIGQUIT and its like) with a traceback of all
// goroutines: their arguments, and the registers, are cells and labels of the
// records that were being worked on. It writes them to file descriptor 2
// whatever the program does, in more detail if the environment says so
// (GOTRACEBACK, GODEBUG), and the system may add an image of the whole memory.
// [Crashes] takes both away.
//
// # For a service
//
// A program that trains on private records calls Crashes first in main, before
// it opens a table:
//
//	stderr, err := silence.Crashes()
//	if err != nil {
//		fmt.Fprintln(os.Stderr, err)
//		os.Exit(1)
//	}
//
// From then on os.Stderr is the private copy, for the program's own messages.
// What the program writes itself stays its own affair: it must not log recovered
// panics or stacks (net/http logs those of a handler through package log), serve
// net/http/pprof or write profiles of goroutines, or call debug.SetCrashOutput
// or runtime.Stack.
package silence

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

// crashes is made once: a second private copy of the null device is of no use.
var crashes = sync.OnceValues(func() (*os.File, error) {
	if err := debug.SetCrashOutput(nil, debug.CrashOptions{}); err != nil {
		return nil, fmt.Errorf("silence: crash output: must be given up: %w", err)
	}
	if err := noImage(); err != nil {
		return nil, fmt.Errorf("silence: images of the memory: must be turned off: %w", err)
	}
	private, err := divert(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("silence: standard error: must lead to the null device: %w", err)
	}
	os.Stderr = private
	return private, nil
})

// Crashes makes what the runtime writes when this process crashes vanish, for
// the rest of its life, whatever the environment sets. It returns a private copy
// of the standard error for the program's own messages, and makes it os.Stderr.
// After an error a crash may show anything: the program must not go on to read
// records.
//
//   - File descriptor 2 (on Windows, the standard error handle) becomes the null
//     device. What is written to it by number goes with it: print and println,
//     and the standard logger of package log until log.SetOutput is called.
//   - The system writes no image of the memory: the limit on core files is 0,
//     soft and hard, and is inherited by children. On Linux the process is
//     "not dumpable" too, since cores piped to a program ignore the limit. Its
//     effect is that other processes of the same user can neither attach a
//     debugger or tracer to it nor read its memory below /proc; root can.
//   - On Linux a crash ends the process by SIGABRT, for which a shell says
//     "Aborted" (exit code 134), instead of by the runtime's exit code 2, which
//     many programs use for wrong usage. Elsewhere, where the system may keep a
//     report of an aborted process, it stays 2.
//
// It is safe to call more than once, and does its work once.
func Crashes() (*os.File, error) { return crashes() }
