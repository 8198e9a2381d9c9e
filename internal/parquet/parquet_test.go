package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// fixtures returns the content of files by several writers, by file name; testdata/parquet/make.py
// and testdata/parquet/edges/make.py write the files.
func fixtures(t testing.TB) map[string][]byte {
	paths, err := filepath.Glob("../table/testdata/parquet/*.parquet")
	edges, err2 := filepath.Glob("../table/testdata/parquet/edges/*.parquet")
	if err != nil || err2 != nil || len(paths) < 20 || len(edges) < 40 {
		t.Fatalf("%d and %d fixtures, errors %v and %v", len(paths), len(edges), err, err2)
	}
	paths = append(paths, edges...)
	files := map[string][]byte{}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// cell is a value that was read; nil if it is missing.
type cell any

// drain reads all columns of a file side by side, at most most batches of each group. It calls
// watch after every batch, and returns the columns' cells.
func drain(f *File, most int, watch func()) ([][]cell, error) {
	columns := make([][]cell, len(f.Columns))
	for g := range f.Groups() {
		group := f.Group(g)
		var b Batch
		var readers []*Reader
		for i := range f.Columns {
			c := &f.Columns[i]
			if !c.Flat || c.Type.Meaning == Unreadable {
				readers = append(readers, nil)
				continue
			}
			r, err := group.Column(c)
			if err != nil {
				return columns, err
			}
			defer r.Close()
			readers = append(readers, r)
		}
		read := make([]int64, len(readers))
		for more, batches := true, 0; more && batches < most; batches++ {
			more = false
			for i, r := range readers {
				if r == nil || read[i] == group.Rows() {
					continue
				}
				if err := r.Next(&b); err != nil {
					return columns, err
				}
				if read[i] += int64(b.Rows); read[i] > group.Rows() {
					return columns, fmt.Errorf("%w: more rows than the group has", ErrDamaged)
				}
				cells, err := cellsOf(r, &b)
				if err != nil {
					return columns, err
				}
				columns[i] = append(columns[i], cells...)
				r.Rest()
				watch()
				more = true
			}
		}
	}
	return columns, nil
}

// cellsOf copies a batch's values.
func cellsOf(r *Reader, b *Batch) ([]cell, error) {
	var values []cell
	if b.Indices == nil {
		values = copied(r.column.Type, &b.Values, b.N)
	} else {
		var entries []cell
		if err := r.Dictionary(func(v *Values, n, _ int) error {
			entries = append(entries, copied(r.column.Type, v, n)...)
			return nil
		}); err != nil {
			return nil, err
		}
		for _, i := range b.Indices {
			values = append(values, entries[i])
		}
	}
	if b.Present == nil {
		return values, exactly(len(values) == b.Rows)
	}
	cells := make([]cell, b.Rows)
	for i, is := range b.Present {
		if is {
			cells[i], values = values[0], values[1:]
		}
	}
	return cells, exactly(len(values) == 0 && len(b.Present) == b.Rows)
}

func copied(y Type, v *Values, n int) []cell {
	var cells []cell
	for i := range n {
		switch {
		case y.Kind == Boolean:
			cells = append(cells, v.Bools[i])
		case y.Kind == Int32:
			cells = append(cells, v.Int32s[i])
		case y.Kind == Int64:
			cells = append(cells, v.Int64s[i])
		case y.Kind == Float:
			cells = append(cells, math.Float32bits(v.Floats[i]))
		case y.Kind == Double:
			cells = append(cells, math.Float64bits(v.Doubles[i]))
		default:
			cells = append(cells, string(v.Bytes[i]))
		}
	}
	return cells
}

// TestLimitChangesNoValue tests that a smaller limit changes no value, and that the pages in memory
// take at most the limit and the page being read.
func TestLimitChangesNoValue(t *testing.T) {
	for name, content := range fixtures(t) {
		read := func(limit int64) [][]cell {
			f, err := Open(bytes.NewReader(content), int64(len(content)))
			if err != nil {
				t.Fatal(name, err)
			}
			f.Limit, f.rows, f.largeRows = limit, 7, 11
			columns, err := drain(f, 1<<20, func() {
				f.largeRows = 5 + (f.largeRows+3)%9 // batches end at other rows than before
				if held := f.held.Load(); held > limit {
					t.Fatalf("%s: %d bytes of pages are held, at most %d may be", name, held, limit)
				}
			})
			if err != nil {
				t.Fatal(name, err)
			}
			return columns
		}
		whole := read(DefaultLimit)
		for _, limit := range []int64{0, 1000} {
			limited := read(limit)
			for column := range whole {
				if !slices.Equal(whole[column], limited[column]) { // cmp.Diff of so many cells takes minutes
					t.Errorf("%s, limit %d: column %d has other values than without a limit", name, limit, column)
				}
			}
		}
	}
}

// TestCodecsReadNothingElse tests that a codec either fills a page entirely from the file or fails,
// for any compressed bytes: the former content of memory has no effect.
func TestCodecsReadNothingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sources := [][]byte{{}, {0}}
	for _, content := range fixtures(t) {
		for range 40 {
			at := r.IntN(len(content))
			sources = append(sources, content[at:min(len(content), at+r.IntN(300))])
		}
	}
	// An LZ4 block of 4 literals and then a copy of 8 bytes: the copy is taken from the start of the
	// block, from before the block, or from bytes that are not yet written.
	for _, back := range []byte{4, 1, 5, 0, 200} {
		sources = append(sources, []byte{0x44, 'a', 'b', 'c', 'd', back, 0, 0x40, 'w', 'x', 'y', 'z'})
	}
	good := 0
	for _, src := range sources {
		for number := range codecs {
			for _, size := range []int{1, 12, 16, 17, 64, 300} {
				first, second := bytes.Repeat([]byte{0xaa}, size), bytes.Repeat([]byte{0x55}, size)
				one, two := codecs[number].into(first, src), codecs[number].into(second, src)
				if (one == nil) != (two == nil) || one == nil && !bytes.Equal(first, second) {
					t.Fatalf("codec %d reads what memory held: %v, %v, %x, %x", number, one, two, first, second)
				}
				if one == nil {
					good++
				}
			}
		}
	}
	if good < 3 {
		t.Errorf("%d sources are a page of any codec", good)
	}
}

