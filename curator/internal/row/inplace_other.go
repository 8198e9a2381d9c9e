//go:build !amd64

package row

// fastUnpack copies rows from a file's bytes by the portable function unpack, since this architecture
// has no assembly.
func fastUnpack(x []float32, squares []float64, bytes []byte, stride, size int) {
	unpack(x, squares, bytes, stride, size)
}
