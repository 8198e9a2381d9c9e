package dataset

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const daySeconds = 24 * 60 * 60

// dateLayout parses the cells of a date column. A nil dateLayout parses ISO 8601.
type dateLayout []layoutPart

// layoutPart is a directive, such as the letter Y of %Y. If directive is zero, it is a text that the cell
// must contain as it is.
type layoutPart struct {
	directive byte
	text      string
	// whole says that a cell must have the directive's largest number of digits, because another
	// directive directly follows or precedes it.
	whole bool
}

// directives maps each allowed directive of strptime to its largest number of digits. These directives mean
// the same in every language and century.
var directives = map[byte]int{'Y': 4, 'm': 2, 'd': 2, 'H': 2, 'M': 2, 'S': 2}

// parseLayout parses a layout such as %d.%m.%Y. An empty layout is ISO 8601. rule is the rule that the
// layout breaks, or "" if it breaks none.
func parseLayout(s string) (layout dateLayout, rule string) {
	if s == "" {
		return nil, ""
	}
	seen := ""
	for rest := s; rest != ""; {
		text, after, found := strings.Cut(rest, "%")
		if text != "" {
			layout = append(layout, layoutPart{text: text})
		}
		if !found {
			break
		}
		if after == "" {
			return nil, "ends in a % without its letter"
		}
		d := after[0]
		if directives[d] == 0 {
			return nil, layoutRule
		}
		if strings.IndexByte(seen, d) >= 0 {
			return nil, "%" + string(d) + " is in it twice"
		}
		seen += string(d)
		layout = append(layout, layoutPart{directive: d})
		rest = after[1:]
	}
	has := func(d string) bool { return strings.Contains(seen, d) }
	switch {
	case !has("Y") || !has("m") || !has("d"):
		return nil, "must have %Y, %m and %d"
	case has("M") && !has("H") || has("S") && !has("M"):
		return nil, "must have %H where it has %M, and %M where it has %S"
	}
	for i, p := range layout {
		if p.directive == 0 && strings.ContainsAny(p.text, "0123456789") {
			return nil, "must have no digit beside the directives"
		}
		layout[i].whole = p.directive != 0 &&
			(i > 0 && layout[i-1].directive != 0 || i+1 < len(layout) && layout[i+1].directive != 0)
	}
	return layout, ""
}

const layoutRule = "must be made of %Y (four digits), %m, %d, %H, %M, %S and what stands between them: two digits " +
	"of a year, names of months and zones are read differently by different programs"

// days parses a trimmed cell. It returns the number of days since 1970-01-01, 00:00 UTC, in the proleptic Gregorian
// calendar, with the time of day as a fraction. ok is false if the cell is not a date in the layout.
func (l dateLayout) days(cell string) (x float64, ok bool) {
	if l == nil {
		return isoDays(cell)
	}
	at := map[byte]int{}
	for _, p := range l {
		if p.directive == 0 {
			if cell, ok = strings.CutPrefix(cell, p.text); !ok {
				return 0, false
			}
			continue
		}
		most := directives[p.directive]
		least := most
		if most == 2 && !p.whole {
			least = 1
		}
		n, rest, ok := digits(cell, least, most)
		if !ok {
			return 0, false
		}
		at[p.directive], cell = n, rest
	}
	if cell != "" {
		return 0, false
	}
	return daysOf([6]int{at['Y'], at['m'], at['d'], at['H'], at['M'], at['S']}, 0)
}

// isoDays parses YYYY-MM-DD, optionally followed by T or a blank and HH:MM, HH:MM:SS or
// HH:MM:SS.fff, and then optionally by Z or an offset, +HH:MM, -HH:MM, +HH or -HH. Databases write times with
// a time zone with offsets of hours alone. Without an offset the time is UTC. Fractions of a second are dropped.
func isoDays(s string) (x float64, ok bool) {
	var f [6]int
	ok = true
	take := func(i, width int, before string) {
		var found, read bool
		if s, found = strings.CutPrefix(s, before); found {
			f[i], s, read = digits(s, width, width)
		}
		ok = ok && read
	}
	take(0, 4, "")
	take(1, 2, "-")
	take(2, 2, "-")
	if s == "" && ok {
		return daysOf(f, 0)
	}
	if !ok || s[0] != 'T' && s[0] != 't' && s[0] != ' ' {
		return 0, false
	}
	s = s[1:]
	take(3, 2, "")
	take(4, 2, ":")
	if strings.HasPrefix(s, ":") {
		take(5, 2, ":")
		if fraction, found := strings.CutPrefix(s, "."); ok && found {
			s = strings.TrimLeft(fraction, "0123456789")
			ok = len(s) < len(fraction)
		}
	}
	east, zoned := offset(s)
	if !ok || !zoned {
		return 0, false
	}
	return daysOf(f, east)
}

