package row

import "golang.org/x/sys/cpu"

//go:generate env GOWORK=off go run -C _asm . -out ../unpack_amd64.s -stubs ../unpack_amd64.go -pkg row

// several decodes up to n rows in assembly and returns the number of rows before the first one that is left
// to the method row: one that is not valid, or one of the last rows of the block, since the assembly writes
// codes for eight groups at a time. It returns 0 if the processor lacks the instructions.
//
// A valid row gives the numbers of the method row, to the bit: squares of float32s are exact in float64, and are
// added in the order of the function square.
func (u *unpacker) several(b *Block, i, n int, bytes []byte) int {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return 0
	}
	l := u.layout
	groups := len(l.groups)
	if groups > 0 {
		n = min(n, (len(b.Targets)-i)-(padded(groups)-1)/groups)
	}
	if n <= 0 {
		return 0
	}
	size, stride := l.size(), l.Stride()
	// The assembly relies on these lengths.
	x, targets := b.Rows[i*stride:][:n*stride], b.Targets[i:][:n]
	bytes = bytes[:n*size+slack]
	if groups == 0 {
		return unpackNumbersAVX2(&x[0], &targets[0], &bytes[0], l.dense, size, n, MaxSquare)
	}
	levels, ends := b.Levels[i:][:n], (n-1)*groups+padded(groups)
	if l.wide() {
		codes := b.Codes.Wide[i*groups:][:ends]
		return unpackWideAVX2(&x[0], &targets[0], &bytes[0], l.dense, size, n, MaxSquare, &levels[0], &codes[0],
			&u.wide[0], groups, float64(groups))
	}
	codes := b.Codes.Narrow[i*groups:][:ends]
	return unpackNarrowAVX2(&x[0], &targets[0], &bytes[0], l.dense, size, n, MaxSquare, &levels[0], &codes[0],
		&u.narrow[0], groups, float64(groups))
}
