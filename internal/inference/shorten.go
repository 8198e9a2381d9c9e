package inference

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Column is a column of the regression formula: a feature that has a coefficient. A category has one
// feature for each level. A level without a column counts as the reference level, unless its rows leave ([Gone]).
type Column struct {
	// Feature is the index of the feature among the model's weights.
	Feature int `json:"feature"`
	// Kept reports that Shorten never drops the column. Only the intercept is kept in this way.
	Kept bool `json:"kept,omitempty"`
	// Level reports that the feature is an indicator of a level of a category or of a missing number. It
	// may be 0 in every row.
	Level bool `json:"-"`
	// Reference is 1 plus the feature of the reference level, or of the number whose missing values the column has, and 0 for
	// others. Dropped levels with one reference leave together.
	Reference int `json:"-"`
}

// Gone is a dropped level whose rows, of the released share Share, have almost the weight 0: the other levels of its column
// are compared with the reference level alone.
type Gone struct {
	Feature int     `json:"feature"`
	Share   float64 `json:"share"`
}

// Bounds are the public numbers that determine which columns are dropped and how rows are weighted.
type Bounds struct {
	// MomentSigma is the standard deviation of the noise in a diagonal entry of the released second
	// moment of the rows.
	MomentSigma float64
	// Unit gives the standard deviation of the noise in a diagonal entry of the released curvature (the Hessian). For
	// reach B and a loss whose second derivative is at most b, the standard deviation is Unit b B^2.
	Unit float64
	// Usual is the assumed mean of the loss's second derivative over the rows, as a share of the second
	// derivative's upper bound.
	Usual float64
	// Beta determines the reach, the length |P x| above which a row x has a weight below 1. The square of
	// the reach is Beta times the number of effective columns, and at most 1/ridge ([Shape]).
	Beta float64
	// Rows describes all rows that the schema allows, for a bound on |P x|; it is nil if there is no bound. Whole says
	// that the last releases have this bound as their reach, so that every row has the weight 1.
	Rows  []Corners
	Whole bool
	// Intercept is the value of the intercept's feature and of the feature of a row's level; 0 if no rows leave.
	Intercept float64
}

// Corners are the extreme values of a group of features that depend on no other group: every row's values are a mean of
// them. The last group of [Bounds.Rows] is the intercept.
type Corners [][]Entry

// Entry is the value of a feature; features of a group without an entry are 0.
type Entry struct {
	Feature int
	Value   float64
}

// Shape describes a regression formula and its metric, the matrix P that preconditions its rows.
type Shape struct {
	Columns []Column
	// Moment is the released second moment of the formula's columns, including the noise of its
	// release.
	Moment *mat.SymDense
	// Metric is P = (Moment_+ + ridge I)^(-1/2). Moment_+ is Moment with negative eigenvalues set to 0.
	Metric *mat.SymDense
	// Ridge is the largest eigenvalue to expect of the noise in Moment (the function Edge).
	Ridge float64
	// Effective is the number of effective columns, tr Moment_+ (Moment_+ + ridge I)^(-1), and at least .5.
	Effective float64
	// Reach is the length B: a row x whose length |P x|, with P the metric, is above B gets the
	// weight u = B^2/|P x|^2 instead of 1. Last is the reach of the last releases, those of the estimate, and Whole says
	// that no row is longer than Last.
	Reach, Last float64
	Whole       bool
	// Seen is P Moment_+ P, the released second moment of the rows in the coordinates of the metric
	// P.
	Seen *mat.SymDense

	classes, features int // of several classes; 0 for others
	gone              []Gone
	merged            []int
	intercept         float64
}

// Limits for the share of the rows that leave, for the smallest eigenvalue of the second moment of the others, in standard
// deviations of its noise, and for the share of a reference level's rows that count as it without notice
// (lab/coverage/design_levels.go).
const mostGone, leastLeft, mostMerged = .5, 1, .05

