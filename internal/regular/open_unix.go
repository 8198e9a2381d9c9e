//go:build unix

package regular

import "syscall"

// nonblocking makes opening a pipe return at once, if a pipe has replaced the file: without it the
// open would wait for a writer. It has no effect on a regular file.
const nonblocking = syscall.O_NONBLOCK
