package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// interrupts are the signals that ask a command to end and to save its results so far.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// heeded returns the given signals without those that the process ignores since its start. For example, nohup
// starts a process that ignores SIGHUP, and a shell starts background jobs that ignore SIGINT. The process
// continues to ignore them.
func heeded(signals []os.Signal) []os.Signal {
	return slices.DeleteFunc(slices.Clone(signals), signal.Ignored)
}

// grace is the time after an interrupt at which the process is ended, unless the command has called saving.
const grace = time.Second

// govern runs a command, handles the process's signals and returns the exit code:
//
//   - an interrupt cancels the command's context. If the command has not called saving, the process ends
//     after the grace period, whatever the command is doing;
//   - a second interrupt ends the process at once, by the signal;
//   - a signal at which the Go runtime would print all stacks ends the process at once, with a message of its
//     own;
//   - a panic ends the process without the panic's message, because the message may contain values of
//     records.
func govern(stderr io.Writer, command func(ctx context.Context, saving func()) int) (code int) {
	defer func() {
		if recover() != nil {
			fmt.Fprintln(stderr, "stillpoint: a fault in the program ended it; its message is not shown, since it may hold values of records")
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
