package codec

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
)

// message has a field for each method.
type message struct {
	fixed  [3]byte
	kind   byte
	number uint64
	float  float64
	count  int
	signed int64
	rest   []byte
}

func (m *message) code(c *Codec) {
	c.Bytes(m.fixed[:])
	c.Byte(&m.kind)
	c.Uint64(&m.number)
	c.Float(&m.float)
	c.Count(&m.count, 300)
	c.Signed(&m.signed)
	c.Rest(&m.rest)
}

// TestBytesOfAMessage compares the bytes of a message with those that were worked out by hand: numbers of fixed size
// begin with their lowest byte, counts have seven bits a byte, and signed numbers are folded around 0. Writing leaves the
// message as it is, and reading gives the same message.
func TestBytesOfAMessage(t *testing.T) {
	m := message{fixed: [3]byte{1, 2, 3}, kind: 4, number: 0x0123456789abcdef, float: -2, count: 300, signed: -3, rest: []byte("rest")}
	was := m
	var w Codec
	m.code(&w)
	want := "010203" + "04" + "efcdab8967452301" + "00000000000000c0" + "ac02" + "05" + hex.EncodeToString([]byte("rest"))
	if got := hex.EncodeToString(w.B); got != want || w.Bad {
		t.Fatalf("%s, %v: must be %s", got, w.Bad, want)
	}
	var got message
	r := Codec{B: w.B, Reads: true}
	got.code(&r)
	if r.End(); r.Bad || got.fixed != was.fixed || got.kind != 4 || got.number != was.number || got.float != -2 ||
		got.count != 300 || got.signed != -3 || !bytes.Equal(got.rest, was.rest) {
		t.Errorf("%+v, %v", got, r.Bad)
	}
	if m.fixed != was.fixed || m.number != was.number || m.float != was.float || m.count != was.count || m.signed != was.signed {
		t.Errorf("writing has changed the message: %+v", m)
	}
}

// TestBitsOfFloatsTravel: a float travels by its bits, those of a not-a-number and the sign of zero included.
func TestBitsOfFloatsTravel(t *testing.T) {
	for _, bits := range []uint64{0, 1 << 63, 0x7ff8000000000001, 0xfff0000000000000, 1, math.Float64bits(1.5)} {
		x := math.Float64frombits(bits)
		var w Codec
		w.Float(&x)
		r, got := Codec{B: w.B, Reads: true}, 7.
		if r.Float(&got); r.Bad || math.Float64bits(got) != bits || len(r.B) > 0 {
			t.Errorf("%x: %x, %v", bits, math.Float64bits(got), r.Bad)
		}
	}
}

// TestShortMessages: a message that is cut within a field is bad, and that field and all that follow are zero, whatever
// they were before.
func TestShortMessages(t *testing.T) {
	m := message{fixed: [3]byte{1, 2, 3}, kind: 4, number: 5, float: 6, count: 300, signed: -300, rest: []byte{}}
	var w Codec
	m.code(&w)
	for n := range len(w.B) {
		got := message{fixed: [3]byte{9, 9, 9}, kind: 9, number: 9, float: 9, count: 9, signed: 9}
		r := Codec{B: w.B[:n], Reads: true}
		got.code(&r)
		if !r.Bad {
			t.Errorf("%d bytes of %d are read", n, len(w.B))
		}
		for _, field := range []struct {
			end  int
			zero bool
		}{{3, got.fixed == [3]byte{}}, {4, got.kind == 0}, {12, got.number == 0}, {20, got.float == 0}, {22, got.count == 0},
			{24, got.signed == 0}} {
			if field.zero != (n < field.end) {
				t.Errorf("%d bytes: the field that ends at byte %d: %+v", n, field.end, got)
			}
		}
	}
}

// TestHostileNumbers: counts above the limit and above 64 bits, numbers that do not end, and lengths below zero or beyond
// the message are bad and give zero; a count at its limit is read.
func TestHostileNumbers(t *testing.T) {
	endless := bytes.Repeat([]byte{0xff}, 11)
	for _, c := range []struct {
		b    []byte
		most int
		want int
		bad  bool
	}{
		{[]byte{7}, 7, 7, false}, {[]byte{8}, 7, 0, true}, {[]byte{0}, 0, 0, false}, {[]byte{1}, 0, 0, true},
		{[]byte{}, 7, 0, true}, {[]byte{0x80}, 7, 0, true}, {endless, math.MaxInt, 0, true},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, math.MaxInt, 0, true}, // 2^64-1
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, math.MaxInt, 0, true}, // beyond 64 bits
	} {
		got, r := 9, Codec{B: c.b, Reads: true}
		if r.Count(&got, c.most); got != c.want || r.Bad != c.bad {
			t.Errorf("%x up to %d: %d, %v", c.b, c.most, got, r.Bad)
		}
	}
	signed, r := int64(9), Codec{B: endless, Reads: true}
	if r.Signed(&signed); signed != 0 || !r.Bad {
		t.Errorf("endless: %d, %v", signed, r.Bad)
	}
	for _, n := range []int{-1, math.MinInt, 4, math.MaxInt} {
		r := Codec{B: []byte{1, 2, 3}, Reads: true}
		if r.Next(n) != nil || !r.Bad || r.Next(1) != nil {
			t.Errorf("%d bytes of 3 are there, or reading went on", n)
		}
	}
}

// TestNothingIsReadAfterAFault: once a message is bad it stays so, and no later number is read from what is left.
func TestNothingIsReadAfterAFault(t *testing.T) {
	r := Codec{B: []byte{5, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Reads: true}
	n := 9
	r.Count(&n, 4)
	number, float, signed, kind, fixed := uint64(9), 9., int64(9), byte(9), [2]byte{9, 9}
	r.Count(&n, 100)
	r.Signed(&signed)
	r.Byte(&kind)
	r.Bytes(fixed[:])
	r.Float(&float)
	r.Uint64(&number)
	if !r.Bad || n != 0 || signed != 0 || kind != 0 || fixed != [2]byte{} || float != 0 || number != 0 {
		t.Errorf("%v: %d, %d, %d, %v, %v, %d", r.Bad, n, signed, kind, fixed, float, number)
	}
	r = Codec{B: []byte{1, 2}, Reads: true}
	if r.Byte(&kind); r.Bad || kind != 1 {
		t.Error(r.Bad, kind)
	}
	if r.End(); !r.Bad {
		t.Error("a byte is left")
	}
	w := Codec{B: []byte{1}}
	if w.End(); w.Bad {
		t.Error("what is written has no end to be read")
	}
}
