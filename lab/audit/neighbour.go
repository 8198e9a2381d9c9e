package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// candidate is a record that the audit tries in the place of one of the table's records. Why describes the
// record and the reason for trying it.
type candidate struct {
	Record
	Why string
}

// absent returns the candidate (replacement for a record) that stands for no record. The table keeps the position, but
// every sum leaves it out, and random bits for the position are drawn and not used. For a fixed cohort this has the
// same effect as removing the record, for two reasons. A sum is shifted by a public centre times the declared number of
// records, not the true number. And the random bits of other records do not depend on this record.
func absent(dim int) candidate {
	return candidate{Record{make([]float32, dim), math.NaN()}, "without the record"}
}

// faulty returns candidates (replacements for a record) that are not valid, such as rows with infinite
// features or a feature missing, and candidates that are valid but extreme, such as subnormal features.
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

// targets returns the targets that an audit tries for a loss: -1 and 1, all classes, or numbers from -1 to
// 1, in ascending order. If the target of the loss also encodes a weight or an exposure, each of these
// targets follows twice more: with the least weight or exposure that the loss allows, and with 1/2. For a
// loss of units (a record is several rows), the targets are the least and the greatest number of rows.
func targets(l loss.Loss) (list []float64) {
	if u, ok := l.(loss.Units); ok { // the target of a unit is its number of rows
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

// random returns an ordinary record as a candidate for replacement. It has a random row and a random target that the
// loss accepts. The norm of the row is 1 in half of all cases, and otherwise uniform between 0 and 1.
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

// worst returns records of dim features that are likely to move the answer to a query most. It makes them
// for each term and, for a loss with several margins, for each margin's row w of the parameters.
//
//   - Three rows have norm 1: one along the term's step (the difference between two points), one against it
//     and one across it. For a term without a step, the point w takes the place of the step.
//   - Two rows, along and against the same direction, have norm 1.3. A session must not accept them.
//   - A rank-one loss phi(<w,x>, y) adds rows of norm 1 at the margins where phi's slope, curvature or value
//     is least or greatest. Each such margin gives two rows: of all rows of norm 1 with this margin, they
//     have the largest component along the step and the largest against it. For a term without a step,
//     they lie in a random plane that contains w.
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
			// These rows have norm 1.3, more than the largest allowed norm 1. If a session accepted such a row, the
			// row would move the answer by more than the clip norm.
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

// rowOf is one row w of a parameter matrix, and the same row of the query's step from its previous point; step is nil
// if the query has no step. A loss with several margins has a row of parameters for each margin.
type rowOf struct{ w, step []float64 }

// rowsOf splits the parameters of a query's terms into rows of length dim, one for each margin of
// the loss. The list is empty for terms without parameters.
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

// extreme is a margin <w,x> and a target y at which the slope, the curvature or the value of a loss
// phi(<w,x>, y) is extreme.
type extreme struct {
	margin, target float64
	why            string
}

// extremes returns the margins and targets at which the loss's slope, curvature and value are extreme. It
// evaluates them on a grid of the margins from -length to length, which rows of norm 1 can have if the
// parameters have norm length.
func extremes(l loss.RankOne, length float64) []extreme {
	const points = 801
	ys := targets(l)
	var z, y []float64
	for _, target := range ys {
		for i := range points {
			// The grid is denser around 0, where losses have most of their curvature.
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
		list = append(list, extreme{z[low], y[low], "at the least " + f.name},
			extreme{z[high], y[high], "at the greatest " + f.name})
	}
	return list
}

// atMargin returns two rows x of length 1 whose margin <w, x> at the parameters w is z. The first has the
// largest possible component along the step, the second the largest against it. If no row has the margin z,
// atMargin returns the step and its opposite.
func atMargin(r *rand.Rand, w, step []float64, z float64) [][]float64 {
	u, length := unit(w)
	if length == 0 || math.Abs(z) > length {
		return [][]float64{step, scaled(step, -1)}
	}
	// x = a u + b v is in the plane of w and the step, with v orthogonal to u.
	v := minus(step, scaled(u, vector.Dot(step, u)))
	v, rest := unit(v)
	if rest < 1e-9 {
		v = across(r, u)
	}
	a := z / length
	b := math.Sqrt(max(0, 1-a*a))
	return [][]float64{plus(scaled(u, a), scaled(v, b)), plus(scaled(u, a), scaled(v, -b))}
}

// farthest returns two records whose mean rows are as far apart as those of any two: of norm 1, along the first feature
// and against it, in all rows. Hats, which are computed from other features, are zero.
func farthest(dim int, l loss.Loss) []candidate {
	var list []candidate
	u, units := l.(loss.Units)
	for _, v := range []float32{1, -1} {
		if !units {
			x := make([]float32, dim)
			x[0] = v
			list = append(list, candidate{Record{x, targets(l)[0]}, "the first feature alone"})
			continue
		}
		rows := make([]candidate, u.Rows())
		for i := range rows {
			rows[i] = farthest(loss.RowFeatures(u, dim), u.Row())[min(int(1-v), 1)]
		}
		list = append(list, joined(u, rows, "the first feature alone, in all rows"))
	}
	return list
}

// around returns the candidates that the audit tries in the place of record i of the subject's table. Their
// number is limited by the parameter most. The first candidate is no record, and the second is record i
// itself; those of farthest follow if the mean row was asked for. exchanges are the queries of the recorded run, with
// their answers, in which record i took part.
func (s Subject) around(r *rand.Rand, i int, exchanges []simulate.Exchange, most int) []candidate {
	dim := s.Dim()
	list := []candidate{absent(dim), {s.Table.Record(i), "as it was"}}
	if slices.ContainsFunc(exchanges, func(x simulate.Exchange) bool { return kindOf(x) == query.RowMean.String() }) {
		list = append(list, farthest(dim, s.Loss)...)
	}
	kept := len(list)
	for _, x := range spread(exchanges, 3) {
		list = append(list, worst(r, s.Loss, dim, s.terms(x))...)
	}
	for len(list) < most/2 && len(list) < 24 {
		list = append(list, random(r, dim, s.Loss))
	}
	other := s.Table.Record((i + 1) % len(s.Table.Rows))
	list = append(list, candidate{other, "another record again"},
		candidate{Record{other.Row, -other.Target}, "another record, target turned"})
	for _, c := range faulty(dim, s.Loss) {
		if i > 0 || len(c.Row) == dim { // the first row determines the number of features
			list = append(list, c)
		}
	}
	if len(list) > most {
		// Keep the first candidates and a random choice of the others.
		rest := list[kept:]
		r.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
		list = list[:most]
	}
	return list
}

// terms returns the terms of the query of an exchange (a query with its exact and its released answer). For a private
// selection these are the terms of all scores. For a pass of stable SGD it is the gradient at the starting point.
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

// spread picks up to n exchanges (queries with their answers) of each kind of query, evenly spaced from the
// first to the last. For n = 1 it picks the first.
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
