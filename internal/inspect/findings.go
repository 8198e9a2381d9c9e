package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
)

// spellings counts cells by their text. Only the first mostSpellings different texts are counted.
type spellings map[string]int

const mostSpellings, mostExamples = 10_000, 3

func (s spellings) add(cell string) {
	if _, known := s[cell]; known || len(s) < mostSpellings {
		s[cell]++
	}
}

// frequent returns the counted texts in decreasing order of their counts, and texts of equal counts in
// alphabetical order.
func (s spellings) frequent() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(s[b], s[a]), strings.Compare(a, b))
	})
}

func (s spellings) cells() (n int) {
	for _, k := range s {
		n += k
	}
	return n
}

// take removes from s the texts for which fits is true, and returns these texts with their counts.
func (s spellings) take(fits func(string) bool) spellings {
	taken := spellings{}
	for text, n := range s {
		if fits(text) {
			taken[text] = n
			delete(s, text)
		}
	}
	return taken
}

// problem returns a problem with the description what and the advice do. Its cells are the cells of s, and
// its examples are the mostExamples most frequent texts.
func (s spellings) problem(what, do string) Finding {
	examples := s.frequent()
	return Finding{What: what, Cells: s.cells(), Examples: examples[:min(mostExamples, len(examples))], Do: do}
}

// adder returns a function that adds a problem of spellings to a list, if there are any.
func adder(list *[]Finding) func(s spellings, what, do string) {
	return func(s spellings, what, do string) {
		if len(s) > 0 {
			*list = append(*list, s.problem(what, do))
		}
	}
}

// problems returns the problems of the cells of the column k. If the column contributes nothing to a fit,
// all of them are marked as Lost.
func (t *tally) problems(k *counted) (list []Finding) {
	add := adder(&list)
	target := t.schema.Target()
	list = t.suspicions(k)
	switch {
	case k.Kind == "target" && target.Kind == dataset.Category:
		list = append(list, t.otherwiseWritten(k, target.Classes)...)
		list = append(list, nearly(k, target.Classes, func(classes []string) string {
			target.Classes = classes
			return target.Line()
		})...)
		add(k.odd, "not a class: such a row counts and contributes nothing",
			"list the class in "+t.schema.Target().Line()+", or leave such rows out of the table")
	case k.Kind == "category":
		c := *k.column
		list = append(list, t.otherwiseWritten(k, c.Categories)...)
		list = append(list, nearly(k, c.Categories, func(values []string) string {
			c.Categories = values
			return c.Line()
		})...)
		if k.Read == 0 {
			add(k.odd, "no cell is a listed value", "list the values as the table spells them: "+k.column.Line())
		}
	case k.Kind == "public":
		add(k.odd, "not a listed value: every row filter leaves such a row out", "list all values: "+k.column.Line())
	case k.Kind == "date":
		list = append(list, undated(k.odd, *k.column, t.schema.Missing())...)
	case k.Kind == "event":
		add(k.odd, "neither 0 nor 1: such a row counts and contributes nothing", "state the value of an event, as in event: status=2, or mend the cells")
	case target.Event != "" && (k.Kind == "target" || k.Kind == "entry"):
		below := k.odd.take(func(text string) bool { return strings.HasPrefix(text, "-") })
		add(below, "negative times: such a row counts and contributes nothing", "mend the cells: times begin at 0")
		list = append(list, numberless(k.odd, k, t.schema.Missing())...)
		if k.Kind == "entry" && t.late > 0 {
			list = append(list, Finding{What: "entry times that are not before the row's time or the last cut: such a row counts and contributes nothing",
				Cells: t.late, Do: "mend the cells, or leave such rows out of the table: entry times must be measured from the same start as " + target.Column})
		}
	default:
		list = append(list, numberless(k.odd, k, t.schema.Missing())...)
	}
	list = append(list, beyond(k)...)
	if total := k.Read + k.Below + k.Above + k.Missing + k.Unreadable + k.Other; total > 0 && lost(k) {
		if len(list) == 0 {
			list = append(list, Finding{What: "no cell is read", Cells: total,
				Do: "see whether it is the column that was meant, or leave it out: " + ignored(k.Name)})
		}
		for i := range list {
			list[i].Lost = true
		}
	}
	return list
}

// lost reports whether a column contributes nothing to a fit: no cell is within the bounds or a listed
// value. It returns false for a hash column and for a public column.
func lost(k *counted) bool { return k.Read == 0 && k.Kind != "hash" && k.Kind != "public" }

// beyond returns a problem if more cells of the column lie beyond its bounds than within its bounds, and
// nil otherwise.
func beyond(k *counted) []Finding {
	if clamped := k.Below + k.Above; clamped > k.Read {
		return []Finding{{
			What: fmt.Sprintf("most cells that are read lie beyond the bounds (%d below, %d above) and count as them", k.Below,
				k.Above), Cells: clamped,
			Do: "state the bounds in the unit of the table, from public knowledge and not from its cells",
		}}
	}
	return nil
}

