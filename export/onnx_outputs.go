package export

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/model"
)

// This file adds the parts of a graph behind the weighted sums over the features: hidden layers, link and outputs.

// network returns the margins of a network, or of ordered classes, computed from the weighted sums u over the features.
// For other models it returns u. The factor 1/sqrt(units) of a layer is multiplied into the weights above the layer,
// because a runtime would merge a separate factor into the matrix product as a float32.
func (g *graph) network(u string) string {
	one := g.number(1)
	if g.thresholds != nil {
		above, below, gap := g.ordered()
		softplus := func(x string) string {
			power := g.op("Exp", []string{g.op("Min", []string{x, g.op("Neg", []string{x})})})
			return g.op("Add", []string{g.op("Max", []string{x, g.number(0)}), g.op("Log", []string{g.op("Add", []string{one, power})})})
		}
		up, down := g.op("Sub", []string{u, g.row(above)}), g.op("Sub", []string{g.row(below), u})
		return g.op("Sub", []string{g.op("Sub", []string{g.row(gap), softplus(up)}), softplus(down)})
	}
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

// link adds the graph's outputs, computed from the margins z: the prediction, or the probability or score
// and the class, and the margins.
func (g *graph) link(z string) {
	switch g.output {
	case model.Value:
		half, mid := g.inUnits()
		g.predict(g.op("Add", []string{g.op("Mul", []string{z, g.number(half)}), g.number(mid)}))
	case model.Risk:
		events := g.op("Exp", []string{z})
		if g.odds != nil {
			odds := g.op("MatMul", []string{events, g.matrix(1, g.odds)})
			events = g.op("ReduceSum", []string{g.op("Log", []string{g.op("Add", []string{odds, g.number(1)})}), g.index(1)})
		}
		survival := g.op("Exp", []string{g.op("Neg", []string{events})})
		g.predict(g.op("Sub", []string{g.number(1), survival}))
	case model.Rate:
		g.predict(g.op("Mul", []string{g.op("Exp", []string{z}), g.number(g.target.Rate())}))
	case model.Probabilities:
		top := g.op("ReduceMax", []string{z}, "axes", []int64{1})
		powers := g.op("Exp", []string{g.op("Sub", []string{z, top})})
		sum := g.op("ReduceSum", []string{powers, g.index(1)})
		g.give("probability", g.op("Div", []string{powers, sum}), g.float, g.margins)
		g.class(g.op("ArgMax", []string{z}, "axis", 1))
	case model.Probability:
		power := g.op("Exp", []string{g.op("Neg", []string{z})})
		one := g.number(1)
		g.give("probability", g.op("Div", []string{one, g.op("Add", []string{one, power})}), g.float, 1)
		g.class(g.positive(z))
	case model.Score:
		g.give("score", z, g.float, 1)
		g.class(g.positive(z))
	}
	g.give("margin", z, g.float, g.margins)
}

// predict adds the output of a regression: the prediction x in the target's units, clamped to the target's
// bounds if the model is Clamped.
func (g *graph) predict(x string) {
	if g.model.Clamped() {
		x = g.clamp(x, []float64{g.target.Low}, []float64{g.target.High})
	}
	g.give("prediction", x, g.float, 1)
}

// positive adds the nodes that compute the int64 1 if the margin z is positive, and 0 otherwise.
func (g *graph) positive(z string) string {
	return g.op("Cast", []string{g.op("Greater", []string{z, g.number(0)})}, "to", int64Type)
}

// class adds the output with the names of the predicted classes. number is the value with their indices.
func (g *graph) class(number string) {
	names := g.name()
	g.initializers = append(g.initializers,
		initializer{names, texts(names, []int{len(g.target.Classes)}, g.target.Classes)})
	g.give("class", g.op("Gather", []string{names, number}, "axis", 0), stringType, 1)
}

// give makes the value x an output of the graph with the given name, type and width. If a column has the
// name, give adds underscores to it.
func (g *graph) give(name, x string, kind, width int) {
	name = g.free(name)
	g.node("Identity", []string{x}, name)
	g.outputs.bytes(graphOutput, value(name, kind, width))
}
