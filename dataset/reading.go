package dataset

import (
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
)

// ColumnMap is the first step of the row map, for the cells of one column. It maps each cell to a
// reading: a number that contains all information of the cell that the row map uses. The reading of
//
//   - a number or date is its value in [-1, 1], or NaN if the cell is missing or cannot be read;
//   - a category or hash is the index of the cell's feature within the column;
//   - the target is the target's number: -1 or 1 for two classes, the class index for more classes, or a
//     value in [-1, 1] for a number. It is NaN for an invalid cell, which makes the row malformed;
//   - a weight or exposure is a fraction in [0, 1]. It is NaN for an invalid cell, which makes the row
//     malformed;
//   - the filter's public column is 1 if the row passes, and 0 if it does not.
//
// The second step, [Map.EncodeReadings], computes a row from the readings of its cells. [Map.EncodeCoded] does both
// steps. A table therefore encodes to the same rows whether its cells are texts or typed values.
type ColumnMap struct {
	use      purpose
	interval        // of a number or date, and of a target that is a number
	in       *input // the input of a category or hash
	classes  map[string]float64
	target   *Target  // the target whose weight or exposure the column is
	value    string   // the value of the filter
	listed   []string // the public values of the filter's column
	missing  []string
}

// purpose is the purpose for which a map reads a column, such as a number, the target or the filter.
type purpose uint8

const (
	noUse      purpose = iota // a column that is not read, and a unit's column, of which Map.Unit reads the text
	asNumber                  // a number or date, or a target that is a number
	asLevel                   // a category or hash
	asClass                   // a target with classes
	asFraction                // a weight or exposure
	asFilter
	asTime  // a time to an event, or an entry
	asEvent // whether the event occurred
)

// passes is the reading of a cell of the filter's public column if the row passes the filter.
const passes = 1

// bindColumns sets the use of each column that the map reads. No column has two uses.
func (m *Map) bindColumns() {
	s := m.schema
	m.columns = make([]ColumnMap, m.cells)
	for i := range m.columns {
		m.columns[i].missing = s.missing
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		c := &m.columns[in.cell]
		c.use, c.in, c.interval = asLevel, in, in.interval
		if in.other == 0 {
			c.use = asNumber
		}
	}
	if m.target >= 0 {
		c, t := &m.columns[m.target], s.target
		if t.Kind == Category {
			c.use, c.classes = asClass, t.codes()
		} else {
			c.use, c.interval = asNumber, t.interval()
		}
		if t.timed() {
			c.use = asTime
		}
	}
	for i, at := range m.times {
		c := &m.columns[at]
		if c.use, c.high = asTime, s.target.High; i == 0 {
			c.use = asEvent
			_, c.value = s.target.eventColumn()
		}
	}
	if m.beside >= 0 {
		c := &m.columns[m.beside]
		c.use, c.target, c.interval = asFraction, &s.target, interval{low: 0, high: 1} // bounds of a weight
		if e := s.target.Exposure; e != (Exposure{}) {
			c.interval.low, c.interval.high = e.Low, e.High
		}
	}
	if m.where >= 0 {
		c := &m.columns[m.where]
		c.use, c.value = asFilter, s.filter.Value
		public, _ := s.column(s.filter.Column)
		c.listed = public.Values
	}
}

// Column returns the map of the cells of column i of the table. The map must have been bound to the
// table's header by Bind or BindUnlabelled.
func (m *Map) Column(i int) *ColumnMap { return &m.columns[i] }

// ByUnit reports whether the map is bound to a privacy unit ([Unit]). The rows of a unit that are used are
// selected by the texts of all their cells. Rows must therefore be given as texts, and not as readings.
func (m *Map) ByUnit() bool { return m.unit >= 0 }

// EncodeReadings encodes, as [Map.EncodeCoded] does, row i of a table that is given by columns of readings, the numbers
// to which a [ColumnMap] maps the cells. Columns that the map does not read may be nil.
func (m *Map) EncodeReadings(x []float32, codes []uint32, columns [][]float64, i int) (level float32, target float64,
	ok bool) {
	return m.encodeCoded(x, codes, row{readings: columns, at: i})
}

// EncodeReadingsWhole encodes, as [Map.Encode] does, row i of a table that is given by columns of
// readings, the numbers to which a [ColumnMap] maps the cells.
func (m *Map) EncodeReadingsWhole(dst []float32, columns [][]float64, i int) (target float64, ok bool) {
	return m.encodeWhole(dst, row{readings: columns, at: i})
}

// KeepReadings reports, as [Map.Keep] does, whether row i is a record, for a table that is given by
// columns of readings, the numbers to which a [ColumnMap] maps the cells.
func (m *Map) KeepReadings(columns [][]float64, i int) bool {
	return m.schema == nil || m.where < 0 || len(columns) != m.cells || columns[m.where][i] == passes
}

// Missing returns the texts of missing cells. The empty text means a missing cell even if it is not in the
// list.
func (c *ColumnMap) Missing() []string { return slices.Clone(c.missing) }