// claimed writes the header of a page that claims the given number of values.
func claimed(kind, whole, compressed, values int64) []byte {
	b := []byte{0x15}
	b = binary.AppendVarint(b, kind)
	b = append(b, 0x15)
	b = binary.AppendVarint(b, whole)
	b = append(b, 0x15)
	b = binary.AppendVarint(b, compressed)
	b = append(b, map[int64]byte{dataPage: 0x2c, dictionaryPage: 0x4c, dataPage2: 0x5c}[kind], 0x15)
	b = binary.AppendVarint(b, values)
	return append(b, 0, 0)
}

// countingReader is a file of zeros after a header; it counts the bytes read.
type countingReader struct {
	head []byte
	read int
}

func (c *countingReader) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at < int64(len(c.head)) {
		copy(p, c.head[at:])
	}
	c.read = max(c.read, len(p))
	return len(p), nil
}

// TestClaimedSizes tests that impossible sizes of pages are refused before memory is allocated.
func TestClaimedSizes(t *testing.T) {
	const end = 1 << 40
	big := int64(MostPage)
	var unsupported Unsupported
	for name, c := range map[string]struct {
		codec             int32
		whole, compressed int64
		named             bool
	}{
		"more than a page, compressed little": {6, big + 1, 100_000, true},
		"more than a page, compressed":        {1, 1000, big + 1, true},
		"negative":                            {0, -1, 10, false},
		"compressed negative":                 {0, 10, -1, false},
		"more than snappy makes of it":        {1, big, 1000, false},
		"more than LZ4 makes of it":           {7, big, 1000, false},
		"more than LZ4 in Hadoop makes of it": {5, big, 1000, false},
		"more than gzip makes of it":          {2, big, 1000, false},
		"more than zstd makes of it":          {6, big, 100, false},
		"more than brotli makes of it":        {4, big, 100, false},
		"not what is there":                   {0, big, 1000, false},
	} {
		src := &countingReader{head: claimed(dataPage, c.whole, c.compressed, 10)}
		f := &File{src: src, end: end, Limit: DefaultLimit, rows: batchRows}
		x := &Column{Name: "x", Flat: true, Type: Type{Kind: Int64}}
		r := &Reader{group: &Group{file: f}, column: x, codec: codecs[c.codec], left: 10}
		h, err := f.header(0)
		var page []byte
		if err == nil {
			page, err = r.contents(h, nil)
		}
		if errors.As(err, &unsupported) != c.named || !c.named && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
		if src.read > 1000 || cap(page)+cap(r.group.compressed) > 1000 {
			t.Errorf("%s: %d bytes were read, a page of %d made", name, src.read, cap(page))
		}
	}
}

