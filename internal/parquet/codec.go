package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codec is a compression method for pages.
type codec struct {
	// most is the largest number of bytes to which one compressed byte can expand. A page whose header
	// states a larger expansion is damaged. It is refused before memory is allocated for its content.
	most int64
	// into decompresses src into dst. It returns an error unless the result fills dst exactly. The former
	// content of dst has no effect on the result.
	into func(dst, src []byte) error
}

// codecs are the supported codecs, by the numbers of the format.
var codecs = map[int32]codec{
	0: {1, func(dst, src []byte) error { return exactly(copy(dst, src) == len(dst)) }},
	1: {64, unsnappy},
	2: {1100, gunzip},
	4: {1 << 20, unbrotli},
	5: {256, hadoop},
	6: {1 << 16, unzstd},
	7: {256, func(dst, src []byte) error {
		n, err := lz4.UncompressBlock(src, dst)
		return exactly(err == nil && n == len(dst))
	}},
}

func exactly(ok bool) error {
	if !ok {
		return ErrDamaged
	}
	return nil
}

func unsnappy(dst, src []byte) error {
	if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
		return ErrDamaged
	}
	_, err := snappy.Decode(dst, src)
	return exactly(err == nil)
}

func gunzip(dst, src []byte) error {
	r, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return ErrDamaged
	}
	return fill(dst, r)
}

// fill reads exactly len(dst) bytes from r. It returns ErrDamaged if r has fewer or more.
func fill(dst []byte, r io.Reader) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return ErrDamaged
	}
	n, err := io.ReadFull(r, make([]byte, 1))
	return exactly(n == 0 && err == io.EOF)
}

// decoder returns the zstd decoder that all goroutines share: each call of DecodeAll has its own state.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderMaxMemory(MostPage), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
})

func unzstd(dst, src []byte) error {
	d, err := decoder()
	if err != nil {
		return err
	}
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	return exactly(err == nil && len(out) == len(dst) && &out[0] == &dst[0])
}

// hadoop decompresses LZ4 blocks in Hadoop's framing: the decompressed length of a part, and then, for each
// block of the part, its compressed length and the block. This is the older of the two codecs named LZ4. Some
// writers formerly wrote LZ4 blocks without this framing, or LZ4's own frames, under the same name. hadoop
// returns ErrDamaged for these, since the file does not state which framing it has.
func hadoop(dst, src []byte) error {
	for len(src) >= 8 {
		part := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; part == 0 || part > int64(len(dst)) {
			return ErrDamaged
		}
		for part > 0 && len(src) >= 4 {
			n := int64(binary.BigEndian.Uint32(src))
			if src = src[4:]; n == 0 || n > int64(len(src)) {
				return ErrDamaged
			}
			written, err := lz4.UncompressBlock(src[:n], dst[:part])
			if err != nil || written == 0 {
				return ErrDamaged
			}
			dst, src, part = dst[written:], src[n:], part-int64(written)
		}
		if part != 0 {
			return ErrDamaged
		}
	}
	return exactly(len(dst) == 0 && len(src) == 0)
}