// leave decides for each column of the table, the one with the fewest rows of dropped levels first, whether these rows leave.
// They do if the formula's columns stay visible without them. Otherwise they count as the reference level, which is Merged.
func (s *Shape) leave(moment mat.Symmetric, asked []Column, dropped []int, b Bounds) error {
	if !(b.Intercept > 0) {
		return nil
	}
	kept, share, levels, groups := map[int]bool{}, map[int]float64{}, map[int][]Gone{}, map[int]int{}
	for _, c := range s.Columns {
		kept[c.Reference] = c.Reference > 0
	}
	var list []int
	for _, c := range asked {
		groups[c.Feature] = c.Reference
		if at := c.Reference; kept[at] && c.Level && slices.Contains(dropped, c.Feature) {
			if levels[at] == nil {
				list = append(list, at)
			}
			v := max(moment.At(c.Feature, c.Feature), 0) / (b.Intercept * b.Intercept)
			levels[at], share[at] = append(levels[at], Gone{c.Feature, v}), share[at]+v
		}
	}
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(share[i], share[j]) })
	sum := 0.
	for _, at := range list {
		all := append(slices.Clone(s.gone), levels[at]...)
		sees, err := s.sees(moment, all, groups, b)
		if err != nil {
			return err
		}
		_, number := groups[at-1] // its missing values count as the midpoint
		reference := moment.At(at-1, at-1) / (b.Intercept * b.Intercept)
		switch {
		case sees && sum+share[at] <= mostGone:
			s.gone, sum = all, sum+share[at]
		case share[at] > mostMerged*(reference+share[at]) && !number:
			s.merged = append(s.merged, at-1)
		}
	}
	return nil
}

// sees reports whether the formula's columns stay visible without the rows of the levels gone, by the rules of hidden.
func (s *Shape) sees(moment mat.Symmetric, gone []Gone, groups map[int]int, b Bounds) (bool, error) {
	m := s.without(moment, gone, groups, b.Intercept)
	e, err := Decompose(m)
	if err != nil {
		return false, err
	}
	if e.Values[e.free(s.Columns)] <= leastLeft*b.MomentSigma {
		return false, nil
	}
	if e, err = Decompose(Between(s.Metric, m)); err != nil {
		return false, err
	}
	return b.Usual*e.Values[e.free(s.Columns)] >= shortest*b.Unit*math.Sqrt(2*float64(len(s.Columns)))*s.Last*s.Last, nil
}

// without estimates the second moment of the formula's columns over the rows that stay. groups has the Reference of each
// feature. The released moment has the means of the rows that leave and their shares of levels; other moments are taken as
// those of all rows.
func (s *Shape) without(moment mat.Symmetric, gone []Gone, groups map[int]int, intercept float64) *mat.SymDense {
	k := len(s.Columns)
	m := mat.NewSymDense(k, nil)
	for i, c := range s.Columns {
		for j := i; j < k; j++ {
			d, known := s.Columns[j], j == k-1 || j == i && c.Level && !c.Kept
			v, share := s.Moment.At(i, j), 0.
			for _, g := range gone {
				most := g.Share * intercept * intercept
				switch group := groups[g.Feature]; {
				case group == c.Reference || group == d.Reference:
				case known:
					v -= min(max(moment.At(g.Feature, c.Feature), -most), most)
				default:
					share += g.Share
				}
			}
			m.SetSym(i, j, v*(1-share))
		}
	}
	return m
}

// shortest is the smallest acceptable ratio of signal to noise of the curvature (the Hessian). A column is
// dropped if the smallest eigenvalue predicted for the curvature is below shortest times the largest
// eigenvalue to expect of its noise (the function Edge).
const shortest = .5

// least and leastOfLevel are limits, in standard deviations of the noise, for the smallest eigenvalue of
// the released second moment. A column is dropped if the eigenvalue is at most the limit: leastOfLevel for
// a level, least for any other column. A level without rows has the eigenvalue 0 without noise. With noise
// the smallest released eigenvalue is then at most a standard normal variable, in standard deviations of
// the noise, which exceeds leastOfLevel with probability .00003. A formula that keeps a level without rows
// has a singular curvature, which identifies no coefficient.
const (
	least        = 3
	leastOfLevel = 4
)

// Shorten drops columns until the smallest eigenvalue of the second moment exceeds the noise of the second moment, and
// the smallest eigenvalue predicted for the curvature exceeds the noise of the curvature (the function hidden). In each
// round it drops one column: the column with the largest entry, in absolute value, in the eigenvector of the second
// moment's smallest eigenvalue. A column that is Kept is never dropped. A dropped level counts as the reference level,
// which does not change the moments of the other columns, or leaves with its rows (the function leave).
//
// moment is the released second moment of all features. Shorten returns the shape of the short formula and
// the dropped features in the order in which they were dropped.
func Shorten(moment mat.Symmetric, columns []Column, b Bounds) (*Shape, []int, error) {
	asked := columns
	columns = append([]Column(nil), columns...)
	var dropped []int
	for {
		s, e, err := shapeOf(moment, columns, b)
		if err != nil {
			return nil, nil, err
		}
		worst, load := -1, 0.
		at := e.free(columns)
		for j, c := range columns {
			if v := math.Abs(e.Vectors.At(j, at)); !c.Kept && v > load {
				worst, load = j, v
			}
		}
		if worst < 0 || !hidden(e.Values[at], s, columns[worst], b) {
			return s, dropped, s.leave(moment, asked, dropped, b)
		}
		dropped = append(dropped, columns[worst].Feature)
		columns = append(append([]Column(nil), columns[:worst]...), columns[worst+1:]...)
	}
}

