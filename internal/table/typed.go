package table

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/parquet"
)

// The row map, which encodes a row, is defined on the texts of cells. It first maps each cell to a number, the cell's
// reading. The reading of a typed value is the reading of its text. If the text would be a number or a date, the
// reading is computed from the number or the days, without writing the text. For all other values, and for values whose
// text is a missing marker, the text is written. The entries of a dictionary are read once.

// typedRows are the rows of a Parquet row group, returned as readings: the numbers to which the row
// map maps cells.
type typedRows struct {
	*groupRows
	cells [][]float64
}

// Readings implements Typed.
func (g *typedRows) Readings() (columns [][]float64, n int, err error) {
	if n, err = g.advance((*column).loadReadings); n == 0 {
		return nil, 0, err
	}
	for i, c := range g.columns {
		if c != nil {
			g.cells[i] = c.readings[c.row:][:n]
			c.row += n
		}
	}
	return g.cells, n, nil
}

// advance reads the next batch of each column that has none left. It returns the number of rows that all columns have
// in memory, which are then no longer left, or 0 at the end and with an error.
func (g *groupRows) advance(load func(*column) error) (n int, err error) {
	if g.left == 0 {
		g.close()
		return 0, nil
	}
	n = int(min(g.left, math.MaxInt32))
	for _, c := range g.columns {
		if c == nil {
			continue
		}
		if c.row == c.rows {
			if err := load(c); err != nil {
				g.left = 0
				return 0, g.file.parquetFault(err)
			}
		}
		n = min(n, c.rows-c.row)
	}
	g.left -= int64(n)
	return n, nil
}

// loadReadings reads the next batch of the column's values and computes their readings, the numbers
// to which the row map maps cells.
func (c *column) loadReadings() error {
	b := c.batch
	if err := c.reader.Next(b); err != nil {
		return err
	}
	c.row, c.rows = 0, b.Rows
	c.readings = slices.Grow(c.readings[:0], b.Rows)[:b.Rows]
	values := c.readings[:b.N]
	switch {
	case b.Indices != nil:
		if err := c.defineReadings(); err != nil {
			return err
		}
		for i, entry := range b.Indices {
			values[i] = c.entries[entry]
		}
	case b.N > 0:
		c.read(values, &b.Values)
	}
	if b.Present != nil {
		c.spread(b.Present, b.N)
	}
	if c.reader.Rest() && c.known {
		*c.spare, c.entries, c.known = c.entries[:0], nil, false
	}
	return nil
}

// spread moves the first n readings of the batch (numbers to which the row map maps values) to the rows that
// have a value, as present says. All other rows get the reading of a missing value.
func (c *column) spread(present []bool, n int) {
	for i := len(present) - 1; i >= 0; i-- {
		if !present[i] {
			c.readings[i] = c.none
			continue
		}
		n--
		c.readings[i] = c.readings[n]
	}
}

// defineReadings computes the readings (the numbers to which the row map maps cells) of the dictionary's
// entries. It does nothing if c.entries holds them already. loadReadings releases them if the memory limit
// does not allow keeping them. The memory that a column releases is c.spare, which the next column uses.
func (c *column) defineReadings() error {
	if c.known {
		return nil
	}
	c.known = true
	c.entries, *c.spare = *c.spare, nil
	err := c.reader.Dictionary(func(v *parquet.Values, n, left int) error {
		at := len(c.entries)
		c.entries = slices.Grow(c.entries, left)[:at+n]
		c.read(c.entries[at:], v)
		if c.keeps {
			keep(&c.listed, at, v, n)
		}
		return nil
	})
	c.reader.Hold(8 * cap(c.entries))
	return err
}

// readingsOf returns the function that sets dst to the readings of the first len(dst) values of v:
// the numbers to which the row map of column c maps them. y is the values' type.
func readingsOf(y parquet.Type, c Column) func(dst []float64, v *parquet.Values) {
	switch integer := y.Kind == parquet.Int32 || y.Kind == parquet.Int64; {
	case c.Number() && y.Meaning == parquet.Plain && y.Kind == parquet.Double:
		number := numberOfFloat[float64](c, nil, 64)
		return func(dst []float64, v *parquet.Values) { number(dst, v.Doubles) }
	case c.Number() && y.Meaning == parquet.Plain && y.Kind == parquet.Float:
		number := numberOfFloat(c, new(shortest).number, 32)
		return func(dst []float64, v *parquet.Values) { number(dst, v.Floats) }
	case c.Number() && integer && (y.Meaning == parquet.Plain || y.Meaning == parquet.Unsigned ||
		y.Meaning == parquet.Decimal),
		c.Days() && integer && (y.Meaning == parquet.Date || y.Meaning == parquet.Timestamp):
		if y.Kind == parquet.Int32 {
			number := numberOfInt[int32](y, c, 32)
			return func(dst []float64, v *parquet.Values) { number(dst, v.Int32s) }
		}
		number := numberOfInt[int64](y, c, 64)
		return func(dst []float64, v *parquet.Values) { number(dst, v.Int64s) }
	case c.Number() && y.Meaning == parquet.Decimal:
		number := numberOfInt[int64](y, c, 64)
		text := readingsOfTexts(y, c)
		var whole []int64
		return func(dst []float64, v *parquet.Values) {
			whole = whole[:0]
			for _, b := range v.Bytes[:len(dst)] {
				x, ok := narrow(b)
				if !ok {
					text(dst, v)
					return
				}
				whole = append(whole, x)
			}
			number(dst, whole)
		}
	}
	return readingsOfTexts(y, c)
}

