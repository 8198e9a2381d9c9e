package export

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// kinds returns schemas of every form: all kinds of columns and transformations, missing markers that are
// numbers, and columns with the names of outputs.
func kinds(t *testing.T, target dataset.Target) map[string]*dataset.Schema {
	t.Helper()
	number := dataset.Column{Name: "age", Kind: dataset.Number, Low: 17, High: 90, Indicator: true}
	seen := dataset.Column{Name: "seen", Kind: dataset.Date, Low: -30, High: 365, Indicator: true}
	born := dataset.Column{Name: "born", Kind: dataset.Date, Low: 10957, High: 19782, Layout: "%d.%m.%Y"}
	gain := dataset.Column{Name: "class", Kind: dataset.Number, Low: -.5, High: 1e5, Transform: dataset.Log1p}
	small := dataset.Column{Name: "_1", Kind: dataset.Number, Low: -1e-3, High: 3e-3}
	work := dataset.Column{Name: "work", Kind: dataset.Category, Categories: []string{"a b", "c'd", `e\f`, "é"}}
	one := dataset.Column{Name: "one", Kind: dataset.Category, Categories: []string{"1"}}
	schemas := map[string]*dataset.Schema{}
	bent := []dataset.Column{work, number, gain, one, seen, small}
	for i, knots := range []int{0, 8, 16, 0, 3, 0} {
		bent[i].Curve = knots
	}
	bent[1].Knots = []float64{17, 18, 25, 39.75, 40, 62.5, 89, 90}
	for name, columns := range map[string][]dataset.Column{
		"all":        {work, number, {Name: "note", Kind: dataset.Ignore}, gain, one, small},
		"dates":      {one, born, number, seen},
		"numbers":    {small, number},
		"logarithm":  {gain},
		"categories": {one, work},
		"curves":     bent,
		"bent":       bent[1:2],
	} {
		def := dataset.Definition{Columns: columns, Target: target,
			Missing: []string{"", "?", "-9", "1970-02-01", "01.01.2001"}}
		if name == "all" || name == "categories" {
			def.Interactions = []dataset.Interaction{{"one", "work"}}
		}
		if name == "curves" {
			def.Interactions = []dataset.Interaction{{"one", "work"}, {"age", "work"}, {"_1", "class"}, {"seen", "age"},
				{"one", "_1"}}
			def.Norm = 4 // some rows exceed the norm
		}
		if name == "all" || name == "numbers" || name == "dates" {
			def.Norm = .8 // many rows exceed the norm
		}
		s, err := dataset.New(def)
		if err != nil {
			t.Fatal(err)
		}
		schemas[name] = s
	}
	return schemas
}