// free returns the index of the first eigenvector that is not for the most part one of kept columns, if several are kept:
// of the intercept and thresholds between ordered classes. To drop another column would not make it visible.
func (e *Spectrum) free(columns []Column) int {
	for at := range columns {
		kept, share := 0, 0.
		for j, c := range columns {
			if c.Kept {
				kept++
				share += e.Vectors.At(j, at) * e.Vectors.At(j, at)
			}
		}
		if kept < 2 || share < .5 {
			return at
		}
	}
	return 0
}

// hidden reports whether the column worst has to be dropped. v is the smallest eigenvalue of the released second
// moment, and worst the column with the largest entry in the eigenvector of v. hidden returns true if v is at most
// least or leastOfLevel standard deviations of the noise of the second moment, or if the curvature predicted along the
// eigenvector is below shortest times the largest eigenvalue of the curvature's noise.
func hidden(v float64, s *Shape, worst Column, b Bounds) bool {
	limit := float64(least)
	if worst.Level {
		limit = leastOfLevel
	}
	seen := v / (v + s.Ridge)
	return v <= limit*b.MomentSigma ||
		b.Usual*seen < shortest*b.Unit*math.Sqrt(2*float64(len(s.Columns)))*s.Last*s.Last
}

// shapeOf returns the shape of the formula with the given columns, and the eigenvalues and eigenvectors of
// the columns' second moment. moment is the released second moment of all features.
func shapeOf(moment mat.Symmetric, columns []Column, b Bounds) (*Shape, *Spectrum, error) {
	k := len(columns)
	m := mat.NewSymDense(k, nil)
	for i, c := range columns {
		for j := i; j < k; j++ {
			m.SetSym(i, j, moment.At(c.Feature, columns[j].Feature))
		}
	}
	e, err := Decompose(m)
	if err != nil {
		return nil, nil, err
	}
	ridge := Edge(b.MomentSigma, k)
	s := &Shape{Columns: columns, Moment: m, Ridge: ridge, intercept: b.Intercept}
	for _, v := range e.Values {
		s.Effective += max(v, 0) / (max(v, 0) + ridge)
	}
	s.Effective = max(s.Effective, .5)
	s.Metric = e.With(func(v float64) float64 { return 1 / math.Sqrt(max(v, 0)+ridge) })
	longest := min(1/ridge, s.longest(b.Rows)) // rows have a length of at most 1
	square := min(b.Beta*s.Effective, longest)
	s.Reach, s.Last, s.Whole = math.Sqrt(square), math.Sqrt(square), square == longest
	if b.Whole {
		s.Last, s.Whole = math.Sqrt(longest), true
	}
	s.Seen = e.With(func(v float64) float64 { return max(v, 0) / (max(v, 0) + ridge) })
	return s, e, nil
}

