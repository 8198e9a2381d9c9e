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
// processes arrive here. At a fault of its own the runtime ends the process at once, and this program can
// print nothing.
var fatal = []os.Signal{
	syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
}

// watchFatal ends the process at a fatal signal, with a line that says so.
func watchFatal(stderr io.Writer) {
	// A shell makes its background jobs ignore both SIGINT and SIGQUIT, but the runtime remembers only
	// SIGINT.
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
