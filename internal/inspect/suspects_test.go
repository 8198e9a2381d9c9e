package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// lines returns n lines, of which line makes each from its number, starting at 0.
func lines(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

// TestSuspicions tests each fault of a table that no single cell shows, only a whole column. The report
// must contain the advice for the fault and say whether a column or half of the rows is lost. For the same
// table without the fault the report must contain no problem. The test fails if a rule is missing or if a
// rule reports a table without the fault.
func TestSuspicions(t *testing.T) {
	yes := func(i int) string { return []string{"no", "yes"}[i%2] }
	for name, test := range map[string]struct {
		columns       string
		faulty, sound string
		want          string
		lost          string
	}{
		"a trailing delimiter in every other row": {
			"x: {number: [0, 99]}",
			"x,y\n" + lines(40, func(i int) string {
				return fmt.Sprintf("%d,%s%s", i*7%40, yes(i/2), strings.Repeat(",", i%2))
			}),
			"x,y\n" + lines(40, func(i int) string { return fmt.Sprintf("%d,%s", i*7%40, yes(i)) }),
			"table: 20 rows with one empty cell more than the header: they end in a delimiter",
			"half of the rows or more count and contribute nothing",
		},
		"no rows": {"x: {number: [0, 99]}", "x,y\n", "x,y\n1,no\n", "table: 0 the table has no rows",
			"the table has no rows"},
		"no row counts": {
			"x: {number: [0, 99]}",
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d,%d", i*7%40, i%2) }),
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d,%s", i*7%40, yes(i)) }),
			"table: 6 no row counts", "no row counts",
		},
		"Latin-1": {
			"x: {category: [Zürich, Bern]}",
			"x,y\n" + lines(6, func(i int) string { return []string{"Z\xfcrich", "Bern"}[i%2] + "," + yes(i/2) }),
			"x,y\n" + lines(6, func(i int) string { return []string{"Zürich", "Bern"}[i%2] + "," + yes(i/2) }),
			"x: 3 listed values that are written in Latin-1 or Windows-1252", "",
		},
		"UTF-8 taken for Latin-1": {
			"x: {category: [Zürich, Bern]}",
			"x,y\n" + lines(6, func(i int) string { return []string{"ZÃ¼rich", "Bern"}[i%2] + "," + yes(i/2) }), "",
			"x: 3 listed values that are written in UTF-8 and read as another encoding", "",
		},
		"-999": {
			"x: {number: [0, 99]}",
			"x,y\n" + lines(40, func(i int) string {
				return []string{"-999", fmt.Sprint(i * 7 % 40)}[min(i%8, 1)] + "," + yes(i/8)
			}),
			"x,y\n" + lines(40, func(i int) string {
				return []string{"-3", fmt.Sprint(i * 7 % 40)}[min(i%8, 1)] + "," + yes(i/8)
			}),
			`x: 5 a number beyond the bounds that often stands for a missing one; it counts as the bound ["-999"]: if it means missing, say so: missing: ["", "-999"]`, "",
		},
		"thousands as decimals": {
			"x: {number: [0, 90000]}",
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d.%03d,%s", 10+i*7%40, i*137%1000, yes(i/3)) }),
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d.%02d,%s", 10+i*7%40, i, yes(i/3)) }),
			`x: 6 three digits after every point`, "x",
		},
		"months as days": {
			`x: {date: [2020-01-01, 2020-12-31], layout: "%m/%d/%Y"}`,
			"x,y\n" + lines(40, func(i int) string { return fmt.Sprintf("%02d/%02d/2020,%s", 1+i%12, 1+i*5%12, yes(i)) }),
			"x,y\n" + lines(40, func(i int) string { return fmt.Sprintf("%02d/%02d/2020,%s", 1+i%12, 1+i*5%28, yes(i)) }),
			`x: 40 no day of the month is after the twelfth: months are read as days ["01/01/2020"]: if the table has them the other way round: x: {date: [2020-01-01, 2020-12-31], layout: "%d/%m/%Y"}`, "x",
		},
		"days of spreadsheets": {
			"x: {date: [2020-01-01, 2020-12-31]}",
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d,%s", 43900+i*31, yes(i/3)) }),
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("2020-0%d-11,%s", i+1, yes(i/3)) }),
			"x: 6 days as spreadsheets count them, from 1900 on [\"43900\" \"43931\" \"43962\"]: export the column as dates (2024-02-29), or read it as days, which tells a model as much: x: {number: [FIRST, LAST]}", "x",
		},
		"an identifier": {
			"x: {number: [0, 999]}",
			"x,y\n" + lines(40, func(i int) string { return fmt.Sprintf("%d,%s", 100+i, yes(i/3)) }),
			"x,y\n" + lines(40, func(i int) string { return fmt.Sprintf("%d,%s", 100+i*17%40, yes(i/3)) }),
			"x: 40 whole numbers that rise from row to row", "",
		},
		"twenty rows of an identifier": {
			"x: {number: [0, 999]}",
			"x,y\n" + lines(20, func(i int) string { return fmt.Sprintf("%d,%s", 100+i, yes(i/3)) }),
			"x,y\n" + lines(19, func(i int) string { return fmt.Sprintf("%d,%s", 100+i, yes(i/3)) }),
			"x: 20 whole numbers that rise from row to row", "",
		},
		"twenty rows of a column named as an identifier": {
			"customer_id: {number: [0, 999]}",
			"customer_id,y\n" + lines(20, func(i int) string { return fmt.Sprintf("%d,%s", 100+i*7%20, yes(i/3)) }),
			"customer_id,y\n" + lines(19, func(i int) string { return fmt.Sprintf("%d,%s", 100+i*7%19, yes(i/3)) }),
			"customer_id: 20 the name is that of an identifier, and the column is read as a number", "",
		},
		"a number that rises by nearly 2": { // 40 numbers from 100 to 179 are within twice their number, and to 180 not
			"x: {number: [0, 999]}",
			"x,y\n" + lines(40, func(i int) string { return fmt.Sprintf("%d,%s", 100+2*i+i/39, yes(i/3)) }),
			"x,y\n" + lines(40, func(i int) string { return fmt.Sprintf("%d,%s", 100+2*i+2*(i/39), yes(i/3)) }),
			"x: 40 whole numbers that rise from row to row", "",
		},
		"a constant column": {
			"x: {number: [0, 99]}",
			"x,y\n" + lines(6, func(i int) string { return "5," + yes(i) }),
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d,%s", i*5%6, yes(i)) }),
			`x: 6 the same in every row: a model learns nothing from it ["5"]: leave it out: x: ignore`, "",
		},
		"one class": {
			"x: {number: [0, 99]}",
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d,no", i*5%6) }), "",
			`y: 6 the same in every row: there is nothing to learn ["no"]`, "y",
		},
		"clamped to one bound": {
			"x: {number: [0, 9]}",
			"x,y\n" + lines(6, func(i int) string { return fmt.Sprintf("%d,%s", 1000+i*17%10, yes(i)) }), "",
			`x: 6 most cells that are read lie beyond the bounds`, "x",
		},
	} {
		check := func(text string) *Report {
			t.Helper()
			s := schema(t, "columns: {"+test.columns+"}\ntarget: {column: y, classes: [\"no\", \"yes\"]}")
			r, err := Check(context.Background(), []string{write(t, text)}, dataset.CSV{}, s)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := check(test.faulty)
		if !strings.Contains(said(r), test.want) {
			t.Errorf("%s: does not say %s:\n%s", name, test.want, said(r))
		}
		if lost := strings.Join(r.Lost(), "; "); (test.lost == "") != (lost == "") || !strings.Contains(lost, test.lost) {
			t.Errorf("%s: lost %q: must be %q", name, lost, test.lost)
		}
		if test.sound == "" {
			continue
		}
		if r := check(test.sound); r.Findings() > 0 || len(r.Lost()) > 0 {
			t.Errorf("%s: of the sound table it says\n%s", name, said(r))
		}
	}
}

// TestIdentifiersByName tests column names that match identifier, and names that only end in the
// same letters.
func TestIdentifiersByName(t *testing.T) {
	for name, want := range map[string]bool{
		"id": true, "patient_id": true, "PatientID": true, "record no": true, "case.nr": true,
		"paid": false, "kid": false, "casino": false, "amount": false, "grid": false,
	} {
		if got := identifier.MatchString(name); got != want {
			t.Errorf("%s: %v: must be %v", name, got, want)
		}
	}
	if got := []string{swapped("%d.%m.%Y"), swapped("%m-%d-%Y %H:%M"), swapped("%Y%m%d"), swapped("")}; !slices.Equal(got,
		[]string{"%m.%d.%Y", "%d-%m-%Y %H:%M", "", ""}) {
		t.Errorf("%q", got)
	}
}
