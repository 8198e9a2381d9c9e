package inspect

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
)

// Draft drafts the columns of a schema from the cells of a public table. Each column has a note that states name as its
// source. missing are the texts that mark missing cells in the table, with "" first. It is nil if no marker except ""
// occurs. Rows whose number of cells differs from the header's are left out. The table must be public: drafting from a
// private table would release bounds and values of its cells without accounting.
func Draft(ctx context.Context, path string, as dataset.CSV, name string) (columns map[string]Drafted,
	missing []string, err error) {
	var seen []*seenCells
	empty := map[string]bool{}
	err = each(ctx, []string{path}, as, func(r *table.Reader) error {
		for _, h := range r.Header() {
			seen = append(seen, newSeen(strings.TrimSpace(h)))
		}
		return nil
	}, nil, func(cells []string) {
		if len(cells) != len(seen) {
			return
		}
		for i, cell := range cells {
			if marker := seen[i].add(strings.TrimSpace(cell)); marker != "" {
				empty[marker] = true
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	columns = map[string]Drafted{}
	for _, s := range seen {
		if d, ok := s.drafted(name); ok {
			columns[s.name] = d
		}
	}
	if len(empty) > 0 {
		missing = append([]string{""}, slices.Sorted(maps.Keys(empty))...)
	}
	return columns, missing, nil
}

// markers are common markers of missing cells, in lower case.
var markers = []string{"na", "n/a", "nan", "null", "none", "?", "-", "."}

// mostListed is the largest number of different values in a column that is drafted as a category. A column
// with more values is drafted as a hash column with hashBuckets buckets.
const mostListed, hashBuckets = 30, 256

// seenCells summarises the cells of one column of a public table. The column is drafted from this summary.
type seenCells struct {
	name           string
	cells, missing int
	numbers        int
	low, high      float64
	days           map[string]*span // by layout: the range of the days; only layouts that fit all cells so far
	values         spellings
}

type span struct{ low, high float64 }

func newSeen(name string) *seenCells {
	s := &seenCells{name: name, low: math.Inf(1), high: math.Inf(-1), values: spellings{}, days: map[string]*span{}}
	for _, layout := range layouts {
		s.days[layout] = &span{math.Inf(1), math.Inf(-1)}
	}
	return s
}

// add counts a cell of the column. If the cell is a marker of missing cells that the schema must list, add
// returns the cell. Otherwise it returns "".
func (s *seenCells) add(cell string) (marker string) {
	s.cells++
	if cell == "" {
		s.missing++
		return ""
	}
	if slices.Contains(markers, strings.ToLower(cell)) {
		s.missing++
		return cell
	}
	if x, err := strconv.ParseFloat(cell, 64); err == nil && !math.IsInf(x, 0) {
		s.numbers++
		s.low, s.high = min(s.low, x), max(s.high, x)
	}
	for layout, d := range s.days {
		x, is := dataset.Column{Layout: layout}.Days(cell)
		if !is {
			delete(s.days, layout)
			continue
		}
		d.low, d.high = min(d.low, x), max(d.high, x)
	}
	s.values.add(cell)
	return ""
}

// drafted returns the column that the cells suggest: a date, a number, a category, a hash, or an ignored
// column if nearly every cell is different. from is the table's name for the note. ok is false if all cells
// are missing, the column has no name, or no value can be listed.
func (s *seenCells) drafted(from string) (d Drafted, ok bool) {
	known := s.cells - s.missing
	if known == 0 || s.name == "" {
		return d, false
	}
	note := func(format string, args ...any) string {
		text := fmt.Sprintf("from %s: %d cells, ", from, s.cells) + fmt.Sprintf(format, args...)
		if s.missing > 0 {
			text += fmt.Sprintf(", %d missing", s.missing)
		}
		return text
	}
	c := dataset.Column{Name: s.name, Indicator: s.missing > 0}
	fitting := slices.DeleteFunc(slices.Clone(layouts), func(l string) bool { return s.days[l] == nil })
	switch {
	case len(fitting) > 0 && (s.numbers == 0 || plausible(s.days[fitting[0]])):
		days := s.days[fitting[0]]
		c.Kind, c.Layout = dataset.Date, fitting[0]
		c.Low, c.High = years(days)
		text := note("%s to %s, rounded to years", dataset.ShowDay(math.Floor(days.low)), dataset.ShowDay(math.Floor(days.high)))
		if len(fitting) > 1 {
			text += "; the cells also fit the layout " + strings.Join(fitting[1:], " or ")
		}
		return Drafted{Column: c, Note: text}, true
	case s.numbers == known:
		c.Kind = dataset.Number
		c.Low, c.High = rounded(s.low, s.high)
		return Drafted{Column: c, Note: note("%v to %v, rounded outwards", s.low, s.high)}, true
	}
	c.Indicator = false
	values := slices.Sorted(maps.Keys(s.values))
	values = slices.DeleteFunc(values, func(v string) bool { return v == "other" || !utf8.ValidString(v) })
	switch {
	case len(values) == min(known, mostSpellings) && known > mostListed:
		c.Kind = dataset.Ignore
		return Drafted{Column: c, Note: note("all different, as the names of rows are")}, true
	case len(values) > mostListed:
		c.Kind, c.Buckets = dataset.Hash, hashBuckets
		return Drafted{Column: c, Note: note("more than %d values", mostListed)}, true
	case len(values) == 0:
		return d, false
	}
	c.Kind, c.Categories = dataset.Category, values
	return Drafted{Column: c, Note: note("of %d values", len(values))}, true
}

// plausible reports whether a range of days lies between 1900 and 2099. If the range does not, cells of
// eight digits are read as numbers and not as dates without separators.
func plausible(d *span) bool {
	first, _ := dataset.Day("1900-01-01")
	last, _ := dataset.Day("2099-12-31")
	return d.low >= first && d.high <= last
}

// years widens a range of days to whole years and returns the first and the last day, in days since
// 1970-01-01.
func years(d *span) (low, high float64) {
	year := func(x float64) int { return time.Unix(int64(math.Floor(x))*86400, 0).UTC().Year() }
	days := func(y int, m time.Month, day int) float64 {
		return float64(time.Date(y, m, day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	}
	return days(year(d.low), 1, 1), days(year(d.high), 12, 31)
}

// rounded widens the range from low to high for a draft of a column's bounds. Both bounds become multiples of the
// largest power of ten that is at most high - low. If low equals high, the bounds are low and low + 1.
func rounded(low, high float64) (float64, float64) {
	if low == high {
		return low, low + 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	round := func(x float64, to func(float64) float64) float64 {
		// Formatting turns 30.000000000000004 into 30.
		y, _ := strconv.ParseFloat(strconv.FormatFloat(to(x/step)*step, 'g', 12, 64), 64)
		return y
	}
	return min(low, round(low, math.Floor)), max(high, round(high, math.Ceil))
}

// Entries of a drafted schema whose facts are missing, by kind.
const (
	openNumber   = "{number: [" + placeholder + ", " + placeholder + "]}"
	openDate     = "{date: [" + placeholder + ", " + placeholder + "]}"
	openCategory = "{category: [" + placeholder + "]}"
)

// guesses lists words of columns' names by the kind of column that they suggest, a kind on a line: columns that are ignored,
// dates, categories and numbers. The first kind that has one of a
// name's words counts. A guess depends on the name alone: the cells of the table are never read for it.
//
//go:embed guesses.txt
var guesses string

// guess returns the kind of column that a name suggests. known is false if the name suggests none.
func guess(name string) (kind dataset.ColumnKind, known bool) {
	kinds := []dataset.ColumnKind{dataset.Ignore, dataset.Date, dataset.Category, dataset.Number}
	words := wordsOf(name)
	for i, line := range strings.Split(strings.TrimSpace(guesses), "\n") {
		if slices.ContainsFunc(strings.Fields(line), func(w string) bool { return slices.Contains(words, w) }) {
			return kinds[i], true
		}
	}
	return dataset.Number, false
}

// wordsOf divides a column's name into words in lower case: at characters that are no letters or digits, and where an
// upper case letter follows a lower case letter.
func wordsOf(name string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// guessed returns the entry of a column of which only the name is known, with a comment that offers the other kinds.
func guessed(name string) string {
	kind, known := guess(name)
	if !known {
		return openNumber + " # or " + openCategory + ", " + openDate
	}
	return map[dataset.ColumnKind]string{dataset.Ignore: "ignore", dataset.Date: openDate, dataset.Category: openCategory,
		dataset.Number: openNumber}[kind] + " # guessed from the name"
}

// Drafted is the entry of a column in a drafted schema, as a public source suggests it, and a note
// that names the source. Entry, if not empty, is the entry in YAML of a column whose facts are not all known; Column
// then does not count.
type Drafted struct {
	Column dataset.Column
	Entry  string
	Note   string
}

// Schema returns a commented schema: section for a table with the given header, to be completed by
// hand. Until every ??? is replaced, loading the schema fails with an error that names the field and the
// value to write there. Schema quotes the header. The header must hold names: if the table had no header row, Schema
// would quote the first record. Callers check this with columnname.All.
//
// Of a column that is not in drafted, Schema guesses the kind from its name alone. The columns in the map drafted, by name, have the entries and
// notes given there, and missing lists the markers of missing cells, if it is not empty. The caller must
// ensure that these entries and markers come from public knowledge. The notes must name the sources.
func Schema(header []string, drafted map[string]Drafted, missing []string) string {
	var b strings.Builder
	b.WriteString(draftTop)
	for _, name := range header {
		name = strings.TrimSpace(name)
		known, is := drafted[name]
		switch {
		case name == "":
			b.WriteString("    \"\": ignore\n")
		case is && known.Entry != "":
			b.WriteString("    " + yamltext.Text(name) + ": " + known.Entry + " # " + safetext.Text(known.Note) + "\n")
		case is:
			known.Column.Name = name
			b.WriteString("    " + known.Column.Line() + " # " + safetext.Text(known.Note) + "\n")
		default:
			b.WriteString("    " + yamltext.Text(name) + ": " + guessed(name) + "\n")
		}
	}
	end := draftEnd
	if len(missing) > 0 {
		end = strings.Replace(end, "  # "+missingLine([]string{"", "NA", "?"}), "  "+missingLine(missing), 1)
	}
	b.WriteString(end)
	return b.String()
}

// placeholder stands for the values that must be filled in by hand.
const placeholder = "???"

// missingLine returns the list of cells that mean missing, as a line of a schema.
func missingLine(markers []string) string { return "missing: " + yamltext.Texts(markers) }

// draftTop and draftEnd are the texts before and after the lines of the columns in a drafted schema.
var (
	//go:embed draft_top.txt
	draftTop string
	//go:embed draft_end.txt
	draftEnd string
)

// codebookColumns lists the names that codebooks give to their own columns, in lower case, with those of REDCap's data
// dictionary.
var codebookColumns = map[string][]string{
	"name":   {"name", "variable", "column", "field", "variable name", "column name", "variable / field name"},
	"kind":   {"kind", "type", "field type", "data type", "datatype", "variable type"},
	"low":    {"low", "min", "minimum", "lower", "lower bound", "text validation min"},
	"high":   {"high", "max", "maximum", "upper", "upper bound", "text validation max"},
	"values": {"values", "levels", "categories", "codes", "choices", "allowed values", "choices, calculations, or slider labels"},
	"form":   {"format", "validation", "text validation type or show slider number"},
}

// kindWords lists the words for kinds of columns in codebooks.
var kindWords = map[dataset.ColumnKind][]string{
	dataset.Number: {"number", "numeric", "integer", "int", "float", "double", "decimal", "real", "continuous", "count",
		"slider", "calc", "number_1dp", "number_2dp"},
	dataset.Date: {"date", "datetime", "timestamp", "date_ymd", "date_mdy", "date_dmy", "datetime_ymd", "datetime_mdy",
		"datetime_dmy", "datetime_seconds_ymd"},
	dataset.Category: {"category", "categorical", "factor", "nominal", "ordinal", "enum", "dropdown", "radio", "yesno",
		"truefalse", "boolean", "bool", "binary"},
	dataset.Ignore: {"id", "identifier", "ignore", "notes", "file", "descriptive", "text", "string", "email", "phone"},
}

// Codebook drafts the columns of a schema from a codebook: a table with a row for each column, which gives its name and
// any of its kind, bounds and values. Facts that the codebook does not give stay open. from is the codebook's name for
// the notes. Codebook returns an error if no column of the codebook holds names.
func Codebook(ctx context.Context, path string, as dataset.CSV, from string) (map[string]Drafted, error) {
	at := map[string]int{}
	columns := map[string]Drafted{}
	err := each(ctx, []string{path}, as, func(r *table.Reader) error {
		for what, names := range codebookColumns {
			at[what] = slices.IndexFunc(r.Header(), func(h string) bool {
				return slices.Contains(names, strings.ToLower(strings.TrimSpace(h)))
			})
		}
		if at["name"] < 0 {
			return errors.New("codebook: must have a column name, variable, column or field, with a row for each column of the table")
		}
		return nil
	}, nil, func(cells []string) {
		get := func(what string) string {
			if i := at[what]; i >= 0 && i < len(cells) {
				return strings.TrimSpace(cells[i])
			}
			return ""
		}
		name := get("name")
		if entry, ok := described(name, get); ok && name != "" {
			columns[name] = Drafted{Entry: entry, Note: "from " + from}
		}
	})
	return columns, err
}

// described returns the entry of the column that a row of a codebook describes. ok is false if the row says neither its
// kind nor its values.
func described(name string, get func(string) string) (entry string, ok bool) {
	values := choices(get("values"))
	kind, known := kindOf(get("form"), get("kind")) // a format says more: REDCap's type of a number is text
	switch word := strings.ToLower(get("kind")); {
	case word == "yesno" || word == "truefalse":
		values = []string{"0", "1"}
	case len(values) > 1 && (!known || kind == dataset.Ignore):
		kind = dataset.Category
	case !known && get("low") == "" && get("high") == "":
		return "", false
	}
	switch kind {
	case dataset.Ignore:
		if g, is := guess(name); is && g != dataset.Ignore {
			return "", false // a text of unknown content: its name says more
		}
		return "ignore", true
	case dataset.Category:
		if len(values) == 0 {
			return openCategory, true
		}
		return "{category: " + yamltext.Texts(values) + "}", true
	case dataset.Date:
		low, one := dataset.Day(get("low"))
		high, other := dataset.Day(get("high"))
		return entryOf("date", open(dataset.ShowDay(low), one == nil), open(dataset.ShowDay(high), other == nil)), true
	}
	low, one := strconv.ParseFloat(get("low"), 64)
	high, other := strconv.ParseFloat(get("high"), 64)
	both := one != nil || other != nil || low < high
	return entryOf("number", open(strconv.FormatFloat(low, 'g', -1, 64), one == nil && both),
		open(strconv.FormatFloat(high, 'g', -1, 64), other == nil && both)), true
}

// kindOf returns the kind of column that the first of the words in kindWords stands for. known is false if none is there.
func kindOf(words ...string) (kind dataset.ColumnKind, known bool) {
	for _, word := range words {
		for k, list := range kindWords {
			if slices.Contains(list, strings.ToLower(word)) {
				return k, true
			}
		}
	}
	return dataset.Number, false
}

// entryOf returns the entry of a column of a kind with two bounds.
func entryOf(kind, low, high string) string { return "{" + kind + ": [" + low + ", " + high + "]}" }

// open returns the text, or the placeholder if it is not known.
func open(text string, known bool) string {
	if known {
		return text
	}
	return placeholder
}

// mostChoices is the largest number of values that a codebook may list for a column.
const mostChoices = 1000

// choices divides a codebook's list of values, such as "1, male | 2, female", "1=male; 2=female" or "male, female", and
// returns the codes that stand in the table.
func choices(text string) (list []string) {
	separator := ","
	for _, s := range []string{"|", ";", "\n"} {
		if strings.Contains(text, s) {
			separator = s
			break
		}
	}
	for part := range strings.SplitSeq(text, separator) {
		if separator == "|" {
			part, _, _ = strings.Cut(part, ",")
		}
		part, _, _ = strings.Cut(part, "=")
		part = strings.Trim(strings.TrimSpace(part), `"'`)
		if part != "" && part != "other" && !slices.Contains(list, part) && len(list) < mostChoices {
			list = append(list, part)
		}
	}
	return list
}
