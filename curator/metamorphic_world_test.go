package curator_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"pgregory.net/rapid"
)

// world is a random case of a metamorphic test: a table, its public facts, and the seed of the
// queries about it. Each test derives a second world, and compares the answers of the two worlds.
type world struct {
	def      dataset.Definition
	header   []string
	rows     [][]string
	loss     loss.Loss // the loss of one row
	relation account.Relation
	seed     uint64 // determines the points of queries and the random bits
}

// names of columns that are not features
const aim, weight, exposure, person, public, ignored = "aim", "weight", "exposure", "person", "split", "note"

// event and entry are the columns beside the time to an event.
const event, entry = "event", "entry"

// subject restricts a metamorphic test to worlds (random tables with their schemas) with the given
// columns, targets and losses (nil for all), and to worlds without units if rows is true.
type subject struct {
	columns []dataset.ColumnKind
	targets []string
	losses  []string
	rows    bool
	crossed bool
}

// anyWorld draws a random world (a table with its schema and loss). A world for which a test fails is
// reduced to few columns, few rows and plain cells.
func anyWorld(of subject) *rapid.Generator[*world] {
	return rapid.Custom(func(t *rapid.T) *world {
		w := &world{relation: rapid.SampledFrom([]account.Relation{account.ReplaceOne, account.AddOrRemove}).Draw(t,
			"relation")}
		for i := range rapid.IntRange(1, 5).Draw(t, "columns") {
			w.def.Columns = append(w.def.Columns, anyColumn(t, of, "c"+strconv.Itoa(i)))
		}
		if of.crossed {
			for _, name := range []string{"x", "y"} {
				w.def.Columns = append(w.def.Columns, dataset.Column{Name: name, Kind: dataset.Category,
					Categories: []string{"v0", "v1"}})
			}
			w.def.Interactions = []dataset.Interaction{{"y", "x"}}
		}
		w.def.Interactions = append(w.def.Interactions, anyInteractions(t, w.def.Columns)...)
		if rapid.IntRange(0, 3).Draw(t, "beside") == 3 {
			w.def.Columns = append(w.def.Columns,
				dataset.Column{Name: public, Kind: dataset.Public, Values: []string{"a", "b"}},
				dataset.Column{Name: ignored, Kind: dataset.Ignore})
			w.def.Where = public + "=a"
		}
		w.def.Missing = rapid.SampledFrom([][]string{nil, {"", "NA"}}).Draw(t, "missing")
		w.aim(t, of)
		if !of.rows && rapid.IntRange(0, 3).Draw(t, "of units") == 3 {
			w.def.Unit = dataset.Unit{Column: person, Rows: rapid.IntRange(1, 3).Draw(t, "rows of a unit")}
		}
		w.fill(t)
		w.seed = rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		return w
	})
}

// anyColumn draws a column that has features in the encoded rows.
func anyColumn(t *rapid.T, of subject, name string) dataset.Column {
	c := dataset.Column{Name: name, Kind: dataset.Number}
	kinds := of.columns
	if kinds == nil {
		kinds = []dataset.ColumnKind{dataset.Number, dataset.Category, dataset.Hash, dataset.Date}
	}
	switch c.Kind = rapid.SampledFrom(kinds).Draw(t, "kind of "+name); c.Kind {
	case dataset.Number:
		c.Low, c.High = -1, 1
		if rapid.Bool().Draw(t, "log of "+name) {
			c.Low, c.High, c.Transform, c.Indicator = 0, 9, dataset.Log1p, true
		}
		c.Curve = rapid.SampledFrom([]int{0, 0, 3, 16}).Draw(t, "knots of "+name)
	case dataset.Date:
		c.Low, c.High, c.Indicator = 10000, 20000, rapid.Bool().Draw(t, "indicator of "+name)
		c.Curve = rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "knots of "+name)
	case dataset.Category:
		for i := range rapid.SampledFrom([]int{1, 2, 3, 7, 63, 64, 65, 70}).Draw(t, "categories of "+name) {
			c.Categories = append(c.Categories, "v"+strconv.Itoa(i))
		}
	case dataset.Hash:
		c.Buckets = rapid.SampledFrom([]int{2, 3, 8}).Draw(t, "buckets of "+name)
	}
	return c
}

func anyInteractions(t *rapid.T, columns []dataset.Column) (list []dataset.Interaction) {
	var small []string
	for _, c := range columns {
		if c.Kind == dataset.Category && len(c.Categories) < 8 || c.Kind == dataset.Number || c.Kind == dataset.Date {
			small = append(small, c.Name)
		}
	}
	for i := range small {
		for j := range i {
			if len(list) < 3 && small[j] != "x" && rapid.Bool().Draw(t, "crossed") {
				list = append(list, dataset.Interaction{small[j], small[i]})
			}
		}
	}
	return list
}

