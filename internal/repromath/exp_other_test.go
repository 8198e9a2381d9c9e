//go:build !amd64

package repromath

var restrictions []struct {
	name string
	by   func() (restore func())
}
