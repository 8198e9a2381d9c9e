package export

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Versions of the file format and of the operator sets in ONNX 1.12 (2022). All runtimes since then can
// read them.
const irVersion, coreOpset, tablesOpset = 8, 17, 3

// tables is the ONNX operator domain of LabelEncoder, which maps levels to numbers.
const tables = "ai.onnx.ml"

// Graph is the form of an ONNX graph. In the zero Graph each column is an input of its own, and numbers are float64.
type Graph struct {
	// Matrix makes one input of all columns of numbers and dates: "numbers", of shape [rows, M], with the columns in
	// the order of the model's schema. The file's metadata has their names as a JSON list, under the input's name.
	// A graph with one input is scored in less time than one with M inputs. Columns of categories stay inputs of
	// their own.
	Matrix bool
	// Single makes float32 of all inputs, constants, steps and outputs that are numbers. The package documentation
	// says how far the outputs are from those of Predict.
	Single bool
}

// ONNX returns the model as an ONNX file. Each column with features is an input with the column's name and the shape
// [rows, 1], if form does not say otherwise. A number is a float64. A date is a float64, in days since 1970-01-01,
// 00:00 UTC. A missing number or date is NaN. A category is a string. ONNX returns an error if the model has a hash
// column, and with form.Single if a bound of a column or a weight is beyond the range of float32. The outputs are
//
//	probability  [rows, 1] for two classes; [rows, K] for K > 2 classes
//	score        [rows, 1], in place of probability if the loss of two classes has no probability
//	class        [rows, 1]
//	prediction   [rows, 1] for a regression, in place of probability and class
//	margin       [rows, 1]; [rows, K] for K > 2 classes
//
// If a column already has the name of an output, or of the input numbers, an underscore is added to that name. All
// computations are in float64, except that features are rounded to float32 as in Predict. The package
// documentation says how closely the results agree with Predict.
func ONNX(m *model.Model, form Graph) ([]byte, error) {
	f, err := newForm(m)
	if err != nil {
		return nil, err
	}
	if list := hashed(f.columns); len(list) > 0 {
		return nil, fmt.Errorf("export: column %q is hashed: ONNX has no operator that tells a text's characters: export "+
			"SQL, or score by predict", list[0].Name)
	}
	g := &graph{form: f, as: form, float: float64Type, own: "_", read: map[string]bool{}}
	if form.Single {
		g.float = float32Type
	}
	for slices.ContainsFunc(f.columns, func(c column) bool { return strings.HasPrefix(c.Name, g.own) }) {
		g.own += "_"
	}
	g.link(g.network(g.wave(g.sum())))
	return g.file(), g.err
}

// graph is an ONNX graph under construction. A value of the graph is known by its name: the methods take
// and return names of values.
type graph struct {
	*form
	as Graph
	// float is the type of all numbers but indices.
	float int
	// err says which constant float32 cannot hold.
	err error
	// own is the prefix of the name of every value that is neither an input nor an output.
	own                    string
	count                  int
	nodes, inputs, outputs message
	initializers           []initializer
	// facts are entries of the file's metadata beside those of told.
	facts [][2]string
	// read holds the names of the values that nodes read.
	read map[string]bool
	// level maps the name of each category column to the name of the value that holds the index of the
	// row's level.
	level map[string]string
}

// initializer is a constant of a graph.
type initializer struct {
	name  string
	value message
}

func (g *graph) name() string {
	g.count++
	return g.own + strconv.Itoa(g.count)
}

// op adds a node (an operation) with one output to the graph and returns the output's name. kind is the
// ONNX operator. attributes are alternately names and values.
func (g *graph) op(kind string, inputs []string, attributes ...any) string {
	out := g.name()
	g.node(kind, inputs, out, attributes...)
	return out
}

func (g *graph) node(kind string, inputs []string, out string, attributes ...any) {
	var m message
	for _, in := range inputs {
		m.text(nodeInput, in)
		g.read[in] = true
	}
	m.text(nodeOutput, out)
	m.text(nodeType, kind)
	for i := 0; i < len(attributes); i += 2 {
		m.bytes(nodeAttribute, attribute(attributes[i].(string), attributes[i+1]))
	}
	if kind == "LabelEncoder" {
		m.text(nodeDomain, tables)
	}
	g.nodes.bytes(graphNode, m)
}