// TestClaimedCounts tests that no memory is allocated for stated counts of values, dictionary
// entries, packed differences and elements of the footer's lists.
func TestClaimedCounts(t *testing.T) {
	const many = 1<<31 - 1
	y := Type{Kind: ByteArray}
	lengths := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), many)
	for name, read := range map[string]func() error{
		"lengths": func() error { _, err := newValues(y, deltaLengthByteArray, append(lengths, 0)); return err },
		"bytes": func() error {
			_, err := (&byteArrays{[]byte{255, 255, 255, 255, 1}}).next(&Values{}, batchRows)
			return err
		},
		"list": func() error {
			_, err := Open(bytes.NewReader([]byte("PAR1\x29\xfc\xff\xff\xff\xff\x07\x00\x07\x00\x00\x00PAR1")), 20)
			return err
		},
		"nesting": func() error {
			b := append([]byte("PAR1"), bytes.Repeat([]byte{0x1c}, 1<<20)...)
			b = append(binary.LittleEndian.AppendUint32(b, 1<<20), magic...)
			_, err := Open(bytes.NewReader(b), int64(len(b)))
			return err
		},
	} {
		n := testing.AllocsPerRun(1, func() {
			if err := read(); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: error %v", name, err)
			}
		})
		if n > 200 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestPackedNumbers tests packed numbers one by one, from every starting point.
func TestPackedNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for width := uint(0); width <= 32; width++ {
		groups := 1 + r.IntN(20)
		packed := make([]byte, groups*int(width))
		for i := range packed {
			packed[i] = byte(r.Uint32())
		}
		want := make([]int32, groups*8, groups*8+5)
		for i := range want {
			for bit := range width {
				at := uint(i)*width + bit
				want[i] |= int32(packed[at/8]>>(at%8)&1) << bit
			}
		}
		b := append(binary.AppendUvarint(nil, uint64(groups)<<1|1), packed...)
		b = binary.AppendUvarint(b, 5<<1)
		for range (width + 7) / 8 {
			b = append(b, 0)
		}
		want = append(want, 0, 0, 0, 0, 0)
		h, err := newHybrid(b, width)
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for len(got) < len(want) {
			part := make([]int32, min(1+r.IntN(9), len(want)-len(got)))
			if err := h.decode(part); err != nil {
				t.Fatalf("width %d: %v", width, err)
			}
			got = append(got, part...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("width %d: %v, want %v", width, got, want)
		}
		if err := h.decode(make([]int32, 1)); !errors.Is(err, ErrDamaged) {
			t.Errorf("width %d: one number too many: error %v", width, err)
		}
	}
}

