package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

// slowDays parses a date with a regular expression and counts days one by one. It is the reference
// for Column.Days.
func slowDays(layout, cell string) (float64, error) {
	expression := `^(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)([Tt ](?P<H>\d\d):(?P<M>\d\d)(:(?P<S>\d\d)(\.\d+)?)?(?P<z>[Zz]|[+-]\d\d(:\d\d)?)?)?$`
	if layout != "" {
		expression = "^" + regexp.QuoteMeta(layout) + "$"
		for d, digits := range map[string]string{"Y": `\d{4}`, "m": `\d\d?`, "d": `\d\d?`, "H": `\d\d?`, "M": `\d\d?`,
			"S": `\d\d?`} {
			if layout == "%Y%m%d" && d != "Y" {
				digits = `\d\d`
			}
			expression = strings.ReplaceAll(expression, "%"+d, "(?P<"+d+">"+digits+")")
		}
	}
	e := regexp.MustCompile(expression)
	found := e.FindStringSubmatch(cell)
	if found == nil {
		return 0, errors.New("form")
	}
	part := func(name string) string {
		if i := e.SubexpIndex(name); i >= 0 {
			return found[i]
		}
		return ""
	}
	n := func(name string) int { x, _ := strconv.Atoi(part(name)); return x }
	months := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	leap := func(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }
	if leap(n("Y")) {
		months[1]++
	}
	if n("Y") < 1 || n("m") < 1 || n("m") > 12 || n("d") < 1 || n("d") > months[n("m")-1] || n("H") > 23 || n("M") > 59 ||
		n("S") > 59 {
		return 0, errors.New("day")
	}
	days := firstDay + n("d") - 1
	for y := 1; y < n("Y"); y++ {
		days += 365
		if leap(y) {
			days++
		}
	}
	for m := range n("m") - 1 {
		days += months[m]
	}
	seconds := 3600*n("H") + 60*n("M") + n("S")
	if z := strings.ReplaceAll(part("z"), ":", ""); len(z) > 1 {
		h, _ := strconv.Atoi(z[1:3])
		m, _ := strconv.Atoi((z + "00")[3:5])
		if h > 23 || m > 59 {
			return 0, errors.New("offset")
		}
		if z[0] == '+' {
			seconds -= 3600*h + 60*m
		} else {
			seconds += 3600*h + 60*m
		}
	}
	return float64(days) + float64(seconds)/86400, nil
}

// anyDate draws cells that are valid dates in the tested layouts, or nearly valid.
func anyDate() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		year := rapid.OneOf(rapid.SampledFrom([]int{0, 1, 1900, 1970, 2000, 2023, 2024, 2100, 9999}),
			rapid.IntRange(0, 9999)).Draw(t, "year")
		month, day := rapid.IntRange(0, 13).Draw(t, "month"),
			rapid.SampledFrom([]int{0, 1, 2, 12, 27, 28, 29, 30, 31, 32}).Draw(t, "day")
		clock := fmt.Sprintf("%02d:%02d", rapid.IntRange(0, 25).Draw(t, "hour"),
			rapid.SampledFrom([]int{0, 1, 59, 60}).Draw(t, "minute"))
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0:
			return fmt.Sprintf("%d.%d.%04d", day, month, year)
		case 1:
			return fmt.Sprintf("%04d%02d%02d", year, month, day)
		case 2:
			return fmt.Sprintf("%d/%02d/%04d %s", month, day, year, clock)
		case 3:
			return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
		}
		more := rapid.SampledFrom([]string{"", ":00", ":59", ":60", ":7", ":30.25", ":30."}).Draw(t, "seconds")
		zone := rapid.SampledFrom([]string{"", "Z", "+00:00", "+05:30", "-08:00", "+14:00", "-08", "-0800", "-24", "+1", " UTC",
			"+02:60"}).Draw(t, "zone")
		return fmt.Sprintf("%04d-%02d-%02d%s%s%s%s", year, month, day,
			rapid.SampledFrom([]string{"T", " ", "t", "_"}).Draw(t, "between"), clock, more, zone)
	})
}

