//go:build !amd64

package engine

// kernels are those that this machine has.
func kernels() []kernel { return []kernel{portable} }
