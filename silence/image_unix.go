//go:build unix && !linux

package silence

import "golang.org/x/sys/unix"

// noImage prevents core dumps by the limit on core files.
func noImage() error {
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