// TestDates tests cells computed by hand. The test fails if a zone is ignored, a leap day is read as the
// first of March, or a time changes the day.
func TestDates(t *testing.T) {
	for _, test := range []struct {
		layout, cell string
		want         float64 // NaN: no date
	}{
		{"", "1970-01-01", 0},
		{"", "2024-02-29", 19782},
		{"", "2023-02-29", math.NaN()},
		{"", "1900-02-29", math.NaN()},
		{"", "2000-02-29", 11016},
		{"", "0001-01-01", firstDay},
		{"", "9999-12-31", lastDay},
		{"", "0000-12-31", math.NaN()},
		{"", "2024-02-29T12:00", 19782.5},
		{"", "2024-02-29 18:00:00.999", 19782.75},
		{"", "2024-02-29T18:00:00Z", 19782.75},
		{"", "2024-02-29T00:00+06:00", 19781.75},
		{"", "2024-02-29T00:00-06:00", 19782.25},
		{"", "2024-02-29 00:00:00.5+06", 19781.75},
		{"", "2024-02-29T00:00-06", 19782.25},
		{"", "2024-02-29T00:00-24", math.NaN()},
		{"", "2024-02-29T00:00-6", math.NaN()},
		{"", "2024-02-29T00:00-06:", math.NaN()},
		{"", "2024-02-29T00:00-06:0", math.NaN()},
		{"", "2024-02-29T00:00-0600", math.NaN()},
		{"", "2024-02-29T00:00+24:00", math.NaN()},
		{"", "2024-02-29T24:00", math.NaN()},
		{"", "2024-2-29", math.NaN()},
		{"", "20240229", math.NaN()},
		{"", "29.02.2024", math.NaN()},
		{"", "2024-02-29x", math.NaN()},
		{"", "2024-02", math.NaN()},
		{"", "2024-02-29T12", math.NaN()},
		{"", "2024-02-29T12:00:00.", math.NaN()},
		{"", "2024-02-29+02:00", math.NaN()},
		{"", "45351", math.NaN()},
		{"%d.%m.%Y", "29.2.2024", 19782},
		{"%d.%m.%Y", "29.02.24", math.NaN()},
		{"%d.%m.%Y", "2024-02-29", math.NaN()},
		{"%d.%m.%Y", "29.02.2024 12:00", math.NaN()},
		{"%Y%m%d", "20240229", 19782},
		{"%Y%m%d", "2024229", math.NaN()},
		{"%m/%d/%Y %H:%M:%S", "2/29/2024 6:00:00", 19782.25},
		{"%d-%m-%Y", "31-04-2024", math.NaN()},
	} {
		c := Column{Name: "seen", Kind: Date, High: 1, Layout: test.layout}
		got, ok := c.Days(" " + test.cell + "\t")
		if ok == math.IsNaN(test.want) || ok && got != test.want {
			t.Errorf("%q by %q: %v, %v: want %v", test.cell, test.layout, got, ok, test.want)
		}
	}
	for layout, rule := range map[string]string{
		"%d.%m.%y": "must be made of %Y", "%d %b %Y": "must be made of %Y", "%Y-%m-%dT%H:%M:%S%z": "must be made of %Y",
		"02.01.2006": "must have %Y",
		"%Y-%m":      "must have %Y, %m and %d", "%Y-%m-%d %M": "must have %H", "%Y-%m-%d %H %S": "must have %H",
		"%Y-%m-%d %d": "%d is in it twice",
		"%Y-%m-%d%":   "ends in a %", "%Y-%m-%d 0": "must have no digit",
	} {
		if _, got := parseLayout(layout); !strings.HasPrefix(got, rule) {
			t.Errorf("layout %q: rule %q: want %q", layout, got, rule)
		}
	}
}

// TestDatesSlowly tests dates against slowDays.
func TestDatesSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := anyDate().Draw(t, "cell")
		for _, layout := range []string{"", "%d.%m.%Y", "%Y%m%d", "%m/%d/%Y %H:%M"} {
			want, err := slowDays(layout, cell)
			got, ok := Column{Layout: layout}.Days(cell)
			if ok != (err == nil) || got != want {
				t.Fatalf("%q by %q: %v, %v: want %v, %v", cell, layout, got, ok, want, err)
			}
		}
	})
}

// TestDatesEverywhere tests that the machine's time zone has no effect on a row.
func TestDatesEverywhere(t *testing.T) {
	defer func(was *time.Location) { time.Local = was }(time.Local)
	time.Local = time.FixedZone("east", 13*3600)
	if x, ok := isoDays("2024-03-01T00:30"); !ok || x != 19783+1800./86400 || ShowDay(19783) != "2024-03-01" {
		t.Errorf("%v, %v, %s", x, ok, ShowDay(19783))
	}
}

const visits = `
schema:
  columns:
    seen: {date: [2020-01-01, 2020-01-11], layout: "%d.%m.%Y", missing: indicator}
    age:  {number: [0, 10], missing: indicator}
    born: {date: [1970-01-01, 1970-01-03]}
  target: {column: y, classes: [0, 1]}
  missing: ["", "01.01.1900"]
`

