package inspect

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestTimesAreChecked tests the problems of times, and that as many rows are said to contribute nothing as the row map
// refuses.
func TestTimesAreChecked(t *testing.T) {
	s := schema(t, "columns: {x: {number: [0, 1]}}\ntarget: {time: days, event: died, entry: came, cuts: [30, 90]}\n")
	rows := []string{".5,20,1,0", ".5,-5,1,0", ".5,50,1,50", ".5,50,1,60", ".5,0,1,0", ".5,10,2,0", ".5,10,1,-3", ".5,100,0,95",
		".5,100,0,89", ".5,,1,0", ".5,x,1,0", ".5,80,1,79.5"}
	r, err := Check(context.Background(), []string{write(t, "x,days,died,came\n"+strings.Join(rows, "\n")+"\n")}, dataset.CSV{}, s)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind([]string{"x", "days", "died", "came"})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, row := range rows {
		if _, ok := m.Encode(make([]float32, m.Dim()), strings.Split(row, ",")); !ok {
			refused++
		}
	}
	if r.Silent != refused || refused != 8 {
		t.Errorf("%d rows are said to contribute nothing: the row map refuses %d", r.Silent, refused)
	}
	for _, want := range []struct {
		column, what string
		cells        int
	}{{"days", "negative times", 1}, {"died", "neither 0 nor 1", 1}, {"came", "negative times", 1}, {"came", "entry times that are not before", 3}} {
		if !slices.ContainsFunc(r.Columns, func(c Column) bool {
			return c.Name == want.column && slices.ContainsFunc(c.Findings, func(f Finding) bool {
				return strings.HasPrefix(f.What, want.what) && f.Cells == want.cells
			})
		}) {
			t.Errorf("%s: no problem %q of %d cells: %+v", want.column, want.what, want.cells, r.Columns)
		}
	}
}
