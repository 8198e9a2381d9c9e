package export

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// exported is a random model to export, with up to three columns of each kind and up to three
// interactions, and rows of a table for it.
type exported struct {
	schema *dataset.Schema
	model  *model.Model
	header []string
	rows   [][]string
	// rounded is true for a model with features of effects, of which two roundings to float32 are left out.
	rounded bool
}

// anyExported draws a model to export, and rows for it, at random. Hash columns are drawn only if
// hashes is true.
func anyExported(t *testing.T, hashes bool) *rapid.Generator[exported] {
	return rapid.Custom(func(r *rapid.T) exported {
		l, err := loss.Parse(rapid.SampledFrom([]string{"softmax(3)", "logistic", "huber(0.5)", "tanh", "softmax(4)", "ordered(3)", "ordered(4)",
			"network(3,tanh,softmax(3))"}).Draw(r, "loss"))
		if err != nil {
			r.Fatal(err)
		}
		def := dataset.Definition{Target: targetOf(l), Missing: []string{"", "?"}}
		count := func(name string) int { return rapid.IntRange(0, 3).Draw(r, name) }
		for i := range count("numbers") {
			c := dataset.Column{Name: "n" + strconv.Itoa(i), Kind: dataset.Number, Low: -1, High: 4}
			if c.Indicator = rapid.Bool().Draw(r, "indicator"); rapid.Bool().Draw(r, "log") {
				c.Low, c.Transform = 0, dataset.Log1p
			}
			if c.Curve = rapid.SampledFrom([]int{0, 0, 3, 6}).Draw(r, "knots"); c.Curve == 3 &&
				rapid.Bool().Draw(r, "own knots") {
				c.Knots = []float64{c.Low, 1, 2.75, 4}
				c.Curve = 4
			}
			def.Columns = append(def.Columns, c)
			if other := "n" + strconv.Itoa(i-1); i > 0 && rapid.Bool().Draw(r, "pair") {
				def.Interactions = append(def.Interactions, dataset.Interaction{c.Name, other})
			}
		}
		for i := range count("dates") {
			def.Columns = append(def.Columns, dataset.Column{Name: "d" + strconv.Itoa(i), Kind: dataset.Date, Low: 0,
				High: 20000, Indicator: i == 1, Curve: 4 * (i % 2)})
			if i == 0 && rapid.Bool().Draw(r, "date and category") {
				def.Interactions = append(def.Interactions, dataset.Interaction{"d0", "c0"})
			}
		}
		if hashes {
			for i := range count("hashed") {
				def.Columns = append(def.Columns, dataset.Column{Name: "h" + strconv.Itoa(i), Kind: dataset.Hash, Buckets: 2 + 3*i})
			}
		}
		for i := range 1 + count("categories") {
			def.Columns = append(def.Columns, dataset.Column{Name: "c" + strconv.Itoa(i), Kind: dataset.Category,
				Categories: []string{"ash", "birch", "c d"}[:1+i%3]})
			for j := range i {
				if len(def.Interactions) < 3 && rapid.Bool().Draw(r, "crossed") {
					def.Interactions = append(def.Interactions, dataset.Interaction{"c" + strconv.Itoa(i), "c" + strconv.Itoa(j)})
				}
			}
		}
		coin := rand.New(rand.NewPCG(rapid.Uint64Range(0, 1<<20).Draw(r, "seed"), 1))
		coin.Shuffle(len(def.Columns), func(i, j int) { def.Columns[i], def.Columns[j] = def.Columns[j], def.Columns[i] })
		if rapid.Bool().Draw(r, "norm") {
			def.Norm = 1 // some rows are longer
		}
		e := exported{}
		if e.schema, err = dataset.New(def); err != nil {
			r.Fatal(err)
		}
		if _, one := l.(loss.RankOne); one && rapid.Bool().Draw(r, "effects") {
			e.rounded = true
			effects := dataset.Effects{Seed: coin.Uint64(), Features: 2 + 2*coin.IntN(3), Weight: 2 + coin.Float64(),
				Scale: .5 + coin.Float64()}
			for range e.schema.Ranges() {
				effects.Centres = append(effects.Centres, coin.NormFloat64())
			}
			for range e.schema.Dim() {
				effects.Weights = append(effects.Weights, coin.NormFloat64())
			}
			if e.schema, err = e.schema.WithEffects(effects); err != nil {
				r.Fatal(err)
			}
		}
		e.model = modelOf(t, l, e.schema, coin)
		numbers, words := []string{"1", "-0.5", "2.75", "4", "9", "-3", "", "0"}, []string{"ash", "birch", "c d", "", "?",
			" ash ", "else", "é"}
		dates := []string{"2001-02-03", "2001-02-03T12:30:00-03:30", "1999-12-31T23:59:59+05:45", "2024-02-29 06:00",
			"2024-02-29 23:00:00-02", "1969-12-31", "2023-02-29", "", "?"}
		for _, c := range e.schema.Columns() {
			e.header = append(e.header, c.Name)
		}
		for range rapid.IntRange(1, 12).Draw(r, "rows") {
			var row []string
			for _, c := range e.schema.Columns() {
				list := words
				switch c.Kind {
				case dataset.Number:
					list = numbers
				case dataset.Date:
					list = dates
				}
				row = append(row, list[coin.IntN(len(list))])
			}
			e.rows = append(e.rows, row)
		}
		return e
	})
}