// offset parses an offset from UTC, such as Z or +01:00, and returns it in seconds east.
func offset(s string) (east int, ok bool) {
	if s == "" || s == "Z" || s == "z" {
		return 0, true
	}
	sign := 1
	if s[0] == '-' {
		sign = -1
	} else if s[0] != '+' {
		return 0, false
	}
	hours, rest, read := digits(s[1:], 2, 2)
	minutes, ok := 0, true
	if more, colon := strings.CutPrefix(rest, ":"); colon {
		minutes, rest, ok = digits(more, 2, 2)
	}
	if !read || !ok || rest != "" || hours > 23 || minutes > 59 {
		return 0, false
	}
	return sign * 60 * (60*hours + minutes), true
}

// digits parses the decimal digits at the beginning of s, at most most of them. It returns their number and
// the rest of the text. ok is false if there are fewer than least digits.
func digits(s string, least, most int) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < most && '0' <= s[i] && s[i] <= '9' {
		n = 10*n + int(s[i]-'0')
		i++
	}
	return n, s[i:], i >= least
}

// daysOf returns the number of days since 1970-01-01 UTC of a year, month, day, hour, minute and
// second, in a time zone that is east seconds ahead of UTC. ok is false if there is no such time: the year
// must be at least 1, and 60 is not a second.
func daysOf(f [6]int, east int) (x float64, ok bool) {
	if f[0] < 1 || f[1] < 1 || f[1] > 12 || f[3] > 23 || f[4] > 59 || f[5] > 59 {
		return 0, false
	}
	midnight := time.Date(f[0], time.Month(f[1]), f[2], 0, 0, 0, 0, time.UTC)
	if midnight.Day() != f[2] || midnight.Month() != time.Month(f[1]) { // no such day
		return 0, false
	}
	seconds := 60*(60*f[3]+f[4]) + f[5] - east
	return float64(midnight.Unix()/daySeconds) + float64(seconds)/daySeconds, true
}

// firstDay and lastDay are 0001-01-01 and 9999-12-31, in days since 1970-01-01.
const firstDay, lastDay = -719162, 2932896

// Day returns the number of days from 1970-01-01 to an ISO date, such as 2024-12-31. It is used for the
// bounds and knots of a date column.
func Day(date string) (float64, error) {
	x, ok := isoDays(date)
	if !ok || len(date) != len("2006-01-02") {
		return 0, fmt.Errorf("dataset: date %q: must be an ISO date, such as 2024-12-31", date)
	}
	return x, nil
}

// ShowDay formats a whole number of days since 1970-01-01 as an ISO date.
func ShowDay(day float64) string {
	return time.Unix(int64(day)*daySeconds, 0).UTC().Format(time.DateOnly)
}

func (c Column) validateDate(field string) error {
	for _, day := range []float64{c.Low, c.High} {
		if !(day >= firstDay && day <= lastDay) || day != float64(int64(day)) {
			return &fieldError{field + ".date", showFloat(day),
				"must be a whole number of days since 1970-01-01, in the years 1 to 9999"}
		}
	}
	if !(c.Low < c.High) {
		return &fieldError{field + ".date", "[" + ShowDay(c.Low) + ", " + ShowDay(c.High) + "]",
			"the first date must be before the last"}
	}
	if c.Transform != identity {
		return &fieldError{field + ".transform", c.Transform.String(), "only a number has a transform"}
	}
	if _, rule := parseLayout(c.Layout); rule != "" {
		return &fieldError{field + ".layout", strconv.Quote(c.Layout), rule}
	}
	return nil
}

// Days parses a cell of a date column as [Map.Encode] does, without clamping to the bounds. ok is
// false if the cell is not a date in the column's layout.
func (c Column) Days(cell string) (x float64, ok bool) {
	layout, rule := parseLayout(c.Layout)
	if rule != "" {
		return 0, false
	}
	return layout.days(strings.TrimSpace(cell))
}
