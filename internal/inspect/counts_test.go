package inspect

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestWholeTablesToTheLetter tests what is said of whole tables by their numbers of rows, with no two numbers alike: of rows
// that a filter leaves out, rows that contribute nothing, open quotes and rows that end in a delimiter.
func TestWholeTablesToTheLetter(t *testing.T) {
	for _, c := range []struct {
		t    tally
		want string
	}{
		{tally{report: Report{Rows: 9, Silent: 4}}, ""},
		{tally{}, "0 true the table has no rows"},
		{tally{report: Report{Malformed: 3}}, "0 true the table has no rows"},
		{tally{report: Report{LeftOut: 7}}, "7 true the row filter keeps no row"},
		{tally{report: Report{LeftOut: 7, Malformed: 3}}, "7 true the row filter keeps no row"},
		{tally{report: Report{Rows: 9, LeftOut: 7, Malformed: 2}}, ""},
		{tally{report: Report{Rows: 9, Silent: 9, LeftOut: 7}}, "9 true no row counts: a fit would release noise alone"},
		{tally{report: Report{Rows: 9, Silent: 5}}, "5 true half of the rows or more count and contribute nothing"},
		{tally{report: Report{Rows: 10, Silent: 5}}, "5 true half of the rows or more count and contribute nothing"},
		{tally{report: Report{Rows: 9}, open: 2}, "2 true a quote that is not closed at the end of the file or within 16 MiB: its record takes " +
			"all lines after it"},
		{tally{report: Report{Rows: 300}, ended: 2}, ""},
		{tally{report: Report{Rows: 300}, ended: 3}, "3 false rows with one empty cell more than the header: they end in a delimiter, and contribute nothing"},
		{tally{report: Report{Rows: 7}, ended: 3}, "3 false rows with one empty cell more than the header: they end in a delimiter, and contribute nothing"},
		{tally{report: Report{Rows: 6}, ended: 3}, "3 true rows with one empty cell more than the header: they end in a delimiter, and contribute nothing"},
	} {
		var got []string
		for _, f := range c.t.whole() {
			got = append(got, fmt.Sprint(f.Cells, f.Lost, " ", f.What))
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%+v, open %d, ended %d: %q: must be %q", c.t.report, c.t.open, c.t.ended, text, c.want)
		}
	}
}

// TestLostToTheLetter tests what a report counts where a whole column, or rows that end in a delimiter, contribute
// nothing.
func TestLostToTheLetter(t *testing.T) {
	check := func(text string) *Report {
		t.Helper()
		r, err := Check(context.Background(), []string{write(t, text)}, dataset.CSV{},
			schema(t, "columns: {x: {number: [0, 9]}}\ntarget: {column: y, number: [0, 1]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for cells, want := range map[string]string{",1\n,1\n,1\n": "x: 3 no cell is read []: see whether it is the column", "1,1\n,1\n": ""} {
		r := check("x,y\n" + cells)
		if says := said(r); !strings.Contains(says, want) || want == "" && says != "" {
			t.Errorf("%q: %s: must be %q", cells, says, want)
		}
		if want != "" && !r.Columns[0].Findings[0].Lost {
			t.Errorf("%+v: must be lost", r.Columns[0])
		}
	}
	if r := check("x,y\n"); len(r.Columns[0].Findings) > 0 {
		t.Errorf("a table without rows: %+v: must be said of the table alone", r.Columns[0].Findings)
	}
	for cells, lost := range map[string]bool{"1,1,\n2,1,\n3,1\n4,1\n": true, "1,1,\n2,1\n3,1\n": false} {
		found := false
		for _, f := range check("x,y\n" + cells).Table {
			if strings.HasPrefix(f.What, "rows with one empty cell more") {
				found = true
				if f.Lost != lost || f.Cells != strings.Count(cells, ",\n") {
					t.Errorf("%q: %+v: lost must be %v", cells, f, lost)
				}
			}
		}
		if !found {
			t.Errorf("%q: says nothing of delimiters", cells)
		}
	}
	for _, same := range [][]string{{"1.50", "1.5", "1.5"}, {"2.5e0", "2.5", "2.5"}, {"North-West ", "northwest", "northwest"}} {
		if a, b := folded(same[0]), folded(same[1]); a != same[2] || b != same[2] {
			t.Errorf("%q and %q are folded to %q and %q: must be %q", same[0], same[1], a, b, same[2])
		}
	}
}
