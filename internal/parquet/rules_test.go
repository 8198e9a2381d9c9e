package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// TestTypesThatAreRead tests which types of a column are read, by kind, meaning, width and scale.
func TestTypesThatAreRead(t *testing.T) {
	fixed := func(m Meaning, width int) Type { return Type{Kind: FixedLenByteArray, Meaning: m, Width: width} }
	decimal := func(k Kind, scale int) Type { return Type{Kind: k, Meaning: Decimal, Width: 5, Scale: scale} }
	for _, c := range []struct {
		y    Type
		read bool
	}{
		{Type{Kind: Boolean}, true}, {Type{Kind: Boolean - 1}, false}, {Type{Kind: FixedLenByteArray + 1}, false},
		{Type{Kind: Int32, Meaning: Unreadable}, false}, {fixed(Plain, 1), true}, {fixed(Plain, 0), false},
		{decimal(Int32, 0), true}, {decimal(Int64, 100), true}, {decimal(Int64, 101), false}, {decimal(Int64, -1), false},
		{decimal(ByteArray, 2), true}, {decimal(FixedLenByteArray, 2), true}, {decimal(Double, 2), false}, {decimal(Boolean, 2), false},
		{Type{Kind: Int32, Meaning: Date}, true}, {Type{Kind: Int64, Meaning: Date}, false},
		{Type{Kind: Int32, Meaning: Time, Second: 1000}, true}, {Type{Kind: Int64, Meaning: Time, Second: 1}, true},
		{Type{Kind: Int32, Meaning: Time}, false}, {Type{Kind: Double, Meaning: Time, Second: 1}, false},
		{Type{Kind: Int64, Meaning: Timestamp, Second: 1}, true}, {Type{Kind: Int64, Meaning: Timestamp}, false},
		{Type{Kind: Float, Meaning: Timestamp, Second: 1}, false},
		{Type{Kind: Int32, Meaning: Unsigned}, true}, {Type{Kind: Int64, Meaning: Unsigned}, true}, {Type{Kind: Double, Meaning: Unsigned}, false},
		{fixed(UUID, 16), true}, {fixed(UUID, 15), false}, {fixed(UUID, 17), false}, {Type{Kind: ByteArray, Meaning: UUID, Width: 16}, false},
		{fixed(Float16, 2), true}, {fixed(Float16, 1), false}, {fixed(Float16, 4), false}, {Type{Kind: ByteArray, Meaning: Float16, Width: 2}, false},
	} {
		want := c.y
		if !c.read {
			want.Meaning = Unreadable
		}
		if got := c.y.checked(); got != want {
			t.Errorf("%+v: %+v: must be %+v", c.y, got, want)
		}
	}
}

// TestHeadersAtTheirLimits changes one field of a sound page's header at a time, at both sides of each limit.
func TestHeadersAtTheirLimits(t *testing.T) {
	const end = 1 << 30
	large := "parquet: the file has a page of more than 256 MiB, which cannot be read: write it with smaller pages"
	dictionary := "parquet: the file has a dictionary of more than 64 MiB, which cannot be read: write it with smaller ones"
	for name, c := range map[string]struct {
		change func(*header)
		want   string
	}{
		"nothing":                    {func(*header) {}, ""},
		"no bytes":                   {func(h *header) { h.whole, h.compressed, h.missing = 0, 0, 0 }, ""},
		"fewer than no bytes":        {func(h *header) { h.whole, h.missing = -1, 0 }, "parquet: damaged"},
		"compressed, fewer than no":  {func(h *header) { h.compressed, h.missing = -1, 0 }, "parquet: damaged"},
		"fewer than no values":       {func(h *header) { h.values = -1 }, "parquet: damaged"},
		"up to the end":              {func(h *header) { h.start = end - 80 }, ""},
		"beyond the end":             {func(h *header) { h.start = end - 79 }, "parquet: damaged"},
		"fewer than no levels":       {func(h *header) { h.missing = -1 }, "parquet: damaged"},
		"all levels":                 {func(h *header) { h.missing = 80 }, ""},
		"more levels than there are": {func(h *header) { h.missing = 81 }, "parquet: damaged"},
		"more levels than bytes":     {func(h *header) { h.whole, h.missing = 50, 51 }, "parquet: damaged"},
		"repeated":                   {func(h *header) { h.repeated = 1 }, "parquet: damaged"},
		"repeated less than never":   {func(h *header) { h.repeated = -1 }, "parquet: damaged"},
		"not described":              {func(h *header) { h.described = false }, "parquet: damaged"},
		"an unknown kind":            {func(h *header) { h.kind, h.described, h.whole = 9, false, MostPage+1 }, ""},
		"the largest page":           {func(h *header) { h.whole = MostPage }, ""},
		"a larger page":              {func(h *header) { h.whole = MostPage + 1 }, large},
		"compressed, the largest":    {func(h *header) { h.compressed = MostPage }, ""},
		"compressed, larger":         {func(h *header) { h.compressed = MostPage + 1 }, large},
		"the largest dictionary":     {func(h *header) { h.kind, h.whole = dictionaryPage, MostDictionary }, ""},
		"a larger dictionary":        {func(h *header) { h.kind, h.whole = dictionaryPage, MostDictionary+1 }, dictionary},
	} {
		h := header{kind: dataPage2, whole: 100, compressed: 80, values: 7, missing: 3, described: true, start: 1000}
		c.change(&h)
		if err := h.check(end); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v: must be %q", name, err, c.want)
		}
	}
}

