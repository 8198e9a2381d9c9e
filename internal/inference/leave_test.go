package inference

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// peopled returns the second moment of rows over a table whose cells (level of the first category, level of the second, sign of
// a number) have the given shares, by cell, over cells without the levels of gone. Features are a number, the levels of both
// categories and the intercept; each has the value .5.
func peopled(shares map[[3]int]float64, levels [2]int, gone ...int) *mat.SymDense {
	d := 2 + levels[0] + levels[1]
	m := mat.NewSymDense(d, nil)
	for cell, share := range shares {
		x := mat.NewVecDense(d, nil)
		x.SetVec(0, .5*float64(cell[2]))
		x.SetVec(1+cell[0], .5)
		x.SetVec(1+levels[0]+cell[1], .5)
		x.SetVec(d-1, .5)
		if !slices.ContainsFunc(gone, func(j int) bool { return x.AtVec(j) != 0 }) {
			m.SymRankOne(m, share, x)
		}
	}
	return m
}

// crossed are the shares of cells whose parts are independent.
func crossed(first, second []float64) map[[3]int]float64 {
	out := map[[3]int]float64{}
	for i, v := range first {
		for j, w := range second {
			for _, sign := range []int{-1, 1} {
				out[[3]int{i, j, sign}] = v * w / 2
			}
		}
	}
	return out
}

func peopledColumns(levels [2]int) []Column {
	list := []Column{{Feature: 0}}
	for i := 1; i < levels[0]; i++ {
		list = append(list, Column{Feature: 1 + i, Level: true, Reference: 2})
	}
	for i := 1; i < levels[1]; i++ {
		list = append(list, Column{Feature: 1 + levels[0] + i, Level: true, Reference: 2 + levels[0]})
	}
	return append(list, Column{Feature: 1 + levels[0] + levels[1], Kept: true})
}

