package train

import "testing"

// TestColumnsNameTheirReference: levels of a category and the missing values of a number belong to one column of the table, whose
// rows may leave with them. A curve, an interaction and the intercept belong to none.
func TestColumnsNameTheirReference(t *testing.T) {
	s := config(t, 10, "sex: {category: [f, m]}", `site: {public: [a, b]}
    dose: {number: [0, 1], missing: indicator, curve: 3}
    sex: {category: [f, m]}
    hand: {category: [l, r]}`, "    age:", `    height: {number: [0, 2], missing: indicator}
    age:`, "  target:", `  interactions: [[sex, hand]]
  target:`).Schema
	list, err := formula(s)
	if err != nil {
		t.Fatal(err)
	}
	names, want := s.Features(), map[string]string{"height": "height", "height=missing": "height", "sex=m": "sex=f", "sex=other": "sex=f",
		"hand=r": "hand=l", "hand=other": "hand=l", "age": "age"}
	for _, c := range list {
		reference := ""
		if c.Reference > 0 {
			reference = names[c.Reference-1]
		}
		if reference != want[names[c.Feature]] {
			t.Errorf("%s: of %q, must be of %q", names[c.Feature], reference, want[names[c.Feature]])
		}
		delete(want, names[c.Feature])
	}
	if len(want) > 0 {
		t.Errorf("no column for %v", want)
	}
}
