package row

import (
	"fmt"
	"slices"
)

// Group is a one-hot group: Width features beginning with First, of which at most one is not zero
// in a row. All groups of a row have the same nonzero value, the row's level.
type Group struct{ First, Width int }

// Layout is the stored form of rows: features that are numbers as float32s, in their order, and for
// each one-hot group the index of the feature that is not zero (its code). It follows from the
// schema alone.
//
// A vector with a number for each feature (parameters, sums) that is combined with stored rows has
// the same order: first the numbers, padded to Stride, then the features of the groups, Width in
// all. A group's code is an index among the latter.
type Layout struct {
	dim, dense int
	groups     []Group
	starts     []int   // index of each group's first feature among the features of all groups, and their total
	slots      []Slot  // in the order of the features
	places     []int32 // index of each feature among Width; nil if all features are numbers
}

// Slot is a number or a group, in the order of the features. At is its index among the numbers or
// among the groups. Feature is a number's feature; for a group, Feature plus the code is the
// feature that is not zero.
type Slot struct {
	Group       bool
	At, Feature int
}

// mostNarrow is the largest number of features of groups whose codes fit 16 bits.
const mostNarrow = 1 << 16

// Dense returns the layout of rows of dim numbers.
func Dense(dim int) (*Layout, error) { return NewLayout(dim, nil) }

// NewLayout returns the layout of rows of dim features with the given groups, which must be in the
// order of their features. It returns an error if dim is not between 1 and 2^24, if groups overlap,
// or if no feature is a number.
func NewLayout(dim int, groups []Group) (*Layout, error) {
	if dim < 1 || dim > 1<<24 {
		return nil, fmt.Errorf("row: dimension = %d: must be between 1 and 2^24", dim)
	}
	l := &Layout{dim: dim, groups: slices.Clone(groups), starts: []int{0}}
	next := 0
	numbers := func(end int) {
		for ; next < end; next++ {
			l.slots = append(l.slots, Slot{At: l.dense, Feature: next})
			l.dense++
		}
	}
	for i, g := range groups {
		if g.Width < 2 || g.First < next || g.Width > dim-g.First {
			return nil, fmt.Errorf("row: group %d of %d features from %d on: must be 2 at least, after those of the group before, of %d", i, g.Width, g.First, dim)
		}
		numbers(g.First)
		l.slots = append(l.slots, Slot{Group: true, At: i, Feature: g.First - l.starts[i]})
		l.starts = append(l.starts, l.starts[i]+g.Width)
		next += g.Width
	}
	numbers(dim)
	if l.dense == 0 {
		return nil, fmt.Errorf("row: dimension = %d: must have a feature beside those of groups", dim)
	}
	l.findPlaces()
	return l, nil
}

func (l *Layout) findPlaces() {
	if len(l.groups) == 0 {
		return
	}
	l.places = make([]int32, l.dim)
	for _, s := range l.slots {
		if !s.Group {
			l.places[s.Feature] = int32(s.At)
			continue
		}
		for code := l.starts[s.At]; code < l.starts[s.At+1]; code++ {
			l.places[s.Feature+code] = int32(l.Stride() + code)
		}
	}
}

// padded returns n rounded up to a multiple of Lane.
func padded(n int) int { return (n + Lane - 1) / Lane * Lane }

// Dim is the number of features, Numbers the number of features stored as numbers, and Groups the
// number of groups.
func (l *Layout) Dim() int     { return l.dim }
func (l *Layout) Numbers() int { return l.dense }
func (l *Layout) Groups() int  { return len(l.groups) }

// Group returns group i.
func (l *Layout) Group(i int) Group { return l.groups[i] }

// Stride is the number of float32s from one row of a block to the next: Numbers
// rounded up to a multiple of Lane.
func (l *Layout) Stride() int { return padded(l.dense) }

// Width is the length of a vector with a number for each feature.
func (l *Layout) Width() int { return l.Stride() + padded(l.starts[len(l.groups)]) }

// Full is the stride of rows with all their features: Dim rounded up to a multiple of Lane.
func (l *Layout) Full() int { return padded(l.dim) }

// Place returns the index of feature j in a vector of length Width.
func (l *Layout) Place(j int) int {
	if l.places == nil {
		return j
	}
	return int(l.places[j])
}

// Slots returns the numbers and groups in the order of the features.
func (l *Layout) Slots() []Slot { return l.slots }

// wide reports whether codes need 32 bits.
func (l *Layout) wide() bool { return l.starts[len(l.groups)] > mostNarrow }

// size is the number of bytes of a row without its padding.
func (l *Layout) size() int {
	if len(l.groups) == 0 {
		return 8 + 4*l.dense
	}
	return 8 + 4*l.dense + 4 + l.codeSize()*len(l.groups)
}

func (l *Layout) codeSize() int {
	if l.wide() {
		return 4
	}
	return 2
}

// rowBytes is the number of bytes of a row in a block, with its padding.
func (l *Layout) rowBytes() int { return l.size() + 4*(l.Stride()-l.dense) }

// make returns an empty block with capacity for n rows.
func (l *Layout) make(n int) Block {
	b := Block{Rows: make([]float32, 0, n*l.Stride()), Targets: make([]float64, 0, n)}
	if g := len(l.groups); g > 0 {
		b.Levels = make([]float32, 0, n)
		if l.wide() {
			b.Codes.Wide = make([]uint32, 0, n*g)
		} else {
			b.Codes.Narrow = make([]uint16, 0, n*g)
		}
	}
	return b
}

