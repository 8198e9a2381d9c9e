//go:build !amd64

package lanes

var restrictions []struct {
	name string
	by   func() (restore func())
}
