package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// opened returns the column with the given name in the first group of a fixture.
func opened(t *testing.T, content []byte, name string) *Reader {
	f, err := Open(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Columns {
		if f.Columns[i].Name == name {
			r, err := f.Group(0).Column(&f.Columns[i])
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no column %q", name)
	return nil
}

// TestChecksum tests that a page of either version is damaged if its checksum differs from the stored one, wherever a
// bit differs, also where decoding would only give other values.
func TestChecksum(t *testing.T) {
	for name, kind := range map[string]int32{"pyarrow-checksum.parquet": dataPage, "runs-pyarrow-2.0.parquet": dataPage2,
		"runs-pyarrow-2.0-dictionary.parquet": dataPage2} {
		column := "int64"
		if kind == dataPage2 {
			column = "never"
		}
		content := fixtures(t)[name]
		var b Batch
		r := opened(t, content, column)
		if err := r.Next(&b); err != nil {
			t.Fatal(err)
		}
		h := r.current
		if !h.checked || h.compressed == 0 || h.kind != kind {
			t.Fatalf("%s has no checksum, or pages of kind %d", name, h.kind)
		}
		for _, sum := range []uint32{0, 1, h.checksum - 1, h.checksum + 1, ^h.checksum} {
			other := r.current
			if other.checksum = sum; sum == h.checksum {
				continue
			}
			if _, err := r.contents(other, nil); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: the checksum %d is taken for %d: %v", name, sum, h.checksum, err)
			}
		}
		for at := h.start; at < h.start+int64(h.compressed); at++ {
			damaged := bytes.Clone(content)
			damaged[at] ^= 1
			if err := opened(t, damaged, column).Next(&b); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s: byte %d of the page differs: error %v", name, at-h.start, err)
			}
		}
	}
}

// TestIndicesAreInTheDictionary tests that an index outside of the dictionary, also the first index
// of a page, is ErrDamaged.
func TestIndicesAreInTheDictionary(t *testing.T) {
	for entries, want := range map[int32]error{6: nil, 5: ErrDamaged, 0: ErrDamaged} {
		p := &page{rows: 8, encoding: rleDictionary, b: []byte{3, 8 << 1, 5}}
		r := &Reader{column: &Column{Type: Type{Kind: Int64}}, dictionary: header{start: 4}, entries: entries, page: p}
		var b Batch
		if err := r.decode(&b, 8); !errors.Is(err, want) || err == nil && b.Indices[7] != 5 {
			t.Errorf("%d entries: error %v, want %v", entries, err, want)
		}
	}
}

// TestRefusals tests that unsupported features give errors that name the column and the rule.
func TestRefusals(t *testing.T) {
	f := &File{}
	y := Type{Kind: Int32}
	c := &Column{Name: "x", Flat: true, Type: y, optional: true}
	good := chunkInfo{kind: Int32, data: 4, described: true}
	for rule, change := range map[string]func(*chunkInfo){
		"is encrypted":                      func(c *chunkInfo) { c.encrypted = true },
		"is in another file":                func(c *chunkInfo) { c.elsewhere = true },
		"is compressed by LZO":              func(c *chunkInfo) { c.codec = 3 },
		"is compressed by an unknown codec": func(c *chunkInfo) { c.codec = 8 },
	} {
		info := good
		change(&info)
		g := &Group{file: f, info: groupInfo{chunks: []chunkInfo{info}}}
		if _, err := g.Column(c); err != refused(rule) {
			t.Errorf("error %v, want %v", err, refused(rule))
		}
	}
	r := &Reader{group: &Group{file: f}, column: c}
	h := header{kind: dataPage, levels: bitPacked, values: 1}
	if _, err := r.open(h, []byte{1}); err != refused("has levels packed by bits") {
		t.Errorf("error %v", err)
	}
	r.page = &page{rows: 1, encoding: deltaByteArray, b: []byte{1}}
	if err := r.decode(&Batch{}, 1); err != refused("has values of encoding 7, not one of its type") {
		t.Errorf("error %v", err)
	}
}

func refused(rule string) error {
	return Unsupported("has a column \"x\" that " + rule + ", which cannot be read")
}

// TestMostDictionary tests that dictionaries and pages are bounded, each by its own limit.
func TestMostDictionary(t *testing.T) {
	for kind, most := range map[int32]int32{dictionaryPage: MostDictionary, dataPage: MostPage} {
		h := header{kind: kind, described: true, whole: most, compressed: 1}
		if err := h.check(1 << 40); err != nil {
			t.Errorf("page of kind %d: %v", kind, err)
		}
		h.whole++
		var unsupported Unsupported
		if err := h.check(1 << 40); !errors.As(err, &unsupported) {
			t.Errorf("page of kind %d that is too large: %v", kind, err)
		}
	}
}

// TestLevelsAreBits tests that a page of a flat column with a definition level above 1 is reported as
// damaged.
func TestLevelsAreBits(t *testing.T) {
	for level, want := range map[byte]error{0: nil, 1: nil, 2: ErrDamaged, 255: ErrDamaged} {
		h := hybrid{b: []byte{8 << 1, level}, width: 1}
		if err := h.decode(make([]int32, 8)); !errors.Is(err, want) {
			t.Errorf("level %d: error %v, want %v", level, err, want)
		}
	}
}

// TestHadoop tests LZ4 pages in Hadoop's framing that have one part of several blocks, or several
// parts.
func TestHadoop(t *testing.T) {
	block := func(text string) []byte { return append([]byte{byte(len(text)) << 4}, text...) }
	framed := func(total int, blocks ...[]byte) (b []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(total))
		for _, x := range blocks {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(x))), x...)
		}
		return b
	}
	whole := framed(8, block("abcde"), block("fgh"))
	for name, c := range map[string]struct {
		src  []byte
		want error
	}{
		"one part":         {whole, nil},
		"two parts":        {append(framed(5, block("abcde")), framed(3, block("fgh"))...), nil},
		"less than a part": {framed(8, block("abcde")), ErrDamaged},
		"more than a page": {framed(9, block("abcde"), block("fghi")), ErrDamaged},
		"a rest":           {append(whole, 0), ErrDamaged},
		"a bare block":     {block("abcdefgh"), ErrDamaged},
		"nothing":          {nil, ErrDamaged},
		"an empty part":    {append(framed(0), whole...), ErrDamaged},
		"an empty end":     {append(whole[:len(whole):len(whole)], framed(0)...), ErrDamaged},
		"an empty block":   {framed(8, block("abcde"), nil, block("fgh")), ErrDamaged},
		"a block cut off":  {whole[:len(whole)-1], ErrDamaged},
		"no end of a part": {whole[:len(whole)-6], ErrDamaged},
	} {
		dst := make([]byte, 8)
		if err := hadoop(dst, c.src); !errors.Is(err, c.want) || err == nil && string(dst) != "abcdefgh" {
			t.Errorf("%s: %q, error %v, want %v", name, dst, err, c.want)
		}
	}
}

