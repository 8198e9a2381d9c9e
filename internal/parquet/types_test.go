package parquet

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// TestEveryTypeOfTheFormat reads a column of each converted and each logical type of the format, by their numbers, and of
// numbers that the format does not have. A logical type takes the place of a converted one.
func TestEveryTypeOfTheFormat(t *testing.T) {
	plain, none := Type{Kind: Int64}, Type{Kind: Int64, Meaning: Unreadable}
	meaning := func(m Meaning) Type { return Type{Kind: Int64, Meaning: m} }
	time := func(m Meaning, second int64, utc bool) Type {
		return Type{Kind: Int64, Meaning: m, Second: second, UTC: utc}
	}
	converted := []Type{ // UTF8, MAP, MAP_KEY_VALUE, LIST, ENUM, DECIMAL, DATE, TIME_MILLIS, TIME_MICROS, TIMESTAMP_MILLIS, ...
		0: plain, 1: none, 2: none, 3: none, 4: plain, 5: {Kind: Int64, Meaning: Decimal, Scale: 7}, 6: meaning(Date), 7: time(Time, 1e3, false),
		8: time(Time, 1e6, false), 9: time(Timestamp, 1e3, true), 10: time(Timestamp, 1e6, true), 11: meaning(Unsigned), 12: meaning(Unsigned),
		13: meaning(Unsigned), 14: meaning(Unsigned), 15: plain, 16: plain, 17: plain, 18: plain, 19: plain, 20: plain, 21: none, 22: plain, 30: plain,
	}
	empty := []byte{0}
	// of is the content of the logical type: fields 1 and 2, a number, a truth or a structure
	truth := func(yes bool) []byte {
		if yes {
			return []byte{1<<4 | thriftTrue}
		}
		return []byte{1<<4 | thriftFalse}
	}
	ticks := func(utc bool, unit byte) []byte {
		return append(append(truth(utc), 1<<4|thriftStruct, unit<<4|thriftStruct, 0, 0), 0)
	}
	signed := func(yes bool) []byte { return append(append([]byte{1<<4 | thriftByte, 32}, truth(yes)...), 0) }
	type logical struct {
		id   byte
		of   []byte
		want Type
	}
	list := []logical{{1, empty, plain}, {2, empty, none}, {3, empty, none}, {4, empty, plain},
		{5, append(intField(intField(nil, 1, 4), 1, 18), 0), Type{Kind: Int64, Meaning: Decimal, Scale: 4}},
		{6, empty, meaning(Date)}, {9, empty, none}, {10, signed(true), plain}, {10, signed(false), meaning(Unsigned)}, {11, empty, meaning(Nothing)},
		{12, empty, plain}, {13, empty, plain}, {14, empty, meaning(UUID)}, {15, empty, meaning(Float16)}}
	for i, second := range []int64{1: 1e3, 2: 1e6, 3: 1e9, 4: 0} {
		if i > 0 {
			for _, utc := range []bool{true, false} {
				list = append(list, logical{7, ticks(utc, byte(i)), time(Time, second, utc)}, logical{8, ticks(utc, byte(i)), time(Timestamp, second, utc)})
			}
		}
	}
	read := func(older int, l *logical) Type {
		b := textField(intField(nil, 1, int64(Int64)), 3, "c")
		last := byte(4)
		if older >= 0 {
			b, last = intField(intField(b, 2, int64(older)), 1, 7), 7 // the scale is 7
		}
		if l != nil {
			b = append(b, (10-last)<<4|thriftStruct, l.id<<4|thriftStruct)
			b = append(append(b, l.of...), 0)
		}
		th := &thrift{b: append(b, 0)}
		e := th.element()
		if th.bad || th.at != len(th.b) || !e.leaf || e.name != "c" {
			t.Errorf("%d, %+v: %+v, damaged %v at %d of %d", older, l, e, th.bad, th.at, len(th.b))
		}
		return e.typ
	}
	for older, want := range converted {
		if older > 22 && older < 30 {
			continue
		}
		if got := read(older, nil); got != want {
			t.Errorf("converted type %d: %+v: must be %+v", older, got, want)
		}
	}
	for _, l := range list {
		for _, older := range []int{-1, 0, 3, 6, 9, 11} {
			if got := read(older, &l); got != l.want {
				t.Errorf("logical type %d with the converted type %d: %+v: must be %+v", l.id, older, got, l.want)
			}
		}
	}
}

// TestEveryFieldOfAChunk sets one field of a column chunk's description at a time.
func TestEveryFieldOfAChunk(t *testing.T) {
	meta := func(steps ...int64) []byte { // the fields 1, 4, 5, 9 and 11 of the metadata
		b := intField(nil, 1, steps[0])
		b = longField(intField(b, 3, steps[1]), 1, steps[2])
		return append(longField(longField(b, 4, steps[3]), 2, steps[4]), 0)
	}
	all := append([]byte{3<<4 | thriftStruct}, meta(5, 6, 70, 800, 90)...)
	want := chunkInfo{kind: Double, codec: 6, values: 70, data: 800, dictionary: 90, described: true}
	for name, c := range map[string]struct {
		b    []byte
		want chunkInfo
	}{
		"nothing":         {nil, chunkInfo{}},
		"all":             {all, want},
		"in another file": {append(textField(nil, 1, "f"), append([]byte{2<<4 | thriftStruct}, all[1:]...)...), chunkInfo{Double, 6, 70, 800, 90, true, false, true}},
		"an offset":       {longField(nil, 2, 3), chunkInfo{}},
		"no structure":    {intField(nil, 3, 7), chunkInfo{}},
		"encrypted":       {append(all[:len(all):len(all)], 5<<4|thriftStruct, 0), chunkInfo{Double, 6, 70, 800, 90, false, true, true}},
		"encrypted meta":  {append(textField(nil, 9, "x"), 0)[:3], chunkInfo{encrypted: true}},
		"an index":        {append(all[:len(all):len(all)], 1<<4|thriftI64, 8), want},
	} {
		th := &thrift{b: append(append([]byte{}, c.b...), 0)}
		if got := th.chunk(); got != c.want || th.bad {
			t.Errorf("%s: %+v, damaged %v: must be %+v", name, got, th.bad, c.want)
		}
	}
	for _, c := range []struct{ data, dictionary, start int64 }{{100, 0, 100}, {100, 4, 4}, {100, 99, 99}, {100, 100, 100}, {100, 101, 100}, {100, -1, 100}} {
		if got := (chunkInfo{data: c.data, dictionary: c.dictionary}).start(); got != c.start {
			t.Errorf("%+v: starts at %d", c, got)
		}
	}
}

