package loss

import (
	"fmt"
	"math"
)

// Margins is a loss phi(W x, y) of K margins z = W x. The parameters are the rows of W in order, each with as
// many coordinates as x. The gradient is the outer product of d phi/dz and x. Its norm is ||d phi/dz|| ||x||.
//
// The methods work on a block of len(y) records. Record i has the margins z[i*K] to z[(i+1)*K-1].
// The slopes of a record and its entries of u have the same layout. len(z) and len(u) must be K len(y).
// len(dst) must be len(y) for Values and K len(y) for the other methods. The methods panic if a
// length is wrong. dst must overlap none of z, u and y. If a margin or an entry of u of a record is NaN,
// or its target is invalid, at least one result of the record is NaN.
type Margins interface {
	Loss
	// K is the number of margins, at least 2: a loss of one margin is a RankOne.
	K() int
	Values(dst, z, y []float64) // phi
	Slopes(dst, z, y []float64) // d phi/dz
	// CurvaturesAlong writes, for each record, the product of the K x K matrix d2 phi/dz2 and the K
	// entries of u for this record.
	CurvaturesAlong(dst, z, u, y []float64)
}

// Twice is a General loss that can also multiply its Hessian by a vector. HessianVector writes the product of the
// Hessian at w and v to dst. len(dst), len(w) and len(v) must be Parameters(l, len(x)) for the loss l. Where the second
// derivative jumps, either of its one-sided values may be used. Queries that need Hessian products, such as curvature
// along a direction, are available only for losses of margins and for Twice losses.
type Twice interface {
	General
	HessianVector(dst, w, v []float64, x []float32, y float64)
}

// Products reports whether products of the loss's Hessian and a vector are available: the loss is a
// RankOne, a Margins or a [Twice].
func Products(l Loss) bool {
	_, writes := l.(Twice)
	return writes || Count(l) > 0
}

// UnitOfMargin reports whether a loss is a [Units] loss whose row loss has a single margin.
func UnitOfMargin(l Loss) bool {
	u, ok := l.(Units)
	if ok {
		_, ok = u.Row().(RankOne)
	}
	return ok
}

// Shaped is a General loss whose number of parameters is not the number of features.
type Shaped interface {
	General
	// Parameters returns the number of parameters for rows of the given number of features. The result
	// depends on the number of features only. A result below 1 means that no such row exists.
	Parameters(features int) int
}

// Parameters returns the number of parameters of a loss for rows of the given number of features.
func Parameters(l Loss, features int) int {
	switch l := l.(type) {
	case Margins:
		return l.K() * features
	case Shaped:
		return l.Parameters(features)
	}
	return features
}

// Count returns the number of margins of a loss: 1 for a RankOne, K for a Margins. It returns 0 for a General
// loss, which computes its gradient itself.
func Count(l Loss) int {
	switch l := l.(type) {
	case RankOne:
		return 1
	case Margins:
		return l.K()
	}
	return 0
}

// Check returns the number of parameters of a loss for rows of the given number of features. It returns an error unless
// the loss has exactly one form (RankOne, Margins or General) and an allowed number of margins and parameters.
func Check(l Loss, features int) (parameters int, err error) {
	forms := 0
	if _, ok := l.(RankOne); ok {
		forms++
	}
	if _, ok := l.(General); ok {
		forms++
	}
	if m, ok := l.(Margins); ok {
		forms++
		if m.K() < 2 || m.K() > mostMargins {
			return 0, fmt.Errorf("loss: %s: margins = %d: must be between 2 and %d", l.Name(), m.K(), mostMargins)
		}
	}
	if forms != 1 {
		return 0, fmt.Errorf("loss: %s: must be a RankOne, a Margins or a General, and of one form only", l.Name())
	}
	if n := Parameters(l, features); n >= 1 && n <= mostParameters {
		return n, nil
	}
	return 0, fmt.Errorf("loss: %s: parameters = %d for %d features: must be between 1 and %d", l.Name(),
		Parameters(l, features), features, mostParameters)
}

// mostMargins is the largest number of margins of a loss. It bounds the scratch memory for a block of
// records. mostParameters is the largest number of parameters. The curator's bounds on rounding errors
// are proven up to this number.
const mostMargins, mostParameters = 1 << 12, 1 << 24

// Targets describe the target column of a table.
type Targets struct {
	Classes  int     // number of classes; 0 means that targets are numbers
	Weighted bool    // each target also encodes the weight of its record (see Carry)
	Least    float64 // least exposure, as a fraction of the largest; 0 if targets encode no exposures
}

