//go:build small

package main

import "io"

// newBar is nil: this build has no bar.
var newBar func(w io.Writer, steps int) stepBar