// losses are losses of a row by kind of target: every loss that a configuration may name.
var losses = func() map[string][]string {
	list := map[string][]string{}
	for _, help := range train.Losses() {
		l, err := loss.Parse(help.Text)
		if err == nil && loss.LeastExposure(l) > 0 {
			l, err = loss.WithExposure(l, leastExposure/mostExposure)
		}
		if err != nil {
			panic(err)
		}
		kind := "number"
		switch {
		case l.Target() == loss.Binary:
			kind = "two"
		case l.Target() == loss.Classes:
			kind = "three"
		case loss.LeastExposure(l) > 0:
			kind = "rate"
		case loss.Counts(l):
			kind = "count"
		}
		list[kind] = append(list[kind], l.Name())
		if kind == "rate" {
			if l, err = loss.PoissonRate(3, targetpair.Least); err != nil {
				panic(err)
			}
			list["time"] = append(list["time"], l.Name(), "logit-hazard(3,1.52587890625e-05)")
		}
	}
	return list
}()

// leastExposure and mostExposure are the bounds of exposures.
const leastExposure, mostExposure = .25, 2

// networks are losses of networks by kind of target.
var networks = map[string][]string{
	"two": {"network(3,tanh,logistic)"}, "three": {"network(2-3,tanh,softmax(3))"},
	"number": {"network(2,tanh,huber(0.3))"},
}

// aim draws the world's target column and a loss for it.
func (w *world) aim(t *rapid.T, of subject) {
	target := &w.def.Target
	target.Column, target.Kind = aim, dataset.Category
	targets := of.targets
	if targets == nil {
		targets = []string{"two", "three", "number", "count", "rate", "time"}
	}
	kind := rapid.SampledFrom(targets).Draw(t, "target")
	switch kind {
	case "two":
		target.Classes = []string{"no", "yes"}
	case "three":
		target.Classes = []string{"no", "yes", "perhaps"}
	case "time":
		target.Event = rapid.SampledFrom([]string{event, event + "=no"}).Draw(t, "event")
		target.Entry = rapid.SampledFrom([]string{"", entry}).Draw(t, "entry")
		target.Kind, target.High, target.Grouped = dataset.Number, 2, rapid.SampledFrom([]string{"", "cloglog", "logit"}).Draw(t, "grouped")
		if rapid.Bool().Draw(t, "hazards") {
			target.Cuts, target.Hazards = []float64{.5, 1.5, 2}, []float64{.25, 0, .75}
			for _, c := range w.def.Columns {
				n := len(c.Categories)
				if c.Kind != dataset.Category || target.Grouped == targetpair.Logit || n < 2 || n > 20 || !rapid.Bool().Draw(t, "changing") {
					continue
				}
				target.Changing, target.Hazards = c.Name, nil
				for i := range 3 * n {
					target.Hazards = append(target.Hazards, []float64{.25, 0, .75, .1, .6, .3}[i%6]/float64(n))
				}
				break
			}
		}
	case "rate":
		target.Exposure = dataset.Exposure{Column: exposure, Low: leastExposure, High: mostExposure}
		fallthrough
	default:
		target.Kind, target.Low, target.High = dataset.Number, -2, 2
		if kind != "number" {
			target.Low = 0
		}
	}
	names := of.losses
	if names == nil {
		names = slices.Concat(losses[kind], networks[kind])
	}
	name := rapid.SampledFrom(names).Draw(t, "loss")
	var by loss.Weights
	if kind != "rate" && kind != "time" && rapid.IntRange(0, 3).Draw(t, "weighted") == 3 {
		target.Weight, by.Row = weight, true
	}
	if rapid.IntRange(0, 3).Draw(t, "classes weighted") == 3 && len(target.Classes) > 0 {
		by.Classes = []float64{.5, 2, 1}[:len(target.Classes)]
	}
	w.loss = named(t, name)
	if by.Row || len(by.Classes) > 0 {
		l, err := loss.NewWeighted(w.loss, by)
		if err != nil {
			t.Fatal(err)
		}
		w.loss = l
	}
}

// fill draws the world's rows: some cell by cell, and more from a seed, so many that their number is
// near the end of a tile or block.
func (w *world) fill(t *rapid.T) {
	w.header = append(w.header, aim)
	for _, c := range w.def.Columns {
		w.header = append(w.header, c.Name)
	}
	happened, _, _ := strings.Cut(w.def.Target.Event, "=")
	for _, name := range []string{w.def.Target.Weight, w.def.Target.Exposure.Column, w.def.Unit.Column, happened,
		w.def.Target.Entry} {
		if name != "" {
			w.header = append(w.header, name)
		}
	}
	add := func(pick func(cells []string) string) {
		var row []string
		for _, name := range w.header {
			row = append(row, pick(w.cells(name)))
		}
		w.rows = append(w.rows, row)
	}
	for range rapid.IntRange(1, 6).Draw(t, "rows") {
		add(func(cells []string) string { return cells[rapid.IntRange(0, len(cells)-1).Draw(t, "cell")] })
	}
	more := rapid.SampledFrom([]int{0, 0, 0, 0, 57, 58, 59, 63, 130, 190}).Draw(t, "more rows")
	r := rand.New(rand.NewPCG(rapid.Uint64Range(0, 99).Draw(t, "their seed"), 1))
	for range more {
		add(func(cells []string) string { return cells[r.IntN(len(cells))] })
	}
}

