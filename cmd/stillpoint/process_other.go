//go:build !unix

package main

import "io"

// watchFatal has no signals to watch here.
func watchFatal(io.Writer) {}
