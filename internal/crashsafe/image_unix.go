//go:build unix && !linux

package crashsafe

import "golang.org/x/sys/unix"

// noImage prevents core dumps: it sets the limit on the size of core files to 0.
func noImage() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
