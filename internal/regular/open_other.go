//go:build !unix

package regular

// nonblocking is of no use here.
const nonblocking = 0
