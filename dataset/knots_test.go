package dataset

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// TestReferenceKnots tests which knot a curve's values are relative to: the middle one, or the lower of the two in the middle.
func TestReferenceKnots(t *testing.T) {
	for n, want := range map[int]int{3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 64: 31} {
		if got := referenceKnot(spline.Equal(n)); got != want {
			t.Errorf("%d knots: knot %d: must be %d", n, got, want)
		}
	}
}

// TestNumbersAsTheyWereWritten tests the text that a reader finds in a table whose numbers have a decimal comma, from the
// text with a decimal point that programs see, and whether the table had a point.
func TestNumbersAsTheyWereWritten(t *testing.T) {
	comma := CSV{Decimal: ",", Thousands: "."}
	for cell, want := range map[string]string{"1.5": "1,5", "-1.25e3": "-1,25e3", "12": "12", "north": "north", "1.2.3": "1.2.3", "": ""} {
		if got, pointed := comma.Written(cell); got != want || pointed {
			t.Errorf("%q: %q, %v: must be %q", cell, got, pointed, want)
		}
		if got, pointed := (CSV{}).Written(cell); got != cell || pointed {
			t.Errorf("%q, with points: %q, %v", cell, got, pointed)
		}
	}
	if got, pointed := comma.Written(comma.plain("1.5")); got != "1.5" || !pointed {
		t.Errorf("a number with a point: %q, %v", got, pointed)
	}
}

// TestTimesAtTheirEnd tests what is said of a time around the end that is modelled, and of an event.
func TestTimesAtTheirEnd(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "age", Kind: Number, High: 1}},
		Target: Target{Column: "time", Kind: Number, High: 10, Event: "died", Entry: "entry"}, Missing: []string{"", "NA"}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind([]string{"age", "time", "died", "entry"})
	if err != nil {
		t.Fatal(err)
	}
	for i, cells := range []map[string]string{nil, {"0": cellstatus.Read, "10": cellstatus.Read, "10.001": cellstatus.Above, "-0.001": cellstatus.Unread,
		"x": cellstatus.Unread, "NA": cellstatus.Absent, "": cellstatus.Absent},
		{"1": cellstatus.Read, "0": cellstatus.Read, "true": cellstatus.Read, "False": cellstatus.Read, "2": cellstatus.Unlisted, "NA": cellstatus.Absent},
		{"0": cellstatus.Read, "10": cellstatus.Read, "11": cellstatus.Above, "-1": cellstatus.Unread, "": cellstatus.Absent}} {
		for cell, want := range cells {
			if _, got := m.Column(i).Status(cell); got != want {
				t.Errorf("column %d, %q: %s: must be %s", i, cell, got, want)
			}
		}
	}
}

// TestPlacesOfColumns tests how an error names a column: by its name, or by its number from 1 if the name may be a cell.
func TestPlacesOfColumns(t *testing.T) {
	for i, want := range []string{`column "age"`, "column 2", "column 3", `column "sex"`} {
		if got := place([]string{" age ", "39", "", "sex"}, i); got != want {
			t.Errorf("%s: must be %s", got, want)
		}
	}
}
