package dataset

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestName is the most characters that a cell taken for a name has.
const longestName = 100

// LooksLikeNames reports whether a table's first row may be shown as the names
// of its columns. A table without a header row has its first record there, and
// a file whose lines are not told apart has all of them: what looks like a
// record must not be quoted. It is one if any cell
//
//   - is empty (but for the first, which many programs leave to the numbers of
//     the rows) or the same as another;
//   - is a number, an amount, a date, a time or a code: it holds no letter, five
//     digits or more, or more digits than letters unless it is letters with up to
//     four digits after them (x10, income_2019); or it begins with digits that no
//     word of four letters follows at once (1stFlrSF);
//   - is an address of mail or the web, or one of the words that tables use for
//     truth and for missing values;
//   - is longer than 100 characters or holds a control character, a line end for
//     one.
//
// A record of other words alone passes for a header.
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

// values are words that are no names of columns.
var values = []string{
	"yes", "no", "true", "false", "na", "n/a", "nan", "null", "none", "nil", "inf", "infinity", "missing", "unknown", "male", "female",
}

// looksLikeName is the rule for one trimmed cell.
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

// place says which column of a header is spoken of: by its name only if it looks
// like one.
func place(header []string, i int) string {
	if name := strings.TrimSpace(header[i]); looksLikeName(name) {
		return "column " + strconv.Quote(name)
	}
	return "column " + strconv.Itoa(i+1)
}
