package export

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestPartsOfDialects compares the parts of queries in which databases differ with texts that were written by hand from the
// manual of each: how a cell is read as a number, a text and a date, the sum over the characters of a text, remainders,
// NaN, literals, a character by its number, and names of functions. No test of this module runs queries of BigQuery.
func TestPartsOfDialects(t *testing.T) {
	for name, want := range map[string][]string{
		"bigquery": {
			`CASE WHEN NOT REGEXP_CONTAINS(CAST(x AS STRING), r'[xX_]') THEN SAFE_CAST(x AS FLOAT64) END`,
			`TRIM(CAST(x AS STRING), w)`,
			`CASE WHEN REGEXP_CONTAINS(UPPER(TRIM(CAST(x AS STRING), w)), r'ISO') THEN CAST(UNIX_SECONDS(SAFE_CAST(` +
				`REGEXP_REPLACE(UPPER(TRIM(CAST(x AS STRING), w)), r'^(.{13}:[0-9]{2})([^:]|$)', r'\1:00\2') AS TIMESTAMP)) AS FLOAT64) / 8.64e4 END`,
			`(SELECT SUM((point * (place + 1))) FROM UNNEST(TO_CODE_POINTS(x)) AS point WITH OFFSET AS place)`,
			`MOD(x, 7)`, `IS_NAN(x)`, `1e-01 (-2e+00) 0e+00 1e+300 5e-324`, `CODE_POINTS_TO_STRING([160])`, `LEAST GREATEST AS `,
		},
		"duckdb": {
			`CASE WHEN NOT REGEXP_MATCHES(CAST(x AS VARCHAR), '[xX_]') THEN TRY_CAST(x AS DOUBLE) END`,
			`TRIM(CAST(x AS VARCHAR), w)`,
			`CASE WHEN REGEXP_MATCHES(TRIM(CAST(x AS VARCHAR), w), 'ISO') THEN FLOOR(EPOCH(TRY_CAST(UPPER(TRIM(CAST(x AS VARCHAR), w)) || ` +
				`CASE WHEN REGEXP_MATCHES(TRIM(CAST(x AS VARCHAR), w), ':.*[Zz+-]') THEN '' WHEN LENGTH(TRIM(CAST(x AS VARCHAR), w)) = 10 ` +
				`THEN ' 00:00Z' ELSE 'Z' END AS TIMESTAMPTZ))) / 8.64e4 END`,
			`CAST(LIST_SUM([(CAST(UNICODE(SUBSTRING(x, place, 1)) AS BIGINT) * place) FOR place IN RANGE(1, LENGTH(x) + 1)]) AS BIGINT)`,
			`(x % 7)`, `ISNAN(x)`, `1e-01 (-2e+00) 0e+00 1e+300 5e-324`, `CHR(160)`, `LEAST GREATEST AS `,
		},
		"postgresql": {
			`CASE WHEN CAST(x AS text) !~ '[xX_]' THEN CAST(x AS double precision) END`,
			`BTRIM(CAST(x AS text), w)`,
			`CASE WHEN BTRIM(CAST(x AS text), w) ~ 'ISO' THEN FLOOR(CAST(EXTRACT(EPOCH FROM CAST(UPPER(BTRIM(CAST(x AS text), w)) || ` +
				`CASE WHEN BTRIM(CAST(x AS text), w) ~ ':.*[Zz+-]' THEN '' ELSE ' UTC' END AS timestamptz)) AS double precision)) / float8 '86400' END`,
			`(SELECT CAST(SUM((CAST(ASCII(point) AS bigint) * place)) AS bigint) FROM UNNEST(STRING_TO_ARRAY(x, NULL)) WITH ORDINALITY AS points (point, place))`,
			`(x % 7)`, `x = float8 'NaN'`, `float8 '0.1' float8 '-2' float8 '0' float8 '1e+300' float8 '5e-324'`, `CHR(160)`, `LEAST GREATEST AS MATERIALIZED `,
		},
		"sqlite": {
			`CASE TYPEOF(x) WHEN 'real' THEN x WHEN 'integer' THEN CAST(x AS REAL) WHEN 'text' THEN CASE WHEN CAST(TRIM(x, w) AS REAL) = TRIM(x, w) ` +
				`THEN CAST(TRIM(x, w) AS REAL) WHEN LOWER(TRIM(x, w)) IN ('inf', '+inf', 'infinity', '+infinity') THEN 9e999 ` +
				`WHEN LOWER(TRIM(x, w)) IN ('-inf', '-infinity') THEN -9e999 END END`,
			`TRIM(CAST(x AS TEXT), w)`,
			`CASE WHEN TYPEOF(x) = 'text' AND UPPER(TRIM(x, w)) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' AND DATE(SUBSTR(UPPER(TRIM(x, w)), 1, 10)) = ` +
				`SUBSTR(UPPER(TRIM(x, w)), 1, 10) THEN CAST(STRFTIME('%s', UPPER(TRIM(x, w)) || CASE WHEN UPPER(TRIM(x, w)) GLOB '*:*[+-][0-9][0-9]' ` +
				`THEN ':00' ELSE '' END) AS REAL) / 8.64e4 END`,
			`(WITH RECURSIVE points (place, total) AS (SELECT 1, 0 UNION ALL SELECT place + 1, total + (UNICODE(SUBSTR(x, place, 1)) * place) ` +
				`FROM points WHERE place <= LENGTH(x)) SELECT MAX(total) FROM points)`,
			`(x % 7)`, ``, `1e-01 (-2e+00) 0e+00 1e+300 5e-324`, `CHAR(160)`, `MIN MAX AS MATERIALIZED `,
		},
	} {
		d, nan := dialects[name], ""
		if d.nan != nil {
			nan = d.nan("x")
		}
		literals := []string{d.literal(.1), d.literal(-2), d.literal(0), d.literal(1e300), d.literal(5e-324)}
		got := []string{d.number("x", "w"), d.text("x", "w"), strings.ReplaceAll(d.days("x", "w"), isoDate, "ISO"),
			d.points("x", func(point, place string) string { return "(" + point + " * " + place + ")" }), d.mod("x", 7), nan,
			strings.Join(literals, " "), d.char('\u00a0'), d.least + " " + d.greatest + d.with}
		for i, text := range got {
			if text != want[i] {
				t.Errorf("%s, part %d:\n%s\nmust be\n%s", name, i, text, want[i])
			}
		}
	}
}

