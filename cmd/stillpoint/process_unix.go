//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// fatal are the signals at which the Go runtime ends a process with a traceback. Only signals from other
// processes are delivered to this program. At a fault in the process itself the runtime ends the process at
// once, and this program can print nothing.
var fatal = []os.Signal{
	syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
}

// watchFatal ends the process at a fatal signal, with exit code 128 plus the signal's number. It prints one
// line that names the signal.
func watchFatal(stderr io.Writer) {
	// A shell starts background jobs that ignore both SIGINT and SIGQUIT. The Go runtime reports only SIGINT
	// as ignored, so SIGQUIT is ignored here if SIGINT is.
	background := signal.Ignored(syscall.SIGINT)
	received := make(chan os.Signal, 1)
	signal.Notify(received, fatal...)
	if background {
		signal.Ignore(syscall.SIGQUIT)
	}
	go func() {
		s := (<-received).(syscall.Signal)
		fmt.Fprintf(stderr, "stillpoint: ended by a signal: %v\n", s)
		os.Exit(128 + int(s))
	}()
}
