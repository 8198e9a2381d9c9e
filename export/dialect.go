package export

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// dialect holds the SQL syntax in which databases differ.
type dialect struct {
	// number returns an expression that reads a cell as a float64, or NULL if the cell is not a number.
	// text returns an expression that reads a cell as text without leading and trailing white space; white
	// is an expression for all white-space characters.
	number, text func(cell, white string) string
	// points returns an expression for a sum over the characters of a text. The term of a character is the expression
	// of(point, place), an integer >= 0. point is the character's code point, and place its position, counted from 1.
	// mod returns an expression for the remainder of the integer x divided by the number by.
	points func(cell string, of func(point, place string) string) string
	mod    func(x string, by int64) string
	// days returns an expression that reads a cell, which is a date, a time or an ISO 8601 text, as days
	// since 1970-01-01, 00:00 UTC. The expression is NULL if the cell does not have the form of a date. For
	// a day that is not in the calendar it is NULL or, in PostgreSQL, an error.
	days func(cell, white string) string
	// nan returns a condition that is true if x is NaN. nan is nil if the database has no NaN.
	nan func(x string) string
	// literal writes a float64 as an SQL literal.
	literal func(x float64) string
	// char returns an SQL expression for a character that cannot be written in a string literal.
	char func(r rune) string
	// least and greatest are the names of the SQL functions that return the least and the greatest
	// of two or more numbers.
	least, greatest string
	// identifier quotes the name of a table's column for the database.
	identifier func(name string) string
	// with is the SQL text that begins a step (a common table expression) whose columns are
	// computed only once.
	with string
	// escapes are the characters that need a backslash in an SQL string literal.
	escapes string
}

// Dialects returns the names of the dialects that the function SQL can write, in alphabetical order.
func Dialects() []string { return slices.Sorted(maps.Keys(dialects)) }

