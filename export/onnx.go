package export

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Versions of ONNX 1.12 (2022), which all runtimes since then can read.
const irVersion, coreOpset, tablesOpset = 8, 17, 3

// tables is the ONNX operator domain of LabelEncoder, which maps levels to numbers.
const tables = "ai.onnx.ml"

// ONNX returns the model as an ONNX file. Each feature column is an input with the column's name
// and shape [rows, 1]: a float64 for a number (NaN if missing) and for a date (days since
// 1970-01-01, 00:00 UTC; NaN if missing), and a string for a category. The outputs are
//
//	probability   [rows, 1] or, for K > 2 classes, [rows, K]; named score if the loss of two
//	              classes has no probability
//	class         [rows, 1]
//	prediction    [rows, 1], for a regression, in place of both
//	margin        [rows, 1] or [rows, K]
//
// If a column already has the name of an output, the output's name gets an underscore at the end.
// All computations are in float64. The package documentation says how closely the results agree with
// Predict.
func ONNX(m *model.Model) ([]byte, error) {
	f, err := newForm(m)
	if err != nil {
		return nil, err
	}
	if list := hashed(f.columns); len(list) > 0 {
		return nil,
			fmt.Errorf("export: column %q is hashed: ONNX has no operator that tells a text's characters: export SQL, or "+
				"score by predict", list[0].Name)
	}
	g := &graph{form: f, own: "_"}
	for slices.ContainsFunc(f.columns, func(c column) bool { return strings.HasPrefix(c.Name, g.own) }) {
		g.own += "_"
	}
	g.link(g.network(g.sum()))
	return g.file(), nil
}

// graph is an ONNX graph under construction. Its methods take and return the names of the graph's
// values.
type graph struct {
	*form
	// own is the prefix of the name of every value that is neither an input nor an output.
	own                                  string
	count                                int
	nodes, initializers, inputs, outputs message
	// level maps each category to the name of the value that holds its level's number.
	level map[string]string
}

func (g *graph) name() string {
	g.count++
	return g.own + strconv.Itoa(g.count)
}

// op adds a node (an operation) with one output to the graph and returns the output's name.
// attributes are names and values in turn.
func (g *graph) op(kind string, inputs []string, attributes ...any) string {
	out := g.name()
	g.node(kind, inputs, out, attributes...)
	return out
}

