package inspect

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
)

// suspects summarises the cells of a column. The summary shows problems that no single cell shows.
type suspects struct {
	n     int    // cells that are not missing
	first string // the first cell that is not missing
	// firstBits are the bits of its number.
	firstBits uint64
	varies    bool

	numbers      int       // cells that are numbers within or beyond the bounds
	clamped      spellings // cells beyond the bounds
	rising       bool      // all cells are whole numbers, and each is larger than the previous number
	start        float64   // the first number
	last         float64
	largest      float64
	pointed      int // numbers with a point
	grouped      int // numbers with exactly three digits after the point and one to three before
	dated        int // cells that are dates, if day and month are adjacent in the layout
	afterTwelfth int // dates whose day of the month is after the twelfth

}

// few is the least number of cells with which a column of equal cells is reported as constant. enough is
// the least number of numbers with which a column is reported as identifiers, and the least number of dates
// with which a column is reported as dates with day and month exchanged.
const enough, few = 20, 5

func newSuspects() suspects { return suspects{clamped: spellings{}, rising: true} }

// see adds a cell of the column k to the summary. The cell is not missing. text is the cell as the file has it. as
// is the way in which the schema reads it, and x its number.
func (s *suspects) see(k *counted, cell, text string, x float64, as string) {
	s.n++
	if s.n == 1 {
		s.first, s.firstBits = text, math.Float64bits(x)
	}
	s.varies = s.varies || text != s.first
	if as == cellstatus.Below || as == cellstatus.Above {
		s.clamped.add(text)
	}
	switch {
	case !k.number:
	case k.column != nil && k.column.Kind == dataset.Date:
		s.day(k.column, cell, as)
	case as == cellstatus.Unread || math.IsInf(x, 0) && strings.ContainsAny(cell, "0123456789"):
		s.rising = false // no number, or one that is too large
	default:
		point := strings.IndexByte(cell, '.')
		s.count(x, x == math.Trunc(x), point >= 0, point >= 0 && threeDigits(cell, point))
	}
}

// count adds a number to the summary. whole reports whether it is an integer, pointed whether its text has a point,
// and grouped whether the text has exactly three digits after the point and one to three before.
func (s *suspects) count(x float64, whole, pointed, grouped bool) {
	s.rising = s.rising && whole && (s.numbers == 0 || x > s.last)
	if s.numbers == 0 {
		s.start = x
	}
	s.largest = max(s.largest, math.Abs(x))
	s.last = x
	s.numbers++
	if pointed {
		s.pointed++
	}
	if grouped {
		s.grouped++
	}
}

// threeDigits reports whether a number with its point at the given index may have a thousands separator: 1.234 for
// 1234. It has then one to three digits before the point and exactly three after it.
func threeDigits(number string, point int) bool {
	units, rest := number[:point], number[point+1:]
	if units != "" && (units[0] == '-' || units[0] == '+') {
		units = units[1:]
	}
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	return len(units) >= 1 && len(units) <= 3 && len(rest) == 3 && strings.IndexFunc(units, notDigit) < 0 &&
		strings.IndexFunc(rest, notDigit) < 0
}

// thousandths reports whether the shortest decimal of a number below 1000 has exactly three digits after the point.
func thousandths(x float64) bool {
	n := math.RoundToEven(x * 1000)
	return n/1000 == x && math.Mod(n, 10) != 0
}

// day counts the dates of a column, and among them the dates that cannot be read with day and month exchanged, because
// the day of the month is after the twelfth. It counts nothing if day and month are not adjacent in the layout.
func (s *suspects) day(c *dataset.Column, cell string, as string) {
	if as == cellstatus.Unread || swapped(c.Layout) == "" {
		return
	}
	s.dated++
	if _, also := (dataset.Column{Layout: swapped(c.Layout)}).Days(cell); !also {
		s.afterTwelfth++
	}
}

// swapped returns a date layout with day and month exchanged. It returns "" if they are not adjacent.
func swapped(layout string) string {
	for _, mark := range []string{"/", ".", "-"} {
		for _, pair := range [][2]string{{"%d" + mark + "%m", "%m" + mark + "%d"}, {"%m" + mark + "%d", "%d" + mark + "%m"}} {
			if strings.Contains(layout, pair[0]) {
				return strings.Replace(layout, pair[0], pair[1], 1)
			}
		}
	}
	return ""
}

// sentinel matches numbers that often stand for a missing number, such as -1 and 999.
var sentinel = regexp.MustCompile(`^(-1|-?9+|-?8{2,}|-?7{2,}|-?9{2,}8)(\.0*)?$`)

// identifier matches the names of columns that usually contain identifiers of records, such as id and
// patientID.
var identifier = regexp.MustCompile(`(?i:(^|[_. -])(id|uuid|key|nr|number|no|index|rowid)$)|[a-z](ID|Id)$`)