func targetOf(l loss.Loss) dataset.Target {
	switch {
	case l.Target() == loss.Real:
		return dataset.Target{Column: "y", Kind: dataset.Number, Low: -20, High: 300}
	case l.Target() == loss.Binary:
		return dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	}
	return dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"zero", "one", "two",
		"three"}[:loss.ClassCount(l)]}
}

// TestQueriesPredict tests that a model's query in SQLite gives the predictions of Predict, with up
// to three numbers, categories, hash columns and interactions, and several classes.
func TestQueriesPredict(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	rapid.Check(t, func(r *rapid.T) {
		e := anyExported(t, true).Draw(r, "model")
		want := predicted(t, e.model, e.header, e.rows)
		text, err := SQL(e.model, Query{Dialect: "sqlite", Table: "people"})
		if err != nil {
			r.Fatal(err)
		}
		for column, got := range queried(r, db, e, text) {
			e.compare(r, column, got, want)
		}
	})
}

// queried runs a model's query on a table with the rows of e and returns the results by column.
func queried(t rapid.TB, db *sql.DB, e exported, query string) map[string][]string {
	t.Helper()
	run := func(text string, values ...any) {
		t.Helper()
		if _, err := db.Exec(text, values...); err != nil {
			t.Fatal(err)
		}
	}
	run("DROP TABLE IF EXISTS people")
	run(`CREATE TABLE people ("` + strings.Join(e.header, `" TEXT, "`) + `" TEXT)`)
	for _, row := range e.rows {
		var values []any
		for _, cell := range row {
			values = append(values, cell)
		}
		run("INSERT INTO people VALUES (?"+strings.Repeat(", ?", len(row)-1)+")", values...)
	}
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			got[name] = append(got[name], fmt.Sprint(cells[i]))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

// compare compares the predictions in one column with what Predict returns: numbers to 12 digits, and classes exactly.
// For a model with features of effects it compares numbers to 5 digits of half the target's range, which a margin of 1
// is, and no class of a row whose margin is next to 0.
func (e exported) compare(t rapid.TB, column string, got []string, all map[string][]string) {
	t.Helper()
	want := all[column]
	if len(got) != len(e.rows) || len(want) != len(e.rows) {
		t.Fatalf("%s: %d results, %d predictions: must be %d", column, len(got), len(want), len(e.rows))
	}
	digits := 1e-12
	if e.rounded {
		digits = 1e-5
		if target := e.schema.Target(); column == "prediction" && target.Kind == dataset.Number {
			digits *= max(1, (target.High-target.Low)/2)
		}
	}
	for i := range want {
		if e.rounded && column == "class" {
			if margin, err := strconv.ParseFloat(all["margin"][i], 64); err == nil && math.Abs(margin) <= digits {
				continue
			}
		}
		x, err := strconv.ParseFloat(want[i], 64)
		y, wrong := strconv.ParseFloat(got[i], 64)
		if err != nil && got[i] == want[i] || err == nil && wrong == nil && math.Abs(x-y) <= digits*max(1, math.Abs(x)) {
			continue
		}
		schema, _ := e.schema.MarshalJSON()
		t.Fatalf("%s of row %q is %s: must be %s, as predicted\nloss %s\n%s", column, e.rows[i], got[i], want[i],
			e.model.Loss().Name(), schema)
	}
}

// TestGraphsPredict tests that a random model's ONNX graph gives the predictions of Predict.
func TestGraphsPredict(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		e := anyExported(t, false).Draw(r, "model")
		e.compareGraph(t, r)
	})
}

// compareGraph compares the outputs of the model's graph with what Predict returns. r is told of differences.
func (e exported) compareGraph(t *testing.T, r rapid.TB) {
	t.Helper()
	want := predicted(t, e.model, e.header, e.rows)
	file, err := ONNX(e.model, Graph{})
	if err != nil {
		r.Fatal(err)
	}
	for name, values := range evaluated(file, inputs(t, e.schema, trimmed(e.rows))) {
		if values.words != nil {
			e.compare(r, name, values.words, want)
			continue
		}
		classes, width := e.schema.Target().Classes, len(values.numbers)/len(e.rows)
		for k := range width {
			var list []string
			for i := range e.rows {
				list = append(list, strconv.FormatFloat(values.numbers[i*width+k], 'g', -1, 64))
			}
			column := name
			if width > 1 {
				column += "=" + classes[k]
			}
			e.compare(r, column, list, want)
		}
	}
}

// trimmed returns the rows with trimmed cells. Whoever uses a graph must trim the cells, since the
// graph does not.
func trimmed(rows [][]string) (list [][]string) {
	for _, row := range rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, strings.TrimSpace(cell))
		}
		list = append(list, cells)
	}
	return list
}
