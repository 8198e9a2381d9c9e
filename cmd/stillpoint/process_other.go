//go:build !unix

package main

import "io"

// watchFatal does nothing, since this system does not have the signals that end a process with a traceback.
func watchFatal(io.Writer) {}
