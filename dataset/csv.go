package dataset

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
)

// CSV describes how text files write a table. Like a schema, it consists of public facts. The zero CSV
// describes files with commas, double quotes, decimal points and a header row, in UTF-8 or in UTF-16 with a
// byte order mark. A CSV has no effect on formats that state these facts themselves, such as Parquet.
type CSV struct {
	// Delimiter separates fields. It is the word tab, or one ASCII character that is no letter, digit or
	// line end. Empty means a comma.
	Delimiter string `yaml:"delimiter" json:"delimiter,omitempty"`
	// Decimal is the decimal mark of numbers, "." or ",". Empty means a point.
	Decimal string `yaml:"decimal" json:"decimal,omitempty"`
	// Thousands separates groups of three digits. It is one character that is no digit, sign, letter e or
	// line end. Empty means that there is no separator.
	Thousands string `yaml:"thousands" json:"thousands,omitempty"`
	// Encoding is utf-8, utf-16, utf-16le, utf-16be, latin-1 or windows-1252. Empty means UTF-16 if the
	// file begins with a UTF-16 byte order mark, and UTF-8 otherwise.
	Encoding string `yaml:"encoding" json:"encoding,omitempty"`
	// Quote encloses fields. It is the word none for no quote, or one ASCII character that is no letter,
	// digit or white space. Empty means a double quote.
	Quote string `yaml:"quote" json:"quote,omitempty"`
	// Header lists the names of the columns, for files that have no header row. Empty means that the
	// first row of each file is the header.
	Header []string `yaml:"header" json:"header,omitempty"`
}

// encodings lists the names of encodings.
var encodings = []string{"utf-8", "utf-16", "utf-16le", "utf-16be", "latin-1", "windows-1252"}

// IsZero reports whether every field is empty.
func (c CSV) IsZero() bool {
	return c.Delimiter == "" && c.Decimal == "" && c.Thousands == "" && c.Encoding == "" && c.Quote == "" &&
		len(c.Header) == 0
}

// Or returns a copy of c in which every empty field has the value of the same field of other.
func (c CSV) Or(other CSV) CSV {
	for _, field := range []struct{ mine, its *string }{
		{&c.Delimiter, &other.Delimiter}, {&c.Decimal, &other.Decimal}, {&c.Thousands, &other.Thousands},
		{&c.Encoding, &other.Encoding}, {&c.Quote, &other.Quote},
	} {
		*field.mine = cmp.Or(*field.mine, *field.its)
	}
	if len(c.Header) == 0 {
		c.Header = other.Header
	}
	return c
}

// Marks returns the bytes of the delimiter and of the quote. The quote is 0 if files have no quote.
func (c CSV) Marks() (delimiter, quote byte) {
	return markOf(c.Delimiter, ',', "tab", '\t'), markOf(c.Quote, '"', "none", 0)
}

// markOf returns the mark that a text states: usual for the empty text, named for word, and otherwise its first byte.
func markOf(text string, usual byte, word string, named byte) byte {
	switch text {
	case "":
		return usual
	case word:
		return named
	}
	return text[0]
}

// Charset returns the name of the text encoding, such as utf-8. It returns "" if the encoding is
// recognised from the byte order mark of a file.
func (c CSV) Charset() string { return c.Encoding }

// Names returns the names of the columns for files without a header row, or nil if files have one.
func (c CSV) Names() []string { return c.Header }

// Check returns an error for the first field that breaks its rule.
func (c CSV) Check() error {
	fail := func(field, value, rule string) error {
		return &fieldError{"csv." + field, strconv.Quote(value), rule}
	}
	if c.Delimiter != "" && c.Delimiter != "tab" && !mark(c.Delimiter) {
		return fail("delimiter", c.Delimiter, "must be one ASCII character that is no letter, digit or line end, or tab")
	}
	if c.Quote != "" && c.Quote != "none" && (!mark(c.Quote) || c.Quote == " " || c.Quote == "\t") {
		return fail("quote", c.Quote, "must be one ASCII character that is no letter, digit or white space, or none")
	}
	delimiter, quote := c.Marks()
	decimal := c.decimal()
	switch known := strings.Join(encodings, ", "); {
	case quote == delimiter:
		return fail("quote", c.Quote, "must not be the delimiter")
	case decimal != "." && decimal != ",":
		return fail("decimal", c.Decimal, `must be "." or ","`)
	case c.Thousands != "" && (utf8.RuneCountInString(c.Thousands) != 1 || !utf8.ValidString(c.Thousands) ||
		strings.ContainsAny(c.Thousands, "0123456789+-eE\r\n")):
		return fail("thousands", c.Thousands, "must be one character that numbers do not have otherwise")
	case c.Thousands == decimal:
		return fail("thousands", c.Thousands, "must not be the decimal mark")
	case c.Encoding != "" && !slices.Contains(encodings, c.Encoding):
		return fail("encoding", c.Encoding, "must be one of "+known)
	case c.Encoding == "utf-16" && len(c.Header) > 0:
		return fail("encoding", c.Encoding,
			"must be utf-16le or utf-16be where csv.header is given: the text then starts with a record, which must not tell")
	case c.Header != nil && len(c.Header) == 0:
		return &fieldError{"csv.header", "[]", "must name the columns of a table without a header row"}
	}
	for i, name := range c.Header {
		if rule := nameRule(name); rule != "" && name != "" {
			return &fieldError{itemField("csv.header", i), strconv.Quote(name), rule}
		}
	}
	return nil
}

