package row

import "golang.org/x/sys/cpu"

//go:generate go run -C _asm . -out ../unpack_amd64.s -stubs ../unpack_amd64.go -pkg row

// fastUnpack copies rows from a file's bytes and computes their squared norms, as unpack does, in
// assembly on processors with AVX2.
func fastUnpack(x []float32, squares []float64, bytes []byte, stride, size int) {
	if !cpu.X86.HasAVX2 {
		unpack(x, squares, bytes, stride, size)
		return
	}
	checkUnpack(x, squares, bytes, stride, size)
	unpackAVX2(&x[0], &squares[0], &bytes[0], stride, size, len(squares))
}
