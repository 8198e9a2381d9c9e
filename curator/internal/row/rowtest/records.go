// Package rowtest has the conformance suite for sources of rows, and records for tests of sources
// and engines.
package rowtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Record is one record in the form that a source of a layout accepts: its numbers X, the level of its one-hot groups,
// and the index In of its nonzero feature in each group. A record with hats, the values of curves' basis functions,
// also has edges, which are pairs of neighbouring hats. At has, for each edge, the index of its left feature, counted
// from the first of the hats. By has, for each edge, the values of its two features.
type Record struct {
	Of    *row.Layout
	X     []float32
	Level float32
	In    []uint32
	At    []uint32
	By    []float32
	Y     float64
	OK    bool
}

// Sound reports whether a source must store the record as given. A source must store a record that is not
// sound as faulty: a row of zeros with target NaN.
func (r Record) Sound() bool {
	if !r.OK || len(r.X) != r.Of.Numbers() || len(r.In) != r.Of.Groups() || !(math.Abs(r.Y) <= math.MaxFloat64) {
		return false
	}
	for g, k := range r.In {
		if int(k) >= r.Of.Group(g).Width {
			return false
		}
	}
	return r.Square() <= row.MaxSquare
}

// Square returns the squared norm of the row: the sum of the squares of its numbers, its hats (values
// of curves' basis functions) and its one-hot groups' nonzero features.
func (r Record) Square() (square float64) {
	for _, v := range r.X {
		square += float64(float64(v) * float64(v))
	}
	for _, v := range r.By {
		square += float64(float64(v) * float64(v))
	}
	return square + float64(float64(len(r.In))*float64(float64(r.Level)*float64(r.Level)))
}

// Hats calls each for every feature of the record's edges, the pairs of neighbouring hats that are
// not zero: for the left feature of an edge and for the feature after it.
func (r Record) Hats(each func(feature int, v float32)) {
	e := 0
	for _, h := range r.Of.Hats() {
		for range h.Edges {
			at := h.First + int(r.At[e])
			each(at, r.By[2*e])
			each(at+1, r.By[2*e+1])
			e++
		}
	}
}

// Numbers returns the indices of the features that a layout stores as numbers: features that are in no
// one-hot group and are no hats.
func Numbers(l *row.Layout) (features []int) {
	other := make([]bool, l.Dim())
	for i := range l.Groups() {
		g := l.Group(i)
		for j := range g.Width {
			other[g.First+j] = true
		}
	}
	for _, h := range l.Hats() {
		for j := range h.Width {
			other[h.First+j] = true
		}
	}
	for j := range other {
		if !other[j] {
			features = append(features, j)
		}
	}
	return features
}

// Full returns all features of a sound record, including zeros.
func (r Record) Full() []float32 {
	x := make([]float32, r.Of.Dim())
	for i, j := range Numbers(r.Of) {
		x[j] = r.X[i]
	}
	for g, k := range r.In {
		x[r.Of.Group(g).First+int(k)] = r.Level
	}
	r.Hats(func(feature int, v float32) { x[feature] = v })
	return x
}

// Dense returns the layout of rows of dim numbers.
func Dense(dim int) *row.Layout { return Coded(dim) }

// Coded returns the layout of rows of dim features with one-hot groups.
func Coded(dim int, groups ...row.Group) *row.Layout {
	l, err := row.NewLayout(dim, groups)
	if err != nil {
		panic(err)
	}
	return l
}

// Layouts returns layouts that cover the cases of the engines' code. Layouts of numbers only have fewer than one lane
// of 8, one lane, or more. Layouts with groups have them at the start, at the end or adjacent, have fewer or more
// groups than the code sums side by side, or have codes that do not fit in 16 bits.
func Layouts() map[string]*row.Layout {
	var many []row.Group
	for i := range 9 {
		many = append(many, row.Group{First: 2*i + 1, Width: 2})
	}
	return map[string]*row.Layout{
		"1 number":    Dense(1),
		"8 numbers":   Dense(8),
		"11 numbers":  Dense(11),
		"2 groups":    Coded(11, row.Group{First: 2, Width: 3}, row.Group{First: 6, Width: 4}),
		"9 groups":    Coded(20, many...),
		"ends":        Coded(12, row.Group{First: 0, Width: 2}, row.Group{First: 2, Width: 4}, row.Group{First: 9, Width: 3}),
		"alone":       Coded(4, row.Group{First: 0, Width: 3}),
		"last":        Coded(3, row.Group{First: 1, Width: 2}),
		"wide groups": Coded(1<<16+7, row.Group{First: 0, Width: 2}, row.Group{First: 2, Width: 1 << 16}),
	}
}

// Hatted returns the layout of rows of dim features with one-hot groups and with hats, the values of
// curves' basis functions.
func Hatted(dim int, groups []row.Group, hats ...row.Hats) *row.Layout {
	l, err := row.NewHatted(dim, groups, hats)
	if err != nil {
		panic(err)
	}
	return l
}