// TestDepthOfSkippedValues tests that a value is skipped up to the depth of nesting that is taken, in structures and lists.
func TestDepthOfSkippedValues(t *testing.T) {
	for depth := 1; depth < 40; depth++ {
		for name, open := range map[string]string{"structures": string([]byte{1<<4 | thriftStruct}), "lists": string([]byte{1<<4 | thriftList})} {
			head, tail := strings.Repeat(open, depth), strings.Repeat("\x00", depth+1)
			if open[0]&15 == thriftList {
				head, tail = string([]byte{1<<4 | thriftList}), "\x00"
				for range depth - 1 {
					head += string([]byte{1<<4 | thriftList}) // a list of one list
				}
				head += string([]byte{0<<4 | thriftByte}) // and the last one is empty
			}
			th := &thrift{b: []byte(head + tail)}
			th.fields(func(int16, byte) bool { return false })
			if sound := depth <= mostDepth; th.bad == sound || sound && th.at != len(th.b) {
				t.Errorf("%d %s: damaged %v, read %d of %d", depth, name, th.bad, th.at, len(th.b))
			}
		}
	}
	if mostDepth != 32 {
		t.Error(fmt.Sprint("the largest depth is ", mostDepth))
	}
}

// sparse is a file of zeros that ends in a tail.
type sparse struct {
	size int64
	tail string
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for i := range p {
		if at := off + int64(i) - (s.size - int64(len(s.tail))); at >= 0 {
			p[i] = s.tail[at]
		}
	}
	return len(p), nil
}

// TestEndsOfFiles tests the last bytes of a file: the length of its description at both sides of each limit, and its mark.
func TestEndsOfFiles(t *testing.T) {
	const damaged, encrypted = "parquet: damaged", "parquet: the file is encrypted, which cannot be read"
	const large = "parquet: the file describes itself in more than 64 MiB, which cannot be read: write it with fewer row groups"
	for _, c := range []struct {
		size   int64
		length uint32
		mark   string
		want   string
	}{
		{1 << 30, 64 << 20, "PAR1", damaged}, {1 << 30, 64<<20 + 1, "PAR1", large}, {1 << 30, 1<<30 - 12, "PAR1", large}, {1 << 30, 1<<30 - 11, "PAR1", damaged},
		{1 << 30, 1<<32 - 1, "PAR1", damaged}, {1 << 30, 8, "PARE", encrypted}, {1 << 30, 8, "PAR2", damaged}, {1 << 30, 8, "par1", damaged}, {12, 0, "PAR1", damaged},
		{11, 0, "PAR1", damaged}, {0, 0, "", damaged}, {20, 8, "PAR1", damaged}, {20, 9, "PAR1", damaged},
	} {
		s := sparse{c.size, string(binary.LittleEndian.AppendUint32(nil, c.length)) + c.mark}
		if f, err := Open(s, c.size); f != nil && err == nil || err.Error() != c.want {
			t.Errorf("%d bytes, %d of description, %s: %v: must be %s", c.size, c.length, c.mark, err, c.want)
		}
	}
}

// TestGroupsOfPackedNumbers tests how many groups of eight numbers a run may state: up to 2^32, of which the bytes that there are
// hold as many numbers as they have room for.
func TestGroupsOfPackedNumbers(t *testing.T) {
	for groups, sound := range map[uint64]bool{0: false, 1: true, 2: true, 1 << 20: true, 1 << 32: true, 1<<32 + 1: false, 1 << 33: false, 1 << 59: false, 1 << 60: false,
		1 << 61: false, 1 << 62: false, 1<<63 - 1: false} {
		for width, numbers := range map[uint]int{1: 16, 2: 8, 3: 5, 16: 1} { // in two bytes
			b := append(binary.AppendUvarint(nil, groups<<1|1), 255, 255)
			h, err := newHybrid(b, width)
			if err != nil {
				t.Fatal(err)
			}
			want := numbers
			if groups == 1 {
				want = min(want, 8)
			}
			got := make([]int32, want)
			err = h.decode(got)
			if (err == nil) != sound || err == nil && (got[0] != 1<<width-1 || got[want-1] != 1<<width-1) {
				t.Errorf("%d groups of width %d: %v, %v", groups, width, got, err)
			}
			if err == nil && h.decode(make([]int32, 1)) == nil && groups != 1 {
				t.Errorf("%d groups of width %d: has more numbers than bytes", groups, width)
			}
		}
	}
}