// row adds a constant of shape [1, len(values)] to the graph and returns its name. If its values are equal, the shape
// is [1, 1], which stands for a row of any length and which runtimes read faster. number adds a constant of shape
// [1, 1].
func (g *graph) row(values []float64) string {
	if !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] }) {
		values = values[:1]
	}
	return g.matrix(1, values)
}
func (g *graph) number(x float64) string { return g.row([]float64{x}) }

// matrix adds a constant matrix with the given number of rows and the given values, row after row, and
// returns its name.
func (g *graph) matrix(rows int, values []float64) string {
	name := g.name()
	for _, x := range values {
		if g.as.Single && math.IsInf(float64(float32(x)), 0) && g.err == nil {
			g.err = fmt.Errorf("export: the model has the number %g, and float32 ends at %g: export the graph in float64",
				x, math.MaxFloat32)
		}
	}
	g.initializers = append(g.initializers, initializer{name, floats(name, g.float, []int{rows, len(values) / rows}, values)})
	return name
}

// index adds a constant list of integers and returns its name.
func (g *graph) index(values ...int64) string {
	name := g.name()
	g.initializers = append(g.initializers, initializer{name, int64s(name, []int{len(values)}, values)})
	return name
}

// sum adds the nodes that compute the model's K weighted sums over the features, and returns their value,
// of shape [rows, K]. The sums are the margins, or the inputs of a network's first hidden layer.
func (g *graph) sum() string {
	numbers, categories := g.kinds()
	one := g.number(g.constant())
	var x, z, missing string
	if len(numbers) > 0 {
		var v string
		v, missing = g.numbers(numbers)
		if order := g.squares(numbers); g.neverLong(len(order)) {
			one = g.number(float64(float32(g.share)))
			x = g.float32(v)
		} else {
			norm := g.norm(numbers, v, missing, order)
			one = g.float32(g.op("Div", []string{g.number(g.share), norm}))
			x = g.float32(g.op("Div", []string{v, norm}))
		}
		z = g.op("MatMul", []string{x, g.table(features(numbers, 0))})
	}
	constants := g.table([]int{g.intercept()})
	if list := indicated(numbers); len(list) > 0 {
		each := g.op("Cast", []string{g.pick(numbers, missing, list)}, "to", g.float)
		constants = g.op("Add", []string{constants, g.op("MatMul", []string{each, g.table(features(list, 1))})})
	}
	if len(categories) > 0 {
		constants = g.op("Add", []string{constants, g.levels(categories)})
	}
	rest := g.op("Mul", []string{constants, one})
	if z == "" {
		return rest
	}
	if hats := g.hang(x, one, missing); hats != "" {
		z = g.op("Add", []string{z, hats})
	}
	return g.op("Add", []string{z, rest})
}

// constant returns the value that the intercept and the feature of a row's level have after scaling, for a
// schema without numbers. In this case every row has the same norm, so the value is the same in every row.
func (g *graph) constant() float64 {
	sum := 0.0
	for range len(g.columns) + len(g.crosses) + 1 {
		sum += float64(g.share * g.share)
	}
	return float64(float32(g.share / math.Sqrt(max(sum, 1))))
}

// table adds a constant matrix with the weights of the given features, and returns its name. The matrix has
// one row for each feature and one column for each of the model's weighted sums.
func (g *graph) table(features []int) string {
	var values []float64
	for _, j := range features {
		for k := range g.sums {
			values = append(values, g.weight(k, j))
		}
	}
	return g.matrix(len(features), values)
}

// features returns the index of a feature of each column: shift 0 is that of the column itself, and 1 that of its indicator.
func features(columns []column, shift int) []int {
	return vector.Map(columns, func(c column) int { return c.at + shift })
}

// pick adds the node that selects from x, a value of the graph with one entry for each of columns, the
// entries of the columns in list.
func (g *graph) pick(columns []column, x string, list []column) string {
	var places []int64
	for i, c := range columns {
		if slices.ContainsFunc(list, func(other column) bool { return other.at == c.at }) {
			places = append(places, int64(i))
		}
	}
	return g.op("Gather", []string{x, g.index(places...)}, "axis", 1)
}

