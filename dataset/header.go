package dataset

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestName is the largest number of characters of a cell that is accepted as a name.
const longestName = 100

// LooksLikeNames reports whether a table's first row may be shown in messages as the names of its
// columns. If a table has no header row, its first row is a record; if its line ends are not
// recognised, its first row holds every record. A record must not be quoted, so a row does not look
// like names if any of its cells
//
//   - is empty (except the first, which many programs leave empty above row numbers)
//     or equal to another cell;
//   - is a number, an amount, a date, a time or a code: it holds no letter, or five
//     digits or more, or more digits than letters unless it consists of letters followed by
//     up to four digits (x10, income_2019); or it begins with digits that are not directly
//     followed by a word of four letters (1stFlrSF is accepted);
//   - is an e-mail or web address, or one of the words that tables use for
//     true, false and missing values;
//   - is longer than 100 characters or contains a control character, such as a line end.
//
// A record that consists of other words only is not recognised as a record.
func LooksLikeNames(header []string) bool {
	for i, name := range header {
		name = strings.TrimSpace(name)
		if name == "" && i == 0 && len(header) > 1 {
			continue
		}
		if !looksLikeName(name) {
			return false
		}
		for _, other := range header[:i] {
			if strings.TrimSpace(other) == name {
				return false
			}
		}
	}
	return len(header) > 0
}

// values are words that occur as cells and not as names of columns.
var values = []string{
	"yes", "no", "true", "false", "na", "n/a", "nan", "null", "none", "nil", "inf", "infinity", "missing", "unknown",
	"male", "female",
}

// looksLikeName reports whether one trimmed cell obeys the rules by which LooksLikeNames tells names
// of columns from data.
func looksLikeName(s string) bool {
	if !utf8.ValidString(s) || utf8.RuneCountInString(s) > longestName || slices.Contains(values, strings.ToLower(s)) {
		return false
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil || strings.ContainsAny(s, "@") || strings.Contains(s, "://") {
		return false
	}
	letters, digits, after := 0, 0, false
	for _, r := range s {
		switch {
		case !unicode.IsGraphic(r):
			return false
		case unicode.IsLetter(r) || unicode.Is(unicode.Mn, r):
			letters++
			after = after || digits > 0
		case unicode.IsNumber(r):
			digits++
		}
	}
	if letters == 0 || digits >= 5 {
		return false
	}
	first, _ := utf8.DecodeRuneInString(s)
	if unicode.IsNumber(first) { // 1stFlrSF, not 12 EUR
		rest := strings.TrimLeftFunc(s, unicode.IsNumber)
		next, _ := utf8.DecodeRuneInString(rest)
		return letters >= 4 && letters > digits && unicode.IsLetter(next)
	}
	return digits <= letters || !after && (unicode.IsLetter(first) || first == '_')
}

// place names a column of a header in messages: by its name if the name looks like one, or else by
// its number.
func place(header []string, i int) string {
	if name := strings.TrimSpace(header[i]); looksLikeName(name) {
		return "column " + strconv.Quote(name)
	}
	return "column " + strconv.Itoa(i+1)
}
