package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// interrupts are signals that ask a command to end and keep what it reached.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// heeded returns the signals that were not ignored when the process started:
// nohup has it ignore SIGHUP, a shell's background job SIGINT, and so it stays.
func heeded(signals []os.Signal) []os.Signal {
	var heeded []os.Signal
	for _, s := range signals {
		if !signal.Ignored(s) {
			heeded = append(heeded, s)
		}
	}
	return heeded
}

// grace is how long a command has to end after an interrupt, unless it has said
// that it will save what it reached.
const grace = time.Second

// govern runs a command under the process's signals and returns the exit code:
//
//   - an interrupt cancels the command's context and, if the command does not
//     save what it reached, ends it after the grace whatever it is doing;
//   - a second interrupt ends the process at once, by the signal;
//   - a signal at which the Go runtime would show all stacks ends it at once,
//     with a word of its own;
//   - a panic ends it with no word of what it said: that may hold values of
//     records.
func govern(stderr io.Writer, command func(ctx context.Context, saving func()) int) (code int) {
	defer func() {
		if recover() != nil {
			fmt.Fprintln(stderr, "stillpoint: a fault in the program ended it; what it says is not shown, since it may hold values of records")
			code = exitFault
		}
	}()
	watchFatal(stderr)
	ctx, stop := signal.NotifyContext(context.Background(), heeded(interrupts)...)
	defer stop()
	saves := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		stop()
		select {
		case <-saves:
		case <-time.After(grace):
			fmt.Fprintln(stderr, "stillpoint: interrupted")
			os.Exit(exitInterrupted)
		}
	})()
	return command(ctx, sync.OnceFunc(func() { close(saves) }))
}
