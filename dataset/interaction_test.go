package dataset

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestInteractions tests that a row sets the feature of its pair of values, other included, that
// the feature's coefficient is an offset, and that an interaction adds 1 to the squared norm of the
// row.
func TestInteractions(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    sex: {category: [f, m]}
    age: {number: [0, 10]}
    ward: {category: [heart, lung, skin]}
  target: {column: y, classes: [0, 1]}
  interactions: [[ward, sex]]
`)
	names := s.Features()
	if len(names) != 3+1+4+12+1 || names[8] != "ward=heart & sex=f" || names[19] != "ward=other & sex=other" ||
		!(math.Abs(s.Scale()*s.Scale()-5) <= 1e-9) {
		t.Fatalf("features %v, scale %v", names, s.Scale())
	}
	m := mustBind(t, s, "sex", "age", "ward", "y")
	for cells, want := range map[[2]string]string{
		{"m", "lung"}: "ward=lung & sex=m", {"", " skin"}: "ward=skin & sex=other", {"x", "liver"}: "ward=other & sex=other",
	} {
		row := make([]float32, m.Dim())
		m.Encode(row, []string{cells[0], "10", cells[1], "1"})
		set := 0
		for j := 8; j < 20; j++ {
			if row[j] != 0 {
				set++
				if names[j] != want || row[j] != row[20] {
					t.Errorf("%q sets %s to %v, want %s", cells, names[j], row[j], want)
				}
			}
		}
		if set != 1 {
			t.Errorf("%q sets %d features", cells, set)
		}
	}
	w := make([]float64, s.Dim())
	w[9] = s.Scale()
	if c := s.Explain(w, false)[9]; c.Feature != "ward=heart & sex=m" || !(c.Value > .999 && c.Value < 1.001) || c.Column == "" {
		t.Errorf("explained as %+v", c)
	}
	for text, want := range map[string]string{
		"[[age, age]]":               "must be two different columns",
		"[[ward, town]]":             `interactions[0] = "town": must be a category, number or date among the columns`,
		"[[ward]]":                   "1 columns: must be two columns",
		"[[ward, ward]]":             "must be two different columns",
		"[[ward, sex], [sex, ward]]": "interactions[1]: is listed twice",
		"[ward, sex]":                "must be a list",
	} {
		_,
			err := load(fmt.Sprintf("\nschema:\n  columns:\n    sex: {category: [f, m]}\n    age: {number: [0, 10]}\n    ward: {category: [heart]}\n  target: {column: y, classes: [0, 1]}\n  interactions: %s\n", text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
