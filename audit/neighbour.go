package audit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// candidate is a record to stand in for one of the table's, with the reason why.
type candidate struct {
	Record
	Why string
}

// absent stands for no record: a place in the table that takes its coins and is
// left out of every sum. Given who takes part, that is what a removed record
// leaves behind: the public centre is added times the declared number, not times
// the secret one, and the coins of the others do not depend on whether there is
// such a record.
func absent(dim int) candidate {
	return candidate{Record{make([]float32, dim), math.NaN()}, "without the record"}
}

// faulty are records that a reader cannot make sense of and extremes of what it
// can.
func faulty(dim int, l loss.Loss) []candidate {
	axis := func(v float64) []float32 { x := make([]float32, dim); x[0] = float32(v); return x }
	fill := func(v float64) []float32 {
		x := make([]float32, dim)
		for j := range x {
			x[j] = float32(v)
		}
		return x
	}
	y := targets(l)[0]
	return []candidate{
		{Record{axis(0), y}, "a row of zeros"},
		{Record{axis(math.NaN()), y}, "a cell that is NaN"},
		{Record{fill(math.NaN()), y}, "a row of NaN"},
		{Record{axis(math.Inf(1)), y}, "a cell that is +Inf"},
		{Record{axis(math.Inf(-1)), -y}, "a cell that is -Inf"},
		{Record{fill(math.Inf(1)), y}, "a row of +Inf"},
		{Record{axis(math.MaxFloat32), y}, "the largest float32"},
		{Record{fill(-math.MaxFloat32), y}, "a row of the largest float32"},
		{Record{axis(0x1p-149), y}, "the smallest float32"},
		{Record{fill(0x1p-140), y}, "a row of subnormal float32s"},
		{Record{axis(1e-30), y}, "a row whose square is no float32"},
		{Record{axis(1 + 0x1p-20), y}, "a row too long by a millionth"},
		{Record{axis(1 + 0x1p-23), y}, "the longest row"},
		{Record{axis(1e6), y}, "a long row"},
		{Record{make([]float32, max(dim-1, 0)), y}, "a row with a feature missing"},
		{Record{fill(1 / math.Sqrt(float64(dim))), math.Inf(1)}, "a target that is +Inf"},
		{Record{axis(1), 1e308}, "a target of 1e308"},
		{Record{axis(1), -1e308}, "a target of -1e308"},
		{Record{axis(-1), 5e-324}, "the smallest target"},
		{Record{axis(-1), math.Copysign(0, -1)}, "a target of -0"},
	}
}

// targets are what a loss may be given, in order: without a share and with some, if
// they carry one.
func targets(l loss.Loss) (list []float64) {
	if u, ok := l.(loss.Units); ok { // of a record: how many rows it has
		return []float64{1, float64(u.Rows())}
	}
	list = plain(l)
	shares := []float64{0, .5}
	if least := loss.LeastExposure(l); least > 0 {
		shares[0] = least
	} else if !loss.RowWeighted(l) {
		return list
	}
	for _, y := range plain(l) {
		for _, share := range shares {
			list = append(list, loss.Carry(l.Target(), y, share))
		}
	}
	return list
}

func plain(l loss.Loss) []float64 {
	switch l.Target() {
	case loss.Binary:
		return []float64{-1, 1}
	case loss.Classes:
		classes := make([]float64, loss.ClassCount(l))
		for k := range classes {
			classes[k] = float64(k)
		}
		return classes
	}
	return []float64{-1, -.75, -.5, -.25, 0, .25, .5, .75, 1}
}

// random is an ordinary record; every other row is as long as a row may be.
func random(r *rand.Rand, dim int, l loss.Loss) candidate {
	if u, ok := l.(loss.Units); ok {
		return randomUnit(r, dim, u)
	}
	length := 1.
	if r.IntN(2) == 0 {
		length = r.Float64()
	}
	y := 2*r.Float64() - 1
	if of := targets(l); l.Target() != loss.Real || len(of) > len(plain(l)) {
		y = of[r.IntN(len(of))]
	}
	return candidate{Record{narrow(scaled(direction(r, dim), length)), y}, "random"}
}

// worst are the records of dim features that move the answer to a question most, as
// far as calculation tells: rows along the points and steps asked about (each margin's
// of several) and, for rank-one losses, rows at the margins where the slope, the curvature and the
// value are extreme, as much along the step as that allows.
func worst(r *rand.Rand, l loss.Loss, dim int, terms []query.Term) []candidate {
	if u, ok := l.(loss.Units); ok {
		return worstUnits(r, u, dim, terms)
	}
	var list []candidate
	add := func(why string, x []float64, y ...float64) {
		for _, y := range y {
			list = append(list, candidate{Record{narrow(x), y}, why})
		}
	}
	ends := targets(l)
	if len(ends) > 3 {
		ends = []float64{ends[0], ends[len(ends)-1]}
	}
	for _, t := range rowsOf(terms, dim) {
		w := t.w
		along, length := unit(w)
		if length == 0 {
			along = direction(r, len(w))
		}
		step, far := unit(t.step)
		if far > 0 {
			add("along the step", step, ends...)
			add("against the step", scaled(step, -1), ends...)
			add("across the step", across(r, step), ends...)
		} else {
			step = along
			add("along the point", along, ends...)
			add("against the point", scaled(along, -1), ends...)
			add("across the point", across(r, along), ends...)
		}
		for _, f := range []float64{1.3, -1.3} {
			// A session that took such a row would have it move more than its clip.
			list = append(list, candidate{Record{float32s(scaled(step, f)), 1}, "a row too long, along the step or point"})
		}
		rankOne, ok := l.(loss.RankOne)
		if !ok {
			continue
		}
		for _, e := range extremes(rankOne, length) {
			for _, x := range atMargin(r, w, step, e.margin) {
				add(e.why, x, e.target)
			}
		}
	}
	return list
}