// mark reports whether s is one character that may be a delimiter or a quote.
func mark(s string) bool {
	if len(s) != 1 {
		return false
	}
	c := s[0]
	letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
	return c < utf8.RuneSelf && (c >= ' ' || c == '\t') && c != 0x7f && !letter
}

func (c CSV) decimal() string { return cmp.Or(c.Decimal, ".") }

// plain returns a number, written in the dialect of these files, in the form that [strconv.ParseFloat]
// reads. A cell that is not a number in the dialect is returned unchanged, so that ParseFloat refuses it.
// If ParseFloat would read the cell as a number, plain puts the prefix unread before it.
func (c CSV) plain(cell string) string {
	number, ok := c.number(cell)
	if ok {
		return number
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil && strings.ContainsAny(cell, ".,") {
		return unread + cell
	}
	return cell
}

// unread is the prefix of a cell that is not a number in the dialect of these files, but that
// [strconv.ParseFloat] would read as one.
const unread = "no number: "

// Written returns the text that a number cell had in the files before a function of [Map.Respell] rewrote it, but for
// marks between thousands. pointed reports whether the cell is no number since it has a decimal point in files of
// decimal commas.
func (c CSV) Written(cell string) (text string, pointed bool) {
	if c.decimal() == "." {
		return cell, false
	}
	if text, pointed = strings.CutPrefix(cell, unread); pointed {
		return text, true
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return strings.Replace(cell, ".", c.decimal(), 1), false
	}
	return cell, false
}

// number returns a number of the dialect without thousands separators and with a decimal point. ok is false
// if the cell is not a number in the dialect. Thousands separators must separate groups of three digits: if
// the point is the thousands separator, 1.5 is not a number.
func (c CSV) number(cell string) (plain string, ok bool) {
	sign := ""
	if cell != "" && (cell[0] == '-' || cell[0] == '+') {
		sign, cell = cell[:1], cell[1:]
	}
	end := strings.IndexAny(cell, "eE")
	if end < 0 {
		end = len(cell)
	}
	units, rest, _ := strings.Cut(cell[:end], c.decimal())
	if !allDigits(rest) {
		return "", false
	}
	if c.Thousands != "" && strings.Contains(units, c.Thousands) {
		groups := strings.Split(units, c.Thousands)
		for i, g := range groups {
			if len(g) != 3 && (i > 0 || len(g) == 0 || len(g) > 3) {
				return "", false
			}
		}
		units = strings.Join(groups, "")
	}
	if !allDigits(units) || units+rest == "" {
		return "", false
	}
	if rest == "" {
		return sign + units + cell[end:], true
	}
	return sign + units + "." + rest + cell[end:], true
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Respelled returns the function that rewrites a trimmed number from the dialect to the form that
// [Map.Encode] reads. It returns nil if numbers of the dialect have this form already.
func (c CSV) Respelled() func(cell string) string {
	if c.decimal() == "." && c.Thousands == "" {
		return nil
	}
	return c.plain
}

// Respell returns a function that rewrites the number cells of a row in place. The function applies plain,
// the result of [CSV.Respelled], to each of these cells. Missing markers, and rows with a wrong number of
// cells, stay unchanged. Respell returns nil if plain is nil or no column is a number.
func (m *Map) Respell(plain func(cell string) string) func(cells []string) {
	if plain == nil || len(m.numbers) == 0 {
		return nil
	}
	return func(cells []string) {
		if len(cells) != m.cells {
			return
		}
		for _, i := range m.numbers {
			if cell := strings.TrimSpace(cells[i]); !slices.Contains(m.schema.missing, cell) {
				cells[i] = plain(cell)
			}
		}
	}
}

// Reads reports for each cell of a row whether the map reads it.
func (m *Map) Reads() []bool { return slices.Clone(m.reads) }

// ReadsToCount reports for each cell of a row whether [Map.Keep] or [Map.Unit] reads it: these methods
// determine the number of records.
func (m *Map) ReadsToCount() []bool {
	reads := make([]bool, m.cells)
	for _, i := range []int{m.where, m.unit} {
		if i >= 0 {
			reads[i] = true
		}
	}
	return reads
}

// bindCells records which cells the map reads, and which of these are numbers to be rewritten from
// the dialect of the files.
func (m *Map) bindCells(s *Schema, at map[string]int, labelled bool) {
	m.reads = make([]bool, m.cells)
	for _, name := range s.needed(labelled) {
		c, listed := s.column(name)
		if listed && c.Kind == Ignore {
			continue
		}
		i := at[name]
		m.reads[i] = true
		beside := name == s.target.beside() || name != "" && name == s.target.Entry // a weight, an exposure or an entry
		if c.Kind == Number || beside || name == s.target.Column && s.target.Kind == Number {
			m.numbers = append(m.numbers, i)
		}
	}
}

// String returns the csv: section of a configuration on one line.
func (c CSV) String() string {
	var f flow
	f.text("delimiter", c.Delimiter)
	f.text("decimal", c.Decimal)
	f.text("thousands", c.Thousands)
	f.text("encoding", c.Encoding)
	f.text("quote", c.Quote)
	if len(c.Header) > 0 {
		f.add("header", yamltext.Texts(c.Header))
	}
	return f.String()
}
