package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The encodings, by the numbers of the format.
const (
	plain                = 0
	plainDictionary      = 2
	rle                  = 3
	bitPacked            = 4
	deltaBinaryPacked    = 5
	deltaLengthByteArray = 6
	deltaByteArray       = 7
	rleDictionary        = 8
	byteStreamSplit      = 9
)

// The types of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

// header is the header of a page: its type, its sizes and its encodings.
type header struct {
	kind              int32
	whole, compressed int32 // decompressed and compressed bytes of the contents, which follow the header
	checksum          uint32
	checked           bool // the header has a checksum
	described         bool // the header has the description for its kind of page
	values            int32
	encoding          int32
	levels            int32 // encoding of definition levels
	missing, repeated int32 // bytes of definition and repetition levels, in a page of version 2
	bare              bool  // the values of a page of version 2 are not compressed
	start             int64 // offset of the contents in the file
}

func (t *thrift) header() (h header) {
	h.kind = -1
	t.into(map[int16]field{
		1: t.number(&h.kind), 2: t.number(&h.whole), 3: t.number(&h.compressed),
		4: {thriftI32, func() { h.checksum, h.checked = uint32(t.int32()), true }},
		5: {thriftStruct, func() { t.numbers(h.is(dataPage), &h.values, &h.encoding, &h.levels) }},
		7: {thriftStruct, func() { t.numbers(h.is(dictionaryPage), &h.values, &h.encoding) }},
		8: {thriftStruct, func() {
			h.bare = t.numbers(h.is(dataPage2), &h.values, nil, nil, &h.encoding, &h.missing, &h.repeated)
		}},
	})
	return h
}

// is reports whether the page is of the given kind. If it is, is records that the header has the description
// for its kind of page.
func (h *header) is(kind int32) bool {
	h.described = h.described || h.kind == kind
	return h.kind == kind
}

// numbers reads a thrift struct whose fields 1, 2, ... are int32. If use is true, it stores field i in
// dst[i-1], or skips the field if dst[i-1] is nil. It then returns true if the struct has a field 7 that is
// false. If use is false, it skips all fields and returns false.
func (t *thrift) numbers(use bool, dst ...*int32) (no bool) {
	t.fields(func(id int16, kind byte) bool {
		if id == 7 && kind == thriftFalse {
			no = true
		}
		if id < 1 || int(id) > len(dst) || dst[id-1] == nil || kind != thriftI32 || !use {
			return false
		}
		*dst[id-1] = t.int32()
		return true
	})
	return no && use
}

// mostHeader limits the memory for reading a page's header, which may contain the page's smallest and largest
// value. The header is read into larger and larger buffers, each of 8 times the size before. It is refused if
// it does not fit in the first buffer of more than mostHeader bytes.
const mostHeader = 16 << 20

// header reads the header of the page at an offset of the file and checks its sizes.
func (f *File) header(offset int64) (header, error) {
	if offset >= f.end {
		return header{}, ErrDamaged
	}
	for size := int64(512); ; size *= 8 {
		b := make([]byte, min(size, f.end-offset))
		if _, err := f.src.ReadAt(b, offset); err != nil && err != io.EOF {
			return header{}, err
		}
		t := &thrift{b: b}
		h := t.header()
		h.start = offset + int64(t.at)
		if !t.bad {
			return h, h.check(f.end)
		}
		if int64(len(b)) == f.end-offset || size > mostHeader {
			return header{}, ErrDamaged
		}
	}
}

// check returns ErrDamaged if a size in the header is impossible.
func (h header) check(end int64) error {
	switch {
	case h.whole < 0 || h.compressed < 0 || h.values < 0 || int64(h.compressed) > end-h.start:
		return ErrDamaged
	case h.missing < 0 || h.repeated != 0 || h.missing > h.whole || h.missing > h.compressed:
		return ErrDamaged
	case h.kind != dataPage && h.kind != dataPage2 && h.kind != dictionaryPage:
		return nil // a page of an unknown kind is skipped
	case !h.described:
		return ErrDamaged
	case h.whole > MostPage || h.compressed > MostPage:
		return Unsupported("has a page of more than 256 MiB, which cannot be read: write it with smaller pages")
	case h.kind == dictionaryPage && h.whole > MostDictionary:
		return Unsupported("has a dictionary of more than 64 MiB, which cannot be read: write it with smaller ones")
	}
	return nil
}

// contents reads and decompresses the contents of the page with header h. It returns them in the memory of
// buf or, if buf is too small, in new memory.
func (r *Reader) contents(h header, buf []byte) ([]byte, error) {
	bare := int(h.missing) // bytes that are never compressed
	codec := r.codec
	if h.bare {
		codec = codecs[0]
	}
	if int64(h.whole)-int64(bare) > codec.most*(int64(h.compressed)-int64(bare)) {
		return nil, ErrDamaged
	}
	g := r.group
	g.compressed = resize(g.compressed, int(h.compressed))
	if _, err := g.file.src.ReadAt(g.compressed, h.start); err != nil {
		return nil, err
	}
	if h.checked && crc32.ChecksumIEEE(g.compressed) != h.checksum {
		return nil, ErrDamaged
	}
	buf = resize(buf, int(h.whole))
	copy(buf, g.compressed[:bare])
	if len(buf) == bare {
		return buf, nil
	}
	return buf, codec.into(buf[bare:], g.compressed[bare:])
}

// page is a data page.
type page struct {
	rows     int     // number of rows not yet decoded
	missing  *hybrid // definition levels; nil if no value can be missing
	encoding int32
	b        []byte  // the encoded values
	indices  *hybrid // indices of dictionary entries; nil before the first one is decoded
	values   values  // decoder of the values; nil before the first value is decoded
}

// open splits the contents b of a data page into the definition levels, which say which rows have a value,
// and the values.
func (r *Reader) open(h header, b []byte) (*page, error) {
	p := &page{rows: int(h.values), encoding: h.encoding, b: b}
	var levels []byte
	switch {
	case h.kind == dataPage2:
		levels, p.b = b[:h.missing], b[h.missing:]
	case !r.column.optional, h.values == 0: // a page without values may be without levels
	case h.levels == bitPacked:
		return nil, r.refuse("has levels packed by bits")
	case len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4):
		return nil, ErrDamaged
	default:
		n := 4 + int(binary.LittleEndian.Uint32(b))
		levels, p.b = b[4:n], b[n:]
	}
	if r.column.optional {
		p.missing = &hybrid{b: levels, width: 1}
	}
	return p, nil
}

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
