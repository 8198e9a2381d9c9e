package table

import (
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// speller writes the first n values of a page as the cells of text that the same
// table has as CSV: see the package comment.
type speller func(values encoding.Values, n int) texts

// spellerOf returns how values of a type are written; nil for a type without a text.
func spellerOf(t parquet.Type) speller {
	var logical format.LogicalTypeValue
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	switch t.Kind() {
	case parquet.Boolean:
		return booleans
	case parquet.Int32:
		spell := spellInt(logical, 32)
		return func(v encoding.Values, n int) texts {
			return join(v.Int32()[:n], func(b []byte, x int32) []byte { return spell(b, int64(x)) })
		}
	case parquet.Int64:
		spell := spellInt(logical, 64)
		return func(v encoding.Values, n int) texts { return join(v.Int64()[:n], spell) }
	case parquet.Int96:
		return func(v encoding.Values, n int) texts { return join(v.Int96()[:n], spellInt96) }
	case parquet.Float:
		return func(v encoding.Values, n int) texts {
			return join(v.Float()[:n], func(b []byte, x float32) []byte { return spellFloat(b, float64(x), 32) })
		}
	case parquet.Double:
		return func(v encoding.Values, n int) texts {
			return join(v.Double()[:n], func(b []byte, x float64) []byte { return spellFloat(b, x, 64) })
		}
	case parquet.ByteArray:
		return byteArrays(spellBytes(logical))
	case parquet.FixedLenByteArray:
		if c := t.ConvertedType(); c != nil && *c == deprecated.Interval {
			return nil
		}
		return fixedBytes(spellBytes(logical))
	}
	return nil
}

// join puts the texts of values one behind the other.
func join[T any](values []T, spell func([]byte, T) []byte) texts {
	text, ends := make([]byte, 0, 8*len(values)), make([]uint32, len(values))
	for i, v := range values {
		text = spell(text, v)
		ends[i] = uint32(len(text))
	}
	return texts{string(text), ends}
}

// booleans are a bit each.
func booleans(v encoding.Values, n int) texts {
	bits := v.Boolean()
	each := make([]bool, n)
	for i := range each {
		each[i] = bits[i/8]>>(i%8)&1 != 0
	}
	return join(each, strconv.AppendBool)
}

func byteArrays(spell func(b, value []byte) []byte) speller {
	return func(v encoding.Values, n int) texts {
		data, offsets := v.ByteArray()
		if n > 0 && n+1 > len(offsets) {
			panic(errDamaged)
		}
		each := make([][]byte, n)
		for i := range each {
			each[i] = data[offsets[i]:offsets[i+1]]
		}
		return join(each, spell)
	}
}

func fixedBytes(spell func(b, value []byte) []byte) speller {
	return func(v encoding.Values, n int) texts {
		data, size := v.FixedLenByteArray()
		if size == 0 {
			return texts{ends: make([]uint32, n)}
		}
		return join(slices.Collect(slices.Chunk(data[:n*size], size)), spell)
	}
}

// spellInt returns how integers of so many bits are written.
func spellInt(logical format.LogicalTypeValue, bits int) func(b []byte, x int64) []byte {
	switch t := logical.(type) {
	case *format.IntType:
		if !t.IsSigned {
			return func(b []byte, x int64) []byte { return strconv.AppendUint(b, uint64(x)<<(64-bits)>>(64-bits), 10) }
		}
	case *format.DecimalType:
		return func(b []byte, x int64) []byte { return spellDecimal(b, big.NewInt(x), int(t.Scale)) }
	case *format.DateType:
		return func(b []byte, x int64) []byte { return time.Unix(x*86400, 0).UTC().AppendFormat(b, time.DateOnly) }
	case *format.TimestampType:
		layout := timestamp
		if t.IsAdjustedToUTC {
			layout += "Z"
		}
		unit := unitOf(t.Unit)
		return func(b []byte, x int64) []byte { return moment(x, unit).AppendFormat(b, layout) }
	case *format.TimeType:
		unit := unitOf(t.Unit)
		return func(b []byte, x int64) []byte { return moment(x, unit).AppendFormat(b, "15:04:05.999999999") }
	}
	return func(b []byte, x int64) []byte { return strconv.AppendInt(b, x, 10) }
}

const timestamp = "2006-01-02T15:04:05.999999999"

// unitOf returns how many of a unit are a second.
func unitOf(u format.TimeUnit) int64 { return int64(time.Second / u.Value.Duration()) }

// moment is so many units, of which a second has perSecond, after 1970 began.
func moment(x, perSecond int64) time.Time {
	seconds, rest := x/perSecond, x%perSecond
	return time.Unix(seconds, rest*int64(time.Second)/perSecond).UTC()
}

// spellInt96 writes a moment as nanoseconds of a Julian day: such columns hold nothing
// else.
func spellInt96(b []byte, x deprecated.Int96) []byte {
	const epoch = 2440588 // the Julian day of 1970-01-01
	nanoseconds := int64(x[0]) | int64(x[1])<<32
	return time.Unix((int64(x[2])-epoch)*86400, nanoseconds).UTC().AppendFormat(b, timestamp)
}

// spellFloat writes the shortest decimal that is the number again, without an
// exponent where it has a common size.
func spellFloat(b []byte, x float64, bits int) []byte {
	form := byte('f')
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(b, x, form, -1, bits)
}

// spellBytes returns how bytes are written: as they are, unless they are a number.
func spellBytes(logical format.LogicalTypeValue) func(b, value []byte) []byte {
	switch t := logical.(type) {
	case *format.DecimalType:
		return func(b, value []byte) []byte { return spellDecimal(b, signed(value), int(t.Scale)) }
	case *format.UUIDType:
		return spellUUID
	case *format.Float16Type:
		return func(b, value []byte) []byte {
			return spellFloat(b, half(uint16(value[0])|uint16(value[1])<<8), 32)
		}
	}
	return func(b, value []byte) []byte { return append(b, value...) }
}

// signed is the number that bytes are in two's complement, the highest first.
func signed(value []byte) *big.Int {
	x := new(big.Int).SetBytes(value)
	if len(value) > 0 && value[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(value))))
	}
	return x
}

// spellDecimal writes x times 10^-scale, with as many digits behind the point.
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

// half is a number of 16 bits: sign, 5 of exponent, 10 of fraction (IEEE 754).
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
