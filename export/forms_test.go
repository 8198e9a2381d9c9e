package export

import (
	"database/sql"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// everyForm returns models over schemas that have each kind of feature in the forms that exports tell apart: curves
// with even and uneven knots and without, logarithms whose bounds are above and below 0, missing cells with a feature of
// their own, dates, hash columns, all pairs of these that can interact, rows that are longer than the norm, and features
// of effects. Their rows have numbers on each knot and bound, beside each, and between them. Nothing is random.
func everyForm(t *testing.T, hashes bool) (list []exported) {
	number := func(name string, low, high float64, curve int, knots ...float64) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: low, High: high, Curve: max(curve, len(knots)), Knots: knots}
	}
	columns := []dataset.Column{
		{Name: "tree", Kind: dataset.Category, Categories: []string{"ash", "c d", "it's"}},
		number("uneven", -2, 8, 0, -2, -1.5, 1, 5, 8), number("even", 3, 19, 6), number("plain", -7, -3, 0),
		number("above", 1, 50, 0, 1, 2, 9, 50), number("below", -.6, -.2, 4),
		{Name: "day", Kind: dataset.Date, Low: 100, High: 20000, Curve: 5},
		{Name: "seen", Kind: dataset.Date, Low: -300, High: 4000},
		{Name: "x", Kind: dataset.Category, Categories: []string{"1", "2"}},
	}
	for _, i := range []int{2, 3, 5, 7} {
		columns[i].Indicator = true
	}
	for _, i := range []int{4, 5} {
		columns[i].Transform = dataset.Log1p
	}
	if hashes {
		columns = append(columns, dataset.Column{Name: "town", Kind: dataset.Hash, Buckets: 7})
	}
	pairs := map[string][]dataset.Interaction{"without pairs": nil,
		"pairs of numbers": {{"uneven", "even"}, {"plain", "above"}, {"below", "day"}, {"seen", "uneven"}},
		"pairs of a number and a category": {{"tree", "uneven"}, {"x", "even"}, {"seen", "tree"}, {"plain", "x"},
			{"tree", "x"}}}
	for _, name := range []string{"logistic", "softmax(3)", "huber(0.5)", "poisson(3)", "tanh", "ordered(4)",
		"network(3-2,tanh,softmax(3))", "network(2,relu,logistic)", "softmax(4)"} {
		l := mustParse(t, name)
		for i, form := range []string{"pairs of numbers", "pairs of a number and a category", "without pairs"} {
			def := dataset.Definition{Columns: columns, Target: targetOf(l), Interactions: pairs[form],
				Missing: []string{"", "?", "-9", "12"}, Norm: []float64{0, 1.3, 0}[i]}
			if name == "poisson(3)" {
				def.Target.Low = 0
			}
			s, err := dataset.New(def)
			if err != nil {
				t.Fatal(err)
			}
			coin := rand.New(rand.NewPCG(uint64(len(list)), 9))
			e := exported{schema: s}
			if _, one := l.(loss.RankOne); one && (i == 2 || name == "logistic") {
				e.rounded = true
				effects := dataset.Effects{Seed: 5, Features: 6, Weight: 2.5, Scale: .8}
				for range s.Ranges() {
					effects.Centres = append(effects.Centres, coin.NormFloat64())
				}
				for range s.Dim() {
					effects.Weights = append(effects.Weights, coin.NormFloat64())
				}
				if e.schema, err = s.WithEffects(effects); err != nil {
					t.Fatal(err)
				}
			}
			e.model = modelOf(t, l, e.schema, coin)
			e.fill(160, coin)
			list = append(list, e)
		}
	}
	return list
}

// fill adds rows in which each cell of besideKnots occurs in its column, beside changing cells of the other columns.
func (e *exported) fill(rows int, coin *rand.Rand) {
	e.rows = make([][]string, rows)
	for _, c := range e.schema.Columns() {
		e.header = append(e.header, c.Name)
		cells := besideKnots(c)
		for i := range rows {
			if i%len(cells) == 0 {
				coin.Shuffle(len(cells), func(a, b int) { cells[a], cells[b] = cells[b], cells[a] })
			}
			e.rows[i] = append(e.rows[i], cells[i%len(cells)])
		}
	}
}