// losses returns a loss of every name, with various parameters.
func losses(t *testing.T) (list []loss.Loss) {
	t.Helper()
	for _, name := range loss.Names() {
		l, err := loss.Parse(name)
		for _, parameters := range []string{"(3)", "(0.5)", "(1,0.25)", "(2,5,300)", "(1.5,5,20,300)", "(2,5,300,0.25)", "(1.5,5,20,300,0.25)"} {
			if err != nil {
				l, err = loss.Parse(name + parameters)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, l)
	}
	for _, name := range []string{"network(3,tanh,logistic)", "network(4-2,relu,softmax(3))",
		"network(2-3,tanh,squared(1))", "weighted(logistic,1,5)", "network(2,tanh,weighted(softmax(3),1,2,3))"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// suited returns a target column that a loss accepts: classes, a number or a count.
func suited(l loss.Loss) dataset.Target {
	switch l.Target() {
	case loss.Real:
		if least := loss.LeastExposure(l); least > 0 {
			return dataset.Target{Column: "y", Kind: dataset.Number, High: 300,
				Exposure: dataset.Exposure{Column: "years", Low: 3 * least, High: 3}}
		}
		return dataset.Target{Column: "y", Kind: dataset.Number, Low: -20, High: 300}
	case loss.Binary:
		return dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	}
	return dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"0", "it's", "c"}}
}

func modelOf(t *testing.T, l loss.Loss, s *dataset.Schema, coin *rand.Rand) *model.Model {
	t.Helper()
	w := make([]float64, loss.Parameters(l, s.Dim()))
	for j := range w {
		w[j] = 8 * coin.NormFloat64()
	}
	m, err := model.New(model.Params{
		Software: "stillpoint test", Complete: true, Loss: l, Regularizer: loss.None(), Schema: s, Weights: w,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "a table", Certificate: "c.json"},
		Clamped: model.MayClamp(s.Target()) && coin.IntN(2) == 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Unusual cells of numbers, dates and categories, which tables of the tests contain besides random
// cells.
var oddNumbers = []string{"", "NaN", "-9", "-9.0", "17", "90", "16.999999", "1e300", "-1e300", "Inf", "-inf", "0", "-0",
	"-0.5", "1e-12", "-1e-3"}
var oddDates = []string{"", "1970-02-01", "1969-12-23", "1969-12-02", "1971-01-01", "1970-01-01T12:00",
	"1970-03-01 06:30:30.5", "1970-03-01T06:30:30+05:45", "1970-03-01 06:30:30-08", "1970-03-01 06:30+14",
	"1970-03-01 06:30:30.25+00",
	"1970-02-29", "9999-12-31", "0001-01-01", "-9", "seen", "01.01.2001", "29.2.2024", "1.3.2012"}
var oddWords = []string{"", "?", "other", "a b", "c'd", `e\f`, "é", "e\u0301", "1", "1.0", "A B"}

// cells makes random rows of a schema in which every unusual cell occurs in every column.
func cells(s *dataset.Schema, rows int, coin *rand.Rand) (header []string, table [][]string) {
	for i := range rows {
		var row []string
		for _, c := range s.Columns() {
			if i == 0 {
				header = append(header, c.Name)
			}
			switch {
			case c.Kind == dataset.Date:
				row = append(row, oddDates[i%len(oddDates)])
			case c.Kind == dataset.Number && i < len(oddNumbers):
				row = append(row, oddNumbers[i])
			case c.Kind == dataset.Number:
				row = append(row, strconv.FormatFloat(c.Low+1.2*(c.High-c.Low)*(coin.Float64()-.1), 'g', -1, 64))
			case i < len(oddWords):
				row = append(row, oddWords[i])
			default:
				row = append(row, oddWords[coin.IntN(len(oddWords))])
			}
		}
		table = append(table, row)
	}
	return header, table
}

// predicted returns the output of Predict with margins, as a list of cells for each column.
func predicted(t *testing.T, m *model.Model, header []string, table [][]string) map[string][]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, row := range append([][]string{append(header, "last")}, table...) {
		if len(row) == len(header) { // no line is empty
			row = append(row, "x")
		}
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := m.Predict(t.Context(), path, &b, model.PredictOptions{Margins: true}); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(records) != len(table)+1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	columns := map[string][]string{}
	for j, name := range records[0] {
		for _, r := range records[1:] {
			columns[name] = append(columns[name], r[j])
		}
	}
	return columns
}

// inputs converts a table to the inputs of a graph.
func inputs(t *testing.T, s *dataset.Schema, table [][]string) map[string]tensorOf {
	t.Helper()
	all := map[string]tensorOf{}
	for j, c := range s.Columns() {
		x := tensorOf{dims: []int{len(table), 1}}
		for _, row := range table {
			if c.Kind == dataset.Category {
				x.words = append(x.words, row[j])
				continue
			}
			if c.Kind == dataset.Date {
				v, ok := c.Days(row[j])
				if !ok {
					v = math.NaN()
				}
				x.numbers = append(x.numbers, v)
				continue
			}
			v, err := strconv.ParseFloat(row[j], 64)
			if row[j] == "" || err != nil && !math.IsInf(v, 0) {
				v = math.NaN()
			}
			if row[j] == "-9.0" {
				v = -9.5 // a graph cannot distinguish -9.0 from the marker "-9"
			}
			x.numbers = append(x.numbers, v)
		}
		all[c.Name] = x
	}
	return all
}

// TestONNXAgrees tests that the graph of a model of every loss, over schemas of every form, gives
// the predictions of Predict, unusual cells included.
func TestONNXAgrees(t *testing.T) {
	const rows, tolerance = 60, 1e-12
	coin := rand.New(rand.NewPCG(1, 2))
	for _, l := range losses(t) {
		schemas := kinds(t, suited(l))
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			s := schemas[name]
			t.Run(l.Name()+"/"+name, func(t *testing.T) {
				m := modelOf(t, l, s, coin)
				header, table := cells(s, rows, coin)
				want := predicted(t, m, header, table)
				file, err := ONNX(m, Graph{})
				if err != nil {
					t.Fatal(err)
				}
				got := evaluated(file, inputs(t, s, table))
				closeTo := func(column string, values tensorOf, at, width int) {
					t.Helper()
					if len(want[column]) != rows || values.len() != rows*width {
						t.Fatalf("%s: %d rows, graph %v", column, len(want[column]), values.dims)
					}
					for i, text := range want[column] {
						x, err := strconv.ParseFloat(text, 64)
						if v := values.numbers[i*width+at]; err != nil || !(math.Abs(v-x) <= tolerance*max(1, math.Abs(x))) {
							t.Errorf("row %d %q: %s = %v, graph %v", i, table[i], column, text, v)
						}
					}
				}
				o, err := m.Output()
				if err != nil {
					t.Fatal(err)
				}
				switch o {
				case model.Value, model.Rate:
					closeTo("prediction", got["prediction"], 0, 1)
				case model.Score:
					closeTo("score", got["score"], 0, 1)
				case model.Probability:
					closeTo("probability", got["probability"], 0, 1)
				case model.Probabilities:
					for k, class := range s.Target().Classes {
						closeTo("probability="+class, got["probability"], k, 3)
						closeTo("margin="+class, got["margin"], k, 3)
					}
				}
				if o != model.Probabilities {
					closeTo("margin", got["margin"], 0, 1)
				}
				classes := got["class"]
				if name == "all" || name == "logarithm" || name == "curves" {
					classes = got["class_"] // a column of the schema is already named class
				}
				if o != model.Value && o != model.Rate && fmt.Sprint(classes.words) != fmt.Sprint(want["class"]) {
					t.Errorf("classes %q, want %q", classes.words, want["class"])
				}
			})
		}
	}
}

func TestSQLRefuses(t *testing.T) {
	s := kinds(t, suited(loss.Logistic()))["all"]
	m := modelOf(t, loss.Logistic(), s, rand.New(rand.NewPCG(1, 2)))
	for want, q := range map[string]Query{
		`dialect = "oracle": must be one of bigquery, duckdb, postgresql, sqlite`: {Dialect: "oracle", Table: "t"},
		`table = " ": must name`:               {Dialect: "duckdb", Table: " "},
		`name "i\x1bd": must hold visible`:     {Dialect: "duckdb", Table: "t", Keep: []string{"i\x1bd"}},
		`keep = "class": must be another name`: {Dialect: "duckdb", Table: "t", Keep: []string{"class"}},
	} {
		if _, err := SQL(m, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}

// TestLayoutsAreRefused tests that SQL returns an error for a model whose schema has a date with a layout
// that is not ISO 8601.
func TestLayoutsAreRefused(t *testing.T) {
	m := modelOf(t, loss.Logistic(), kinds(t, suited(loss.Logistic()))["dates"], rand.New(rand.NewPCG(1, 2)))
	const want = `column "born": its dates are laid out %d.%m.%Y`
	for _, d := range Dialects() {
		if _, err := SQL(m, Query{Dialect: d, Table: "t"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %s", d, err, want)
		}
	}
}

// hashes returns a schema with hash columns, one of them with few buckets.
func hashes(t *testing.T) *dataset.Schema {
	t.Helper()
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "town", Kind: dataset.Hash, Buckets: 300},
			{Name: "work", Kind: dataset.Category, Categories: []string{"a b", "é"}},
			{Name: "age", Kind: dataset.Number, Low: 17, High: 90}, {Name: "street's", Kind: dataset.Hash, Buckets: 3},
		},
		Target: suited(loss.Logistic()), Missing: []string{"", "?", "-9"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestONNXRefusesHashes tests that ONNX returns an error for a model with a hash column, and names
// the column.
func TestONNXRefusesHashes(t *testing.T) {
	m := modelOf(t, loss.Logistic(), hashes(t), rand.New(rand.NewPCG(1, 2)))
	if _, err := ONNX(m, Graph{}); err == nil || !strings.Contains(err.Error(), `column "town" is hashed`) {
		t.Errorf("%v: want that the column is hashed", err)
	}
}

// TestSQLOfHashes tests that SQLite assigns cells of hash columns to the same buckets as Predict,
// for unusual and long cells and cells in other scripts. The Python tests cover the other
// databases.
func TestSQLOfHashes(t *testing.T) {
	s := hashes(t)
	m := modelOf(t, loss.Logistic(), s, rand.New(rand.NewPCG(3, 4)))
	header, table := cells(s, 40, rand.New(rand.NewPCG(5, 6)))
	for _, row := range table[:len(oddNumbers)] {
		row[2] = "30" // TestONNXAgrees and the Python tests cover texts that SQLite reads otherwise
	}
	for i, town := range []string{" Gent", "Москва", "\U0001F3D9", strings.Repeat("long ", 50), "Gent ", "gent"} {
		table[i+20][0], table[i+20][3] = town, town+"1"
	}
	want := predicted(t, m, header, table)
	got := inSQLite(t, m, header, table)
	for i, row := range got {
		p, _ := strconv.ParseFloat(row[0], 64)
		if x, err := strconv.ParseFloat(want["probability"][i], 64); err != nil || !(math.Abs(p-x) <= 1e-12) ||
			row[1] != want["class"][i] {
			t.Errorf("row %d %q: %v in the database, %v and %s predicted", i, table[i], row, x, want["class"][i])
		}
	}
	if len(got) != len(table) {
		t.Errorf("%d of %d rows", len(got), len(table))
	}
}

// inSQLite returns the results of a model's query in SQLite over a table of texts.
func inSQLite(t *testing.T, m *model.Model, header []string, table [][]string) (results [][]string) {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	var columns, places []string
	for _, name := range header {
		columns, places = append(columns, fmt.Sprintf("%q TEXT", name)), append(places, "?")
	}
	if _, err := db.Exec("CREATE TABLE people (" + strings.Join(columns, ", ") + ")"); err != nil {
		t.Fatal(err)
	}
	for _, row := range table {
		var cells []any
		for _, cell := range row {
			cells = append(cells, cell)
		}
		if _, err := db.Exec("INSERT INTO people VALUES ("+strings.Join(places, ", ")+")", cells...); err != nil {
			t.Fatal(err)
		}
	}
	text, err := SQL(m, Query{Dialect: "sqlite", Table: "people"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		result := make([]string, len(names))
		var into []any
		for i := range result {
			into = append(into, &result[i])
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return results
}

// TestSQLOfNumbers tests that SQLite predicts a number as Predict does, clamped and unclamped, with rows
// whose predictions exceed each bound. It fails if the query omits a bound.
func TestSQLOfNumbers(t *testing.T) {
	for _, name := range []string{"huber(0.1)", "poisson(3)", "negbinomial(2,5,300)"} {
		for _, clamped := range []bool{false, true} {
			l, err := loss.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			low := -20.
			if l.Name() != "huber(0.1)" {
				low = 0
			}
			s, err := dataset.New(dataset.Definition{
				Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: -1, High: 1},
					{Name: "b", Kind: dataset.Category, Categories: []string{"x"}}},
				Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: low, High: 300},
			})
			if err != nil {
				t.Fatal(err)
			}
			m, err := model.New(model.Params{
				Software: "stillpoint test", Complete: true, Loss: l, Regularizer: loss.None(), Schema: s,
				Weights: []float64{4, .5, 0, 0}, Clamped: clamped,
				Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
					Neighbour: "a table", Certificate: "c.json"},
			})
			if err != nil {
				t.Fatal(err)
			}
			var table [][]string
			for i := range 21 {
				table = append(table, []string{fmt.Sprint(float64(i-10) / 10), []string{"x", "z"}[i%2]})
			}
			want, beyond := predicted(t, m, []string{"a", "b"}, table)["prediction"], 0
			for i, row := range inSQLite(t, m, []string{"a", "b"}, table) {
				x, _ := strconv.ParseFloat(want[i], 64)
				if v, err := strconv.ParseFloat(row[0], 64); err != nil || !(math.Abs(v-x) <= 1e-12*max(1, math.Abs(x))) {
					t.Errorf("%s, clamped %v, row %v: %v in the database, %v predicted", name, clamped, table[i], row[0], want[i])
				}
				if x < low || x > 300 {
					beyond++
				}
			}
			if (beyond > 0) == clamped {
				t.Errorf("%s, clamped %v: %d predictions are beyond the bounds", name, clamped, beyond)
			}
		}
	}
}

// TestSQLOfOddNumbers tests that SQLite reads each text of a number as Predict does, or reads none where Predict reads
// none: signs, exponents, infinities, too large numbers, hexadecimal ones and ones with underscores.
func TestSQLOfOddNumbers(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: -1, High: 20},
			{Name: "b", Kind: dataset.Number, Low: -1, High: 20, Indicator: true}},
		Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: -100, High: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse("huber(0.1)")
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Params{
		Software: "stillpoint test", Complete: true, Loss: l, Regularizer: loss.None(), Schema: s,
		Weights: []float64{.4, .03, .7, .001},
		Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "a table", Certificate: "c.json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var table [][]string
	for _, a := range textsOfNumbers {
		table = append(table, []string{a, a}, []string{"3", a}, []string{a, "3"})
	}
	want := predicted(t, m, []string{"a", "b"}, table)["prediction"]
	different := map[string]bool{}
	for i, row := range inSQLite(t, m, []string{"a", "b"}, table) {
		x, _ := strconv.ParseFloat(want[i], 64)
		if v, err := strconv.ParseFloat(row[0], 64); err != nil || !(math.Abs(v-x) <= 1e-9) {
			t.Errorf("row %q: %v in the database, %v predicted", table[i], row[0], want[i])
		}
		different[want[i]] = true
	}
	if len(different) < 10 {
		t.Errorf("%d different predictions", len(different))
	}
}

// textsOfNumbers are texts that some program reads as a number.
var textsOfNumbers = []string{"0x1p4", "0X1P4", "0x10", "-0x1p2", "inf", "+inf", "-inf", "Infinity", "-INFINITY", "infinit", "nan", "NaN",
	"1_0", "1_000", "0x_1p4", "1e400", "-1e400", "1e-400", ".5", "5.", "+5", " 5 ", "1e1", "1E+1", "1e", ".", "+", "1d", "1f", "0b11",
	"1,5", "1 0", "--1", "5%", "x", "_", ""}

// TestQuote tests that literals of every dialect contain only visible characters and no unescaped
// quote.
func TestQuote(t *testing.T) {
	for dialect, want := range map[string]string{
		"duckdb": `('it''s \' || CHR(10) || 'é')`, "postgresql": `('it''s \' || CHR(10) || 'é')`,
		"sqlite": `('it''s \' || CHAR(10) || 'é')`, "bigquery": `('it\'s \\' || CODE_POINTS_TO_STRING([10]) || 'é')`,
	} {
		if got := dialects[dialect].quote("it's \\\né"); got != want {
			t.Errorf("%s: %s, want %s", dialect, got, want)
		}
	}
}

// TestNamesAndTextsEndWhereTheyShould: whatever a name or a text holds, the quotes that a dialect writes around it end at its
// end, and what a database reads between them is the name or the text. In BigQuery a backslash takes the next character as it
// is; elsewhere a quote is doubled.
func TestNamesAndTextsEndWhereTheyShould(t *testing.T) {
	read := func(quoted string, quote byte, backslash bool) (text string, ok bool) {
		if len(quoted) < 2 || quoted[0] != quote {
			return "", false
		}
		for i := 1; i < len(quoted); i++ {
			switch {
			case backslash && quoted[i] == '\\' && i+1 < len(quoted):
				i++
			case quoted[i] == quote && !backslash && i+1 < len(quoted) && quoted[i+1] == quote:
				i++
			case quoted[i] == quote:
				return text, i == len(quoted)-1
			}
			text += quoted[i : i+1]
		}
		return "", false
	}
	for name, d := range dialects {
		backslash, quote := name == "bigquery", byte('"')
		if backslash {
			quote = '`'
		}
		for _, text := range []string{"a", "", `a"b`, `a""`, "a'b", "''", "a`b", "``", `a\`, `\`, `\\`, "\\`", "`\\", `\"`, `\'`, `'\`, "x` OR 1=1 -- ", `x\' OR 1=1 -- `, "é b"} {
			if got, ok := read(d.identifier(text), quote, backslash); !ok || got != text {
				t.Errorf("%s: the name %q is %s, which is read as %q", name, text, d.identifier(text), got)
			}
			if got, ok := read(d.quote(text), '\'', backslash); !ok || got != text {
				t.Errorf("%s: the text %q is %s, which is read as %q", name, text, d.quote(text), got)
			}
		}
	}
}

// TestSQL compares PostgreSQL's query of a small model with a stored query, which was compared with the row
// map by hand. The Python tests run the queries in the databases.
func TestSQL(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 4}, {Name: "Is it", Kind: dataset.Category,
			Categories: []string{"x"}}, {Name: "b", Kind: dataset.Category, Categories: []string{"y"}}},
		Target:  dataset.Target{Column: "t", Kind: dataset.Number, Low: 0, High: 10},
		Missing: []string{"", "9"},
	})
	if err != nil {
		t.Fatal(err)
	}
	huber, err := loss.Huber(.1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Params{
		Software: "stillpoint test", Complete: true, Loss: huber, Regularizer: loss.None(), Schema: s,
		Weights: []float64{1, 2, 3, 4, 5, 6},
		Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "a table", Certificate: "c.json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := SQL(m, Query{Dialect: "postgresql", Table: "people", Keep: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "postgresql.sql"))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
