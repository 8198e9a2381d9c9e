//go:build !unix

package main

import "io"

// watchFatal does nothing: this system has no such signals.
func watchFatal(io.Writer) {}