// TestRowsOfGroupsAddUp tests that the rows of the groups are those of the file, and that each group has every column.
func TestRowsOfGroupsAddUp(t *testing.T) {
	for _, c := range []struct {
		rows   int64
		groups []int64
		chunks int
		sound  bool
	}{{0, nil, 2, true}, {7, []int64{7}, 2, true}, {7, []int64{3, 4}, 2, true}, {7, []int64{3, 0, 4}, 2, true}, {7, []int64{8, -1}, 2, false},
		{7, []int64{7, 7}, 2, false}, {7, []int64{3, 5}, 2, false}, {7, []int64{3}, 2, false}, {7, []int64{7}, 1, false}, {7, []int64{7}, 3, false}} {
		m := metadata{rows: c.rows}
		for _, rows := range c.groups {
			m.groups = append(m.groups, groupInfo{rows: rows, chunks: make([]chunkInfo, c.chunks)})
		}
		if err := check(m, 2); (err == nil) != c.sound || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestDeltasAtTheirLimits tests which numbers of a block's integers and parts are taken, and which widths of differences.
func TestDeltasAtTheirLimits(t *testing.T) {
	head := func(block, parts uint64) []byte {
		b := binary.AppendUvarint(binary.AppendUvarint(nil, block), parts)
		return binary.AppendVarint(binary.AppendUvarint(b, 2), 5)
	}
	for _, c := range []struct {
		block, parts uint64
		sound        bool
	}{{128, 4, true}, {8, 1, true}, {0, 1, false}, {128, 0, false}, {128, 3, false}, {128, 32, false}, {12, 1, false}, {8, 16, false},
		{mostBlock, 4, true}, {mostBlock + 8, 1, false}} {
		if d, err := newDeltas(head(c.block, c.parts)); (err == nil) != c.sound || err == nil && (d.block != int(c.block) || d.part != int(c.block/c.parts)) {
			t.Errorf("%+v: %+v, %v", c, d, err)
		}
	}
	for _, width := range []byte{0, 1, 56, 57, 63, 64, 65, 255} {
		b := append(binary.AppendVarint(head(8, 1), 3), width) // the least difference is 3, and the one that is stored 1
		b = append(b, append([]byte{1}, make([]byte, int(width))...)...)
		d, err := newDeltas(b)
		if err != nil {
			t.Fatal(err)
		}
		want, got := fmt.Sprint([]int64{5, 9}, nil), make([]int64, 2)
		switch {
		case width == 0:
			want = fmt.Sprint([]int64{5, 8}, nil)
		case width > 64:
			want = fmt.Sprint([]int64{5, 0}, ErrDamaged)
		}
		if err := d.decode(got); fmt.Sprint(got, err) != want {
			t.Errorf("width %d: %v, %v: must be %s", width, got, err, want)
		}
	}
}

// TestRunsAtTheirLimits tests runs of equal numbers: one has as many bytes and bits as the width says.
func TestRunsAtTheirLimits(t *testing.T) {
	for _, c := range []struct {
		width uint
		run   []byte
		want  string
	}{{8, []byte{3 << 1, 255}, "[255 255 255] <nil>"}, {7, []byte{3 << 1, 127}, "[127 127 127] <nil>"}, {7, []byte{3 << 1, 128}, "[0 0 0] parquet: damaged"},
		{9, []byte{3 << 1, 1, 1}, "[257 257 257] <nil>"}, {9, []byte{3 << 1, 1}, "[0 0 0] parquet: damaged"}, {0, []byte{3 << 1}, "[0 0 0] <nil>"},
		{32, []byte{3 << 1, 255, 255, 255, 255}, "[-1 -1 -1] <nil>"}, {8, []byte{0, 1}, "[0 0 0] parquet: damaged"}} {
		h, err := newHybrid(c.run, c.width)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]int32, 3)
		if err := h.decode(dst); fmt.Sprint(dst, " ", err) != c.want {
			t.Errorf("width %d, %v: %v %v: must be %s", c.width, c.run, dst, err, c.want)
		}
	}
	if _, err := newHybrid(nil, 33); !errors.Is(err, ErrDamaged) {
		t.Errorf("33 bits: %v", err)
	}
}

// TestLengthsOfBytes tests both sides of each length that a value states: of its bytes, of its prefix, and of a column
// whose values have one length.
func TestLengthsOfBytes(t *testing.T) {
	for size, want := range map[uint32]string{3: "[[97 98 99]] <nil>", 4: "[[]] parquet: damaged", 7: "[[]] parquet: damaged"} {
		d, v := &byteArrays{append(binary.LittleEndian.AppendUint32(nil, size), "abc"...)}, &Values{}
		n, err := d.next(v, 1)
		if got := fmt.Sprint(v.Bytes, " ", err); got != want || (err == nil) != (n == 1) {
			t.Errorf("%d bytes of 3: %s: must be %s", size, got, want)
		}
	}
	s := &streams{kind: Int32, b: make([]byte, 12), width: 4}
	for i, want := range []error{nil, ErrDamaged, nil, ErrDamaged} {
		if _, err := s.next(&Values{}, []int{2, 2, 1, 1}[i]); err != want {
			t.Errorf("turn %d of 3 values: %v: must be %v", i, err, want)
		}
	}
}
