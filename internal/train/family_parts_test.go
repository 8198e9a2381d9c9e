package train

import (
	"fmt"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestFamiliesKeepTheSchema tests the curves and the features of a fit of each family, by the rule or by a key: lines have
// none, the others add curves where a column may have one unless model.features alone asks for effects, and all keep the
// filter, the cells without a value and the norm of the schema, and the curves that it states.
func TestFamiliesKeepTheSchema(t *testing.T) {
	number := func(name string, curve int) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Number, High: 1, Curve: curve}
	}
	schema, err := dataset.New(dataset.Definition{Columns: []dataset.Column{number("a", 5), number("b", 0), number("c", dataset.CurveNone),
		{Name: "split", Kind: dataset.Public, Values: []string{"train", "test"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}, Where: "split=train",
		Missing: []string{"", "NA"}, Norm: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name, family, features string
		chosen                 bool
		want                   string // curves of a, b and c, model.features, and whether no key asked
	}{
		{Lines, "", "", true, "0 0 0  true"},
		{Lines, FamilyAuto, "", true, "0 0 0  false"},
		{Curves, Curves, "", false, fmt.Sprint("5 ", dataset.CurveAuto, " 0  false")},
		{Curves, "", "effects", true, fmt.Sprint("5 ", dataset.CurveAuto, " 0  true")},
		{Interactions, "", "", true, fmt.Sprint("5 ", dataset.CurveAuto, " 0 effects true")},
		{Interactions, "", "effects(30)", false, "5 0 0 effects(30) false"},
		{Interactions, FamilyAuto, "effects(30)", false, "5 0 0 effects(30) false"},
		{Interactions, Interactions, "effects(30)", false, fmt.Sprint("5 ", dataset.CurveAuto, " 0 effects(30) false")},
	} {
		c := &Config{Schema: schema, Model: Model{Family: x.family, Features: x.features}}
		r, err := c.as(familyOf(x.name, "", x.chosen))
		if err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		k, s := r.Schema.Columns(), r.Schema
		if got := fmt.Sprint(k[0].Curve, " ", k[1].Curve, " ", k[2].Curve, " "+r.Model.Features+" ", r.chosen.Unasked); got != x.want {
			t.Errorf("%+v: %s", x, got)
		}
		if got := fmt.Sprintf("%s %q %v", s.Filter(), s.Missing(), s.Norm()); got != `split=train ["" "NA"] 2` || c.Model.Features != x.features {
			t.Errorf("%+v: %s", x, got)
		}
	}
}