// cells returns possible cells of a column, plain ones first. None contains the end of a field or a
// line.
func (w *world) cells(name string) []string {
	switch name {
	case aim:
		if classes := w.def.Target.Classes; len(classes) > 0 {
			return append(slices.Repeat(classes, 4), "", "neither", " "+classes[0]+" ")
		}
		return []string{"0", "1", "2", "0.5", "1.75", "0.125", "-1", "-1.5", "7", "x", "1e400"}
	case weight, exposure:
		return []string{"1", "0.5", "0.25", "1.5", "3", "0", "", "-1", "much"}
	case event:
		return []string{"0", "1", "1", "true", "0.0", "no", "", " 1 "}
	case entry:
		return []string{"0", "0.25", "1", "0", "3", "-1", "", "x"}
	case person:
		return []string{"p1", "p2", "p3", "p4", "p5", "p6", "p7", " p1 ", ""}
	case public:
		return []string{"a", "a", "b", ""}
	case ignored:
		return []string{"-", "anything"}
	}
	c := w.column(name)
	switch c.Kind {
	case dataset.Number:
		return []string{"0.5", "-0.25", "1", "0.1", "-3", "", "NA", "nan", "1e400", " 0.75 ", "1e-320", "x",
			"0.3333333333333333", "-0"}
	case dataset.Date:
		return []string{"2001-02-03", "1999-12-31", "2020-01-01", "1970-01-01", "2001-02-03T12:30:00-03:30", "", "yesterday"}
	case dataset.Category:
		return append(slices.Clone(c.Categories), "", "NA", "else", " "+c.Categories[0]+" ")
	}
	return []string{"ash", "birch", "cedar", "é", "日本", "", "NA", " ash ", "a b"}
}

func (w *world) column(name string) dataset.Column {
	i := slices.IndexFunc(w.def.Columns, func(c dataset.Column) bool { return c.Name == name })
	return w.def.Columns[i]
}

// at returns the index of a column in the table.
func (w *world) at(name string) int { return slices.Index(w.header, name) }

// clone returns a copy that may be changed.
func (w *world) clone() *world {
	c := *w
	c.def.Columns, c.def.Interactions = slices.Clone(w.def.Columns), slices.Clone(w.def.Interactions)
	c.def.Target.Classes = slices.Clone(w.def.Target.Classes)
	c.header, c.rows = slices.Clone(w.header), make([][]string, len(w.rows))
	for i, r := range w.rows {
		c.rows[i] = slices.Clone(r)
	}
	return &c
}

// schema returns the world's schema.
func (w *world) schema(t rapid.TB) *dataset.Schema {
	t.Helper()
	s, err := dataset.New(w.def)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// config returns the configuration of a session over the world's rows in memory.
func (w *world) config(t rapid.TB) curator.Config {
	t.Helper()
	budget, err := account.NewBudget(50, .1, w.relation)
	if err != nil {
		t.Fatal(err)
	}
	c := curator.Config{Schema: w.schema(t), Rows: rowsOf(w.header, w.rows), Loss: w.loss, Budget: budget, Workers: 1}
	if w.relation == account.AddOrRemove {
		c.Declared = 100
	}
	if u := w.def.Unit; u.Rows > 0 {
		l, err := loss.NewUnits(w.loss, u.Rows, false)
		if err != nil {
			t.Fatal(err)
		}
		c.Loss = l
	}
	return c
}

// records reports whether any row of the world is a record of a session, so that a session can be
// opened.
func (w *world) records(t rapid.TB) bool {
	m, err := w.schema(t).Bind(w.header)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range w.rows {
		if _, somebodys := m.Unit(r); m.Keep(r) && (somebodys || w.def.Unit.Rows == 0) {
			return true
		}
	}
	return false
}

// GoString is what rapid prints for a failing draw; String has the details.
func (w *world) GoString() string { return "below" }

// String prints the world as a schema and a table.
func (w *world) String() string {
	s, err := dataset.New(w.def)
	if err != nil {
		return err.Error()
	}
	text, err := s.MarshalYAML()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "loss %s, %v, points of seed %d\n%s\n", w.loss.Name(), w.relation, w.seed, text)
	for _, r := range append([][]string{w.header}, w.rows...) {
		fmt.Fprintf(&b, "%q\n", r)
	}
	return b.String()
}

func named(t rapid.TB, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// blocks returns the number of rows of parameters, each with one coordinate for each feature, in a
// loss's parameters.
func blocks(l loss.Loss, features int) int {
	l = loss.RowLoss(l)
	if s, ok := l.(engine.Stacked); ok {
		return s.Units()
	}
	return loss.Parameters(l, features) / features
}

// bounds returns a loss's constants. Constants that some kind of query cannot have are replaced by
// arbitrary valid ones, which clipping enforces.
func bounds(l loss.Loss) (lipschitz, gap, lo, hi float64) {
	k := loss.Unweighted(loss.RowLoss(l)).Constants()
	lo, hi = min(k.Curvature.Lo, 0), max(k.Curvature.Hi, 0)
	if math.IsInf(hi-lo, 0) {
		lo, hi = -1, 3
	}
	return k.Lipschitz, k.InitialGap, lo, hi
}
