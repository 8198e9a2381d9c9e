//go:build !unix

package regular

// nonblocking is a flag for opening files without waiting. It is 0, no flag, since this system has
// none.
const nonblocking = 0