// suspicions returns the problems that the summary of a column's cells suggests, such as
// identifiers or exchanged days and months.
func (t *tally) suspicions(k *counted) (list []Finding) {
	s := &k.suspects
	add := func(cells int, examples []string, lost bool, what, do string) {
		list = append(list, Finding{What: what, Cells: cells, Examples: examples[:min(mostExamples, len(examples))], Do: do,
			Lost: lost})
	}
	codes := s.clamped.take(sentinel.MatchString)
	maps.DeleteFunc(codes, func(_ string, cells int) bool { return cells < 2 })
	if len(codes) > 0 {
		add(codes.cells(), codes.frequent(), false,
			"a number beyond the bounds that often stands for a missing one; it counts as the bound",
			"if it means missing, say so: "+missingLine(append(slices.Clone(t.schema.Missing()), codes.frequent()...)))
	}
	switch {
	case s.n >= few && !s.varies && k.Kind == "target":
		add(s.n, []string{s.first}, true, "the same in every row: there is nothing to learn",
			"see whether the file holds one class or value alone")
	case s.n >= few && !s.varies && k.column != nil && k.Kind != "public":
		add(s.n, []string{s.first}, false, "the same in every row: a model learns nothing from it",
			"leave it out: "+ignored(k.Name))
	case k.Kind == "number" && s.numbers >= enough && s.rising &&
		(identifier.MatchString(k.Name) || s.last-s.start < 2*float64(s.numbers)):
		add(s.numbers, []string{s.first}, false, "whole numbers that rise from row to row, like those of an identifier",
			"if it names rows or people, leave it out: "+ignored(k.Name))
	case k.Kind == "number" && s.numbers >= enough && identifier.MatchString(k.Name) &&
		!strings.EqualFold(k.Name, "number"):
		add(s.numbers, []string{s.first}, false, "the name is that of an identifier, and the column is read as a number",
			"if it names rows or people, leave it out: "+ignored(k.Name))
	}
	if s.pointed >= 3 && s.grouped == s.pointed && k.bounds.high > 20*s.largest && t.csv.Thousands == "" {
		add(s.grouped, []string{s.first}, true,
			"three digits after every point, and far below the upper bound: thousands that are read as decimals",
			`if the point marks thousands, say so: csv: {thousands: "."}`)
	}
	if s.dated >= enough && s.afterTwelfth == 0 {
		c := *k.column
		c.Layout = swapped(c.Layout)
		add(s.dated, []string{s.first}, true, "no day of the month is after the twelfth: months are read as days",
			"if the table has them the other way round: "+c.Line())
	}
	return list
}

// otherwiseWritten returns a problem for each of two encodings (Windows-1252 and UTF-8) in which cells of
// the column would equal a listed value. It removes these cells from k.odd.
func (t *tally) otherwiseWritten(k *counted, listed []string) []Finding {
	known := map[string]bool{}
	for _, v := range listed {
		known[v] = true
	}
	latin := k.odd.take(func(s string) bool {
		text, err := charmap.Windows1252.NewDecoder().String(s)
		return !utf8.ValidString(s) && err == nil && known[text]
	})
	unicode := k.odd.take(func(s string) bool {
		text, err := charmap.Windows1252.NewEncoder().String(s)
		return text != s && err == nil && utf8.ValidString(text) && known[text]
	})
	var list []Finding
	add := adder(&list)
	add(latin, "listed values that are written in Latin-1 or Windows-1252", "say so: csv: {encoding: windows-1252}")
	add(unicode, "listed values that are written in UTF-8 and read as another encoding", "say so: csv: {encoding: utf-8}")
	return list
}

// excelDay matches a date as spreadsheets store it, in days since 1900, from 20,000 (in 1954) to below
// 60,000 (in 2064).
var excelDay = regexp.MustCompile(`^[2-5][0-9]{4}(\.[0-9]+)?$`)

// serial returns the advice to the user for a date column whose cells are numbers, as spreadsheets store
// dates. name is the column's name.
func serial(name string) string {
	return fmt.Sprintf("export the column as dates (2024-02-29), or read it as days, which tells a model as much: %s",
		strings.NewReplacer("0, 1", "FIRST, LAST").Replace(dataset.Column{Name: name, Kind: dataset.Number, Low: 0,
			High: 1}.Line()))
}

// trailing is the advice to the user for rows that end in a delimiter while the header does not.
const trailing = "end every line alike: delete the delimiter at the end of these rows, or give the header " +
	"one more column"

// whole returns the problems that concern the whole table: no rows, too many rows that contribute nothing,
// and rows that end in a delimiter.
func (t *tally) whole() (list []Finding) {
	r := &t.report
	add := func(cells int, what, do string) {
		list = append(list, Finding{What: what, Cells: cells, Do: do, Lost: true})
	}
	switch {
	case r.Rows == 0 && r.LeftOut > 0:
		add(r.LeftOut, "the row filter keeps no row", "compare the filter with the public values of its column")
	case r.Rows == 0:
		add(0, "the table has no rows", "see whether the file is the one that was meant")
	case r.Silent == r.Rows:
		add(r.Silent, "no row counts: a fit would release noise alone",
			"correct the description of the target (see below), or the form of the rows")
	case 2*r.Silent >= r.Rows:
		add(r.Silent, "half of the rows or more count and contribute nothing",
			"correct the description of the target (see below), or the form of the rows")
	}
	if t.open > 0 {
		add(t.open, "a quote that is not closed at the end of the file or within 16 MiB: its record takes all lines after it",
			"close the quote; a quote within a cell is written twice, and csv: {quote: none} reads quotes as any other character")
	}
	if t.ended > 0 && 100*t.ended >= r.Rows {
		add(t.ended, "rows with one empty cell more than the header: they end in a delimiter, and contribute nothing", trailing)
		list[len(list)-1].Lost = 2*t.ended >= r.Rows
	}
	return list
}
