// Package rowtest has the conformance suite for sources of rows, and records for tests of sources
// and engines.
package rowtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Record is one record in the form that a source of a layout accepts: its numbers, its level, and
// its feature in each group.
type Record struct {
	Of    *row.Layout
	X     []float32
	Level float32
	In    []uint32
	Y     float64
	OK    bool
}

// Sound reports whether a source must store the record as given. Otherwise the source must store it
// as faulty, a row of zeros with target NaN.
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

// Square returns the squared norm of the row: the sum of its numbers' squares plus its groups'
// squares.
func (r Record) Square() (square float64) {
	for _, v := range r.X {
		square += float64(float64(v) * float64(v))
	}
	return square + float64(float64(len(r.In))*float64(float64(r.Level)*float64(r.Level)))
}

// Numbers returns the features that a layout stores as numbers.
func Numbers(l *row.Layout) (features []int) {
	next := 0
	for i := range l.Groups() {
		g := l.Group(i)
		for ; next < g.First; next++ {
			features = append(features, next)
		}
		next += g.Width
	}
	for ; next < l.Dim(); next++ {
		features = append(features, next)
	}
	return features
}

// Full returns the features of a sound record.
func (r Record) Full() []float32 {
	x := make([]float32, r.Of.Dim())
	for i, j := range Numbers(r.Of) {
		x[j] = r.X[i]
	}
	for g, k := range r.In {
		x[r.Of.Group(g).First+int(k)] = r.Level
	}
	return x
}

// Dense returns the layout of rows of dim numbers.
func Dense(dim int) *row.Layout { return Coded(dim) }

// Coded returns the layout of rows with groups.
func Coded(dim int, groups ...row.Group) *row.Layout {
	l, err := row.NewLayout(dim, groups)
	if err != nil {
		panic(err)
	}
	return l
}

// Layouts returns layouts that cover the code's cases. With numbers only: fewer than a lane, one
// lane, and more. With groups: at the start, at the end and adjacent, fewer and more than the code
// sums side by side, and with codes that do not fit 16 bits.
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

// Records returns n records with norm between 1/4 and 1 and targets -1 and 1. With faults, every
// fifth record is faulty, in a different way each time.
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
		if faults && i%5 == 3 {
			spoil(&records[i], i/5)
		}
	}
	return records
}

// spoil makes a record faulty in the way of the given number.
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

// Lengths are numbers of rows near the ends of blocks and tiles.
var Lengths = []int{0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 257}

// BlockRows are numbers of rows of a block; 0 means a source's own.
var BlockRows = []int{0, 1, 3, 64, 100}

func name(n int, l *row.Layout, blockRows int) string {
	return fmt.Sprintf("%d rows of %d features, %d groups, in blocks of %d", n, l.Dim(), l.Groups(), blockRows)
}
