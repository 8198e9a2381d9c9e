//go:build unix

package crashsafe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The two values of the test's record. The number is recognised by its bits, which a traceback shows as
// a function argument.
const (
	secretNumber = uint64(0x4815162342481516)
	secretWord   = "Quokka"
)

// crashing lists ways for a process to crash. In each, the record is in the arguments of the failing
// function or in the message.
var crashing = map[string]func(number uint64, word string){
	"panic":           func(_ uint64, word string) { panic(word) },
	"panic of error":  func(_ uint64, word string) { panic(errors.New(word)) },
	"panic of panic":  func(_ uint64, word string) { defer func() { panic(recover()) }(); panic(word) },
	"panic elsewhere": func(_ uint64, word string) { go panic(word); select {} },
	"nil":             func(number uint64, _ string) { dereference(number, nil) },
	"division":        func(number uint64, _ string) { sink = divide(number, 0) },
	"index":           func(number uint64, _ string) { _ = []int{1}[number] },
	"closed channel":  func(number uint64, _ string) { send(number) },
	"stack overflow":  func(number uint64, _ string) { debug.SetMaxStack(1 << 16); sink = deepen(number) },
	"memory":          func(number uint64, _ string) { exhaust(number) },
	"map writes":      func(number uint64, _ string) { race(number) },
	"unlock":          func(number uint64, _ string) { unlock(number) },
	"deadlock":        func(number uint64, _ string) { sleep(number) },
	"goexit":          func(number uint64, _ string) { go sleep(number); time.Sleep(time.Millisecond); runtime.Goexit() },
	"bad address":     func(number uint64, _ string) { address(number) },
	"println":         func(_ uint64, word string) { println(word); os.Exit(3) },
}

// signals are the signals that end a Go process with a traceback.
var signals = []syscall.Signal{
	syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP,
	syscall.SIGSYS,
}

func init() {
	for _, s := range signals {
		crashing[s.String()] = func(number uint64, _ string) {
			syscall.Kill(os.Getpid(), s)
			hold(number)
		}
	}
}

var sink uint64

//go:noinline
func dereference(number uint64, p *uint64) { *p = number }

//go:noinline
func divide(number, by uint64) uint64 { return number / by }

//go:noinline
func send(number uint64) {
	c := make(chan uint64)
	close(c)
	c <- number
}

//go:noinline
func deepen(number uint64) uint64 {
	if number == 0 {
		return 0
	}
	return deepen(number) + 1
}

//go:noinline
func exhaust(number uint64) {
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: 1 << 30, Max: 1 << 30}); err != nil {
		panic(err)
	}
	_ = fmt.Sprint(make([]byte, 1<<40), number)
}

//go:noinline
func race(number uint64) {
	m := make(map[uint64]uint64)
	for i := range uint64(8) {
		go func() {
			for {
				m[i] = number
			}
		}()
	}
	hold(number)
}

//go:noinline
func unlock(number uint64) {
	var m sync.Mutex
	m.Unlock()
	hold(number)
}

//go:noinline
func sleep(number uint64) {
	<-(chan int)(nil)
	hold(number)
}

//go:noinline
func address(number uint64) {
	debug.SetPanicOnFault(false)
	x, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	x[0] = byte(number)
}

// hold keeps a processor busy for a minute with the number among its arguments.
//
//go:noinline
func hold(number uint64) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		number ^= number << 1
		number ^= secretNumber
	}
}