// TestIndicators tests rows computed by hand from the package comment: S = 2, and a cell that
// cannot be read sets the feature after its number to 1/2. The test fails if the indicator is not scaled.
func TestIndicators(t *testing.T) {
	s := mustLoad(t, visits)
	m := mustBind(t, s, "y", "seen", "age", "born")
	if s.Scale() != 2 || strings.Join(s.Features(), " ") != "seen seen=missing age age=missing born (intercept)" {
		t.Errorf("S = %v, features %v", s.Scale(), s.Features())
	}
	for cells, want := range map[string][6]float32{
		"0,01.01.2020,0,1970-01-02":              {-.5, 0, -.5, 0, 0, .5},
		"0,1.1.1990,-7,1969-12-31T23:59":         {-.5, 0, -.5, 0, -.5, .5},
		"0,11.01.2020,1e9,1970-01-02T12:00":      {.5, 0, .5, 0, .25, .5},
		"0,06.01.2020,5,1970-01-02T06:00-06:00":  {0, 0, 0, 0, .25, .5},
		"0,01.01.1900,,":                         {0, .5, 0, .5, 0, .5},
		"0,2020-01-01,seven,01.01.1970":          {0, .5, 0, .5, 0, .5},
		"0,30.02.2020,NaN,1970-01-02T00:00:60":   {0, .5, 0, .5, 0, .5},
		"0,11.01.2020,10,2024-02-29T00:00+14:00": {.5, 0, .5, 0, .5, .5},
	} {
		row := make([]float32, 6)
		if _, ok := m.Encode(row, strings.Split(cells, ",")); !ok || [6]float32(row) != want {
			t.Errorf("%s: %v, %v: want %v", cells, row, ok, want)
		}
	}
	// The longest possible rows: every number at a bound, or unreadable.
	for _, cells := range []string{"0,01.01.2020,0,1970-01-01", "0,,,1970-01-03"} {
		row := make([]float32, 6)
		m.Encode(row, strings.Split(cells, ","))
		if squaredNorm(row).Cmp(squaredBound) > 0 {
			t.Errorf("%s: squared norm %v", cells, squaredNorm(row))
		}
	}
}

// TestIndicatorsAreCut tests that under a norm a row that is longer because of its indicators is
// scaled down like any other.
func TestIndicatorsAreCut(t *testing.T) {
	s := mustLoad(t, visits+"  norm: 0.5\n")
	row := make([]float32, 6)
	mustBind(t, s, "y", "seen", "age", "born").Encode(row, []string{"0", "", "", ""})
	third := float32(1 / math.Sqrt(3))
	if [6]float32(row) != [6]float32{0, third, 0, third, 0, third} {
		t.Errorf("%v", row)
	}
}

// TestDatesAreKept tests that dates and indicators in files decode to the same map.
func TestDatesAreKept(t *testing.T) {
	s := mustLoad(t, visits)
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`seen: {date: [2020-01-01, 2020-01-11], layout: "%d.%m.%Y", missing: indicator}`,
		"age: {number: [0, 10], missing: indicator}", "born: {date: [1970-01-01, 1970-01-03]}"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	form, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Schema
	if err := json.Unmarshal(form, &again); err != nil {
		t.Fatal(err)
	}
	if twice, _ := json.Marshal(&again); string(twice) != string(form) {
		t.Errorf("%s becomes %s", form, twice)
	}
	for doc, want := range map[string]string{
		"seen: {date: [2020-01-01]}":                                 "columns.seen.date = 1 values: must list two",
		"seen: {date: [01.01.2020, 2020-01-02]}":                     `columns.seen.date[0] = "01.01.2020": must be an ISO date`,
		"seen: {date: [2020, 2021]}":                                 `columns.seen.date[0] = "2020": must be an ISO date`,
		"seen: {date: [2020-01-02, 2020-01-01]}":                     "the first date must be before the last",
		"seen: {number: [0, 1], layout: '%Y-%m-%d'}":                 `columns.seen.layout = "%Y-%m-%d": only a date`,
		"seen: {number: [0, 1], missing: zero}":                      `columns.seen.missing = "zero": must be indicator`,
		"seen: {hash: 5, missing: indicator}":                        "columns.seen.missing = indicator: only a number or a date",
		"seen: {date: [2020-01-01, 2020-01-02], transform: log1p}":   `columns.seen.transform = "log1p": only a number`,
		"seen: {date: [2020-01-01, 2020-01-02], layout: 02.01.2006}": `columns.seen.layout = "02.01.2006": must have %Y, %m and %d`,
	} {
		if _, err := load("schema:\n  columns: {" + doc + "}\n  target: {column: y, number: [0, 1]}\n"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %s", doc, err, want)
		}
	}
}

// TestDatesAreExplained tests coefficients of dates: per day from the first date, and an offset for
// a missing cell.
func TestDatesAreExplained(t *testing.T) {
	list := mustLoad(t, visits).Explain([]float64{10, 3, 20, 5, 2, 1}, false)
	want := []Coefficient{
		{"seen", "seen", "days(seen - 2020-01-01)", 1}, {"seen=missing", "seen", "", 1.5},
		{"age", "age", "age", 2}, {"age=missing", "age", "", 2.5},
		{"born", "born", "days(born - 1970-01-01)", 1}, {"(intercept)", "", "", .5 - 5 - 10 - 1},
	}
	for i, c := range list {
		if c.Feature != want[i].Feature || c.Column != want[i].Column || c.Per != want[i].Per ||
			!(math.Abs(c.Value-want[i].Value) <= 1e-12) {
			t.Errorf("%+v: want %+v", c, want[i])
		}
	}
}
