package export

import (
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/effects"
	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// A hat is a piecewise linear function on the knots of a numeric column: it is 1 at one knot and 0 at all
// other knots. Both exports compute the hats of a row as the row map of package dataset does. They start
// from the float32 values of the number and of the constant, and round the hats to float32.

// way is a numeric column together with the knots of one curve or interaction. number is the index of the column among
// the numeric columns. own is true if the knots have unequal distances. The position of a number among the knots is
// then its scaled value u in [-1, 1]. If own is false, the position is counted in knots, from 0.
type way struct {
	number int
	knots  spline.Knots
	own    bool
}

// ends returns the left knot and the width of each interval between neighbouring knots, on the scale of u
// in [-1, 1].
func (w way) ends() (left, width []float64) {
	for k := range w.knots.Len() - 1 {
		left = append(left, w.knots.Position(k))
		width = append(width, w.knots.Position(k+1)-w.knots.Position(k))
	}
	return left, width
}

// ways returns the list of the distinct ways (pairs of a numeric column and its knots) of the model's curves and
// interactions. of[i] are the indices in this list of the ways of f.hats[i], one for each numeric column.
func (f *form) ways() (list []way, of [][]int) {
	numbers, _ := f.kinds()
	for _, h := range f.hats {
		var at []int
		for _, a := range h.Axes {
			n := slices.IndexFunc(numbers, func(c column) bool { return c.Name == a.Column })
			w := way{n, spline.Of(a.Knots, a.At), a.At != nil}
			i := slices.IndexFunc(list, func(o way) bool { return o.number == w.number && o.knots.Equal(w.knots) })
			if i < 0 {
				i, list = len(list), append(list, w)
			}
			at = append(at, i)
		}
		of = append(of, at)
	}
	return list, of
}

// hang adds to the query the steps that compute the values of hats, the basis functions of curves and interactions. A
// number between two knots has two hats that are not zero. A pair of numbers has four products of two hats that are not
// zero. It adds nothing if the model has no hats. Each step is a table of the query. Its columns are:
//
//	ratio  the quotient u of each number and the constant, both rounded to float32
//	way    the position of each number, counted in knots or, if these have unequal distances, u
//	knot   the index k of the last knot at or before the position
//	hat    the values of the two hats, or of the four products
//	hung   the values rounded to float32
//
// Each step also has the columns of the steps before it that later steps need.
func (s *query) hang() {
	if len(s.hats) == 0 {
		return
	}
	list, of := s.ways()
	rest := append(append(s.carried("x", len(s.numbers)), item{s.one(), s.one()}),
		append(s.indicators(), s.carried("c", len(s.categories))...)...)
	var ratios, ways, knots, values, hung []item
	for i, w := range list {
		ratios = append(ratios, item{s.own("x", w.number) + " / " + s.one(), s.own("r", i)})
		r, t, n := s.own("r", i), s.own("t", i), w.knots.Len()
		first, last, between := 0., float64(n-1), "("+r+" + "+s.literal(1)+") * "+s.literal(float64(n-1)/2)
		if w.own {
			first, last, between = -1, 1, r
		}
		ways = append(ways, item{"CASE WHEN " + r + " <= " + s.literal(-1) + " THEN " + s.literal(first) + " WHEN " + r +
			" >= " + s.literal(1) + " THEN " + s.literal(last) +
			" ELSE " + between + " END", t})
		knot := "CASE"
		for k := range n - 2 {
			next := float64(k + 1)
			if w.own {
				next = w.knots.Position(k + 1)
			}
			knot += " WHEN " + t + " < " + s.literal(next) + " THEN " + s.literal(float64(k))
		}
		knots = append(knots, item{knot + " ELSE " + s.literal(float64(n-2)) + " END", s.own("k", i)})
	}
	for h, at := range of {
		for k, value := range s.hatValues(list, at) {
			y := s.own("y"+strconv.Itoa(k)+"_", h)
			values = append(values, item{value, y})
			hung = append(hung, item{s.float32(y), s.own("v"+strconv.Itoa(k)+"_", h)})
		}
	}
	n := len(list)
	s.step("ratio", append(ratios, rest...)...)
	s.step("way", append(ways, rest...)...)
	s.step("knot", append(append(knots, s.carried("t", n)...), rest...)...)
	s.step("hat", append(append(values, s.carried("k", n)...), rest...)...)
	s.step("hung", append(append(hung, s.carried("k", n)...), rest...)...)
}

// one returns the name of the query's column with the constant feature's value.
func (s *query) one() string { return s.own("x", len(s.numbers)) }

// hatValues returns SQL expressions for the values of the basis functions (hats) of one curve or
// interaction that may be nonzero in a row: two values, or four for two numeric columns. The numeric
// columns are list[i] for i in at. All values are zero if a number is missing.
func (s *query) hatValues(list []way, at []int) []string {
	var left, right []string
	missing := ""
	for i, a := range at {
		t, k := s.own("t", a), s.own("k", a)
		f := "(" + t + " - " + k + ")"
		if list[a].own {
			from, width := list[a].ends()
			starts, widths := vector.Map(from, s.literal), vector.Map(width, s.literal)
			f = "((" + t + " - " + s.cases(k, starts) + ") / " + s.cases(k, widths) + ")"
		}
		left, right = append(left, "("+s.literal(1)+" - "+f+")"), append(right, f)
		if i > 0 {
			missing += " OR "
		}
		missing += s.own("m", list[a].number) + " = 1"
	}
	scale := spline.Scale
	if len(at) == 2 {
		scale = spline.Scale * spline.Scale
	}
	v := "(" + s.one() + " * " + s.literal(scale) + ")"
	products := []string{v + " * " + left[0], v + " * " + right[0]}
	if len(at) == 2 {
		products = []string{
			"(" + products[0] + ") * " + left[1], "(" + products[0] + ") * " + right[1],
			"(" + products[1] + ") * " + left[1], "(" + products[1] + ") * " + right[1],
		}
	}
	return vector.Map(products, func(p string) string {
		return "CASE WHEN " + missing + " THEN " + s.literal(0) + " ELSE " + p + " END"
	})
}

// cases returns an expression that has the first of values where x is 0, the second where x is 1, and so on.
func (s *query) cases(x string, values []string) string {
	text := "CASE " + x
	for i, v := range values {
		text += " WHEN " + s.literal(float64(i)) + " THEN " + v
	}
	return text + " END"
}

// hatTerms returns SQL expressions for the products of hats (basis functions of curves and interactions)
// and their weights in the model's weighted sum with the index sum.
func (s *query) hatTerms(sum int) (terms []string) {
	_, of := s.ways()
	for i, h := range s.hats {
		if !s.within(sum, h.First) {
			continue
		}
		value := func(k int) string { return s.own("v"+strconv.Itoa(k)+"_", i) }
		knot := func(axis int) string { return s.own("k", of[i][axis]) }
		inner := h.Axes[len(h.Axes)-1].Knots
		// along returns an expression for the weight of a hat of the inner number: shift is 0 for the hat
		// of the last knot at or before the number, and 1 for the hat of the next knot. first is the index
		// of the feature of the first knot.
		along := func(first, shift int) string {
			weights := vector.Make(inner-1, func(k int) string { return s.literal(s.weight(sum, first+k+shift)) })
			return s.cases(knot(len(h.Axes)-1), weights)
		}
		for shift := range 2 {
			switch {
			case len(h.Axes) == 2:
				for up := range 2 {
					weights := vector.Make(h.Axes[0].Knots-1, func(k int) string { return along(h.First+(k+up)*inner, shift) })
					terms = append(terms, value(2*up+shift)+" * "+s.cases(knot(0), weights))
				}
			case h.Group >= 0:
				c := s.outer(h)
				terms = append(terms, value(shift)+" * "+s.lookup(c, s.cell(c),
					func(level int) string { return along(h.First+level*inner, shift) }))
			default:
				terms = append(terms, value(shift)+" * "+along(h.First, shift))
			}
		}
	}
	return terms
}

// between adds the nodes that find the position of a scaled number u in [-1, 1] among knots with unequal
// distances. knot is the index of the interval between knots that contains u, and share the part of this
// interval that lies below u, from 0 to 1. u, knot and share are names of values of the graph.
func (g *graph) between(w way, u string) (knot, share string) {
	from, width := w.ends()
	last := float64(len(from) - 1)
	// above is 1 for each knot above u and 0 for other knots. It leaves out the first and the last knot.
	above := g.op("Cast", []string{g.op("Greater", []string{g.row(from[1:]), u})}, "to", g.float)
	knot = g.op("Sub", []string{g.number(last), g.op("ReduceSum", []string{above, g.index(1)}, "keepdims", 1)})
	every := vector.Make(len(from), func(j int) float64 { return float64(j) })
	here := g.op("Cast", []string{g.op("Equal", []string{g.row(every), knot})}, "to", g.float)
	of := func(values []float64) string { return g.op("MatMul", []string{here, g.matrix(len(values), values)}) }
	return knot, g.op("Div", []string{g.op("Sub", []string{u, of(from)}), of(width)})
}

// hang returns the contribution of the hats (basis functions of curves and interactions) to the model's K weighted
// sums: weights times hats, a value of shape [rows, K]. It returns "" if there are no hats. x names the float32 values
// of the numbers, one the float32 value of the constant, and missing the mask of missing cells.
func (g *graph) hang(x, one, missing string) (z string) {
	list, of := g.ways()
	var knots, shares []string
	for _, w := range list {
		last := float64(w.knots.Len() - 1)
		r := g.op("Div", []string{g.op("Gather", []string{x, g.index(int64(w.number))}, "axis", 1), one})
		if w.own {
			k, f := g.between(w, g.clamp(r, []float64{-1}, []float64{1}))
			knots, shares = append(knots, k), append(shares, f)
			continue
		}
		t := g.op("Max", []string{g.op("Mul", []string{g.op("Add", []string{r, g.number(1)}), g.number(last / 2)}), g.number(0)})
		k := g.op("Min", []string{g.op("Floor", []string{t}), g.number(last - 1)})
		knots, shares = append(knots, k), append(shares, g.op("Sub", []string{t, k}))
	}
	for i, h := range g.hats {
		a, inner := of[i][0], h.Axes[len(h.Axes)-1].Knots
		place, scale := knots[a], spline.Scale
		if len(h.Axes) == 2 {
			scale = spline.Scale * spline.Scale
			place = g.op("Add", []string{g.op("Mul", []string{place, g.number(float64(inner))}), knots[of[i][1]]})
		}
		if h.Group >= 0 {
			level := g.op("Cast", []string{g.level[g.outer(h).Name]}, "to", g.float)
			place = g.op("Add", []string{g.op("Mul", []string{level, g.number(float64(inner))}), place})
		}
		halves := func(v string, a int) [2]string {
			return [2]string{g.op("Mul", []string{v, g.op("Sub", []string{g.number(1), shares[a]})}),
				g.op("Mul", []string{v, shares[a]})}
		}
		values := halves(g.op("Mul", []string{one, g.number(scale)}), a)
		sum := g.number(0)
		every := vector.Make(h.Width, func(j int) float64 { return float64(j) })
		put := func(v string, shift int) {
			at := g.op("Add", []string{place, g.number(float64(shift))})
			sum = g.op("Where", []string{g.op("Equal", []string{g.row(every), at}), g.float32(v), sum})
		}
		for up, v := range values {
			if len(h.Axes) == 1 {
				put(v, up)
				continue
			}
			for shift, v := range halves(v, of[i][1]) {
				put(v, up*inner+shift)
			}
		}
		for _, a := range of[i] {
			sum = g.op("Where", []string{g.op("Gather", []string{missing, g.index(int64(list[a].number))}, "axis", 1), g.number(0), sum})
		}
		features := vector.Make(h.Width, func(j int) int { return h.First + j })
		part := g.op("MatMul", []string{sum, g.table(features)})
		if z != "" {
			part = g.op("Add", []string{z, part})
		}
		z = part
	}
	return z
}

// waves are the features of effects of a model (dataset.Effects): cosines and sines of angles, which are linear in
// the effects of a row. The effects of the columns are further weighted sums over the model's other features, after the
// margin. Both exports leave out two roundings to float32 of Predict, of the features of effects and of the others'
// product with the ratio of a row. Each changes a product of a weight and a feature by at most 6e-8 of it.
type waves struct {
	ranges []dataset.FeatureRange
	// factors and offsets give the angles: angle k is offsets[k] plus the sum of factors[k][j] times effect j.
	factors [][]float64
	offsets []float64
	// cos and sin are the weights of the cosine and the sine of each angle, times the amplitude.
	cos, sin []float64
}

// findWaves replaces the form's weights, for a model with features of effects, by those of its margin and of each
// effect, over the features of the schema without effects. It sets f.waves.
func (f *form) findWaves(s *dataset.Schema) {
	e, ok := s.Effects()
	if !ok {
		return
	}
	amplitude, ratio := s.EffectFactors()
	basis := effects.New(e.Seed, e.Features, e.Centres, e.Scale, amplitude, e.Deviations...)
	base := s.WithoutEffects()
	f.scale, f.share, f.dim = base.Scale(), 1/base.Scale(), base.Dim()
	w := &waves{ranges: base.Ranges()}
	last := f.dim - 1
	for k := range e.Features / 2 {
		factors, offset := basis.Angles(k)
		w.factors, w.offsets = append(w.factors, factors), append(w.offsets, offset)
		w.cos = append(w.cos, f.weights[last+2*k]*amplitude)
		w.sin = append(w.sin, f.weights[last+2*k+1]*amplitude)
	}
	weights := append(slices.Clone(f.weights[:last]), f.weights[len(f.weights)-1])
	for j := range weights {
		weights[j] *= ratio
	}
	for _, r := range w.ranges {
		effect := make([]float64, f.dim)
		copy(effect[r.First:r.First+r.Width], e.Weights[r.First:])
		weights = append(weights, effect...)
	}
	f.weights, f.waves, f.sums = weights, w, 1+len(w.ranges)
}

// within reports whether a weighted sum has the feature with the given index. The effect of a column has the
// features of this column alone.
func (f *form) within(sum, feature int) bool {
	if f.waves == nil || sum == 0 {
		return true
	}
	r := f.waves.ranges[sum-1]
	return feature >= r.First && feature < r.First+r.Width
}

// wave adds the steps that compute the angles of a row from its effects, and its margin from the cosines and sines
// of these. It adds nothing if the model has no features of effects.
func (s *query) wave() {
	if s.waves == nil {
		return
	}
	z := s.own("z", 0)
	angles, terms := []item{{z, z}}, []string{z}
	for k, factors := range s.factors {
		sum := []string{s.literal(s.offsets[k])}
		for j, v := range factors {
			sum = append(sum, s.own("z", 1+j)+" * "+s.literal(v))
		}
		a := s.own("a", k)
		angles = append(angles, item{s.least + "(" + s.greatest + "(" + total(sum) + ", " +
			s.literal(-repromath.MostAngle) + "), " + s.literal(repromath.MostAngle) + ")", a})
		terms = append(terms, "COS("+a+") * "+s.literal(s.cos[k]), "SIN("+a+") * "+s.literal(s.sin[k]))
	}
	s.step("angle", angles...)
	s.step("wave", item{total(terms), z})
}

// wave returns the margin of a model with features of effects from z, the value of the margin without them and
// the effects. It returns z for any other model.
func (g *graph) wave(z string) string {
	if g.waves == nil {
		return z
	}
	effects := vector.Make(len(g.ranges), func(j int) int64 { return int64(1 + j) })
	f := g.op("Gather", []string{z, g.index(effects...)}, "axis", 1)
	var by []float64
	for j := range g.ranges {
		for _, factors := range g.factors {
			by = append(by, factors[j])
		}
	}
	angles := g.op("Add", []string{g.op("MatMul", []string{f, g.matrix(len(g.ranges), by)}), g.row(g.offsets)})
	angles = g.op("Min", []string{g.op("Max", []string{angles, g.number(-repromath.MostAngle)}),
		g.number(repromath.MostAngle)})
	n := len(g.cos)
	sum := g.op("Add", []string{g.op("MatMul", []string{g.op("Cos", []string{angles}), g.matrix(n, g.cos)}),
		g.op("MatMul", []string{g.op("Sin", []string{angles}), g.matrix(n, g.sin)})})
	return g.op("Add", []string{g.op("Gather", []string{z, g.index(0)}, "axis", 1), sum})
}
