//go:build !unix

package main

import "os/exec"

// apart does nothing: there are no groups of processes.
func apart(*exec.Cmd) (end func()) { return func() {} }
