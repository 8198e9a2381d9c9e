package inspect

import (
	"context"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

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
			if strings.HasPrefix(f.What, "one empty cell more") {
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
