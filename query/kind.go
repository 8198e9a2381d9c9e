package query

import (
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Kind names the function of one record, such as its gradient, that a term computes.
type Kind uint8

const (
	// Gradient is the gradient of the record's loss at the public point W.
	Gradient Kind = iota + 1
	// Difference is the gradient of the record's loss at the point W minus its gradient at the point Prev.
	Difference
	// Value is the record's loss at W, a scalar.
	Value
	// Norm is the gradient at the point W. The answer is the norm of the mean gradient plus a public vector.
	Norm
	// SecondMoment is x x', the outer product of the record's features with themselves. It does not
	// depend on the loss.
	SecondMoment
	// Curvature is phi'' x x', the Hessian at the point W of a loss phi(<w,x>, y) with the features x.
	Curvature
	// MetricGradient is R g for the matrix R of a public metric and the gradient g of the loss at the
	// point W. The product is clipped, not the gradient.
	MetricGradient
	// SquaredSlope is the squared norm of the vector that MetricGradient clips, a scalar.
	SquaredSlope
	// Product is the Hessian of the record's loss at W times a public vector.
	Product
	// ProductChange is the Hessian at the point W minus the Hessian at the point Prev, times a public vector.
	ProductChange
	// CurvatureAlong is v'Hv, a number, for the Hessian H of the record's loss at the point W and a
	// public vector v.
	CurvatureAlong
	// ValueChange is the record's loss at the point W minus its loss at the point Prev, a scalar.
	ValueChange
	// RowMean is x, the record's features, whatever the loss.
	RowMean
	// SquaredDistance is ||x - W||^2, a number, for the record's features x and a public point W in
	// their space. It does not depend on the loss.
	SquaredDistance
	// CentredMoment is z z', where z is the record's features minus a public point, shortened to a public
	// length if it is longer. It does not depend on the loss.
	CentredMoment
	// WeightedGradient is u phi' R x, for a row x, the slope phi' of its loss, a metric's matrix R, and a
	// weight u that depends on the length of R x alone.
	WeightedGradient
	// WeightedCurvature is u phi'' R x x' R, for a row x, the second derivative phi'' of its loss, a metric's
	// matrix R and the row's weight u.
	WeightedCurvature
	// ScoreMoment is the outer product of the record's WeightedGradient with itself.
	ScoreMoment
	// WeightedMoment is u R x x' R, for a row x, a metric's matrix R and the row's weight u. It does
	// not depend on the loss.
	WeightedMoment
	// SquaredFeatures is the vector of the squares of the record's features, and of the products of the pairs of those
	// features that are in a block, whatever the loss.
	SquaredFeatures
)

// Facts is an entry of the table of kinds: the public properties of a kind of term. The engine has a table of its own,
// with a function for each kind. The tests of curator/internal/session have a second table of functions, which are slow
// and simple. Sessions, audits and tests read these tables and have no cases for single kinds.
//
// Adding a record changes the sum of any kind by at most its clip norm, since every contribution is clipped to its
// ball. Replacing a record changes the sum by at most the clip norm times the number that Moves returns.
type Facts struct {
	// Name is the kind's name in queries and events.
	Name string
	// Number reports that a record contributes one number, clipped to an interval. Otherwise it contributes a
	// vector. The vector has one coordinate for each coordinate of the point, unless Pairs is set.
	Number bool
	// Pairs reports that the contribution is a symmetric matrix, stored as a vector (svec) with one coordinate for each
	// pair of features. The matrix is positive semidefinite, such as a nonnegative multiple of x x' for the record's
	// features x. The angle between any two contributions is therefore at most a right angle.
	Pairs bool
	// Blocks reports that the contribution is the part of such a matrix x x' on the diagonal and in one block (see
	// BlockMomentOf). That part is positive semidefinite, too, and the same holds of angles.
	Blocks bool
	// Losses is the set of losses for which the kind is defined.
	Losses Losses
	// Metric reports that the clip norm limits the length of the metric's matrix times a record's vector. Lifted
	// reports that the engine first sums the records' vectors and then multiplies the sum by the metric's matrix.
	Metric, Lifted bool
	// Weighted reports that a row is multiplied by a metric's matrix and has a weight that depends on the length of the
	// product (see Term.Reach). A record may consist of all rows of a unit, such as a person.
	Weighted bool
	// Centre says which centres of the clip ball are allowed.
	Centre Centring
	// Normed reports that the answer is one number, the norm of the records' mean plus a public vector.
	// One record changes this number by at most the length by which it changes the mean.
	Normed bool
	// Roundings is the number of times that the answer is rounded after the sum is taken, to a multiple of the step of
	// the discrete noise. Each rounding may increase the effect of one record on the answer by one step.
	Roundings int
	// Uses is the set of ways in which a query may use the kind, in addition to a query of one term.
	Uses Ways
	// Smooths reports that a query of the kind may be about the smoothed loss (Term.Smoothed).
	Smooths bool
}

// Losses is a class of losses for which a kind is defined.
type Losses uint8

const (
	// AnyLoss contains every loss. Points have one coordinate for each parameter.
	AnyLoss Losses = iota
	// NoLoss means that the kind depends on features and not on the loss. Points have one
	// coordinate for each feature.
	NoLoss
	// OfMargins contains the losses phi(W x, y), of one margin or several, and the losses phi(<w,x>, theta, y) of a score
	// and other parameters theta (Scored).
	OfMargins
	// OfOneMargin contains the losses phi(<w,x>, y).
	OfOneMargin
	// OfRows contains losses phi(<w,x>, y) of a single row, and losses of units (records of several
	// rows) that are weighted sums of such losses.
	OfRows
	// OfParts contains the losses of OfRows, losses of several margins, and losses with a score that are sums of functions of
	// one product each.
	OfParts
	// Twice contains the losses that can compute the product of their Hessian and a vector: losses
	// of margins, and other losses with a method for it.
	Twice
)

// Scored stands in Suits for the number of margins of a loss phi(<w,x>, theta, y) with parameters theta beside the
// score, such as the thresholds between ordered classes.
const Scored = -1

// Margins returns the number of margins of the loss l as Suits takes it. count is the number of a loss of margins, and 0
// for any other loss. A loss with a score says that it has no layers.
func Margins(l any, count int) int {
	if s, ok := l.(interface{ Layers() ([]int, string) }); ok {
		if layers, _ := s.Layers(); len(layers) == 0 {
			return Scored
		}
	}
	return count
}

// Suits reports whether the kind is defined for a loss with the given number of margins, which is Scored or 0
// for a loss that is not a function of margins <w,x> and computes its gradient itself. products
// reports whether the loss can compute products of its Hessian with a vector. unit reports whether the
// loss is the loss of a unit of rows that have one margin each.
func (f Facts) Suits(margins int, products, unit bool) bool {
	switch f.Losses {
	case OfRows:
		return margins == 1 || unit
	case OfParts:
		return margins != 0 || unit
	case OfMargins:
		return margins != 0
	case OfOneMargin:
		return margins == 1
	case Twice:
		return products
	}
	return true
}

// Centring says which points may be the centre of a kind's clip ball.
type Centring uint8

const (
	// AtZero allows only the centre zero.
	AtZero Centring = iota
	// AlongStep allows a multiple of the displacement W - Prev between the term's points. For a product with Hessians,
	// it allows a multiple of the vector that is multiplied. The clip ball must contain zero.
	AlongStep
	// Anywhere allows any finite public number.
	Anywhere
)

// Ways is a set of ways in which a query may use a kind. A query with a single term, about all records or
// a cohort, is allowed for every kind and is not in the set.
type Ways uint8

const (
	// Mixed allows the kind in a query of several terms, which are added.
	Mixed Ways = 1 << iota
	// Candidate allows the kind as a candidate of a [Selection].
	Candidate
	// Item allows the kind in an item of a prefix sum (see [Prefix]).
	Item
	// Sampled allows the kind in a query about a Poisson sample of the records.
	Sampled
)

// table has the facts of each kind.
var table = [...]Facts{
	Gradient:   {Name: "gradient", Uses: Mixed | Item | Sampled, Smooths: true},
	Difference: {Name: "difference", Centre: AlongStep, Uses: Mixed | Item | Sampled, Smooths: true},
	Value:      {Name: "value", Number: true, Centre: Anywhere, Uses: Mixed | Candidate | Sampled},
	Norm:       {Name: "norm", Normed: true, Roundings: 1, Uses: Candidate | Sampled, Smooths: true},

	SecondMoment:   {Name: "second moment", Pairs: true, Losses: NoLoss},
	Curvature:      {Name: "curvature", Pairs: true, Losses: OfOneMargin},
	MetricGradient: {Name: "gradient in a metric", Metric: true, Lifted: true, Losses: OfMargins, Smooths: true},
	SquaredSlope: {Name: "squared slope", Number: true, Centre: Anywhere, Metric: true, Losses: OfMargins,
		Smooths: true},
	Product:        {Name: "Hessian product", Centre: AlongStep, Losses: Twice},
	ProductChange:  {Name: "difference of Hessian products", Losses: Twice},
	CurvatureAlong: {Name: "curvature along a direction", Number: true, Centre: Anywhere, Losses: Twice},

	ValueChange: {Name: "difference of values", Number: true, Centre: Anywhere},

	RowMean:         {Name: "mean row", Losses: NoLoss},
	SquaredDistance: {Name: "squared distance", Number: true, Centre: Anywhere, Losses: NoLoss},
	CentredMoment:   {Name: "centred second moment", Pairs: true, Losses: NoLoss},

	WeightedGradient:  {Name: "weighted gradient", Losses: OfParts, Weighted: true},
	WeightedCurvature: {Name: "weighted curvature", Pairs: true, Losses: OfParts, Weighted: true},
	ScoreMoment:       {Name: "second moment of weighted gradients", Pairs: true, Losses: OfParts, Weighted: true},
	WeightedMoment:    {Name: "weighted second moment", Pairs: true, Losses: OfRows, Weighted: true},

	SquaredFeatures: {Name: "squared features", Blocks: true, Losses: NoLoss},
}

// Kinds returns all kinds.
func Kinds() []Kind {
	list := make([]Kind, 0, len(table)-1)
	for k := range table[1:] {
		list = append(list, Kind(k+1))
	}
	return list
}

// Facts returns the kind's facts, or zero facts for an invalid kind.
func (k Kind) Facts() Facts {
	if int(k) >= len(table) {
		return Facts{}
	}
	return table[k]
}

// May reports whether a query may use the kind in all ways of the set u.
func (k Kind) May(u Ways) bool { return k.Facts().Uses&u == u }

// SumDim returns the number of coordinates that are summed over records, if the points have dim
// coordinates, without those of the pairs in a block (see Term.SumDim).
func (f Facts) SumDim(dim int) int {
	switch {
	case f.Number:
		return 1
	case f.Pairs:
		return dim * (dim + 1) / 2
	}
	return dim
}

// WithinRightAngle reports whether the angle between any two contributions is at most a right angle.
func (f Facts) WithinRightAngle() bool { return f.Pairs || f.Blocks }

// Moves returns the largest change of the sum by one record, in units of the clip norm. Under
// add-or-remove it is 1. Under replace-one it is 2 in general. It is sqrt 2, rounded up, for vectors
// any two of which have an angle of at most a right angle.
func (f Facts) Moves(r account.Relation) float64 {
	switch {
	case r == account.AddOrRemove:
		return 1
	case f.WithinRightAngle():
		return math.Sqrt2
	}
	return 2
}

// Dim returns the number of coordinates of the answer, if the points have dim coordinates.
func (f Facts) Dim(dim int) int {
	if f.Normed {
		return 1
	}
	return f.SumDim(dim)
}

func (k Kind) String() string {
	if name := k.Facts().Name; name != "" {
		return name
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// plurals returns the names, each with an s, of the kinds that a query may use in all ways of the set u. It
// is used in error messages.
func plurals(u Ways) string {
	var names []string
	for _, k := range Kinds() {
		if k.May(u) {
			names = append(names, k.String()+"s")
		}
	}
	return strings.Join(names, " or all ")
}
