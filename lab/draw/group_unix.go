//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart gives a command a process group of its own, and returns a function that ends the group. A defect may keep a test
// from ending the programs that it has started: they would run on, beside the tests of other defects.
func apart(c *exec.Cmd) (end func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() {
		if c.Process != nil {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		}
	}
}
