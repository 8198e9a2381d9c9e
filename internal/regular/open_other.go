//go:build !unix

package regular

// nonblocking has no meaning on this system.
const nonblocking = 0