// TestRowsLeave: the dropped levels of a column leave with their rows, all or none, those of the column with the fewest such
// rows first. They stay if too few rows would be left, if a formula's column would be hidden without them, or if the column
// has no level in the formula. The reference level that they then count as is named unless they are few beside it.
func TestRowsLeave(t *testing.T) {
	const rare, other = .02, .015
	// twins has the rare level's rows in a level of the second category, which has few others.
	twins := func(reference float64) map[[3]int]float64 {
		out := map[[3]int]float64{}
		for cell, share := range crossed([]float64{reference, 1 - reference - .028, .028}, []float64{1}) {
			if cell[0] == 2 {
				out[[3]int{2, 1, cell[2]}] = share
				continue
			}
			out[cell], out[[3]int{cell[0], 1, cell[2]}] = share-.0015, .0015
		}
		return out
	}
	for name, c := range map[string]struct {
		first, second []float64
		cells         map[[3]int]float64
		sigma         float64
		intercept     float64
		gone          []Gone
		merged        []int
	}{
		"leave":                {first: []float64{.4, .4, .2 - rare, rare}, second: []float64{.5, .5}, gone: []Gone{{4, rare}}},
		"of two columns":       {first: []float64{.4, .3, .3 - rare, rare}, second: []float64{.5, .5 - other, other}, gone: []Gone{{7, other}, {4, rare}}},
		"without an intercept": {first: []float64{.4, .4, .2 - rare, rare}, second: []float64{.5, .5}, intercept: -1},
		"no level stays":       {first: []float64{1 - rare, rare}, second: []float64{.5, .5}},
		"the reference would be hidden": {first: []float64{.015, .55, .42, .015}, second: []float64{.5, .5},
			merged: []int{1}},
		"one is the other's level": {cells: twins(.4), first: make([]float64, 3), second: make([]float64, 2), merged: []int{1}},
		"few beside the reference": {cells: twins(.6), first: make([]float64, 3), second: make([]float64, 2)},
		"more than half of the rows": {first: []float64{.45, .28, .14, .13}, second: []float64{.44, .28, .15, .13}, sigma: .008,
			gone: []Gone{{3, .14}, {4, .13}}, merged: []int{5}},
	} {
		levels := [2]int{len(c.first), len(c.second)}
		if c.cells == nil {
			c.cells = crossed(c.first, c.second)
		}
		b := Bounds{MomentSigma: 1.9e-3, Unit: 1e-5, Usual: .48, Beta: 4, Intercept: .5}
		if c.sigma > 0 {
			b.MomentSigma = c.sigma
		}
		if c.intercept != 0 {
			b.Intercept = 0
		}
		s, dropped, err := Shorten(peopled(c.cells, levels), peopledColumns(levels), b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: dropped %v gone %v merged %v", name, dropped, s.gone, s.merged)
		same := slices.EqualFunc(s.gone, c.gone, func(a, b Gone) bool { return a.Feature == b.Feature && math.Abs(a.Share-b.Share) < 1e-12 })
		if !same || !slices.Equal(s.merged, c.merged) {
			t.Errorf("%s: dropped %v, gone %v, merged %v: must be %v and %v", name, dropped, s.gone, s.merged, c.gone, c.merged)
		}
	}
}

// TestMomentOfRowsThatStay: the moment without the rows of two levels is that of a table without them where columns are
// independent. The noise in a product with a level counts as far as the level's rows can explain it.
func TestMomentOfRowsThatStay(t *testing.T) {
	levels := [2]int{4, 3}
	cells := crossed([]float64{.4, .3, .2, .1}, []float64{.5, .3, .2})
	columns := peopledColumns(levels)
	columns = slices.DeleteFunc(columns, func(c Column) bool { return c.Feature == 4 })
	all := peopled(cells, levels)
	groups := map[int]int{}
	for _, c := range peopledColumns(levels) {
		groups[c.Feature] = c.Reference
	}
	of := func(m *mat.SymDense) *Shape {
		s, _, err := shapeOf(m, columns, Bounds{MomentSigma: 1e-9, Beta: 4, Intercept: .5})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	got, want := of(all).without(all, []Gone{{4, .1}}, groups, .5), of(peopled(cells, levels, 4)).Moment
	if !mat.EqualApprox(got, want, 1e-12) {
		t.Errorf("%v\nwant %v", mat.Formatted(got), mat.Formatted(want))
	}
	all.SetSym(0, 4, .025) // the number is 1/2 in all rows of the level
	if v := of(all).without(all, []Gone{{4, .04}}, groups, .5).At(0, len(columns)-1); !(math.Abs(v+.01) <= 1e-12) {
		t.Errorf("%v: must be -.01, since rows of a level of .04 have .01 of the product at most", v)
	}
}

// TestRowsThatLeaveWeighLittle: in the metric, rows of a level that leaves are at least 10 reaches long, so that they weigh a
// hundredth at most, and other rows are as long as without it. A fit says whose rows left and whose difference is that of
// several levels, of each class but the first.
func TestRowsThatLeaveWeighLittle(t *testing.T) {
	levels := [2]int{4, 2}
	cells := crossed([]float64{.4, .4, .18, .02}, []float64{.5, .5})
	b := Bounds{MomentSigma: 1.9e-3, Unit: 1e-5, Usual: .48, Beta: 4, Intercept: .5}
	s, _, err := Shorten(peopled(cells, levels), peopledColumns(levels), b)
	if err != nil || len(s.gone) != 1 {
		t.Fatalf("%v, %v left", err, s.gone)
	}
	s.Last = 1.5 * s.Reach // as of unweighted rows
	const d = 8
	with := s.Full(d)
	gone := s.gone
	s.gone = nil
	without := s.Full(d)
	s.gone = gone
	for cell := range cells {
		x := make([]float64, d)
		x[0], x[1+cell[0]], x[5+cell[1]], x[7] = .5*float64(cell[2]), .5, .5, .5
		length := func(p []float64) float64 {
			z := mat.NewVecDense(d, nil)
			z.MulVec(mat.NewDense(d, d, p), mat.NewVecDense(d, x))
			return mat.Norm(z, 2)
		}
		switch l := length(with); {
		case cell[0] == 3 && !(l >= 10*s.Last && l < 15*s.Last):
			t.Errorf("%v: %v reaches", cell, l/s.Last)
		case cell[0] != 3 && l != length(without):
			t.Errorf("%v: %v long, %v without", cell, l, length(without))
		}
	}
	k := len(s.Columns)
	released := Released{Curvature: mat.NewSymDense(k, nil), CurvatureSigma: 1}
	for count, list := range [][]Gone{nil, gone, {gone[0], gone[0]}} {
		s.gone = list
		f, err := NewFit(s, []int{4}, &Estimate{Method: NotIdentified, B: make([]float64, k)}, released, 0)
		const also = "; rows of dropped levels that are listed as gone have almost the weight 0"
		if err != nil || strings.HasSuffix(f.Weighted, also) != (count > 0) || !slices.Equal(f.Gone, list) {
			t.Errorf("%d levels: %+v, %v", count, f, err)
		}
	}
	s.gone = gone
	f := &Fit{Dropped: []int{4}, Gone: gone, Merged: []int{1}}
	f.OfClasses(&Estimate{Method: NotIdentified}, s, make([]float64, 3), nil, d)
	if !slices.Equal(f.Gone, []Gone{{d + 4, gone[0].Share}, {2*d + 4, gone[0].Share}}) || !slices.Equal(f.Merged, []int{d + 1, 2*d + 1}) {
		t.Errorf("%+v", f)
	}
}