// besideKnots returns cells of a column. Those of a number are its knots, which include its bounds, the numbers a
// fortieth of the distance to the next knot before and after each, and in the middle; a number without a curve has
// three. Cells beyond the bounds are a fortieth of the bound beyond, and a missing one is among them.
func besideKnots(c dataset.Column) (cells []string) {
	switch c.Kind {
	case dataset.Category:
		return append([]string{"", "other", " ash ", "é", "?"}, c.Categories...)
	case dataset.Hash:
		return []string{"", "?", "Gent", "Москва", "a b", "1", "2", "x", "long long long", "it's", "Rome", "Oslo", "Bern"}
	}
	write := func(v float64) string {
		if c.Kind == dataset.Date {
			return time.Unix(int64(math.Round(v*86400)), 0).UTC().Format("2006-01-02T15:04:05")
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	bent, straight := func(v float64) float64 { return v }, func(v float64) float64 { return v }
	if c.Transform == dataset.Log1p {
		bent, straight = math.Log1p, math.Expm1
	}
	var knots []float64
	for _, k := range c.Knots {
		knots = append(knots, bent(k))
	}
	if n := max(c.Curve, 3); knots == nil {
		for k := range n {
			knots = append(knots, bent(c.Low)+float64(k)*(bent(c.High)-bent(c.Low))/float64(n-1))
		}
	}
	for k, v := range knots {
		switch k {
		case 0:
			v = c.Low
		case len(knots) - 1:
			v = c.High
		default:
			v = straight(v)
		}
		cells = append(cells, write(v))
		if k > 0 {
			from, width := knots[k-1], knots[k]-knots[k-1]
			for _, share := range []float64{1. / 40, .45, 39. / 40} {
				cells = append(cells, write(straight(from+share*width)))
			}
		}
	}
	cells = append(cells, write(c.Low-math.Abs(c.Low)/40), write(c.High+math.Abs(c.High)/40), "?")
	if c.Kind == dataset.Number {
		cells = append(cells, "-9", "12", "words")
	}
	return cells
}

// TestQueriesOfEveryForm tests that the query in SQLite of a model in each form gives the predictions of Predict.
func TestQueriesOfEveryForm(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	for _, e := range everyForm(t, true) {
		want := predicted(t, e.model, e.header, e.rows)
		text, err := SQL(e.model, Query{Dialect: "sqlite", Table: "people"})
		if err != nil {
			t.Fatal(err)
		}
		for column, got := range queried(t, db, e, text) {
			e.compare(t, column, got, want)
		}
	}
}

// TestGraphsOfEveryForm tests that the graph of a model in each form gives the predictions of Predict.
func TestGraphsOfEveryForm(t *testing.T) {
	for _, e := range everyForm(t, false) {
		e.compareGraph(t, t)
	}
}

// TestNamesAreCounted tests the names of the steps and columns of queries: those of one kind are counted from 0, the steps
// of layers from 1, as their documentation says, and none is left out but indicators of columns that have none.
func TestNamesAreCounted(t *testing.T) {
	own := regexp.MustCompile(`"_([a-z]+)(\d+)(?:_(\d+))?"`)
	seen := map[string]bool{}
	for _, e := range everyForm(t, true) {
		text, err := SQL(e.model, Query{Dialect: "sqlite", Table: "people"})
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]map[int]bool{}
		put := func(kind, number string) {
			if i, err := strconv.Atoi(number); err == nil {
				if of[kind] == nil {
					of[kind] = map[int]bool{}
				}
				of[kind][i], seen[kind] = true, true
			}
		}
		for _, m := range own.FindAllStringSubmatch(text, -1) {
			if m[3] != "" {
				put(m[1]+" of a hat", m[2])
				put(m[1]+" of hats", m[3])
			} else {
				put(m[1], m[2])
			}
		}
		for kind, numbers := range of {
			first := 0
			if kind == "layer" || kind == "sum" {
				first = 1
			}
			for i := range len(numbers) {
				if kind != "m" && !numbers[first+i] {
					t.Errorf("%s: no %s%d among %d", e.model.Loss().Name(), kind, first+i, len(numbers))
				}
			}
		}
	}
	for _, kind := range []string{"n", "c", "u", "x", "r", "t", "k", "y of hats", "v of a hat", "z", "a", "h", "p", "layer", "sum"} {
		if !seen[kind] {
			t.Errorf("no query has %s", kind)
		}
	}
}

// TestValuesOfGraphsAreCounted tests the names of a graph's values, for rows of one category: they are numbered from 1.
func TestValuesOfGraphsAreCounted(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Target: suited(loss.Logistic()),
		Columns: []dataset.Column{{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}}}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := ONNX(modelOf(t, loss.Logistic(), s, rand.New(rand.NewPCG(1, 2))), Graph{})
	if err != nil {
		t.Fatal(err)
	}
	seen, most := map[int]bool{}, 0
	graph := decoded(decoded(file)[7][0].([]byte))
	put := func(name string) {
		if i, err := strconv.Atoi(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz_")); err == nil {
			seen[i], most = true, max(most, i)
		}
	}
	for _, v := range graph[1] { // nodes
		for _, name := range decoded(v.([]byte)).words(2) {
			put(name)
		}
	}
	for _, v := range graph[5] { // constants
		put(decoded(v.([]byte)).word(8))
	}
	if !seen[1] || most < 10 || len(seen) < most-1 { // one constant is not read, and not written
		t.Errorf("values %v: must be 1 to %d", slices.Sorted(maps.Keys(seen)), most)
	}
}

