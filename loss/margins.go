package loss

import (
	"fmt"
	"math"
)

// Margins is a loss phi(W x, y) of several margins z = W x, K of them: the
// parameters are the rows of W, one after the other, each with as many
// coordinates as x. Its gradient is the outer product of d phi/dz and x, of norm
// ||d phi/dz|| ||x||.
//
// The methods work on a block of len(y) records. The margins of record i are
// z[i*K] to z[(i+1)*K-1], and so are its slopes: len(z), len(u) and, but for Values,
// len(dst) are K len(y), for Values len(dst) is len(y), or they panic. dst must overlap
// neither z nor u nor y. A NaN among a record's margins or its u, or a target that is
// not one, gives a NaN in what is written for the record.
type Margins interface {
	Loss
	// K is the number of margins, at least 2: a loss of one is a RankOne.
	K() int
	Values(dst, z, y []float64) // phi
	Slopes(dst, z, y []float64) // d phi/dz
	// CurvaturesAlong is d2 phi/dz2, a matrix of K rows for a record, times its u.
	CurvaturesAlong(dst, z, u, y []float64)
}

// Twice is a General loss that also writes the product of its Hessian and a vector,
// to dst. Lengths are as for Gradient, len(v) being len(w). Where the second derivative
// has corners it is either side's. What is asked about products, such as curvature
// along a direction, is asked of losses of margins and of these.
type Twice interface {
	General
	HessianVector(dst, w, v []float64, x []float32, y float64)
}

// Products reports whether a loss can tell products of its Hessian and a vector.
func Products(l Loss) bool {
	_, writes := l.(Twice)
	return writes || Count(l) > 0
}

// Shaped is a General loss that has other parameters than one for each feature.
type Shaped interface {
	General
	// Parameters returns how many it has for rows of so many features, at least 1.
	// It depends on nothing else.
	Parameters(features int) int
}

// Parameters returns how many parameters a loss has for rows of so many features.
func Parameters(l Loss, features int) int {
	switch l := l.(type) {
	case Margins:
		return l.K() * features
	case Shaped:
		return l.Parameters(features)
	}
	return features
}

// Count returns how many margins a loss is of: none for one that writes its own
// gradient.
func Count(l Loss) int {
	switch l := l.(type) {
	case RankOne:
		return 1
	case Margins:
		return l.K()
	}
	return 0
}

// Check returns an error unless a loss is of exactly one form, and says how many
// parameters it has for rows of so many features.
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
	return 0, fmt.Errorf("loss: %s: parameters = %d for %d features: must be between 1 and %d", l.Name(), Parameters(l, features), features, mostParameters)
}

// mostMargins keeps a tile's scratch small, mostParameters is what the curator's
// bounds of rounding errors are made for.
const mostMargins, mostParameters = 1 << 12, 1 << 24

// Targets describe what the targets of a table are.
type Targets struct {
	Classes  int     // how many; none means numbers
	Weighted bool    // they carry weights of their records
	Least    float64 // they carry exposures, shares of the largest of at least this; 0 for none
}

// Suits returns an error unless a loss is for such targets.
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
		return fmt.Errorf("loss %s: takes weights by row: %v: the target is declared with weights: %v: must be alike", l.Name(), RowWeighted(l), t.Weighted)
	case LeastExposure(l) != t.Least:
		return fmt.Errorf("loss %s: takes exposures from %v (0: none) of the largest: the target is declared with %v: must be alike", l.Name(), LeastExposure(l), t.Least)
	}
	return nil
}

// expected says in words what a loss expects of its target.
func expected(l Loss) string {
	switch l.Target() {
	case Binary:
		return "two classes"
	case Classes:
		return fmt.Sprintf("%d classes", ClassCount(l))
	}
	return "a number"
}

// ClassCount returns the number of classes that a loss of margins, or of a network's
// outputs, is for; 0 for any other.
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

// Joint returns a loss of several margins as a function of all its parameters. It
// allocates, and serves measures; sessions take the loss itself.
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
	for k, s := range slope {
		for i, v := range x {
			dst[k*len(x)+i] = float64(s * float64(v))
		}
	}
}

func (j joint) HessianVector(dst, w, v []float64, x []float32, y float64) {
	checkShape(len(dst), len(w), len(w))
	checkShape(len(v), len(w), len(w))
	z := MarginsAt(w, x)
	bend := make([]float64, len(z))
	j.of.CurvaturesAlong(bend, z, MarginsAt(v, x), []float64{y})
	for k, b := range bend {
		for i, a := range x {
			dst[k*len(x)+i] = float64(b * float64(a))
		}
	}
}

// MarginsAt returns W x. It panics unless len(w) is a multiple of len(x).
func MarginsAt(w []float64, x []float32) []float64 {
	if len(x) == 0 || len(w)%len(x) != 0 {
		panic(fmt.Sprintf("loss: len(w) = %d, len(x) = %d: must be a multiple", len(w), len(x)))
	}
	z := make([]float64, len(w)/len(x))
	for k := range z {
		for i, v := range x {
			z[k] = math.FMA(w[k*len(x)+i], float64(v), z[k])
		}
	}
	return z
}

// sameRecords checks the lengths of a block of records of k margins.
func sameRecords(dst, each int, z, y []float64, k int) {
	if len(z) != k*len(y) || dst != each*len(y) {
		panic(fmt.Sprintf("loss: len(dst) = %d, len(z) = %d, len(y) = %d: must be %d, %d and 1 for each record", dst, len(z), len(y), each, k))
	}
}