// Suits returns an error unless loss l accepts the targets t: the kind of target and the number of classes,
// and whether targets encode weights or exposures.
func Suits(l Loss, t Targets) error {
	declared := fmt.Sprintf("%d classes", t.Classes)
	if t.Classes == 0 {
		declared = "a number"
	}
	switch of := l.Target(); {
	case of == Real && t.Classes == 0, of == Binary && t.Classes == 2:
	case of == Classes && t.Classes > 0 && ClassCount(l) == t.Classes:
	default:
		return fmt.Errorf("loss %s is for %s: the target is declared as %s", l.Name(), expected(l), declared)
	}
	switch {
	case RowWeighted(l) != t.Weighted:
		return fmt.Errorf("loss %s: takes weights by row: %v: the target is declared with weights: %v: must be alike",
			l.Name(), RowWeighted(l), t.Weighted)
	case LeastExposure(l) != t.Least:
		return fmt.Errorf("loss %s: takes exposures from %v (0: none) of the largest: the target is declared with %v: "+
			"must be alike", l.Name(), LeastExposure(l), t.Least)
	}
	return nil
}

// expected describes in words the target that a loss expects.
func expected(l Loss) string {
	switch l.Target() {
	case Binary:
		return "two classes"
	case Classes:
		return fmt.Sprintf("%d classes", ClassCount(l))
	}
	return "a number"
}

// ClassCount returns the number of classes of a loss of margins, of a network's output loss, or of the row
// loss of a [Units]. It returns 0 if the targets are not class numbers.
func ClassCount(l Loss) int {
	if l.Target() != Classes {
		return 0
	}
	switch l := l.(type) {
	case Margins:
		return l.K()
	case joint:
		return l.of.K()
	case Composed:
		return ClassCount(l.Output())
	case Units:
		return ClassCount(l.Row())
	}
	return 0
}

// Joint returns a loss of several margins W x as a General loss of all entries of W. The General loss allocates memory
// for each record, and is meant for measurements. Sessions evaluate the Margins loss directly.
func Joint(m Margins) Shaped { return joint{m} }

type joint struct{ of Margins }

func (j joint) Name() string                { return j.of.Name() }
func (j joint) Constants() Constants        { return j.of.Constants() }
func (j joint) Target() Target              { return j.of.Target() }
func (j joint) Parameters(features int) int { return Parameters(j.of, features) }

func (j joint) Value(w []float64, x []float32, y float64) float64 {
	dst := []float64{math.NaN()}
	j.of.Values(dst, MarginsAt(w, x), []float64{y})
	return dst[0]
}

func (j joint) Gradient(dst, w []float64, x []float32, y float64) {
	checkShape(len(dst), len(w), len(w))
	z := MarginsAt(w, x)
	slope := make([]float64, len(z))
	j.of.Slopes(slope, z, []float64{y})
	outer(dst, slope, x)
}

func (j joint) HessianVector(dst, w, v []float64, x []float32, y float64) {
	checkShape(len(dst), len(w), len(w))
	checkShape(len(v), len(w), len(w))
	z := MarginsAt(w, x)
	curvature := make([]float64, len(z))
	j.of.CurvaturesAlong(curvature, z, MarginsAt(v, x), []float64{y})
	outer(dst, curvature, x)
}

// outer writes to dst the outer product of s and x, whose rows follow one another.
func outer(dst, s []float64, x []float32) {
	for k, s := range s {
		row := dst[k*len(x):][:len(x)]
		for i, v := range x {
			row[i] = float64(s * float64(v))
		}
	}
}

// MarginsAt returns the margins W x of the row x, where w holds the rows of the matrix W one after
// the other. It panics unless len(w) is a multiple of len(x).
func MarginsAt(w []float64, x []float32) []float64 {
	if len(x) == 0 || len(w)%len(x) != 0 {
		panic(fmt.Sprintf("loss: len(w) = %d, len(x) = %d: must be a multiple", len(w), len(x)))
	}
	z := make([]float64, len(w)/len(x))
	scores(z, w, x)
	return z
}

// scores sets z to W x, where w begins with the len(z) rows of the matrix W.
func scores(z, w []float64, x []float32) {
	for k := range z {
		z[k] = score(w[k*len(x):(k+1)*len(x)], x)
	}
}

// score returns <w, x>.
func score(w []float64, x []float32) (z float64) {
	for i, v := range x {
		z = math.FMA(w[i], float64(v), z)
	}
	return z
}

// sameRecords panics unless the lengths fit a block of len(y) records. z must have k margins for every
// record, and dst must have as many numbers for every record as the argument each says.
func sameRecords(dst, each int, z, y []float64, k int) {
	if len(z) != k*len(y) || dst != each*len(y) {
		panic(fmt.Sprintf("loss: len(dst) = %d, len(z) = %d, len(y) = %d: must be %d, %d and 1 for each record", dst, len(z),
			len(y), each, k))
	}
}