// Text returns the reading of a cell that is given as text. It returns 0 for a column that the map does not
// read.
func (c *ColumnMap) Text(cell string) float64 {
	cell = strings.TrimSpace(cell)
	switch c.use {
	case asNumber, asFraction:
		if x, ok := c.interval.read(cell, c.missing); ok {
			return c.number(x)
		}
		return math.NaN()
	case asLevel:
		return float64(c.in.level(cell, c.missing))
	case asClass:
		if code, listed := c.classes[cell]; listed {
			return code
		}
		return math.NaN()
	case asEvent:
		return c.event(cell)
	case asTime:
		if x, ok := parse(cell, c.missing); ok {
			return x
		}
		return math.NaN()
	case asFilter:
		if cell == c.value {
			return passes
		}
	}
	return 0
}

// Number reports whether cells are read as numbers. Numbers may then be given in place of texts.
func (c *ColumnMap) Number() bool {
	return (c.use == asNumber || c.use == asFraction || c.use == asTime) && !c.date
}

// Days reports whether cells are read as dates of ISO 8601. Days since 1970-01-01 may then be given
// in place of texts, with the time of day, in whole seconds, as a fraction.
func (c *ColumnMap) Days() bool { return c.use == asNumber && c.date && c.layout == nil }

// Numbers replaces each number of x by the reading of a cell that contains this number. c.Number() or
// c.Days() must be true. NaN means a cell that is missing or cannot be read.
func (c *ColumnMap) Numbers(x []float64) {
	if c.use == asNumber && !c.log { // the usual case, faster without calls of c.number
		low, high, from, width := c.low, c.high, c.from, c.interval.width
		for i, v := range x {
			x[i] = between(clamp(v, low, high), from, width)
		}
		return
	}
	for i, v := range x {
		x[i] = c.number(v)
	}
}

// number returns the reading of a number x, or of a date x in days: x mapped to [-1, 1], or for a weight or
// exposure the clamped fraction.
func (c *ColumnMap) number(x float64) float64 {
	switch c.use {
	case asFraction:
		return c.target.fraction(x)
	case asTime:
		return x
	}
	return c.interval.unit(x)
}

// event returns 1 if a trimmed cell says that the event occurred, 0 if it says that the record was only observed, and
// NaN otherwise.
func (c *ColumnMap) event(cell string) float64 {
	x, number := parse(cell, c.missing)
	switch {
	case cell == "" || slices.Contains(c.missing, cell):
		return math.NaN()
	case c.value != "" && cell == c.value, c.value == "" && (number && x == 1 || strings.EqualFold(cell, "true")):
		return 1
	case c.value != "", number && x == 0, strings.EqualFold(cell, "false"):
		return 0
	}
	return math.NaN()
}

// Status returns how the map reads a trimmed cell, and the cell's number or date in days if it has one. It is one of
//
//   - read: a number or date within its bounds, or a listed value;
//   - missing: the cell is missing;
//   - unreadable: not a number or date; treated as missing;
//   - below: below the lower bound; treated as the lower bound;
//   - above: above the upper bound; treated as the upper bound;
//   - unreadable and above, of a time to an event or an entry: no number from 0, which makes the row malformed, or a
//     time after the end, which counts as observed until the end without an event;
//   - other: not a listed value; becomes "other" or, in the target, makes the row malformed.
//
// It is empty for a column that the map does not read. The results reveal records. They are for checks of
// tables that the caller may look at. No private computation may depend on them.
func (c *ColumnMap) Status(cell string) (x float64, status string) {
	switch c.use {
	case asNumber, asFraction:
		return c.interval.fate(cell, c.missing)
	case asLevel:
		known := c.in.levels == nil
		if !known {
			_, known = c.in.levels[cell]
		}
		return 0, listedFate(known, cell, c.missing)
	case asClass:
		_, known := c.classes[cell]
		return 0, listedFate(known, cell, c.missing)
	case asTime, asEvent:
		return c.Text(cell), c.fate(cell)
	case asFilter:
		return 0, listedFate(slices.Contains(c.listed, cell), cell, c.missing)
	}
	return 0, ""
}

// fate returns how the row map treats a trimmed cell of a time or of an event.
func (c *ColumnMap) fate(cell string) string {
	x := c.Text(cell)
	switch absent := listedFate(true, cell, c.missing); {
	case absent == cellstatus.Absent:
		return absent
	case c.use == asEvent:
		return listedFate(x == x, cell, c.missing)
	case !(x >= 0):
		return cellstatus.Unread
	case x > c.high:
		return cellstatus.Above
	}
	return cellstatus.Read
}

// listedFate returns how the row map treats (the fate of) a cell that must be a listed value. known
// says whether the cell is a listed value.
func listedFate(known bool, cell string, missing []string) string {
	switch {
	case cell == "" || slices.Contains(missing, cell):
		return cellstatus.Absent
	case known:
		return cellstatus.Read
	}
	return cellstatus.Unlisted
}

func (n *interval) fate(cell string, missing []string) (x float64, status string) {
	x, ok := n.read(cell, missing)
	switch {
	case ok && x < n.low:
		return x, cellstatus.Below
	case ok && x > n.high:
		return x, cellstatus.Above
	case ok:
		return x, cellstatus.Read
	}
	if f := listedFate(true, cell, missing); f == cellstatus.Absent {
		return 0, f
	}
	return 0, cellstatus.Unread
}
