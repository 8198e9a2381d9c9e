package query

import (
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Kind names the function of one record that a term computes.
type Kind uint8

const (
	// Gradient is the gradient of the record's loss at W.
	Gradient Kind = iota + 1
	// Difference is the gradient at W minus the gradient at Prev.
	Difference
	// Value is the record's loss at W, a scalar.
	Value
	// Norm is the gradient at W. The answer is the norm of its sum over records.
	Norm
	// SecondMoment is x x', the outer product of the record's features with themselves. It does not
	// depend on the loss.
	SecondMoment
	// Curvature is phi'' x x', the Hessian of the record's loss at W.
	Curvature
	// MetricGradient is the gradient at W times a public matrix, the metric, in
	// which it is clipped.
	MetricGradient
	// SquaredSlope is the squared norm of the vector that MetricGradient clips, a scalar.
	SquaredSlope
	// Product is the Hessian of the record's loss at W times a public vector.
	Product
	// ProductChange is the Product at W minus the Product at Prev.
	ProductChange
	// CurvatureAlong is v'Hv, a scalar, for the Hessian H of the record's loss at W and a public
	// vector v.
	CurvatureAlong
	// ValueChange is the record's loss at W minus its loss at Prev, a scalar.
	ValueChange
	// RowMean is x, the record's features, whatever the loss.
	RowMean
	// SquaredDistance is ||x - W||^2, W being a public point among the rows, whatever the
	// loss: a scalar.
	SquaredDistance
	// CentredMoment is z z', z being x - W shortened to a public length, whatever the loss.
	CentredMoment
)

// Facts is an entry of the table of kinds: the public properties of a kind. The engine has an entry
// for each kind that computes it, and the kernel's tests have one that computes it slowly.
// Sessions, audits and tests use these tables and name no kind themselves.
//
// Adding a record moves the sum of any kind by at most its clip norm, since every contribution is
// clipped to its ball. Moves returns the number of clip norms by which replacing a record moves it.
type Facts struct {
	// Name is the kind's name in queries and events.
	Name string
	// Number reports that a record contributes one number, clipped to an interval. Otherwise it
	// contributes a vector with one coordinate for each coordinate of the point, or as Pairs says.
	Number bool
	// Pairs reports that the vector is a nonnegative multiple of the products of the record's
	// features, or of numbers computed feature by feature, one coordinate for each pair of them
	// (svec). The angle between any two such vectors is at most a right angle.
	Pairs bool
	// Losses is the set of losses for which the kind is defined.
	Losses Losses
	// Metric reports that contributions are measured in a metric. Lifted reports that their sum is
	// multiplied by the metric's matrix.
	Metric, Lifted bool
	// Centre restricts the centre of the clip ball.
	Centre Centring
	// Normed reports that the answer is one number, the norm of the sum plus a public shift. It
	// moves by at most as much as the sum.
	Normed bool
	// Roundings is the number of times the answer is rounded after the sum. Each time it may move
	// by one grid step more than the sum.
	Roundings int
	// Uses are the ways in which the kind may be asked.
	Uses Ways
	// Smooths reports that the kind may be asked of a smoothed loss (Term.Smoothed).
	Smooths bool
}

// Losses is a set of losses for which a kind is defined.
type Losses uint8

const (
	// AnyLoss contains every loss. Points have one coordinate for each parameter.
	AnyLoss Losses = iota
	// NoLoss means that the kind depends on features and not on the loss. Points have one
	// coordinate for each feature.
	NoLoss
	// OfMargins contains the losses phi(W x, y), of one margin or several.
	OfMargins
	// OfOneMargin contains the losses phi(<w,x>, y).
	OfOneMargin
	// Twice contains the losses that can compute the product of their Hessian and a vector: losses
	// of margins, and other losses with a method for it.
	Twice
)

// Suits reports whether the kind is defined for a loss with the given number of margins, 0 for a
// loss that writes its own gradient. products reports whether the loss can compute products with
// its Hessian.
func (f Facts) Suits(margins int, products bool) bool {
	switch f.Losses {
	case OfMargins:
		return margins >= 1
	case OfOneMargin:
		return margins == 1
	case Twice:
		return products
	}
	return true
}

// Centring restricts the centre of a kind's clip ball.
type Centring uint8

const (
	// AtZero allows only the centre zero.
	AtZero Centring = iota
	// AlongStep allows a multiple of the term's step (for a Product, of its vector), such that the
	// ball contains zero.
	AlongStep
	// Anywhere allows any public number.
	Anywhere
)

// Ways is a set of ways in which a kind may be asked, besides a query of its own about all records
// or a cohort.
type Ways uint8

const (
	// Mixed allows a term beside others.
	Mixed Ways = 1 << iota
	// Candidate allows a candidate of a selection.
	Candidate
	// Item allows an item of a prefix sum.
	Item
	// Sampled allows a query about a Poisson sample.
	Sampled
)

// table has an entry for each kind: its facts, and its forms, at least one. The forms of a kind
// differ in the records that move the answer most.
var table = [...]struct {
	Facts
	forms []Form
}{
	Gradient:   {Facts{Name: "gradient", Uses: Mixed | Item | Sampled, Smooths: true}, gradientForms},
	Difference: {Facts{Name: "difference", Centre: AlongStep, Uses: Mixed | Item | Sampled, Smooths: true}, differenceForms},
	Value:      {Facts{Name: "value", Number: true, Centre: Anywhere, Uses: Mixed | Candidate | Sampled}, valueForms},
	Norm:       {Facts{Name: "norm", Normed: true, Roundings: 1, Uses: Candidate | Sampled, Smooths: true}, normForms},

	SecondMoment:   {Facts{Name: "second moment", Pairs: true, Losses: NoLoss}, momentForms},
	Curvature:      {Facts{Name: "curvature", Pairs: true, Losses: OfOneMargin}, curvatureForms},
	MetricGradient: {Facts{Name: "gradient in a metric", Metric: true, Lifted: true, Losses: OfMargins, Smooths: true}, metricForms},
	SquaredSlope:   {Facts{Name: "squared slope", Number: true, Centre: Anywhere, Metric: true, Losses: OfMargins, Smooths: true}, slopeForms},
	Product:        {Facts{Name: "Hessian product", Centre: AlongStep, Losses: Twice}, productForms},
	ProductChange:  {Facts{Name: "difference of Hessian products", Losses: Twice}, productChangeForms},
	CurvatureAlong: {Facts{Name: "curvature along a direction", Number: true, Centre: Anywhere, Losses: Twice}, alongForms},

	ValueChange: {Facts{Name: "difference of values", Number: true}, valueChangeForms},

	RowMean:         {Facts{Name: "mean row", Losses: NoLoss}, rowMeanForms},
	SquaredDistance: {Facts{Name: "squared distance", Number: true, Centre: Anywhere, Losses: NoLoss}, distanceForms},
	CentredMoment:   {Facts{Name: "centred second moment", Pairs: true, Losses: NoLoss}, centredForms},
}

// Kinds returns all kinds.
func Kinds() []Kind {
	list := make([]Kind, 0, len(table)-1)
	for k := range table[1:] {
		list = append(list, Kind(k+1))
	}
	return list
}

// Facts returns the kind's entry, zero for an invalid kind.
func (k Kind) Facts() Facts {
	if int(k) >= len(table) {
		return Facts{}
	}
	return table[k].Facts
}

// Forms returns the ways in which audits ask the kind, none for an invalid kind.
func (k Kind) Forms() []Form {
	if int(k) >= len(table) {
		return nil
	}
	var list []Form
	for _, f := range table[k].forms {
		list = append(list, f.smoothed())
	}
	return list
}

// May reports whether the kind may be asked in all ways of u.
func (k Kind) May(u Ways) bool { return k.Facts().Uses&u == u }

// SumDim returns the number of coordinates that are summed over records, for points of dim
// coordinates.
func (f Facts) SumDim(dim int) int {
	switch {
	case f.Number:
		return 1
	case f.Pairs:
		return dim * (dim + 1) / 2
	}
	return dim
}

// Moves returns the largest number of clip norms by which one record moves the sum. Under
// add-or-remove it is 1. Under replace-one it is 2 in general, and sqrt 2 (rounded up, as the
// constant is) for vectors at angles of at most a right angle.
func (f Facts) Moves(r account.Relation) float64 {
	switch {
	case r == account.AddOrRemove:
		return 1
	case f.Pairs:
		return math.Sqrt2
	}
	return 2
}

// Dim returns the number of coordinates of the answer, for points of dim coordinates.
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

// plurals lists the kinds that may be asked in the ways u, for an error.
func plurals(u Ways) string {
	var names []string
	for _, k := range Kinds() {
		if k.May(u) {
			names = append(names, k.String()+"s")
		}
	}
	return strings.Join(names, " or all ")
}