// packDeltas encodes integers as differences, as the format specifies.
func packDeltas(x []int64, block, parts int) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(block)), uint64(parts))
	b = binary.AppendUvarint(b, uint64(len(x)))
	if len(x) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, x[0])
	for at := 1; at < len(x); at += block {
		deltas := make([]int64, block)
		n := min(block, len(x)-at)
		for i := range n {
			deltas[i] = x[at+i] - x[at+i-1]
		}
		least := slices.Min(deltas[:n])
		b = binary.AppendVarint(b, least)
		widths, packed := make([]byte, parts), []byte(nil)
		for p := range parts {
			part := make([]uint64, block/parts)
			for i := range part {
				if j := p*len(part) + i; j < n {
					part[i] = uint64(deltas[j] - least)
				}
			}
			for top := slices.Max(part); top != 0; top >>= 1 {
				widths[p]++
			}
			bits := make([]byte, len(part)/8*int(widths[p]))
			for i, value := range part {
				for bit := range int(widths[p]) {
					at := i*int(widths[p]) + bit
					bits[at/8] |= byte(value>>bit&1) << (at % 8)
				}
			}
			packed = append(packed, bits...)
		}
		b = append(append(b, widths...), packed...)
	}
	return b
}

// TestDeltas tests that differences decode to the integers, for any integers: sums wrap around.
func TestDeltas(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		x := make([]int64, r.IntN(600))
		shift := r.IntN(64)
		for i := range x {
			x[i] = int64(r.Uint64()) >> shift
		}
		block := 128 * (1 + r.IntN(2))
		b := packDeltas(x, block, 4)
		d, rest, err := split(append(slices.Clone(b), "behind"...))
		if err != nil || string(rest) != "behind" {
			t.Fatalf("%d integers: rest %q, error %v", len(x), rest, err)
		}
		var got []int64
		for len(got) < len(x) {
			part := make([]int64, min(1+r.IntN(200), len(x)-len(got)))
			if err := d.decode(part); err != nil {
				t.Fatal(err)
			}
			got = append(got, part...)
		}
		if !slices.Equal(got, x) {
			t.Fatalf("%d integers of %d bits differ", len(x), 64-shift)
		}
		if err := d.decode(make([]int64, 1)); !errors.Is(err, ErrDamaged) {
			t.Fatalf("one integer too many: error %v", err)
		}
	}
}

// TestLongValues tests that a batch of long values ends early, and that long prefixes shared by
// many values are not all expanded at once.
func TestLongValues(t *testing.T) {
	const size, rows = 400_000, 20
	value := bytes.Repeat([]byte("x"), size)
	var plainBytes []byte
	shared, suffixes := make([]int64, rows), make([]int64, rows)
	for i := range rows {
		plainBytes = append(binary.LittleEndian.AppendUint32(plainBytes, size), value...)
		shared[i] = size
	}
	shared[0], suffixes[0] = 0, size
	stored := append(append(packDeltas(shared, 128, 4), packDeltas(suffixes, 128, 4)...), value...)
	for encoding, b := range map[int32][]byte{plain: plainBytes, deltaByteArray: stored} {
		// Levels: every fifth row has no value.
		var levels []byte
		for range rows / 5 {
			levels = append(levels, 4<<1, 1, 1<<1, 0)
		}
		f := &File{Limit: DefaultLimit}
		r := &Reader{group: &Group{file: f}, column: &Column{optional: true, Type: Type{Kind: ByteArray}}}
		r.page = &page{rows: rows, encoding: encoding, b: b, missing: &hybrid{b: levels, width: 1}}
		row := 0
		for r.page.rows > 0 {
			var b Batch
			if err := r.decode(&b, batchRows); err != nil {
				t.Fatal(err)
			}
			cells, err := cellsOf(r, &b)
			if err != nil || b.N*size > mostBytes+size {
				t.Fatalf("%d values at a time, error %v", b.N, err)
			}
			for _, c := range cells {
				if missing := row%5 == 4; missing != (c == nil) || !missing && c != string(value) {
					t.Fatalf("encoding %d: row %d is wrong", encoding, row)
				}
				row++
			}
		}
		if row != rows {
			t.Errorf("encoding %d: %d rows, want %d", encoding, row, rows)
		}
	}
}
