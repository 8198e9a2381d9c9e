package codec

import (
	"bytes"
	"math"
	"testing"
)

// message has a value for each method of Codec.
type message struct {
	name          [3]byte
	kind          byte
	word          uint64
	x             float64
	count         int
	signed, other int64
	rest          []byte
}

func (m *message) code(c *Codec) {
	c.Bytes(m.name[:])
	c.Byte(&m.kind)
	c.Uint64(&m.word)
	c.Float(&m.x)
	c.Count(&m.count, 300)
	c.Signed(&m.signed)
	c.Signed(&m.other)
	c.Rest(&m.rest)
	c.End()
}

// TestMessagesAreTheirBytes compares a message with its bytes, written by hand, reads it again, and cuts it off at each byte
// but those of its open end: the values that are lacking are zero, and the message is bad.
func TestMessagesAreTheirBytes(t *testing.T) {
	m := message{[3]byte{'a', 'b', 'c'}, 7, 0x0102030405060708, -2, 300, -3, 64, []byte("xy")}
	want := append([]byte("abc\x07\x08\x07\x06\x05\x04\x03\x02\x01\x00\x00\x00\x00\x00\x00\x00\xc0\xac\x02\x05\x80\x01"), "xy"...)
	var w Codec
	if m.code(&w); !bytes.Equal(w.B, want) || w.Bad {
		t.Fatalf("% x, bad %v: must be % x", w.B, w.Bad, want)
	}
	for n := range len(want) + 1 {
		r := Codec{B: bytes.Clone(want[:n]), Reads: true}
		got := message{[3]byte{9, 9, 9}, 9, 9, 9, 9, 9, 9, []byte{9}}
		got.code(&r)
		if r.Bad != (n < len(want)-2) || len(r.B) > 0 {
			t.Errorf("%d bytes: bad %v, %d are left", n, r.Bad, len(r.B))
		}
		if n >= len(want)-2 {
			if got.name != m.name || got.kind != 7 || got.word != m.word || got.x != -2 || got.count != 300 || got.signed != -3 || got.other != 64 ||
				string(got.rest) != string("xy"[:n-len(want)+2]) {
				t.Errorf("%d bytes: %+v", n, got)
			}
		} else if n < 3 && got.name != [3]byte{} || n < 4 && got.kind != 0 || n < 12 && got.word != 0 || n < 20 && math.Float64bits(got.x) != 0 ||
			n < 22 && got.count != 0 || n < 23 && got.signed != 0 || got.other != 0 {
			t.Errorf("%d bytes: %+v: what is lacking must be zero", n, got)
		}
	}
}

// TestCountsHaveALimit tests that a count is read up to its limit, and that nothing is read after a bad one.
func TestCountsHaveALimit(t *testing.T) {
	for most, bad := range map[int]bool{300: false, 301: false, 299: true, 0: true} {
		r := Codec{B: []byte{0xac, 0x02, 5}, Reads: true}
		n, next := 9, byte(9)
		r.Count(&n, most)
		r.Byte(&next)
		if r.Bad != bad || bad && (n != 0 || next != 0) || !bad && (n != 300 || next != 5) {
			t.Errorf("at most %d: %d, then %d, bad %v", most, n, next, r.Bad)
		}
	}
	for _, cut := range [][]byte{{0xac}, nil} { // a number that ends too early, at the end of a message
		r := Codec{B: cut, Reads: true}
		n, signed := 9, int64(9)
		if r.Count(&n, 300); !r.Bad || n != 0 {
			t.Errorf("% x: %d, bad %v", cut, n, r.Bad)
		}
		r = Codec{B: cut, Reads: true}
		if r.Signed(&signed); !r.Bad || signed != 0 {
			t.Errorf("% x: %d, bad %v", cut, signed, r.Bad)
		}
	}
	r := Codec{B: []byte{5}, Reads: true}
	if r.End(); !r.Bad {
		t.Error("a byte that nothing reads is no fault")
	}
	if r = (Codec{B: []byte{5}, Reads: true}); r.Next(-1) != nil || !r.Bad || r.Next(1) != nil {
		t.Error("read a negative number of bytes, or after a fault")
	}
	w := Codec{B: []byte{5}}
	if w.End(); w.Bad {
		t.Error("a message that is written has no end too early")
	}
}
