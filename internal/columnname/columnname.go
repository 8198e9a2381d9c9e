// Package columnname tells names of columns from cells of records.
package columnname

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestName is the largest number of characters of a cell that is accepted as a name.
const longestName = 100

// All reports whether a table's first row may be shown in messages as the names of its columns. If a table has no
// header row, its first row is a record. If its line ends are not recognised, its first row holds every record. A
// record must not be quoted. A row therefore does not look like names if any of its cells
//
//   - is empty (except the first, which many programs leave empty above row numbers)
//     or equal to another cell;
//   - is a number, an amount, a date, a time or a code. Such a cell has no letter, or five
//     or more digits, or more digits than letters. (More digits than letters are accepted if the
//     cell begins with a letter or "_" and no letter follows a digit, as in x10.) A cell that begins
//     with digits is also a code, unless a letter follows these digits directly and the cell has at
//     least four letters and more letters than digits (1stFlrSF is accepted);
//   - is an e-mail or web address, or a word that tables use as a value, such as yes,
//     false, NA, unknown or female;
//   - is longer than 100 characters or contains a control character, such as a line end.
//
// A record that consists of other words only is not recognised as a record.
func All(header []string) bool {
	for i, name := range header {
		name = strings.TrimSpace(name)
		if name == "" && i == 0 && len(header) > 1 {
			continue
		}
		if !Is(name) {
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

// Is reports whether one trimmed cell obeys the rules of All for a single cell.
func Is(s string) bool {
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
	if unicode.IsNumber(first) { // 1stFlrSF is accepted, and 12 EUR is not
		rest := strings.TrimLeftFunc(s, unicode.IsNumber)
		next, _ := utf8.DecodeRuneInString(rest)
		return letters >= 4 && letters > digits && unicode.IsLetter(next)
	}
	return digits <= letters || !after && (unicode.IsLetter(first) || first == '_')
}
