//go:build unix

package regular

import "syscall"

// nonblocking keeps the opening of a pipe that has taken a file's place from
// waiting for a writer. It changes nothing for a regular file.
const nonblocking = syscall.O_NONBLOCK
