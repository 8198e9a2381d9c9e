package curator

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestEffectsAreKeptWhereRowsArePublic tests which sessions keep the features of effects of their rows in memory: of
// these configurations, which differ in one thing each, only the first. Under add-or-remove memory that grows with the
// number of rows would show it.
func TestEffectsAreKeptWhereRowsArePublic(t *testing.T) {
	definition := dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 1}},
		Target:  dataset.Target{Column: "y", Kind: dataset.Number, Low: 0, High: 1},
	}
	schema := func(unit dataset.Unit, with bool) *dataset.Schema {
		d := definition
		d.Unit = unit
		s, err := dataset.New(d)
		if err != nil {
			t.Fatal(err)
		}
		if !with {
			return s
		}
		e := dataset.Effects{Features: 4, Weight: 1, Scale: 1, Centres: make([]float64, len(s.Ranges())),
			Weights: make([]float64, s.Dim())}
		if s, err = s.WithEffects(e); err != nil {
			t.Fatal(err)
		}
		return s
	}
	budget := func(r account.Relation) account.Budget {
		b, err := account.NewBudget(1, 1e-6, r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	layout, err := row.NewLayout(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := row.NewTableOf(layout, 8)
	if err != nil {
		t.Fatal(err)
	}
	with := schema(dataset.Unit{}, true)
	for name, c := range map[string]struct {
		config Config
		kept   float64
	}{
		"replace-one":   {Config{Schema: with, Budget: budget(account.ReplaceOne)}, 1},
		"add-or-remove": {Config{Schema: with, Budget: budget(account.AddOrRemove)}, 0},
		"memory":        {Config{Schema: with, Budget: budget(account.ReplaceOne), Memory: 1 << 20}, 0},
		"a unit": {Config{Schema: schema(dataset.Unit{Column: "who", Rows: 2}, true), Budget: budget(account.ReplaceOne)},
			0},
		"no effects": {Config{Schema: schema(dataset.Unit{}, false), Budget: budget(account.ReplaceOne)}, 0},
	} {
		if got := c.config.keeps(rows); got != c.kept {
			t.Errorf("%s: kept %v: must be %v", name, got, c.kept)
		}
		if got := c.config.keepsHats(rows, layout); got != (c.kept == 1 || name == "no effects") {
			t.Errorf("%s: hats kept: %v", name, got)
		}
	}
	// 4 bytes each: 3 2^28 bytes.
	for rows, want := range map[float64]float64{0: 1, 100: 1, 3 << 18: 1, 3 << 19: .5, 3 << 21: .125} {
		if got := KeptEffects(rows, 256); got != want {
			t.Errorf("%v rows: %v of them kept: must be %v", rows, got, want)
		}
	}
}
