package export

import (
	"database/sql"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestRowsOfLevelsAlone tests exports of models without numbers, whose rows all have one norm: equal to the schema's
// norm, or longer.
func TestRowsOfLevelsAlone(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	columns := []dataset.Column{{Name: "a", Kind: dataset.Category, Categories: []string{"x", "y"}},
		{Name: "b", Kind: dataset.Category, Categories: []string{"x"}}}
	seen := map[string]bool{}
	for _, pairs := range [][]dataset.Interaction{nil, {{"a", "b"}}} {
		for _, norm := range []float64{0, .25, 1, 1.7} {
			l := loss.Logistic()
			s, err := dataset.New(dataset.Definition{Columns: columns, Target: suited(l), Norm: norm, Interactions: pairs})
			if err != nil {
				t.Fatal(err)
			}
			m := modelOf(t, l, s, rand.New(rand.NewPCG(3, 4)))
			e := exported{schema: s, model: m, header: []string{"a", "b"},
				rows: [][]string{{"x", "x"}, {"y", "x"}, {"", "z"}, {"x", ""}}}
			e.compareGraph(t, t)
			text, err := SQL(m, Query{Dialect: "sqlite", Table: "people"})
			if err != nil {
				t.Fatal(err)
			}
			want := predicted(t, m, e.header, e.rows)
			for column, got := range queried(t, db, e, text) {
				e.compare(t, column, got, want)
			}
			seen[want["margin"][0]] = true
		}
	}
	if len(seen) != 2 { // a row that is longer is as long as one of the largest norm
		t.Errorf("%d different margins", len(seen))
	}
}

// TestNoModelIsNotExported tests the error of each export of a model that predicts nothing.
func TestNoModelIsNotExported(t *testing.T) {
	const want = "export: model: the zero Model predicts nothing"
	if file, err := ONNX(new(model.Model), Graph{}); file != nil || err == nil || err.Error() != want {
		t.Errorf("%d bytes, %v: must be %s", len(file), err, want)
	}
	if text, err := SQL(new(model.Model), Query{Dialect: "sqlite", Table: "t"}); text != "" || err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q, %v: must be %s", text, err, want)
	}
}
