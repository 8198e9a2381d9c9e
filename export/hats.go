package export

import (
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/hats"
)

// A hat is a piecewise linear function on the knots of a numeric axis: it is 1 at one knot and 0 at all
// others. Both exports compute the hats of a row as the row map of package dataset does: from the float32
// of a number and of the constant, rounded to float32 again.

// way is a numeric column together with the knots of one curve or interaction. A number's place
// among the knots is counted in knots if these have equal distances; otherwise it is the scaled
// number u in [-1, 1].
type way struct {
	number int
	knots  hats.Knots
	own    bool
}

// ends returns the left knot and the width of each interval between knots, for knots with unequal
// distances.
func (w way) ends() (left, width []float64) {
	for k := range w.knots.Len() - 1 {
		left = append(left, w.knots.Position(k))
		width = append(width, w.knots.Position(k+1)-w.knots.Position(k))
	}
	return left, width
}

// ways returns the distinct pairs of a numeric column and its knots among the model's curves and
// interactions, and for each of these the indices of its pairs in this list.
func (f *form) ways() (list []way, of [][]int) {
	numbers, _ := f.kinds()
	for _, h := range f.hats {
		var at []int
		for _, a := range h.Axes {
			n := slices.IndexFunc(numbers, func(c column) bool { return c.Name == a.Column })
			w := way{n, a.Knots, !a.Knots.Equal(hats.Equal(a.Knots.Len()))}
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

// hang adds to the query the steps that compute the values of hats, the basis functions of curves. A
// number between two knots has two hats that are not zero; a pair of numbers has four products of such
// hats. Each step is a table of the query with the columns of the tables before it:
//
//	ratio  the quotient u of the number and the constant, both rounded to float32
//	way    the number's position, counted in knots
//	knot   the index k of the last knot at or before the position
//	hat    the values v of the two hats, or of the four products
//	hung   the values v rounded to float32
func (s *query) hang() {
	if len(s.hats) == 0 {
		return
	}
	list, of := s.ways()
	rest := append(append(s.carried("x", s.numbers), item{s.one(), s.one()}),
		append(s.indicators(), s.carried("c", s.categories)...)...)
	carry := func(name string, n int) (items []item) {
		for i := range n {
			items = append(items, item{s.own(name, i), s.own(name, i)})
		}
		return items
	}
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
			p := y + " * " + s.literal(1<<29+1)
			hung = append(hung, item{p + " + (" + y + " - " + p + ")", s.own("v"+strconv.Itoa(k)+"_", h)})
		}
	}
	n := len(list)
	s.step("ratio", append(ratios, rest...)...)
	s.step("way", append(ways, rest...)...)
	s.step("knot", append(append(knots, carry("t", n)...), rest...)...)
	s.step("hat", append(append(values, carry("k", n)...), rest...)...)
	s.step("hung", append(append(hung, carry("k", n)...), rest...)...)
}

// one returns the name of the query's column with the constant feature's value.
func (s *query) one() string { return s.own("x", len(s.numbers)) }

// hatValues returns SQL expressions for the values of the basis functions (hats) of one curve or
// interaction. Its numeric columns are list[i] for i in at. The values are zeros if a number is
// missing.
func (s *query) hatValues(list []way, at []int) (values []string) {
	var left, right []string
	missing := ""
	for i, a := range at {
		t, k := s.own("t", a), s.own("k", a)
		f := "(" + t + " - " + k + ")"
		if list[a].own {
			each := func(of []float64) string {
				text := "CASE " + k
				for i, v := range of {
					text += " WHEN " + s.literal(float64(i)) + " THEN " + s.literal(v)
				}
				return text + " END"
			}
			from, width := list[a].ends()
			f = "((" + t + " - " + each(from) + ") / " + each(width) + ")"
		}
		left, right = append(left, "("+s.literal(1)+" - "+f+")"), append(right, f)
		if i > 0 {
			missing += " OR "
		}
		missing += s.own("m", list[a].number) + " = 1"
	}
	scale := dataset.HatScale
	if len(at) == 2 {
		scale = dataset.HatScale * dataset.HatScale
	}
	v := "(" + s.one() + " * " + s.literal(scale) + ")"
	products := []string{v + " * " + left[0], v + " * " + right[0]}
	if len(at) == 2 {
		products = []string{
			"(" + products[0] + ") * " + left[1], "(" + products[0] + ") * " + right[1],
			"(" + products[1] + ") * " + left[1], "(" + products[1] + ") * " + right[1],
		}
	}
	for _, p := range products {
		values = append(values, "CASE WHEN "+missing+" THEN "+s.literal(0)+" ELSE "+p+" END")
	}
	return values
}

// hatTerms returns SQL expressions for the products of the basis functions of curves (hats) with
// their weights in one of the model's sums.
func (s *query) hatTerms(sum int) (terms []string) {
	_, of := s.ways()
	for i, h := range s.hats {
		value := func(k int) string { return s.own("v"+strconv.Itoa(k)+"_", i) }
		knot := func(axis int) string { return s.own("k", of[i][axis]) }
		inner := h.Axes[len(h.Axes)-1].Knots.Len()
		// along looks up the weight of the hat that is shift knots after the knot before the inner number.
		along := func(first, shift int) string {
			text := "CASE " + knot(len(h.Axes)-1)
			for k := range inner - 1 {
				text += " WHEN " + s.literal(float64(k)) + " THEN " + s.literal(s.weight(sum, first+k+shift))
			}
			return text + " END"
		}
		for shift := range 2 {
			switch {
			case len(h.Axes) == 2:
				for up := range 2 {
					text := "CASE " + knot(0)
					for k := range h.Axes[0].Knots.Len() - 1 {
						text += " WHEN " + s.literal(float64(k)) + " THEN " + along(h.First+(k+up)*inner, shift)
					}
					terms = append(terms, value(2*up+shift)+" * "+text+" END")
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

// between returns the place of a scaled number u, from -1 to 1, among knots with unequal distances:
// the index of the interval between knots in which u is, and the share of the interval that lies
// before u. Both are names of values of the graph.
func (g *graph) between(w way, u string) (knot, share string) {
	from, width := w.ends()
	last := float64(len(from) - 1)
	// 1 for each knot above u, except the first and the last knot.
	above := g.op("Cast", []string{g.op("Greater", []string{g.row(from[1:]), u})}, "to", float64Type)
	knot = g.op("Sub", []string{g.number(last), g.op("ReduceSum", []string{above, g.index(1)}, "keepdims", 1)})
	every := make([]float64, len(from))
	for j := range every {
		every[j] = float64(j)
	}
	here := g.op("Cast", []string{g.op("Equal", []string{g.row(every), knot})}, "to", float64Type)
	of := func(values []float64) string { return g.op("MatMul", []string{here, g.matrix(len(values), values)}) }
	return knot, g.op("Div", []string{g.op("Sub", []string{u, of(from)}), of(width)})
}

// hang returns the part of the model's K sums that its hats, the basis functions of curves,
// contribute: weights times hats, a value of shape [rows, K], or "" if there are no hats. x is the
// float32 values of the numbers, and one is the float32 value of the constant.
func (g *graph) hang(columns []column, x, one, missing string) (z string) {
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
		t := g.clamp(g.op("Mul", []string{g.op("Add", []string{r, g.number(1)}), g.number(last / 2)}), []float64{0},
			[]float64{last})
		k := g.op("Min", []string{g.op("Floor", []string{t}), g.number(last - 1)})
		knots, shares = append(knots, k), append(shares, g.op("Sub", []string{t, k}))
	}
	for i, h := range g.hats {
		a, inner := of[i][0], h.Axes[len(h.Axes)-1].Knots.Len()
		place, scale := knots[a], dataset.HatScale
		if len(h.Axes) == 2 {
			scale = dataset.HatScale * dataset.HatScale
			place = g.op("Add", []string{g.op("Mul", []string{place, g.number(float64(inner))}), knots[of[i][1]]})
		}
		if h.Group >= 0 {
			level := g.op("Cast", []string{g.level[g.outer(h).Name]}, "to", float64Type)
			place = g.op("Add", []string{g.op("Mul", []string{level, g.number(float64(inner))}), place})
		}
		halves := func(v string, a int) [2]string {
			return [2]string{g.op("Mul", []string{v, g.op("Sub", []string{g.number(1), shares[a]})}),
				g.op("Mul", []string{v, shares[a]})}
		}
		values := halves(g.op("Mul", []string{one, g.number(scale)}), a)
		sum := g.number(0)
		every := make([]float64, h.Width)
		for j := range every {
			every[j] = float64(j)
		}
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
		features := make([]int, h.Width)
		for j := range features {
			features[j] = h.First + j
		}
		part := g.op("MatMul", []string{sum, g.table(features)})
		if z != "" {
			part = g.op("Add", []string{z, part})
		}
		z = part
	}
	return z
}
