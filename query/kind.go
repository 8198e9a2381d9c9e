package query

import (
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Kind names what a term computes from one record.
type Kind uint8

const (
	// Gradient is the gradient of the record's loss at W.
	Gradient Kind = iota + 1
	// Difference is the gradient at W less the gradient at Prev.
	Difference
	// Value is the record's loss at W, a scalar.
	Value
	// Norm is the gradient at W, of whose sum over records the norm is asked.
	Norm
	// SecondMoment is x x', the record's features times themselves, whatever the
	// loss.
	SecondMoment
	// Curvature is phi'' x x', the Hessian of the record's loss at W.
	Curvature
	// MetricGradient is the gradient at W times a public matrix, the metric, in
	// which it is clipped.
	MetricGradient
	// SquaredSlope is the squared norm of what MetricGradient clips, a scalar.
	SquaredSlope
	// Product is the Hessian of the record's loss at W times a public vector.
	Product
	// ProductChange is that product at W less the one at Prev.
	ProductChange
	// CurvatureAlong is v'Hv, H being the Hessian of the record's loss at W and v a
	// public vector: a scalar.
	CurvatureAlong
	// ValueChange is the record's loss at W less its loss at Prev, a scalar.
	ValueChange
	// RowMean is x, the record's features, whatever the loss.
	RowMean
	// SquaredDistance is ||x - W||^2, W being a public point among the rows, whatever the
	// loss: a scalar.
	SquaredDistance
	// CentredMoment is z z', z being x - W shortened to a public length, whatever the loss.
	CentredMoment
)

// Facts is an entry of the table of kinds: what is publicly true of a kind. The
// engine has an entry beside it that computes the kind, and the kernel's tests
// one that computes it slowly; sessions, audits and tests go by the tables, and
// name no kind themselves.
//
// One record moves the sum of any kind by its clip norm, since whatever a record
// contributes is clipped to its ball; Moves says what two records, one in the
// other's place, move it by.
type Facts struct {
	// Name is how questions and events call it.
	Name string
	// Number says that a record contributes one number, clipped to an interval;
	// otherwise a vector with one coordinate for each of the point's.
	Number bool
	// Pairs says that the vector is a multiple, not negative, of the products of
	// the record's features, or of what is made of them feature by feature, one
	// coordinate for each pair of them (svec). The angle between any two such vectors
	// is at most a right one.
	Pairs bool
	// Losses says of which losses it is asked.
	Losses Losses
	// Metric says that contributions are measured by a metric, Lifted that their sum
	// is multiplied by its matrix.
	Metric, Lifted bool
	// Centre says where the clip ball may lie.
	Centre Centring
	// Normed says that the answer is one number, the norm of the sum and a public
	// shift. It moves by no more than the sum does.
	Normed bool
	// Roundings is how often the answer is rounded after the sum: each time it
	// may move by a grid step more than the sum.
	Roundings int
	// Uses are the ways in which it may be asked.
	Uses Ways
	// Smooths says that it may be asked of a smoothed loss (Term.Smoothed).
	Smooths bool
}

// Losses says of which losses a kind is asked.
type Losses uint8

const (
	// AnyLoss is all of them, at points of as many coordinates as there are
	// parameters.
	AnyLoss Losses = iota
	// NoLoss is none: the kind is of features, whatever the loss, and its point has
	// one coordinate a feature.
	NoLoss
	// OfMargins is losses phi(W x, y), of one margin or of several.
	OfMargins
	// OfOneMargin is losses phi(<w,x>, y).
	OfOneMargin
	// Twice is losses that can tell the product of their Hessian and a vector: those
	// of margins, and those others that write it.
	Twice
)

// Suits reports whether the kind is asked of losses of so many margins, none for
// those that write their own gradient; products says whether they can tell products
// of their Hessian.
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

// Centring says where the ball of a kind may lie.
type Centring uint8

const (
	// AtZero has no centre but zero.
	AtZero Centring = iota
	// AlongStep has a multiple of the term's step, which is what a Product is
	// taken with, and holds zero.
	AlongStep
	// Anywhere is any public number.
	Anywhere
)

// Ways is a set of ways in which a kind may be asked, beside a question of its own
// about all records or a cohort.
type Ways uint8

const (
	// Mixed is a term beside others.
	Mixed Ways = 1 << iota
	// Candidate is a candidate of a selection.
	Candidate
	// Item is an item of a prefix sum.
	Item
	// Sampled is a question about a Poisson sample.
	Sampled
)

// table has an entry for each kind: its facts, and the ways in which audits ask
// it, at least one. What moves an answer most differs from form to form.
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

// Facts returns the kind's entry; that of no kind is zero.
func (k Kind) Facts() Facts {
	if int(k) >= len(table) {
		return Facts{}
	}
	return table[k].Facts
}

// Forms returns the ways in which audits ask it; none for no kind.
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

// May reports whether the kind may be asked in all of these ways.
func (k Kind) May(u Ways) bool { return k.Facts().Uses&u == u }

// SumDim returns how many coordinates are summed over records, for points of dim.
func (f Facts) SumDim(dim int) int {
	switch {
	case f.Number:
		return 1
	case f.Pairs:
		return dim * (dim + 1) / 2
	}
	return dim
}

// Moves returns how many clip norms one record moves the sum by at most: two
// under replace-one, in general, but only sqrt 2 (rounded up, as the constant is)
// for vectors that are never more than a right angle apart.
func (f Facts) Moves(r account.Relation) float64 {
	switch {
	case r == account.AddOrRemove:
		return 1
	case f.Pairs:
		return math.Sqrt2
	}
	return 2
}

// Dim returns how many coordinates the answer has, for points of dim.
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

// plurals lists the kinds that may be asked in a way, for an error.
func plurals(u Ways) string {
	var names []string
	for _, k := range Kinds() {
		if k.May(u) {
			names = append(names, k.String()+"s")
		}
	}
	return strings.Join(names, " or all ")
}
