//go:build unix

package curator

import (
	"syscall"
	"time"
)

// processorTime returns the processor time that the process has used, or 0 if the system does not say it.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
