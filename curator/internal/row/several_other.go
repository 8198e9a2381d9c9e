//go:build !amd64

package row

// several decodes no row, since this architecture has no assembly.
func (u *unpacker) several(*Block, int, int, []byte) int { return 0 }