var dialects = map[string]dialect{
	"duckdb": {
		number: func(cell, _ string) string {
			return "CASE WHEN NOT REGEXP_MATCHES(CAST(" + cell + " AS VARCHAR), '" + noDecimal + "') THEN TRY_CAST(" + cell +
				" AS DOUBLE) END"
		},
		text: func(cell, white string) string { return "TRIM(CAST(" + cell + " AS VARCHAR), " + white + ")" },
		points: func(cell string, of func(point, place string) string) string {
			return "CAST(LIST_SUM([" + of("CAST(UNICODE(SUBSTRING("+cell+", place, 1)) AS BIGINT)",
				"place") + " FOR place IN RANGE(1, LENGTH(" + cell + ") + 1)]) AS BIGINT)"
		},
		mod: percent,
		days: func(cell, white string) string {
			t := "TRIM(CAST(" + cell + " AS VARCHAR), " + white + ")"
			zone := "CASE WHEN REGEXP_MATCHES(" + t + ", ':.*[Zz+-]') THEN '' WHEN LENGTH(" + t +
				") = 10 THEN ' 00:00Z' ELSE 'Z' END"
			return "CASE WHEN REGEXP_MATCHES(" + t + ", '" + isoDate + "') THEN FLOOR(EPOCH(TRY_CAST(UPPER(" + t + ") || " +
				zone + " AS TIMESTAMPTZ))) / 8.64e4 END"
		},
		nan:     func(x string) string { return "ISNAN(" + x + ")" },
		literal: exponential, char: chr, least: "LEAST", greatest: "GREATEST", identifier: double, with: " AS ",
	},
	"postgresql": {
		// If a text is not a number, CAST ends the query with an error. No version of PostgreSQL has a cast
		// that returns NULL instead. Columns of a number type are not affected.
		number: func(cell, _ string) string {
			return "CASE WHEN CAST(" + cell + " AS text) !~ '" + noDecimal + "' THEN CAST(" + cell + " AS double precision) END"
		},
		text: func(cell, white string) string { return "BTRIM(CAST(" + cell + " AS text), " + white + ")" },
		points: func(cell string, of func(point, place string) string) string {
			return "(SELECT CAST(SUM(" + of("CAST(ASCII(point) AS bigint)", "place") +
				") AS bigint) FROM UNNEST(STRING_TO_ARRAY(" + cell + ", NULL)) WITH ORDINALITY AS points (point, place))"
		},
		mod: percent,
		// A text that has the form of a date but is not in the calendar ends the query with an error.
		days: func(cell, white string) string {
			t := "BTRIM(CAST(" + cell + " AS text), " + white + ")"
			zoned := "UPPER(" + t + ") || CASE WHEN " + t + " ~ ':.*[Zz+-]' THEN '' ELSE ' UTC' END"
			return "CASE WHEN " + t + " ~ '" + isoDate + "' THEN FLOOR(CAST(EXTRACT(EPOCH FROM CAST(" + zoned +
				" AS timestamptz)) AS double precision)) / float8 '86400' END"
		},
		nan: func(x string) string { return x + " = float8 'NaN'" },
		// Without float8 PostgreSQL would read the literal as a decimal number, not as a float64.
		literal: func(x float64) string { return "float8 '" + strconv.FormatFloat(x, 'g', -1, 64) + "'" },
		char:    chr, least: "LEAST", greatest: "GREATEST", identifier: double, with: " AS MATERIALIZED ",
	},
	"sqlite": {
		number: sqliteNumber,
		text:   func(cell, white string) string { return "TRIM(CAST(" + cell + " AS TEXT), " + white + ")" },
		points: func(cell string, of func(point, place string) string) string {
			return "(WITH RECURSIVE points (place, total) AS (SELECT 1, 0 UNION ALL SELECT place + 1, total + " +
				of("UNICODE(SUBSTR("+cell+", place, 1))", "place") +
				" FROM points WHERE place <= LENGTH(" + cell + ")) SELECT MAX(total) FROM points)"
		},
		mod:  percent,
		days: sqliteDays,
		// SQLite has no NaN: it stores NULL instead.
		literal: exponential, char: func(r rune) string { return fmt.Sprintf("CHAR(%d)", r) },
		least: "MIN", greatest: "MAX", identifier: double, with: " AS MATERIALIZED ",
	},
	"bigquery": {
		number: func(cell, _ string) string {
			return "CASE WHEN NOT REGEXP_CONTAINS(CAST(" + cell + " AS STRING), r'" + noDecimal + "') THEN SAFE_CAST(" + cell +
				" AS FLOAT64) END"
		},
		text: func(cell, white string) string { return "TRIM(CAST(" + cell + " AS STRING), " + white + ")" },
		points: func(cell string, of func(point, place string) string) string {
			return "(SELECT SUM(" + of("point", "(place + 1)") + ") FROM UNNEST(TO_CODE_POINTS(" + cell +
				")) AS point WITH OFFSET AS place)"
		},
		mod: func(x string, by int64) string { return fmt.Sprintf("MOD(%s, %d)", x, by) },
		// A timestamp in BigQuery must have seconds, so ":00" is added to a text without seconds.
		days: func(cell, white string) string {
			t := "UPPER(TRIM(CAST(" + cell + " AS STRING), " + white + "))"
			whole := "REGEXP_REPLACE(" + t + ", r'^(.{13}:[0-9]{2})([^:]|$)', r'\\1:00\\2')"
			return "CASE WHEN REGEXP_CONTAINS(" + t + ", r'" + isoDate + "') THEN CAST(UNIX_SECONDS(SAFE_CAST(" + whole +
				" AS TIMESTAMP)) AS FLOAT64) / 8.64e4 END"
		},
		nan:     func(x string) string { return "IS_NAN(" + x + ")" },
		literal: exponential, char: point, least: "LEAST", greatest: "GREATEST",
		identifier: func(name string) string {
			return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
		},
		with: " AS ", escapes: `\'`,
	},
}