// Cut returns rows from to to of a block. They share the block's memory.
func (l *Layout) Cut(b Block, from, to int) Block {
	b.Rows, b.Targets = b.Rows[from*l.Stride():to*l.Stride()], b.Targets[from:to]
	if g := len(l.groups); g > 0 {
		b.Levels = b.Levels[from:to]
		if l.wide() {
			b.Codes.Wide = b.Codes.Wide[from*g : to*g]
		} else {
			b.Codes.Narrow = b.Codes.Narrow[from*g : to*g]
		}
	}
	return b
}

// Append appends the rows of more to b.
func (b *Block) Append(more Block) {
	b.Rows = append(b.Rows, more.Rows...)
	b.Targets = append(b.Targets, more.Targets...)
	b.Levels = append(b.Levels, more.Levels...)
	b.Codes.Narrow = append(b.Codes.Narrow, more.Codes.Narrow...)
	b.Codes.Wide = append(b.Codes.Wide, more.Codes.Wide...)
}

// Clear removes all rows from b.
func (b *Block) Clear() {
	b.Rows, b.Targets, b.Levels = b.Rows[:0], b.Targets[:0], b.Levels[:0]
	b.Codes.Narrow, b.Codes.Wide = b.Codes.Narrow[:0], b.Codes.Wide[:0]
}

// add appends one record to a block. x has its numbers, level its level, and in its feature in each
// group, counted from the group's first. If ok is false or the record is not valid (see admits), it
// is stored as faulty.
func (l *Layout) add(b *Block, x []float32, level float32, in []uint32, y float64, ok bool) {
	l.put(b, l.extend(b, 1), x, level, in, y, ok)
}

// extend makes a block longer by n rows of arbitrary contents and returns the index of the first.
func (l *Layout) extend(b *Block, n int) int {
	at := len(b.Targets)
	b.Rows, b.Targets = longer(b.Rows, n*l.Stride()), longer(b.Targets, n)
	if g := len(l.groups); g > 0 {
		b.Levels = longer(b.Levels, n)
		if l.wide() {
			b.Codes.Wide = longer(b.Codes.Wide, n*g)
		} else {
			b.Codes.Narrow = longer(b.Codes.Narrow, n*g)
		}
	}
	return at
}

func longer[T any](v []T, n int) []T { return slices.Grow(v, n)[:len(v)+n] }

// put stores in row i of a block the record that add describes. x may be the row's own memory.
func (l *Layout) put(b *Block, i int, x []float32, level float32, in []uint32, y float64, ok bool) {
	if !ok || !l.admits(x, level, in, y) {
		x, level, in, y = nil, 0, nil, faulty
	}
	row := b.Rows[i*l.Stride() : (i+1)*l.Stride()]
	clear(row[copy(row, x):])
	b.Targets[i] = y
	groups := len(l.groups)
	if groups == 0 {
		return
	}
	b.Levels[i] = level
	if l.wide() {
		codes(b.Codes.Wide[i*groups:(i+1)*groups], l.starts, in)
	} else {
		codes(b.Codes.Narrow[i*groups:(i+1)*groups], l.starts, in)
	}
}

// codes sets dst to a row's codes. in has the row's feature in each group, counted from the group's
// first; nil means the first feature of each group.
func codes[T uint16 | uint32](dst []T, starts []int, in []uint32) {
	for g := range dst {
		dst[g] = T(starts[g])
		if in != nil {
			dst[g] += T(in[g])
		}
	}
}

// admits reports whether a record is valid: of this layout, with a finite target, a squared norm of
// at most MaxSquare, and each code within its group. The square of a float32 is exact in float64
// and cannot overflow. The relative error of the sum is below (dim+1) 2^-53, far below the
// difference between 2^-24 and 2^-22.
func (l *Layout) admits(x []float32, level float32, in []uint32, y float64) bool {
	if y-y != 0 || len(x) != l.dense || len(in) != len(l.groups) {
		return false
	}
	for g, k := range in {
		if int64(k) >= int64(l.groups[g].Width) {
			return false
		}
	}
	return square(x)+float64(float64(len(in))*(float64(level)*float64(level))) <= MaxSquare
}

// square returns the squared norm, computed as four independent sums for speed.
func square(x []float32) float64 {
	var s [4]float64
	for ; len(x) >= 4; x = x[4:] {
		s[0] += float64(x[0]) * float64(x[0])
		s[1] += float64(x[1]) * float64(x[1])
		s[2] += float64(x[2]) * float64(x[2])
		s[3] += float64(x[3]) * float64(x[3])
	}
	for _, v := range x {
		s[0] += float64(v) * float64(v)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// WriteOut sets dst to the rows of a block with all their features, Full float32s for each row.
func (l *Layout) WriteOut(dst []float32, b Block) {
	clear(dst)
	for i := range b.Targets {
		x := dst[i*l.Full() : (i+1)*l.Full()]
		numbers := b.Rows[i*l.Stride():]
		for _, s := range l.slots {
			if s.Group {
				x[s.Feature+b.Codes.at(i*len(l.groups)+s.At)] = b.Levels[i]
			} else {
				x[s.Feature] = numbers[s.At]
			}
		}
	}
}