// rowOf is one of the rows of a term's parameters, and of its step.
type rowOf struct{ w, step []float64 }

// rowsOf cuts parameters into rows of dim; nothing is left of such as have none.
func rowsOf(terms []query.Term, dim int) []rowOf {
	var list []rowOf
	for _, t := range terms {
		w, step := t.Point(), t.Step()
		for ; len(w) >= dim; w = w[dim:] {
			r := rowOf{w: w[:dim]}
			if step != nil {
				r.step, step = step[:dim], step[dim:]
			}
			list = append(list, r)
		}
	}
	return list
}

// extreme is a margin and a target at which something about a loss is extreme.
type extreme struct {
	margin, target float64
	why            string
}

// extremes looks for them on a lattice of margins within reach of a row of
// length 1 at a point of the given length.
func extremes(l loss.RankOne, length float64) []extreme {
	const points = 801
	ys := targets(l)
	var z, y []float64
	for _, target := range ys {
		for i := range points {
			// Denser around 0, where losses bend, when the reach is long.
			u := 2*float64(i)/(points-1) - 1
			z, y = append(z, length*u*math.Abs(u)), append(y, target)
		}
	}
	v := make([]float64, len(z))
	var list []extreme
	for _, f := range []struct {
		of   func(dst, z, y []float64)
		name string
	}{{l.Slopes, "slope"}, {l.Curvatures, "curvature"}, {l.Values, "value"}} {
		f.of(v, z, y)
		low, high := 0, 0
		for i := range v {
			if v[i] < v[low] {
				low = i
			}
			if v[i] > v[high] {
				high = i
			}
		}
		list = append(list, extreme{z[low], y[low], "at the least " + f.name}, extreme{z[high], y[high], "at the greatest " + f.name})
	}
	return list
}

// atMargin returns rows x of length 1 with <w, x> = z, as much along and against
// the step as there are any.
func atMargin(r *rand.Rand, w, step []float64, z float64) [][]float64 {
	u, length := unit(w)
	if length == 0 || math.Abs(z) > length {
		return [][]float64{step, scaled(step, -1)}
	}
	// In the plane of w and the step: x = a u + b v with v across u.
	v := minus(step, scaled(u, dot(step, u)))
	v, rest := unit(v)
	if rest < 1e-9 {
		v = across(r, u)
	}
	a := z / length
	b := math.Sqrt(max(0, 1-a*a))
	return [][]float64{plus(scaled(u, a), scaled(v, b)), plus(scaled(u, a), scaled(v, -b))}
}

// around are the candidates for the place of record i of a subject's table,
// given the exchanges that the record took part in: at most most of them.
func (s Subject) around(r *rand.Rand, i int, exchanges []simulate.Exchange, most int) []candidate {
	dim := s.Dim()
	list := []candidate{absent(dim), {s.Table.Record(i), "as it was"}}
	for _, x := range spread(exchanges, 3) {
		list = append(list, worst(r, s.Loss, dim, s.terms(x))...)
	}
	for len(list) < most/2 && len(list) < 24 {
		list = append(list, random(r, dim, s.Loss))
	}
	other := s.Table.Record((i + 1) % len(s.Table.Rows))
	list = append(list, candidate{other, "another record again"}, candidate{Record{other.Row, -other.Target}, "another record, target turned"})
	for _, c := range faulty(dim, s.Loss) {
		if i > 0 || len(c.Row) == dim { // the first row settles the number of features
			list = append(list, c)
		}
	}
	if len(list) > most {
		// What is there keeps its variety: the first two, and a random choice.
		rest := list[2:]
		r.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
		list = list[:most]
	}
	return list
}

// terms are those of an exchange.
func (s Subject) terms(x simulate.Exchange) []query.Term {
	switch q := x.Asked.(type) {
	case query.Question:
		return q.Terms()
	case query.Selection:
		var list []query.Term
		for _, score := range q.Questions() {
			list = append(list, score.Terms()...)
		}
		return list
	case query.Stable:
		p := q.Pass()
		return []query.Term{query.GradientAt(q.Cohort(), p.Start, p.Clip)}
	}
	return nil
}

// spread picks exchanges: for each kind the first, the last and some between, n
// at most.
func spread(exchanges []simulate.Exchange, n int) []simulate.Exchange {
	byKind := map[string][]simulate.Exchange{}
	var kinds []string
	for _, x := range exchanges {
		k := kindOf(x)
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], x)
	}
	var list []simulate.Exchange
	for _, k := range kinds {
		v := byKind[k]
		for j := range min(n, len(v)) {
			list = append(list, v[j*(len(v)-1)/max(min(n, len(v))-1, 1)])
		}
	}
	return list
}

func describe(a, b candidate) string { return fmt.Sprintf("%s; %s", a.Why, b.Why) }
