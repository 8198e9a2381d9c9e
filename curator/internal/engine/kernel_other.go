//go:build !amd64

package engine

// kernels returns the kernels that this machine supports, the fastest last.
func kernels() []kernel { return []kernel{portable} }