// longest returns a bound on |P x|^2 over all rows x whose groups of features are among the given corners, or +Inf if there
// are none. With m the mean row and d the deviations of a corner from it, the square of a row is m'Mm + sum 2 m'Md + sum sum
// d'Md over groups and pairs of groups, M = P^2. Each pair is bounded by the other group's worst corner.
func (s *Shape) longest(rows []Corners) float64 {
	if len(rows) == 0 {
		return math.Inf(1)
	}
	k := len(s.Columns)
	at := map[int]int{}
	for j, c := range s.Columns {
		at[c.Feature] = j
	}
	mean := mat.NewVecDense(k, nil)
	for j := range k {
		mean.SetVec(j, s.Moment.At(j, k-1)/rows[len(rows)-1][0][0].Value)
	}
	mean.SetVec(k-1, rows[len(rows)-1][0][0].Value)
	var square, pulled mat.VecDense
	pulled.MulVec(s.Metric, mean)
	bound := mat.Dot(&pulled, &pulled)
	square.MulVec(s.Metric, &pulled)
	groups, through := make([][]*mat.VecDense, len(rows)), make([][]*mat.VecDense, len(rows)) // d and Md
	for g, corners := range rows {
		for _, corner := range corners {
			d := mat.NewVecDense(k, nil)
			for _, other := range corners {
				for _, v := range other {
					if j, ok := at[v.Feature]; ok {
						d.SetVec(j, -mean.AtVec(j))
					}
				}
			}
			for _, v := range corner {
				if j, ok := at[v.Feature]; ok {
					d.SetVec(j, v.Value-mean.AtVec(j))
				}
			}
			var once, twice mat.VecDense
			once.MulVec(s.Metric, d)
			twice.MulVec(s.Metric, &once)
			groups[g], through[g] = append(groups[g], d), append(through[g], &twice)
		}
	}
	for g := range groups {
		worst := math.Inf(-1)
		for i, d := range groups[g] {
			sum := 2*mat.Dot(&square, d) + mat.Dot(through[g][i], d)
			for h := range groups {
				most := math.Inf(-1)
				for _, other := range groups[h] {
					most = max(most, mat.Dot(through[g][i], other))
				}
				if h != g {
					sum += most
				}
			}
			worst = max(worst, sum)
		}
		bound += worst
	}
	return bound * (1 + rounding)
}

// Left returns for each column the share of the spread about the other columns that the weights of rows leave, and the
// standard deviation of the noise in it: with p the column's row of P, about its direction given the others, p'Ap/p'Sp for the
// released second moments A of the rows u P x x' P and S = Seen without weights. sigma is the noise in a diagonal entry of A.
func (s *Shape) Left(weighted mat.Symmetric, sigma float64) []float64 {
	var out []float64
	for j := range s.Columns {
		p := mat.NewVecDense(len(s.Columns), mat.Row(nil, j, s.Metric))
		all := max(mat.Inner(p, s.Seen, p), 1e-3*mat.Dot(p, p)) // 0 where noise alone is released
		out = append(out, mat.Inner(p, weighted, p)/all, sigma*mat.Dot(p, p)/all)
	}
	return out
}

// rounding is more than the relative error of features in float32 and of the steps of a metric.
const rounding = 1e-4

// Weights returns the model's weights P b, with P the metric, for a point b in the metric's
// coordinates. Features without a column have weight 0.
func (s *Shape) Weights(b []float64, features int) []float64 {
	w := make([]float64, features)
	for i, c := range s.Columns {
		for j, v := range b {
			w[c.Feature] += s.Metric.At(i, j) * v
		}
	}
	return w
}

// far is the length of a row of a level that leaves over the reach, at least: the row's weight is at most 1/far^2.
const far = 10

// Full returns the metric as a square matrix over all features, row after row. The entries of features
// without a column are zero, but for levels whose rows leave: their entry makes these rows so long that their weight is
// almost 0.
func (s *Shape) Full(features int) []float64 {
	out := make([]float64, features*features)
	for i, a := range s.Columns {
		for j, c := range s.Columns {
			out[a.Feature*features+c.Feature] = s.Metric.At(i, j)
		}
	}
	for _, g := range s.gone {
		out[g.Feature*features+g.Feature] = far * max(s.Reach, s.Last) / s.intercept
	}
	return out
}

// Reduce returns the entries of v that belong to the formula's columns, in the columns' order. v
// has an entry for each feature. For several classes see [Shape.Classes].
func (s *Shape) Reduce(v []float64) []float64 {
	out := make([]float64, len(s.Columns))
	for i, c := range s.Columns {
		if s.classes == 0 {
			out[i] = v[c.Feature]
		} else if k := len(out) / (s.classes - 1); i < k {
			for j, d := range s.differences(v, c.Feature-s.features) {
				out[j*k+i] = d
			}
		}
	}
	return out
}

// ReduceMatrix returns the rows and columns of a, a symmetric matrix over all features stored row after
// row, that belong to the formula's columns.
func (s *Shape) ReduceMatrix(a []float64, features int) *mat.SymDense {
	half := mat.NewDense(features, len(s.Columns), nil)
	for i := range features {
		half.SetRow(i, s.Reduce(a[i*features:(i+1)*features]))
	}
	out := mat.NewDense(len(s.Columns), len(s.Columns), nil)
	for j := range s.Columns {
		out.SetCol(j, s.Reduce(mat.Col(nil, j, half)))
	}
	return Symmetric(out)
}