// TestPagesWithoutValues tests that a page that states no values is passed over, wherever it is among the
// pages, of either version and with or without bytes of its own, and that the rows around it are read.
func TestPagesWithoutValues(t *testing.T) {
	page := func(kind int64, contents []byte, values int64) []byte {
		head := claimed(kind, int64(len(contents)), int64(len(contents)), values)
		return append(head, contents...)
	}
	one := page(dataPage, append([]byte{2, 0, 0, 0, 1 << 1, 1}, make([]byte, 8)...), 1)
	for name, empty := range map[string][]byte{
		"version 1, no bytes":  page(dataPage, nil, 0),
		"version 1, no levels": page(dataPage, []byte{0, 0, 0, 0}, 0),
		"version 2, no bytes":  page(dataPage2, nil, 0),
	} {
		for at, pages := range map[string][][]byte{
			"first": {empty, one, one}, "middle": {one, empty, empty, one}, "last": {one, one, empty},
		} {
			b := bytes.Join(pages, nil)
			f := &File{src: bytes.NewReader(b), end: int64(len(b)), Limit: DefaultLimit, rows: batchRows}
			c := &Column{Name: "x", Flat: true, optional: true, Type: Type{Kind: Int64}}
			r := &Reader{group: &Group{file: f}, column: c, codec: codecs[0], left: 2}
			for row := range 2 {
				var batch Batch
				if err := r.Next(&batch); err != nil || batch.Rows != 1 || batch.N != 1 {
					t.Errorf("%s, %s: row %d: %d rows, %d values, error %v", name, at, row, batch.Rows, batch.N, err)
				}
			}
		}
	}
}

// TestGroupsWithoutRows tests that a group that states no rows needs no offset of its pages, and one of a row
// does.
func TestGroupsWithoutRows(t *testing.T) {
	c := &Column{Name: "x", Flat: true, Type: Type{Kind: Int64}}
	for rows, want := range map[int64]error{0: nil, 1: ErrDamaged} {
		g := &Group{file: &File{}, info: groupInfo{rows: rows, chunks: []chunkInfo{{kind: Int64, described: true, values: rows}}}}
		if _, err := g.Column(c); !errors.Is(err, want) {
			t.Errorf("a group of %d rows: error %v, want %v", rows, err, want)
		}
	}
}
