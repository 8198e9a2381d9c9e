package export

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestMissingCellsOfQueries tests which cells a query takes for missing, in a column of each kind and for several lists
// of missing markers: NULL, the empty cell and cells of white space are missing whether or not the list has the empty
// text, and a marker is missing only where it is listed.
func TestMissingCellsOfQueries(t *testing.T) {
	const null = "NULL"
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	columns := []dataset.Column{
		{Name: "age", Kind: dataset.Number, Low: -20, High: 90},
		{Name: "pay", Kind: dataset.Number, Low: 0, High: 900, Transform: dataset.Log1p, Indicator: true},
		{Name: "bent", Kind: dataset.Number, Low: -20, High: 90, Curve: 4, Indicator: true},
		{Name: "seen", Kind: dataset.Date, Low: 0, High: 20000, Indicator: true},
		{Name: "work", Kind: dataset.Category, Categories: []string{"a", "5"}},
		{Name: "town", Kind: dataset.Hash, Buckets: 50}, {Name: "street", Kind: dataset.Hash, Buckets: 50},
	}
	plain := []string{"30", "300", "12", "1999-12-31", "a", "Gent", "5"}
	odd := []string{null, "", " ", "\t\u00a0", "?", " ? ", "NA", "-9", "-9 ", "1970-02-01", "5", "x"}
	for i, missing := range [][]string{nil, {""}, {"?"}, {"", "?", "NA"}, {"NA", "-9", "1970-02-01"}} {
		l := mustParse(t, "tanh")
		s, err := dataset.New(dataset.Definition{Columns: columns, Target: suited(l), Missing: missing,
			Interactions: []dataset.Interaction{{"work", "age"}, {"seen", "work"}}})
		if err != nil {
			t.Fatal(err)
		}
		e := exported{schema: s, model: modelOf(t, l, s, rand.New(rand.NewPCG(uint64(i), 7)))}
		var read, cells []string
		for _, c := range columns {
			e.header = append(e.header, c.Name)
			read = append(read, fmt.Sprintf("NULLIF(%q, '%s') AS %[1]q", c.Name, null))
		}
		for at := range columns {
			for _, cell := range odd {
				row := append([]string(nil), plain...)
				row[at] = cell
				e.rows, cells = append(e.rows, row), append(cells, columns[at].Name+" "+cell)
			}
		}
		text, err := SQL(e.model, Query{Dialect: "sqlite", Table: "(SELECT " + strings.Join(read, ", ") + " FROM people)"})
		if err != nil {
			t.Fatal(err)
		}
		results := queried(t, db, e, text)
		for _, row := range e.rows {
			for at := range row {
				row[at] = strings.Replace(row[at], null, "", 1)
			}
		}
		all := predicted(t, e.model, e.header, e.rows)
		for column, got := range results {
			e.compare(t, column, got, all)
		}
		// The first four cells are missing in each column, and "?" is the same only where it is listed or no value.
		for at, c := range columns {
			of := all["score"][at*len(odd):]
			for k := range 4 {
				if of[k] != of[0] {
					t.Errorf("missing %q: %q is predicted %s: must be %s", missing, cells[at*len(odd)+k], of[k], of[0])
				}
			}
			if same, want := of[4] == of[0], i == 2 || i == 3 || c.Kind != dataset.Hash; same != want {
				t.Errorf("missing %q: %q is missing %v: must be %v", missing, cells[at*len(odd)+4], same, want)
			}
		}
	}
}
