//go:build !amd64

package elementary

var restrictions []struct {
	name string
	by   func() (restore func())
}