// folded returns a key that is the same for different spellings of one value. For a number the key is its value. For
// another text the key is the text in lower case, without spaces, punctuation and invisible characters.
func folded(s string) string {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPunct(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// nearly returns a problem if cells of a column equal a listed value except for case, spaces, punctuation
// or the form of a number. It removes these cells from k.odd. The advice is to list the values as the table
// spells them, or to change the table if it has several spellings of one value. The function as writes the
// schema's line for a list of values.
func nearly(k *counted, listed []string, as func([]string) string) []Finding {
	known := map[string]int{}
	for i, v := range listed {
		known[folded(v)] = i
	}
	near := k.odd.take(func(s string) bool { _, is := known[folded(s)]; return folded(s) != "" && is })
	if len(near) == 0 {
		return nil
	}
	values := slices.Clone(listed)
	do := ""
	for _, s := range near.frequent() {
		if i := known[folded(s)]; values[i] == listed[i] && !k.used[listed[i]] {
			values[i] = s
		} else {
			do = "the table has more than one spelling of a value: spell the values as they are listed"
		}
	}
	do = cmp.Or(do, "list them as the table spells them: "+as(values))
	return []Finding{near.problem("differs from a listed value only in case, blanks, marks or zeros", do)}
}

// Regular expressions for forms of cells in a number column that cannot be read as numbers.
var (
	percent   = regexp.MustCompile(`^[-+]?[0-9.,]+ ?%$`)
	thousands = regexp.MustCompile(`^[-+]?[0-9]{1,3}([,.'’ \x{a0}\x{202f}][0-9]{3})+([.,][0-9]+)?$`)
	decimal   = regexp.MustCompile(`^[-+]?[0-9]*,[0-9]+$`)
	united    = regexp.MustCompile(`^[^0-9]{0,5}[-+]?[0-9][0-9.,]*[^0-9]{0,10}$`)
)

// numberless returns one problem for each form of the cells of a number column that are not numbers. odd
// holds these cells; numberless removes cells from it.
func numberless(odd spellings, k *counted, missing []string) (list []Finding) {
	add := adder(&list)
	add(k.points, "numbers with a decimal point in a file of decimal commas",
		`write them with a comma, or, if all have a point, leave out csv: {decimal: ","}`)
	add(odd.take(percent.MatchString), "numbers with a percent sign",
		"write 5% as 5 or as .05 in the table, and the bounds alike")
	// 1,234 may be a decimal comma or a thousands separator; 1,23 can only be a decimal comma.
	commas := odd.take(func(s string) bool { return decimal.MatchString(s) && !thousands.MatchString(s) })
	grouped := odd.take(thousands.MatchString)
	if len(commas) > 0 {
		maps.Copy(commas, grouped.take(decimal.MatchString))
	}
	add(commas, "numbers with a decimal comma", decimalComma)
	if len(grouped) > 0 {
		add(grouped, "numbers with marks between thousands", markedBy(grouped.frequent()[0]))
	}
	for _, layout := range layouts {
		dates := odd.take(func(s string) bool { _, is := dataset.Column{Layout: layout}.Days(s); return is })
		add(dates, "dates", "if all cells are: "+datedLine(k.Name, layout))
	}
	add(odd.take(united.MatchString), "numbers with a unit or a sign", "write the number alone in the table")
	if len(odd) > 0 && len(odd) <= 3 {
		add(odd, "words, which count as missing",
			"if they mean missing, say so: "+missingLine(append(slices.Clone(missing), odd.frequent()...)))
	} else {
		add(odd, "not a number", "if the column is no number, make it a category or ignore it: "+ignored(k.Name))
	}
	return list
}

// decimalComma is the advice to the user for a column of numbers with a decimal comma.
const decimalComma = `if all are, say so: csv: {decimal: ","}`

// markedBy returns the advice to the user for a column of numbers with a thousands separator. number is an
// example of a cell. Its first character after the sign that is not a digit is the separator.
func markedBy(number string) string {
	mark := strings.IndexFunc(strings.TrimLeft(number, "+-"), func(r rune) bool { return r < '0' || r > '9' })
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(number, "+-")[mark:])
	return "if all are, say so: csv: {thousands: " + yamltext.Quote(string(r)) + "}"
}

func ignored(name string) string { return dataset.Column{Name: name, Kind: dataset.Ignore}.Line() }

// layouts are the date layouts that Draft and Check try, in this order. The empty layout is ISO 8601.
var layouts = []string{
	"", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
	"%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S",
	"%Y/%m/%d %H:%M:%S",
}

func datedLine(name, layout string) string {
	// FIRST and LAST stand for the public bounds, which the user must fill in.
	line := dataset.Column{Name: name, Kind: dataset.Date, Low: 0, High: 1, Layout: layout}.Line()
	return strings.NewReplacer("1970-01-01", "FIRST", "1970-01-02", "LAST").Replace(line)
}

// undated returns one problem for each form of the cells of the date column c that are not dates in its
// layout. odd holds these cells; undated removes cells from it.
func undated(odd spellings, c dataset.Column, missing []string) (list []Finding) {
	var fitting []string
	most := 0
	for _, layout := range layouts {
		n := 0
		for s, cells := range odd {
			if _, is := (dataset.Column{Layout: layout}).Days(s); is {
				n += cells
			}
		}
		if n > most {
			most, fitting = n, nil
		}
		if n == most && n > 0 {
			fitting = append(fitting, layout)
		}
	}
	add := adder(&list)
	add(odd.take(excelDay.MatchString), "days as spreadsheets count them, from 1900 on", serial(c.Name))
	if most > 0 {
		dates := odd.take(func(s string) bool { _, is := (dataset.Column{Layout: fitting[0]}).Days(s); return is })
		c.Layout = fitting[0]
		do := "if all cells are laid out like this: " + c.Line()
		if len(fitting) > 1 {
			do = "the cells fit the layouts " + strings.Join(fitting, " and ") + ": state the right one: " + c.Line()
		}
		add(dates, "dates of another layout", do)
	}
	if len(odd) > 0 {
		list = append(list, odd.problem("not a date of the layout, and counted as missing", "if they mean missing, say so: "+
			missingLine(append(slices.Clone(missing), odd.frequent()[:min(3, len(odd))]...))))
	}
	return list
}
