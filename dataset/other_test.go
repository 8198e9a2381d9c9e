package dataset

import (
	"slices"
	"testing"
)

// TestOtherFeatures tests which features stand for missing or unlisted cells: the last of each category, pairs with it, and
// the missing numbers of a curve. Those of a number without a curve are a column's own.
func TestOtherFeatures(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    age: {number: [0, 10], curve: 4}
    sex: {category: [f, m]}
    height: {number: [0, 2], missing: indicator}
    town: {category: [a, b, c]}
  interactions: [[age, sex], [sex, town]]
  target: {column: y, classes: ["n", "y"]}
`)
	var got []string
	for j, name := range s.Features() {
		if s.IsOther(j) {
			got = append(got, name)
		}
	}
	if want := []string{"age=missing", "sex=other", "town=other", "sex=f & town=other", "sex=m & town=other", "sex=other & town=a",
		"sex=other & town=b", "sex=other & town=c", "sex=other & town=other"}; !slices.Equal(got, want) {
		t.Errorf("%q: must be %q", got, want)
	}
}
