//go:build !amd64

package simd

var restrictions []struct {
	name string
	by   func() (restore func())
}