func chr(r rune) string   { return fmt.Sprintf("CHR(%d)", r) }
func point(r rune) string { return fmt.Sprintf("CODE_POINTS_TO_STRING([%d])", r) }

func percent(x string, by int64) string { return fmt.Sprintf("(%s %% %d)", x, by) }

func double(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// exponential writes a number with an exponent, so that no database reads it as a fixed-point decimal. A
// negative number is in parentheses.
func exponential(x float64) string {
	text := strconv.FormatFloat(x, 'e', -1, 64)
	if x < 0 {
		return "(" + text + ")" // parentheses prevent --, a comment
	}
	return text
}

// spaces returns an expression for all characters that are white space by unicode.IsSpace.
func (d dialect) spaces() string {
	var parts []string
	for r := range unicode.MaxRune {
		if unicode.IsSpace(r) {
			parts = append(parts, d.char(r))
		}
	}
	return strings.Join(parts, " || ")
}

// noDecimal is a regular expression for texts with a character that some databases read in numbers and package dataset
// does not: hexadecimal numbers, and underscores between digits.
const noDecimal = `[xX_]`

// sqliteNumber returns an expression that reads a cell of any type as a number, or NULL if it is not a
// number. A text is a number if it equals its conversion to REAL. For this comparison SQLite converts the
// text to a number only if the whole text is a number. SQLite reads no text as an infinity, which package dataset does.
func sqliteNumber(cell, white string) string {
	trimmed := "TRIM(" + cell + ", " + white + ")"
	number := "CAST(" + trimmed + " AS REAL)"
	return "CASE TYPEOF(" + cell + ") WHEN 'real' THEN " + cell + " WHEN 'integer' THEN CAST(" + cell + " AS REAL)" +
		" WHEN 'text' THEN CASE WHEN " + number + " = " + trimmed + " THEN " + number + " WHEN LOWER(" + trimmed +
		") IN ('inf', '+inf', 'infinity', '+infinity') THEN 9e999 WHEN LOWER(" + trimmed +
		") IN ('-inf', '-infinity') THEN -9e999 END END"
}

// isoDate is a regular expression for the texts that package dataset reads as ISO 8601. It also matches
// days that are not in the calendar.
const isoDate = `^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?([Zz]|[+-]([01][0-9]|2[0-3])(:[0-5][0-9])?)?)?$`

// sqliteDays returns an expression that reads a text as a date, in days since 1970-01-01. It is NULL for
// other cells. The expression checks the form of the text first, since SQLite's date functions accept more
// texts than package dataset. For example, they read the 30th of February as a day in March, and numbers as
// Julian days. They read no offset from UTC that is hours alone, to which ":00" is added.
func sqliteDays(cell, white string) string {
	t := "UPPER(TRIM(" + cell + ", " + white + "))"
	day := "SUBSTR(" + t + ", 1, 10)"
	minutes := "CASE WHEN " + t + " GLOB '*:*[+-][0-9][0-9]' THEN ':00' ELSE '' END"
	return "CASE WHEN TYPEOF(" + cell + ") = 'text' AND " + t + " GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' " +
		"AND DATE(" + day + ") = " + day + " THEN CAST(STRFTIME('%s', " + t + " || " + minutes + ") AS REAL) / 8.64e4 END"
}

// quote writes a text as an SQL expression. A character that is not graphic (unicode.IsGraphic) is written
// by its code point.
func (d dialect) quote(s string) string {
	var parts []string
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, "'"+plain.String()+"'")
			plain.Reset()
		}
	}
	for _, r := range s {
		switch {
		case !unicode.IsGraphic(r):
			flush()
			parts = append(parts, d.char(r))
		case strings.ContainsRune(d.escapes, r):
			plain.WriteString(`\` + string(r))
		case r == '\'':
			plain.WriteString("''")
		default:
			plain.WriteRune(r)
		}
	}
	flush()
	switch len(parts) {
	case 0:
		return "''"
	case 1:
		return parts[0]
	}
	return "(" + strings.Join(parts, " || ") + ")"
}
