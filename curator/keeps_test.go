package curator

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
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

// long is a source of so many rows.
type long struct {
	row.Source
	n int
}

func (l long) Len() int { return l.n }

// TestNothingIsKeptOfAPartition tests that a worker of a partition, whose number of rows is secret, keeps nothing, and how
// many rows' hats a session keeps: as many as 2^28 bytes have, at 12 bytes for each.
func TestNothingIsKeptOfAPartition(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1, Curve: 3}, {Name: "b", Kind: dataset.Number, High: 1, Curve: 4}},
		Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1}})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Schema: s, Budget: b}
	l, err := c.layout()
	if err != nil {
		t.Fatal(err)
	}
	const most = 1 << 28 / (12 * 2)
	for rows, want := range map[int]bool{0: true, most: true, most + 1: false} {
		if got := c.keepsHats(long{n: rows}, l); got != want {
			t.Errorf("%d rows: kept %v", rows, got)
		}
	}
	worker := c
	worker.partition = &partition{}
	if worker.keepsHats(long{n: 1}, l) || worker.mayKeep() {
		t.Error("a worker keeps what it computes")
	}
}

// TestPrivateFilesAreMade tests which sessions with a limit of memory make a private file before they read rows, whether the
// rows need it or not: those whose number of rows is secret. The folder of the file is not there.
func TestPrivateFilesAreMade(t *testing.T) {
	budget := func(r account.Relation) account.Budget {
		b, err := account.NewBudget(1, 1e-6, r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	schema := func(unit dataset.Unit) *dataset.Schema {
		s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1}}, Unit: unit,
			Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	text := func(name string) Column[int] { return Text(name, func(int) string { return "1" }) }
	plain, units := RowsOf([]int{1, 2}, text("a"), text("y")), RowsOf([]int{1, 2}, text("a"), text("y"), text("who"))
	for name, c := range map[string]struct {
		config Config
		made   bool
	}{
		"replace-one":   {Config{Schema: schema(dataset.Unit{}), Rows: plain, Budget: budget(account.ReplaceOne), Memory: 1 << 20}, false},
		"add-or-remove": {Config{Schema: schema(dataset.Unit{}), Rows: plain, Budget: budget(account.AddOrRemove), Memory: 1 << 20}, true},
		"a unit":        {Config{Schema: schema(dataset.Unit{Column: "who", Rows: 2}), Rows: units, Budget: budget(account.ReplaceOne), Memory: 1 << 20}, true},
		"a partition": {Config{Schema: schema(dataset.Unit{}), Rows: plain, Budget: budget(account.ReplaceOne), Memory: 1 << 20,
			partition: &partition{key: coin.NewKeyed([32]byte{1})}}, true},
		"all memory":         {Config{Schema: schema(dataset.Unit{}), Rows: plain, Budget: budget(account.AddOrRemove)}, false},
		"memory below 0":     {Config{Schema: schema(dataset.Unit{}), Rows: plain, Budget: budget(account.ReplaceOne), Memory: -1}, false},
		"no room for 2 rows": {Config{Schema: schema(dataset.Unit{}), Rows: plain, Budget: budget(account.ReplaceOne), Memory: 1}, true},
	} {
		c.config.Folder = filepath.Join(t.TempDir(), "none")
		s, err := read(t.Context(), c.config, mostRows, coin.NewKeyed([32]byte{2}))
		if err == nil {
			_ = s.rows.Close()
		}
		if made := err != nil && strings.HasPrefix(err.Error(), "row: private file: "); made != c.made || (err == nil) != (!c.made && c.config.Memory >= 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := Config{Schema: schema(dataset.Unit{}), Rows: plain, Budget: budget(account.ReplaceOne)}
	for most, want := range map[int]string{1: "curator: rows: must have at most 1 rows", 2: ""} {
		if _, err := read(t.Context(), c, most, nil); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("2 rows of %d: %v", most, err)
		}
	}
}
