package parquet

import (
	"encoding/binary"
	"hash/crc32"
	"io"
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
	t.fields(func(id int16, kind byte) bool {
		switch {
		case id == 1 && kind == thriftI32:
			h.kind = t.int32()
		case id == 2 && kind == thriftI32:
			h.whole = t.int32()
		case id == 3 && kind == thriftI32:
			h.compressed = t.int32()
		case id == 4 && kind == thriftI32:
			h.checksum, h.checked = uint32(t.int32()), true
		case id == 5 && kind == thriftStruct:
			t.numbers(h.is(dataPage), &h.values, &h.encoding, &h.levels)
		case id == 7 && kind == thriftStruct:
			t.numbers(h.is(dictionaryPage), &h.values, &h.encoding)
		case id == 8 && kind == thriftStruct:
			h.bare = t.numbers(h.is(dataPage2), &h.values, nil, nil, &h.encoding, &h.missing, &h.repeated)
		default:
			return false
		}
		return true
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