// HatLayouts returns layouts with hats, the values of basis functions of curves and surfaces: with and without groups,
// and with hats first, last, alone, adjacent and between numbers. Tables and files do not store such rows: see Hung.
func HatLayouts() map[string]*row.Layout {
	return map[string]*row.Layout{
		"hats alone": Hatted(4, nil, row.Hats{First: 0, Width: 3, Edges: 1}),
		"hats last":  Hatted(9, []row.Group{{First: 1, Width: 3}}, row.Hats{First: 4, Width: 5, Edges: 1}),
		"hats adjacent": Hatted(12, []row.Group{{First: 5, Width: 2}}, row.Hats{First: 0, Width: 2, Edges: 1},
			row.Hats{First: 2, Width: 3, Edges: 1}, row.Hats{First: 7, Width: 4, Edges: 2}),
		"hats, pairs": Hatted(30, []row.Group{{First: 3, Width: 2}}, row.Hats{First: 6, Width: 4, Edges: 1},
			row.Hats{First: 11, Width: 9, Edges: 2}, row.Hats{First: 20, Width: 6, Edges: 1}),
	}
}

// Records returns n records with norms between 1/4 and 1 and targets -1 and 1. If faults is true,
// every fifth record is faulty, with the kinds of fault of the function spoil in turn.
func Records(n int, l *row.Layout, seed uint64, faults bool) []Record {
	r := rand.New(rand.NewPCG(seed, uint64(l.Dim())))
	records := make([]Record, n)
	for i := range records {
		v, sum := make([]float64, l.Numbers()+1), 0.
		if l.Groups() == 0 {
			v = v[:l.Numbers()]
		}
		for j := range v {
			v[j] = r.NormFloat64()
			sum += v[j] * v[j]
		}
		sum += float64(max(l.Groups()-1, 0)) * v[len(v)-1] * v[len(v)-1]
		x := make([]float32, len(v))
		size := (.25 + .75*r.Float64()) / math.Sqrt(sum)
		for j := range v {
			x[j] = float32(v[j] * size)
		}
		records[i] = Record{Of: l, X: x, Y: float64(2*r.IntN(2) - 1), OK: true}
		if g := l.Groups(); g > 0 {
			records[i].X, records[i].Level, records[i].In = x[:len(x)-1], x[len(x)-1], make([]uint32, g)
			for k := range g {
				records[i].In[k] = uint32(r.IntN(l.Group(k).Width))
			}
		}
		if edges := l.Edges(); edges > 0 {
			hang(r, &records[i])
		}
		if faults && i%5 == 3 {
			spoil(&records[i], i/5)
		}
	}
	return records
}

// hang gives a record random hats, values of curves' basis functions. Some edges (pairs of neighbouring hats) have one
// or two zeros. If the record's norm then exceeds 1, hang scales the record down.
func hang(r *rand.Rand, record *Record) {
	for _, h := range record.Of.Hats() {
		share := h.Width / h.Edges // each edge is in its own share of the features
		for e := range h.Edges {
			record.At = append(record.At, uint32(e*share+r.IntN(share-1)))
			f, size := r.Float64(), .7*r.Float64()
			switch r.IntN(5) {
			case 0:
				f = 0
			case 1:
				size = 0
			}
			record.By = append(record.By, float32(size*(1-f)), float32(size*f))
		}
	}
	if norm := math.Sqrt(record.Square()); norm > 1 {
		by := float32(.99 / norm)
		record.Level *= by
		for _, v := range [][]float32{record.X, record.By} {
			for j := range v {
				v[j] *= by
			}
		}
	}
}

// spoil makes a record faulty. The argument way is the number of the kind of fault.
func spoil(r *Record, way int) {
	ways := 8
	if len(r.In) > 0 {
		ways = 12
	}
	switch way % ways {
	case 0:
		r.OK = false
	case 1:
		r.Y = math.NaN()
	case 2:
		r.Y = math.Inf(-1)
	case 3:
		r.X[len(r.X)-1] = float32(math.NaN())
	case 4:
		r.X[0] = float32(math.Inf(1))
	case 5:
		r.X[0] = 1.25
	case 6:
		r.X = r.X[:len(r.X)-1]
	case 7:
		r.X = append(r.X, 0)
	case 8:
		r.In[0] = uint32(r.Of.Group(0).Width)
	case 9:
		r.In[len(r.In)-1] = math.MaxUint32
	case 10:
		r.Level = float32(math.NaN())
	case 11:
		r.Level = float32(1.01 / math.Sqrt(float64(len(r.In))))
	}
}

// Lengths are numbers of rows near the ends of blocks and of the tiles that engines process together.
var Lengths = []int{0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 257}

// BlockRows are numbers of rows of a block; 0 means a source's default.
var BlockRows = []int{0, 1, 3, 64, 100}

func name(n int, l *row.Layout, blockRows int) string {
	return fmt.Sprintf("%d rows of %d features, %d groups, in blocks of %d", n, l.Dim(), l.Groups(), blockRows)
}
