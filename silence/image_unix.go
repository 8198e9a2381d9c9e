//go:build unix && !linux

package silence

import "golang.org/x/sys/unix"

// noImage prevents core dumps: it sets the limit on the size of core files to 0.
func noImage() error {
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
