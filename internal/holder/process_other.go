//go:build !linux

package holder

import "os"

// Self implements Machine. Without an identity of the machine's start, nobody can tell that a process has ended.
func (machine) Self() Process {
	host, _ := os.Hostname()
	return Process{Host: host, ID: os.Getpid()}
}

func started(int) (start string, runs bool) { return "", true }