// readingsOfTexts returns a function that computes the readings of values, as readingsOf does, but by
// writing each value's text and mapping the text.
func readingsOfTexts(y parquet.Type, c Column) func(dst []float64, v *parquet.Values) {
	spell := spellerOf(y)
	var t texts
	return func(dst []float64, v *parquet.Values) {
		t.reset()
		spell(&t, v, len(dst))
		t.seal()
		for i := range dst {
			dst[i] = c.Text(t.at(i))
		}
	}
}

// readEach returns the function that sets dst to the readings of the first len(dst) values. number
// returns the number that a value's text means. If number returns false for a value, the function writes
// the value's text by spell and reads it by c.Text.
func readEach[T any](c Column, number func(T) (x float64, ok bool), spell func([]byte, T) []byte) func(dst []float64,
	values []T) {
	var text []byte
	var left []int
	return func(dst []float64, values []T) {
		left = left[:0]
		for i := range dst {
			x, ok := number(values[i])
			if !ok {
				left = append(left, i)
			}
			dst[i] = x
		}
		c.Numbers(dst)
		for _, i := range left {
			text = spell(text[:0], values[i])
			dst[i] = c.Text(string(text))
		}
	}
}

// numberOfFloat returns the function that computes the readings of floats of the given number of bits. number
// maps a float to the float64 that its text means. It is nil if the two are equal.
func numberOfFloat[T float32 | float64](c Column, number func(T) float64, bits int) func(dst []float64, values []T) {
	spell := func(b []byte, x T) []byte { return spellFloat(b, float64(x), bits) }
	var marked []uint64
	for _, marker := range c.Missing() {
		if x, err := strconv.ParseFloat(marker, bits); err == nil && string(spell(nil, T(x))) == marker {
			marked = append(marked, math.Float64bits(x))
		}
	}
	switch {
	case number == nil && len(marked) == 0:
		return func(dst []float64, values []T) {
			for i, x := range values[:len(dst)] {
				dst[i] = float64(x)
			}
			c.Numbers(dst)
		}
	case number == nil:
		number = func(x T) float64 { return float64(x) }
	}
	return readEach(c, func(x T) (float64, bool) {
		return number(x), len(marked) == 0 || !slices.Contains(marked, math.Float64bits(float64(x)))
	}, spell)
}

// mostWhole is 2^53: all integers from -2^53 to 2^53 are exact as float64 numbers.
const mostWhole = 1 << 53

// numberOfInt returns the function that computes the readings of values stored as integers: integers,
// decimals, dates and timestamps.
func numberOfInt[T int32 | int64](y parquet.Type, c Column, bits int) func(dst []float64, values []T) {
	spell := spellInt(y, bits)
	var marked []int64
	for _, marker := range c.Missing() {
		if x, ok := intOf(y, marker); ok && string(spell(nil, x)) == marker {
			marked = append(marked, x)
		}
	}
	var number func(x int64) (float64, bool)
	switch y.Meaning {
	case parquet.Unsigned:
		number = func(x int64) (float64, bool) { return float64(uint64(x) << (64 - bits) >> (64 - bits)), true }
	case parquet.Decimal:
		if y.Scale >= len(tens) {
			number = func(int64) (float64, bool) { return 0, false }
			break
		}
		// Numerator and denominator are exact, so the quotient is rounded once and equals the parsed text.
		ten := tens[y.Scale]
		number = func(x int64) (float64, bool) { return float64(x) / ten, -mostWhole <= x && x <= mostWhole }
	case parquet.Date:
		number = func(x int64) (float64, bool) { return float64(x), firstDay <= x && x <= lastDay }
	case parquet.Timestamp:
		number = func(x int64) (float64, bool) {
			seconds := floor(x, y.Second)
			day := floor(seconds, daySeconds)
			return float64(day) + float64(seconds-day*daySeconds)/daySeconds, firstDay <= day && day <= lastDay
		}
	default:
		number = func(x int64) (float64, bool) { return float64(x), true }
	}
	return readEach(c, func(v T) (float64, bool) {
		x, ok := number(int64(v))
		return x, ok && (len(marked) == 0 || !slices.Contains(marked, int64(v)))
	}, func(b []byte, v T) []byte { return spell(b, int64(v)) })
}