// TestDialectsHashAlike tests that the queries of all dialects divide by the same numbers as the one that SQLite runs. It
// leaves out numbers of one digit, which are also no divisors.
func TestDialectsHashAlike(t *testing.T) {
	m := modelOf(t, loss.Logistic(), hashes(t), rand.New(rand.NewPCG(1, 2)))
	moduli := func(dialect string) (list []string) {
		text, err := SQL(m, Query{Dialect: dialect, Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?: %|,) (\d\d+)\)`).FindAllStringSubmatch(text, -1) {
			list = append(list, found[1])
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	want := moduli("sqlite")
	for _, d := range Dialects() {
		if got := moduli(d); len(got) < 3 || !slices.Equal(got, want) {
			t.Errorf("%s divides by %v: must be %v", d, got, want)
		}
	}
}

// TestFileHasTheFieldsOfONNX reads the fields of a model's file by the numbers of onnx.proto: the version of the format,
// the producer, the graph, and the versions of the two sets of operators. Tests of outputs read neither.
func TestFileHasTheFieldsOfONNX(t *testing.T) {
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	schemas := kinds(t, suited(l))
	m := modelOf(t, l, schemas[slices.Sorted(maps.Keys(schemas))[0]], rand.New(rand.NewPCG(3, 4)))
	file, err := ONNX(m, Graph{})
	if err != nil {
		t.Fatal(err)
	}
	whole := decoded(file)
	if whole.int(1) != 8 || whole.word(2) != "stillpoint" || len(whole[7]) != 1 || len(whole[14]) == 0 || len(whole) != 6 {
		t.Errorf("version %d of the format by %q, %d graphs, %d facts, %d kinds of fields", whole.int(1), whole.word(2), len(whole[7]),
			len(whole[14]), len(whole))
	}
	sets := map[string]int{}
	for _, text := range whole.words(8) {
		set := decoded([]byte(text))
		sets[set.word(1)] = set.int(2)
	}
	if len(sets) != 2 || sets[""] != 17 || sets["ai.onnx.ml"] != 3 {
		t.Errorf("operators %v: must be of version 17, and 3 for tables", sets)
	}
	graph := decoded(whole[7][0].([]byte))
	if graph.word(2) != "stillpoint" || len(graph[1]) == 0 || len(graph[11]) == 0 || len(graph[12]) == 0 {
		t.Errorf("a graph %q of %d nodes, %d inputs, %d outputs", graph.word(2), len(graph[1]), len(graph[11]), len(graph[12]))
	}
	for i, list := range [][]string{graph.words(11), graph.words(12), graph.words(5)} {
		for _, text := range list {
			of := decoded([]byte(text))
			switch {
			case i < 2: // an input or output: its name, and the type, number of rows and of columns of its tensor
				tensor := decoded([]byte(decoded([]byte(of.word(2))).word(1)))
				var dims []fields
				for _, d := range decoded([]byte(tensor.word(2))).words(1) {
					dims = append(dims, decoded([]byte(d)))
				}
				if of.word(1) == "" || !slices.Contains([]int{1, 7, 8, 11}, tensor.int(1)) || len(dims) != 2 || dims[0].word(2) != "rows" ||
					dims[1].int(1) < 1 {
					t.Errorf("%q: type %d, dimensions %v", of.word(1), tensor.int(1), dims)
				}
			case of.word(8) == "" || !slices.Contains([]int{1, 7, 8, 11}, of.int(2)) || of.word(9) == "" && len(of[6]) == 0:
				t.Errorf("a constant %q of type %d without values", of.word(8), of.int(2))
			}
		}
	}
}
