package table

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/parquet"
)

// speller appends to t the texts of the first n values of v: the cells that the same table would have as
// CSV (see the package comment).
type speller func(t *texts, v *parquet.Values, n int)

// spellerOf returns the speller for a type. It returns nil for a type without a text form.
func spellerOf(y parquet.Type) speller {
	if y.Meaning == parquet.Unreadable {
		return nil
	}
	switch y.Kind {
	case parquet.Boolean:
		return func(t *texts, v *parquet.Values, n int) { join(t, v.Bools[:n], strconv.AppendBool) }
	case parquet.Int32:
		spell := spellInt(y, 32)
		return func(t *texts, v *parquet.Values, n int) {
			join(t, v.Int32s[:n], func(b []byte, x int32) []byte { return spell(b, int64(x)) })
		}
	case parquet.Int64:
		spell := spellInt(y, 64)
		return func(t *texts, v *parquet.Values, n int) { join(t, v.Int64s[:n], spell) }
	case parquet.Int96:
		return func(t *texts, v *parquet.Values, n int) { join(t, v.Bytes[:n], spellInt96) }
	case parquet.Float:
		return func(t *texts, v *parquet.Values, n int) {
			join(t, v.Floats[:n], func(b []byte, x float32) []byte { return spellFloat(b, float64(x), 32) })
		}
	case parquet.Double:
		return func(t *texts, v *parquet.Values, n int) {
			join(t, v.Doubles[:n], func(b []byte, x float64) []byte { return spellFloat(b, x, 64) })
		}
	}
	spell := spellBytes(y)
	return func(t *texts, v *parquet.Values, n int) { join(t, v.Bytes[:n], spell) }
}

// join appends to t the text of each value. The function spell appends the text of one value to a buffer.
func join[T any](t *texts, values []T, spell func([]byte, T) []byte) {
	for _, v := range values {
		t.built = spell(t.built, v)
		t.ends = append(t.ends, len(t.built))
	}
}

// spellInt returns the function that appends the text of a value of type y that is stored as an integer of
// the given number of bits: an integer, decimal, date, timestamp or time of day.
func spellInt(y parquet.Type, bits int) func(b []byte, x int64) []byte {
	switch y.Meaning {
	case parquet.Unsigned:
		return func(b []byte, x int64) []byte { return strconv.AppendUint(b, uint64(x)<<(64-bits)>>(64-bits), 10) }
	case parquet.Decimal:
		return func(b []byte, x int64) []byte { return spellDecimal(b, big.NewInt(x), y.Scale) }
	case parquet.Date:
		return func(b []byte, x int64) []byte { return time.Unix(x*86400, 0).UTC().AppendFormat(b, time.DateOnly) }
	case parquet.Timestamp:
		layout := timestamp
		if y.UTC {
			layout += "Z"
		}
		return func(b []byte, x int64) []byte { return moment(x, y.Second).AppendFormat(b, layout) }
	case parquet.Time:
		return func(b []byte, x int64) []byte { return moment(x, y.Second).AppendFormat(b, "15:04:05.999999999") }
	}
	return func(b []byte, x int64) []byte { return strconv.AppendInt(b, x, 10) }
}

const timestamp = "2006-01-02T15:04:05.999999999"

// moment returns the time that is x units after the start of 1970, where a second has perSecond
// units.
func moment(x, perSecond int64) time.Time {
	seconds, rest := x/perSecond, x%perSecond
	return time.Unix(seconds, rest*int64(time.Second)/perSecond).UTC()
}

// spellInt96 appends the text of a timestamp that is stored in 12 bytes: 8 bytes of nanoseconds of the day
// and 4 bytes of the Julian day. Int96 columns have no other use.
func spellInt96(b, value []byte) []byte {
	const epoch = 2440588 // the Julian day of 1970-01-01
	nanoseconds, day := int64(binary.LittleEndian.Uint64(value)), int64(binary.LittleEndian.Uint32(value[8:]))
	return time.Unix((day-epoch)*86400, nanoseconds).UTC().AppendFormat(b, timestamp)
}

// spellFloat appends the shortest decimal that parses to the same float of the given number of bits. The
// decimal has an exponent if the absolute value is below 1e-6 and not 0, or at least 1e21.
func spellFloat(b []byte, x float64, bits int) []byte {
	form := byte('f')
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(b, x, form, -1, bits)
}

// spellBytes returns the function that appends the text of a value of type y that is stored as bytes. The
// text is the bytes themselves, unless the type is a number or a UUID.
func spellBytes(y parquet.Type) func(b, value []byte) []byte {
	switch y.Meaning {
	case parquet.Decimal:
		return func(b, value []byte) []byte { return spellDecimal(b, signed(value), y.Scale) }
	case parquet.UUID:
		return spellUUID
	case parquet.Float16:
		return func(b, value []byte) []byte {
			return spellFloat(b, half(uint16(value[0])|uint16(value[1])<<8), 32)
		}
	}
	return func(b, value []byte) []byte { return append(b, value...) }
}

// signed returns the number that bytes represent in two's complement, highest byte first.
func signed(value []byte) *big.Int {
	x := new(big.Int).SetBytes(value)
	if len(value) > 0 && value[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(value))))
	}
	return x
}

// spellDecimal appends x times 10^-scale, with scale digits after the point. A scale below 0 counts as 0.
func spellDecimal(b []byte, x *big.Int, scale int) []byte {
	if x.Sign() < 0 {
		b = append(b, '-')
	}
	digits := new(big.Int).Abs(x).String()
	if scale <= 0 {
		return append(b, digits...)
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	b = append(b, digits[:len(digits)-scale]...)
	b = append(b, '.')
	return append(b, digits[len(digits)-scale:]...)
}

func spellUUID(b, value []byte) []byte {
	for i, part := range [][]byte{value[:4], value[4:6], value[6:8], value[8:10], value[10:16]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}

// half returns the value of a 16-bit float (IEEE 754): 1 sign bit, 5 bits of exponent, 10 bits of fraction.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	var x float64
	switch exponent {
	case 0:
		x = math.Ldexp(fraction, -24)
	case 31:
		if x = math.Inf(1); fraction != 0 {
			return math.NaN()
		}
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 != 0 {
		return -x
	}
	return x
}