// numbers adds the M inputs of the number and date columns, and the nodes that compute two values of shape [rows, M].
// The value u holds the features before the division by the row's norm: the number scaled to [-1, 1], or 0 for a
// missing cell, divided by the schema's scale S. The value missing is true for missing cells.
func (g *graph) numbers(columns []column) (u, missing string) {
	var names []string
	var low, high, from, to, width, logs []float64
	for _, c := range columns {
		a, b := c.Transformed()
		names, low, high = append(names, c.Name), append(low, c.Low), append(high, c.High)
		from, to, width = append(from, a), append(to, b), append(width, b-a)
		logs = append(logs, float64(c.Transform))
	}
	x := g.given(names)
	missing = g.op("IsNaN", []string{x})
	for i := 0; ; i++ {
		row, any := nth(columns, i)
		if !any {
			break
		}
		missing = g.op("Or", []string{missing, g.op("Equal", []string{x, g.row(row)})})
	}
	t := g.clamp(x, low, high)
	if slices.Contains(logs, float64(dataset.Log1p)) {
		isLog := g.op("Equal", []string{g.row(logs), g.number(float64(dataset.Log1p))})
		t = g.op("Where", []string{isLog, g.clamp(g.log1p(t), from, to), t})
	}
	if slices.ContainsFunc(from, func(x float64) bool { return x != 0 }) {
		t = g.op("Sub", []string{t, g.row(from)})
	}
	if slices.ContainsFunc(width, func(x float64) bool { return x != 1 }) {
		t = g.op("Div", []string{t, g.row(width)})
	}
	u = g.op("Sub", []string{g.op("Mul", []string{g.number(2), t}), g.number(1)})
	u = g.op("Where", []string{missing, g.number(0), u})
	return g.op("Div", []string{u, g.number(g.scale)}), missing
}

// given adds the inputs with the given columns of numbers, and returns the value of shape [rows, M] that holds them.
func (g *graph) given(names []string) string {
	if g.as.Matrix {
		name := g.free("numbers")
		g.inputs.bytes(graphInput, value(name, g.float, len(names)))
		list, err := json.Marshal(names)
		if err != nil {
			panic(err) // no list of texts has this
		}
		g.facts = append(g.facts, [2]string{name, string(list)})
		return name
	}
	for _, name := range names {
		g.inputs.bytes(graphInput, value(name, g.float, 1))
	}
	return g.op("Concat", names, "axis", 1)
}

// free returns the name, with underscores added if columns have it.
func (g *graph) free(name string) string {
	for slices.ContainsFunc(g.columns, func(c column) bool { return c.Name == name }) {
		name += "_"
	}
	return name
}

// nth returns one number for each column: the column's missing marker with the index i, or NaN if the
// column has no marker with this index. any is false if no column has a marker with this index.
func nth(columns []column, i int) (row []float64, any bool) {
	for _, c := range columns {
		x := math.NaN()
		if i < len(c.markers) {
			x, any = c.markers[i], true
		}
		row = append(row, x)
	}
	return row, any
}

func (g *graph) clamp(x string, low, high []float64) string {
	return g.op("Min", []string{g.op("Max", []string{x, g.row(low)}), g.row(high)})
}

// log1p adds the nodes that compute log(1+x). Like package dataset, it uses log v + (x - (v-1))/v with v =
// 1+x.
func (g *graph) log1p(x string) string {
	one := g.number(1)
	v := g.op("Add", []string{x, one})
	rest := g.op("Sub", []string{x, g.op("Sub", []string{v, one})})
	return g.op("Add", []string{g.op("Log", []string{v}), g.op("Div", []string{rest, v})})
}

// squares returns the order in which the squares of a row's features are added: the columns, then the interactions,
// with the intercept last. It names the square of a number or date by its index in columns, and each other square,
// which is 1/S^2, by len(columns).
func (g *graph) squares(columns []column) (order []int64) {
	numbers := int64(len(columns))
	next := int64(0)
	for _, c := range g.columns {
		if c.number() {
			order = append(order, next)
			next++
			if c.Curve > 0 {
				order = append(order, numbers, numbers)
			}
		} else {
			order = append(order, numbers)
		}
	}
	same := len(g.crosses) + 1
	for _, h := range g.hats {
		if !h.Curve() { // the features of a curve were added after its number
			same += most(h)
		}
	}
	return append(order, slices.Repeat([]int64{numbers}, same)...)
}

// neverLong reports whether every row has the same features, as float32, with and without the division by max(1,
// ||x||). Each of the given number of squares is at most that of 1/S. Rounding is monotone, so that their sum is at
// most that of as many squares of 1/S. If this sum exceeds 1 by rounding alone, only rows exceed 1 whose numbers are
// all within n^2 2^-50 of their bounds; the features of these must round to the same float32.
func (g *graph) neverLong(squares int) bool {
	sum, n := 0., float64(squares)
	for range squares {
		sum += float64(g.share * g.share)
	}
	if sum <= 1 {
		return true
	}
	least := g.share * (1 - n*n*0x1p-50)
	return sum <= 1+n*0x1p-50 && float32(least/math.Sqrt(sum)) == float32(g.share)
}