func (g *graph) node(kind string, inputs []string, out string, attributes ...any) {
	var m message
	for _, in := range inputs {
		m.text(nodeInput, in)
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

// row adds a constant of shape [1, len(values)] and returns its name; number adds one of shape [1,
// 1].
func (g *graph) row(values []float64) string { return g.matrix(1, values) }
func (g *graph) number(x float64) string     { return g.row([]float64{x}) }

// matrix adds a constant with the given number of rows and returns its name.
func (g *graph) matrix(rows int, values []float64) string {
	name := g.name()
	g.initializers.bytes(graphInitializer, float64s(name, []int{rows, len(values) / rows}, values))
	return name
}

// index adds a constant list of integers and returns its name.
func (g *graph) index(values ...int64) string {
	name := g.name()
	g.initializers.bytes(graphInitializer, int64s(name, []int{len(values)}, values))
	return name
}

// sum returns the model's weighted sums over the features, a value of shape [rows, K]: the margins,
// or the first layer of a network.
func (g *graph) sum() string {
	numbers, categories := g.kinds()
	one := g.number(g.constant())
	var x, z, missing string
	if len(numbers) > 0 {
		var v string
		v, missing = g.numbers(numbers)
		norm := g.norm(numbers, v, missing)
		one = g.float32(g.op("Div", []string{g.number(g.share), norm}))
		x = g.float32(g.op("Div", []string{v, norm}))
		z = g.op("MatMul", []string{x, g.table(at(numbers))})
	}
	constants := g.table([]int{g.intercept()})
	if list := indicated(numbers); len(list) > 0 {
		each := g.op("Cast", []string{g.pick(numbers, missing, list)}, "to", float64Type)
		constants = g.op("Add", []string{constants, g.op("MatMul", []string{each, g.table(after(list))})})
	}
	if len(categories) > 0 {
		constants = g.op("Add", []string{constants, g.levels(categories)})
	}
	rest := g.op("Mul", []string{constants, one})
	if z == "" {
		return rest
	}
	if hats := g.hang(numbers, x, one, missing); hats != "" {
		z = g.op("Add", []string{z, hats})
	}
	return g.op("Add", []string{z, rest})
}

// constant returns the value of category features and of the intercept after scaling, for a schema
// without numbers. There every row has the same norm, so the value is the same in every row.
func (g *graph) constant() float64 {
	sum := 0.0
	for range len(g.columns) + len(g.crosses) + 1 {
		sum += float64(g.share * g.share)
	}
	return float64(float32(g.share / math.Sqrt(max(sum, 1))))
}

// table adds a constant with the weights of the given features, and returns its name: one row for
// each feature, one column for each of the model's sums.
func (g *graph) table(features []int) string {
	var values []float64
	for _, j := range features {
		for k := range g.sums {
			values = append(values, g.weight(k, j))
		}
	}
	return g.matrix(len(features), values)
}

func at(columns []column) (list []int) {
	for _, c := range columns {
		list = append(list, c.at)
	}
	return list
}

// after returns, for each column with an indicator of missing cells, the index of the indicator
// feature.
func after(columns []column) (list []int) {
	for _, c := range columns {
		list = append(list, c.at+1)
	}
	return list
}

// pick selects columns of x, a value of the graph with one entry for each of columns: it keeps the
// entries for those in list.
func (g *graph) pick(columns []column, x string, list []column) string {
	var places []int64
	for i, c := range columns {
		if slices.ContainsFunc(list, func(other column) bool { return other.at == c.at }) {
			places = append(places, int64(i))
		}
	}
	return g.op("Gather", []string{x, g.index(places...)}, "axis", 1)
}

// numbers returns the features of the number and date columns before normalization, u/S of shape
// [rows, M], and the mask of missing cells. u is the number scaled to [-1, 1], 0 for a missing
// cell, and S is the schema's scale.
func (g *graph) numbers(columns []column) (u, missing string) {
	var names []string
	var low, high, from, to, width, logs []float64
	for _, c := range columns {
		g.inputs.bytes(graphInput, value(c.Name, float64Type, 1))
		a, b := c.Transformed()
		names, low, high = append(names, c.Name), append(low, c.Low), append(high, c.High)
		from, to, width = append(from, a), append(to, b), append(width, b-a)
		logs = append(logs, float64(c.Transform))
	}
	x := g.op("Concat", names, "axis", 1)
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
	share := g.op("Div", []string{g.op("Sub", []string{t, g.row(from)}), g.row(width)})
	u = g.op("Sub", []string{g.op("Mul", []string{g.number(2), share}), g.number(1)})
	u = g.op("Where", []string{missing, g.number(0), u})
	return g.op("Div", []string{u, g.number(g.scale)}), missing
}

// nth returns the row of the columns' markers of missing numbers with index i. A column without a marker of
// this index has NaN in the row. any is false if no column has one.
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

// log1p adds the nodes that compute log(1+x), as log v + (x - (v-1))/v with v = 1+x, as package
// dataset does.
func (g *graph) log1p(x string) string {
	one := g.number(1)
	v := g.op("Add", []string{x, one})
	rest := g.op("Sub", []string{x, g.op("Sub", []string{v, one})})
	return g.op("Add", []string{g.op("Log", []string{v}), g.op("Div", []string{rest, v})})
}

// norm returns max(1, ||x||) for each row x, of shape [rows, 1], by which the row's features are
// divided. It adds the squares in the order of the columns and interactions, with the intercept
// last, by the runtime's CumSum, which adds in that order. The square of a category, an interaction
// or the intercept is 1/S^2, with S the schema's scale.
func (g *graph) norm(columns []column, v, missing string) string {
	squares := g.op("Mul", []string{v, v})
	if len(indicated(columns)) > 0 { // if an indicator is 1, u is 0
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
	numbers := int64(len(columns))
	var order []int64
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
		if !h.Curve() { // the features of a curve are counted with its number
			same += most(h)
		}
	}
	for range same {
		order = append(order, numbers)
	}
	terms := g.op("Gather", []string{g.op("Concat", []string{squares, constant}, "axis", 1), g.index(order...)}, "axis", 1)
	sums := g.op("CumSum", []string{terms, g.index(1)})
	sum := g.op("Gather", []string{sums, g.index(int64(len(order) - 1))}, "axis", 1)
	one := g.number(1)
	return g.op("Where", []string{g.op("Greater", []string{sum, one}), g.op("Sqrt", []string{sum}), one})
}

// float32 adds the nodes that round x to float32 and convert it back to float64.
func (g *graph) float32(x string) string {
	return g.op("Cast", []string{g.op("Cast", []string{x}, "to", float32Type)}, "to", float64Type)
}

// levels returns the part of the model's K sums that the category and interaction features
// contribute, a value of shape [rows, K].
func (g *graph) levels(columns []column) string {
	var features []int
	var places []string
	g.level = map[string]string{}
	// add appends the index of the looked-up feature, and the features from at on to the list of features.
	add := func(level string, at, width int) {
		places = append(places, g.op("Add", []string{level, g.index(int64(len(features)))}))
		for i := range width {
			features = append(features, at+i)
		}
	}
	for _, c := range columns {
		g.inputs.bytes(graphInput, value(c.Name, stringType, 1))
		var numbers []int64
		for i := range c.Categories {
			numbers = append(numbers, int64(i))
		}
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

// network returns the margins of a network from the sums of its first layer's units. The factor that scales
// the units is multiplied into the weights above them: a runtime would merge a separate factor into the
// matrix product as a float32.
func (g *graph) network(u string) string {
	one := g.number(1)
	for _, above := range g.layers() {
		var h string
		if g.activation == "relu" {
			h = g.op("Max", []string{u, g.number(0)})
		} else { // 1 - 2/(1+e^(2u)), as in package loss
			power := g.op("Exp", []string{g.op("Mul", []string{u, g.number(2)})})
			h = g.op("Sub", []string{one, g.op("Div", []string{g.number(2), g.op("Add", []string{one, power})})})
		}
		for _, row := range above {
			for k := range row {
				row[k] /= math.Sqrt(float64(len(above)))
			}
		}
		units, constant := above[:len(above)-1], above[len(above)-1]
		u = g.op("Add", []string{g.op("MatMul", []string{h, g.matrix(len(units), slices.Concat(units...))}), g.row(constant)})
	}
	return u
}

// link adds the graph's outputs (probabilities, classes, predictions and margins), computed from
// the margins z.
func (g *graph) link(z string) {
	switch g.output {
	case model.Value:
		half, mid := g.inUnits()
		g.predict(g.op("Add", []string{g.op("Mul", []string{z, g.number(half)}), g.number(mid)}))
	case model.Rate:
		g.predict(g.op("Mul", []string{g.op("Exp", []string{z}), g.number(g.target.Rate())}))
	case model.Probabilities:
		top := g.op("ReduceMax", []string{z}, "axes", []int64{1})
		powers := g.op("Exp", []string{g.op("Sub", []string{z, top})})
		sum := g.op("ReduceSum", []string{powers, g.index(1)})
		g.give("probability", g.op("Div", []string{powers, sum}), float64Type, g.margins)
		g.class(g.op("ArgMax", []string{z}, "axis", 1))
	case model.Probability:
		power := g.op("Exp", []string{g.op("Neg", []string{z})})
		one := g.number(1)
		g.give("probability", g.op("Div", []string{one, g.op("Add", []string{one, power})}), float64Type, 1)
		g.class(g.positive(z))
	case model.Score:
		g.give("score", z, float64Type, 1)
		g.class(g.positive(z))
	}
	g.give("margin", z, float64Type, g.margins)
}

// predict adds the output of a regression: the prediction in the target's units.
func (g *graph) predict(x string) {
	if g.model.Clamped() {
		x = g.clamp(x, []float64{g.target.Low}, []float64{g.target.High})
	}
	g.give("prediction", x, float64Type, 1)
}

// positive returns 1 if the margin is positive, and 0 otherwise.
func (g *graph) positive(z string) string {
	return g.op("Cast", []string{g.op("Greater", []string{z, g.number(0)})}, "to", int64Type)
}

// class adds the output with the names of the classes whose numbers are given.
func (g *graph) class(number string) {
	names := g.name()
	g.initializers.bytes(graphInitializer, texts(names, []int{len(g.target.Classes)}, g.target.Classes))
	g.give("class", g.op("Gather", []string{names, number}, "axis", 0), stringType, 1)
}

// give makes the value x an output of the graph with the given name, type and width.
func (g *graph) give(name, x string, kind, width int) {
	for slices.ContainsFunc(g.columns, func(c column) bool { return c.Name == name }) {
		name += "_"
	}
	g.node("Identity", []string{x}, name)
	g.outputs.bytes(graphOutput, value(name, kind, width))
}

func (g *graph) file() []byte {
	graph := slices.Concat(g.nodes, message(nil))
	graph.text(graphName, "stillpoint")
	graph = slices.Concat(graph, g.initializers, g.inputs, g.outputs)
	var m message
	m.int(modelIRVersion, irVersion)
	m.text(modelProducer, "stillpoint")
	m.text(modelProducerVersion, strings.TrimPrefix(g.model.Software(), "stillpoint "))
	m.bytes(modelGraph, graph)
	m.bytes(modelOpset, opset("", coreOpset))
	m.bytes(modelOpset, opset(tables, tablesOpset))
	for _, entry := range g.told() {
		var e message
		e.text(entryKey, entry[0])
		e.text(entryValue, entry[1])
		m.bytes(modelMetadata, e)
	}
	return m
}