// TestFormsOfDates tests that the form of a date in queries is that of the texts that package dataset reads, for each part
// of a date changed by itself. It leaves out days that are not in the calendar.
func TestFormsOfDates(t *testing.T) {
	form, c := regexp.MustCompile(isoDate), dataset.Column{Name: "d", Kind: dataset.Date, Low: 0, High: 1}
	for _, text := range []string{"2020-05-06", "2020-5-06", "2020-05-6", "020-05-06", "12020-05-06", "2020-05-06T", "2020-05-06T07", "2020-05-06T07:08", "2020-05-06 07:08",
		"2020-05-06t07:08z", "2020-05-06  07:08", "2020-05-06T7:08", "2020-05-06T07:8", "2020-05-06T24:00", "2020-05-06T23:59", "2020-05-06T07:60", "2020-05-06T07:08:60",
		"2020-05-06T07:08:59", "2020-05-06T07:08:9", "2020-05-06T07:08:09.", "2020-05-06T07:08:09.5", "2020-05-06T07:08:09,5", "2020-05-06T07:08.5", "2020-05-06T07:08Z",
		"2020-05-06Z", "2020-05-06+02", "2020-05-06T07:08+02", "2020-05-06T07:08-23:59", "2020-05-06T07:08+24:00", "2020-05-06T07:08+02:60", "2020-05-06T07:08+2", "2020-05-06T07:08+0200",
		"2020-05-06T07:08:09.123456789-08", "2020-05-06T07:08 Z", "x2020-05-06", "2020-05-06x", "2020/05/06", "", "20200506"} {
		_, read := c.Days(text)
		if form.MatchString(text) != read {
			t.Errorf("%q: has the form of a date %v: is read %v", text, form.MatchString(text), read)
		}
	}
}