// norm adds the nodes that compute max(1, ||x||) for each row x, of shape [rows, 1]. The row's features are divided by
// this number. v names the features of the number and date columns, and missing the mask of missing cells. The squares
// are added in the given order of [graph.squares]. The operator CumSum adds them in that order. The square of a
// category, of an interaction of categories and of the intercept is 1/S^2, with S the schema's scale.
func (g *graph) norm(columns []column, v, missing string, order []int64) string {
	squares := g.op("Mul", []string{v, v})
	if len(indicated(columns)) > 0 { // a missing cell has u = 0 and the square of its indicator
		var own []float64
		for _, c := range columns {
			square := 0.0
			if c.Indicator {
				square = float64(g.share * g.share)
			}
			own = append(own, square)
		}
		squares = g.op("Where", []string{missing, g.row(own), squares})
	}
	rows := g.op("Concat", []string{g.op("Shape", []string{v}, "start", 0, "end", 1), g.index(1)}, "axis", 0)
	constant := g.op("Expand", []string{g.number(float64(g.share * g.share)), rows})
	terms := g.op("Gather", []string{g.op("Concat", []string{squares, constant}, "axis", 1), g.index(order...)}, "axis", 1)
	sums := g.op("CumSum", []string{terms, g.index(1)})
	sum := g.op("Gather", []string{sums, g.index(int64(len(order) - 1))}, "axis", 1)
	one := g.number(1)
	return g.op("Where", []string{g.op("Greater", []string{sum, one}), g.op("Sqrt", []string{sum}), one})
}

// float32 adds the nodes that round x to float32 and convert the result back to float64. It returns x if x is a float32.
func (g *graph) float32(x string) string {
	if g.as.Single {
		return x
	}
	return g.op("Cast", []string{g.op("Cast", []string{x}, "to", float32Type)}, "to", float64Type)
}

// levels adds the inputs of the category columns and returns the contribution of the features of categories
// and of their interactions to the model's K weighted sums, before the multiplication by the value of the
// constant feature. It is a value of shape [rows, K].
func (g *graph) levels(columns []column) string {
	var features []int
	var places []string
	g.level = map[string]string{}
	// add appends the features from at to at+width-1 to the list features, and to places the index in this
	// list of the feature with the given level.
	add := func(level string, at, width int) {
		places = append(places, g.op("Add", []string{level, g.index(int64(len(features)))}))
		for i := range width {
			features = append(features, at+i)
		}
	}
	for _, c := range columns {
		g.inputs.bytes(graphInput, value(c.Name, stringType, 1))
		numbers := vector.Make(len(c.Categories), func(i int) int64 { return int64(i) })
		g.level[c.Name] = g.op("LabelEncoder", []string{c.Name}, "keys_strings", c.Categories, "values_int64s", numbers,
			"default_int64", len(c.Categories))
		add(g.level[c.Name], c.at, c.width())
	}
	for _, x := range g.crosses {
		first := g.op("Mul", []string{g.level[x.a.Name], g.index(int64(x.b.width()))})
		add(g.op("Add", []string{first, g.level[x.b.Name]}), x.at, x.a.width()*x.b.width())
	}
	// each has the shape [rows, lookups, K].
	each := g.op("Gather", []string{g.table(features), g.op("Concat", places, "axis", 1)}, "axis", 0)
	return g.op("ReduceSum", []string{each, g.index(1)}, "keepdims", 0)
}

// file returns the graph as a file. Constants that no node reads are left out, since runtimes warn of them.
func (g *graph) file() []byte {
	graph := slices.Concat(g.nodes, message(nil))
	graph.text(graphName, "stillpoint")
	for _, i := range g.initializers {
		if g.read[i.name] {
			graph.bytes(graphInitializer, i.value)
		}
	}
	graph = slices.Concat(graph, g.inputs, g.outputs)
	var m message
	m.int(modelIRVersion, irVersion)
	m.text(modelProducer, "stillpoint")
	m.text(modelProducerVersion, strings.TrimPrefix(g.model.Software(), "stillpoint "))
	m.bytes(modelGraph, graph)
	m.bytes(modelOpset, opset("", coreOpset))
	m.bytes(modelOpset, opset(tables, tablesOpset))
	for _, entry := range append(g.told(), g.facts...) {
		var e message
		e.text(entryKey, entry[0])
		e.text(entryValue, entry[1])
		m.bytes(modelMetadata, e)
	}
	return m
}
