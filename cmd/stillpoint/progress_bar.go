//go:build !small

package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// newBar returns a bar of that many steps.
var newBar = func(w io.Writer, steps int) stepBar {
	return progressbar.NewOptions(steps, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(50*time.Millisecond))
}