// tens are the powers of ten that are exact as float64 numbers.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22}

// firstDay and lastDay are 0001-01-01 and 9999-12-31, in days since 1970-01-01. The text of a day
// outside of them is not a date.
const (
	firstDay, lastDay = -719162, 2932896
	daySeconds        = 24 * 60 * 60
)

// floor returns x divided by y, rounded down. y is positive.
func floor(x, y int64) int64 {
	q := x / y
	if q*y > x {
		q--
	}
	return q
}

// intOf returns the stored integer of type y whose text may be a given marker of missing cells. ok is false if no
// integer's text is the marker. If ok is true, the caller must still compare the integer's text with the marker.
func intOf(y parquet.Type, marker string) (x int64, ok bool) {
	switch y.Meaning {
	case parquet.Unsigned:
		u, err := strconv.ParseUint(marker, 10, 64)
		if y.Kind == parquet.Int32 {
			return int64(int32(u)), err == nil
		}
		return int64(u), err == nil
	case parquet.Decimal:
		marker = strings.Replace(marker, ".", "", 1)
	case parquet.Date:
		t, err := time.Parse(time.DateOnly, marker)
		return floor(t.Unix(), daySeconds), err == nil
	case parquet.Timestamp:
		t, err := time.Parse(timestamp, strings.TrimSuffix(marker, "Z"))
		return t.Unix()*y.Second + int64(t.Nanosecond())*y.Second/int64(time.Second), err == nil
	}
	x, err := strconv.ParseInt(marker, 10, 64)
	return x, err == nil
}

// narrow returns the number that bytes represent in two's complement, highest byte first. ok is
// false if the number does not fit in 64 bits.
func narrow(b []byte) (x int64, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) > 8 {
		if b[0] != sign {
			return 0, false
		}
		b = b[1:]
	}
	var whole [8]byte
	for i := range whole {
		whole[i] = sign
	}
	copy(whole[8-len(b):], b)
	x = int64(binary.BigEndian.Uint64(whole[:]))
	return x, byte(x>>63) == sign
}

// shortest finds the decimal with the fewest digits that rounds to a given 32-bit float. If several decimals
// have as few digits, it finds the nearest to the float. This is the decimal that spellFloat writes. Each
// column needs its own shortest: the decimals of a column tend to have equally many digits after the point,
// so the search starts with the number of digits of the previous decimal.
type shortest struct{ behind int } // digits after the point of the previous decimal

// number returns the float64 that is nearest to the shortest decimal of x.
func (s *shortest) number(x float32) float64 {
	size := math.Abs(float64(x))
	switch {
	case size < 1<<24 && size == math.Trunc(size) || size-size != 0:
		return float64(x) // the decimal is the number itself, or x is infinite or NaN
	case size < 1e-6 || size >= 1<<24:
		return parsed(x)
	}
	// Just below a power of two, floats are closer together than above it. At a power of two, the
	// decimal nearest to the float could therefore round to another float, while a decimal farther away
	// rounds to this float. For the powers of two from 1e-6 to 2^24 this does not happen.
	for s.behind > 0 && size*tens[s.behind] >= mostDigits {
		s.behind--
	}
	c, is, sure := decimalOf(size, s.behind)
	for sure && !is {
		s.behind++
		c, is, sure = decimalOf(size, s.behind)
	}
	for sure && s.behind > 0 {
		var less float64
		if less, is, sure = decimalOf(size, s.behind-1); !is {
			break
		}
		c = less
		s.behind--
	}
	if !sure {
		return parsed(x)
	}
	return math.Copysign(c, float64(x))
}

// mostDigits bounds the digits of a decimal, without the point, as an integer. Nine digits are enough to
// distinguish all 32-bit floats.
const mostDigits = 1e10

// decimalOf returns the decimal c nearest to size with the given number of digits after the point. is reports whether c
// rounds to the same 32-bit float as size. sure is false if a rounding error could have changed c or is.
func decimalOf(size float64, behind int) (c float64, is, sure bool) {
	// The product is below 2^34. It is rounded once, by less than 2^-19.
	scaled := size * tens[behind]
	whole := math.RoundToEven(scaled)
	if math.Abs(math.Abs(scaled-whole)-.5) < 0x1p-18 {
		return 0, false, false
	}
	c = whole / tens[behind] // rounded once, and therefore equal to the parsed text of the decimal
	// The midpoint between two 32-bit floats is a float64. At any other float64, rounding the
	// decimal to float64 and then to float32 equals rounding it once.
	if math.Float64bits(c)&(1<<29-1) == 1<<28 {
		return 0, false, false
	}
	return c, float32(c) == float32(size), true
}

// parsed returns the float64 nearest to the shortest decimal of x, as [shortest.number] does, by
// writing and parsing the decimal's text.
func parsed(x float32) float64 {
	v, _ := strconv.ParseFloat(string(spellFloat(nil, float64(x), 32)), 64)
	return v
}
