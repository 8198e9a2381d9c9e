// Package codec writes and reads the binary messages between a session and its workers. One function describes a
// message in both directions: it gives each field to a method of Codec, which writes the field or sets it.
package codec

import (
	"encoding/binary"
	"math"
)

// Codec writes values to a message, or reads them from one.
type Codec struct {
	// B is the message as far as it is written, or what is left of it to be read.
	B []byte
	// Reads is true if values are read.
	Reads bool
	// Bad is true after a message ended too early or had a value that none of its writers writes. Values that are read
	// from then on are zero.
	Bad bool
}

// Next returns the next n bytes of a message that is read. It returns nil and sets Bad if there are fewer.
func (c *Codec) Next(n int) []byte {
	if c.Bad || n < 0 || n > len(c.B) {
		c.Bad = true
		return nil
	}
	next := c.B[:n]
	c.B = c.B[n:]
	return next
}

// Bytes writes or reads len(v) bytes.
func (c *Codec) Bytes(v []byte) {
	if !c.Reads {
		c.B = append(c.B, v...)
	} else if next := c.Next(len(v)); next != nil {
		copy(v, next)
	} else {
		clear(v)
	}
}

// Rest writes v, or reads all bytes that are left.
func (c *Codec) Rest(v *[]byte) {
	if c.Reads {
		*v = c.B
		c.B = nil
	} else {
		c.B = append(c.B, *v...)
	}
}

// End sets Bad if bytes are left to be read.
func (c *Codec) End() { c.Bad = c.Bad || c.Reads && len(c.B) > 0 }

// Byte writes or reads a byte.
func (c *Codec) Byte(v *byte) {
	b := [1]byte{*v}
	if c.Bytes(b[:]); c.Reads {
		*v = b[0]
	}
}

// Uint64 writes or reads a number in eight bytes, the lowest first.
func (c *Codec) Uint64(v *uint64) {
	if !c.Reads {
		c.B = binary.LittleEndian.AppendUint64(c.B, *v)
		return
	}
	*v = 0
	if b := c.Next(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

// Float writes or reads the bits of a number.
func (c *Codec) Float(v *float64) {
	bits := math.Float64bits(*v)
	if c.Uint64(&bits); c.Reads {
		*v = math.Float64frombits(bits)
	}
}

// Count writes a number, or reads one from 0 to most. It sets Bad if the number is larger.
func (c *Codec) Count(v *int, most int) {
	if !c.Reads {
		c.B = binary.AppendUvarint(c.B, uint64(*v))
		return
	}
	*v = 0
	n, size := binary.Uvarint(c.B)
	if size <= 0 || n > uint64(most) {
		c.Bad = true
	} else if c.Next(size) != nil {
		*v = int(n)
	}
}

// Signed writes or reads a number that may be below zero.
func (c *Codec) Signed(v *int64) {
	if !c.Reads {
		c.B = binary.AppendVarint(c.B, *v)
		return
	}
	*v = 0
	n, size := binary.Varint(c.B)
	if size <= 0 {
		c.Bad = true
	} else if c.Next(size) != nil {
		*v = n
	}
}
