package row

import (
	"fmt"
	"slices"
)

// Group is a one-hot group: Width features beginning with feature First, of which at most one is not zero in
// a row. The nonzero features of all groups of a row have the same value, the row's level.
type Group struct{ First, Width int }

// Hats are features that hold the values of a curve's or a surface's basis functions: Width
// features beginning with feature First. Edges is the number of edges in a row. An edge is a pair
// of neighbouring features. The hats that are in no edge of a row are zero in that row.
type Hats struct{ First, Width, Edges int }

// Layout is the stored form of rows. Features that are numbers are stored as float32s, in their order. For each one-hot
// group, the index of its nonzero feature (its code) is stored. For each edge, a pair of neighbouring hats, the index
// of the left feature and the values of both features are stored. The layout follows from the schema alone.
//
// A vector with one number for each feature (parameters, sums) that is combined with stored rows has this order: first
// the numbers, padded to Stride, then the features of the groups, then the hats. The length of the vector is Width.
// Codes and edges are indices among the features of groups and hats.
type Layout struct {
	dim, dense int
	groups     []Group
	// starts holds the index of each group's first feature among the features of all groups. The last entry
	// is the number of these features.
	starts []int
	hats   []Hats
	// hung holds the index of the first feature of each Hats among the features of groups and hats. The last
	// entry is the number of these features.
	hung   []int
	edges  int     // number of edges of a row
	slots  []Slot  // in the order of the features
	places []int32 // index of each feature in a vector of length Width; nil if all features are numbers
}

// Slot is one place of a row's layout: a number, a one-hot group, or hats (the values of a curve's basis functions).
// The slots of a layout are in the order of the features. For a number, At is its index among the numbers and Feature
// its feature. For a group, At is its index among the groups. For hats, At is the index of their first edge among the
// edges. The nonzero feature of a group, or the left feature of an edge, is Feature plus the code. Edges is the number
// of edges of hats, and 0 for numbers and groups.
type Slot struct {
	Group       bool
	Edges       int
	At, Feature int
}

// mostNarrow is the largest number of features of all groups for which codes fit in 16 bits.
const mostNarrow = 1 << 16

// Dense returns the layout of rows of dim numbers.
func Dense(dim int) (*Layout, error) { return NewLayout(dim, nil) }

// NewLayout returns the layout of rows of dim features with the given groups, which must be in the order of their
// features. It returns an error if dim is not between 1 and 2^24, if groups overlap, or if no feature is a number.
func NewLayout(dim int, groups []Group) (*Layout, error) { return NewHatted(dim, groups, nil) }

// NewHatted returns the layout of rows with one-hot groups and with hats, the values of curves' basis
// functions. Dim and groups are as in NewLayout. Hats, too, must be in the order of their features,
// and must not overlap with groups. No Table or File stores rows with hats: see Curved.
func NewHatted(dim int, groups []Group, hats []Hats) (*Layout, error) {
	if dim < 1 || dim > 1<<24 {
		return nil, fmt.Errorf("row: dimension = %d: must be between 1 and 2^24", dim)
	}
	l := &Layout{dim: dim, groups: slices.Clone(groups), starts: []int{0}, hats: slices.Clone(hats)}
	for i, g := range groups {
		l.starts = append(l.starts, l.starts[i]+g.Width)
	}
	l.hung = []int{l.starts[len(groups)]}
	next := 0
	numbers := func(end int) {
		for ; next < end; next++ {
			l.slots = append(l.slots, Slot{At: l.dense, Feature: next})
			l.dense++
		}
	}
	for i, k := 0, 0; i < len(groups) || k < len(hats); {
		if k == len(hats) || i < len(groups) && groups[i].First < hats[k].First {
			g := groups[i]
			if g.Width < 2 || g.First < next || g.Width > dim-g.First {
				return nil, fmt.Errorf("row: group %d of %d features from %d on: must be 2 at least, after those of "+
					"the group before, of %d", i, g.Width, g.First, dim)
			}
			numbers(g.First)
			l.slots = append(l.slots, Slot{Group: true, At: i, Feature: g.First - l.starts[i]})
			next += g.Width
			i++
			continue
		}
		h := hats[k]
		if h.Edges < 1 || h.Edges > 2 || h.Width < 2*h.Edges || h.First < next || h.Width > dim-h.First {
			return nil, fmt.Errorf("row: hats %d of %d features from %d on: must be 2 at least for each of 1 or 2 "+
				"edges, after those before, of %d", k, h.Width, h.First, dim)
		}
		numbers(h.First)
		l.slots = append(l.slots, Slot{Edges: h.Edges, At: l.edges, Feature: h.First - l.hung[k]})
		l.hung = append(l.hung, l.hung[k]+h.Width)
		l.edges += h.Edges
		next += h.Width
		k++
	}
	numbers(dim)
	if l.dense == 0 {
		return nil, fmt.Errorf("row: dimension = %d: must have a feature beside those of groups", dim)
	}
	l.findPlaces()
	return l, nil
}

func (l *Layout) findPlaces() {
	if len(l.groups)+len(l.hats) == 0 {
		return
	}
	l.places = make([]int32, l.dim)
	hung := 0
	for _, s := range l.slots {
		from, to := 0, 0
		switch {
		case s.Group:
			from, to = l.starts[s.At], l.starts[s.At+1]
		case s.Edges > 0:
			from, to = l.hung[hung], l.hung[hung+1]
			hung++
		default:
			l.places[s.Feature] = int32(s.At)
		}
		for code := from; code < to; code++ {
			l.places[s.Feature+code] = int32(l.Stride() + code)
		}
	}
}

// padded returns n, rounded up to a multiple of Lane.
func padded(n int) int { return (n + Lane - 1) / Lane * Lane }

// Dim is the number of features, Numbers the number of features stored as numbers, and Groups the
// number of groups.
func (l *Layout) Dim() int     { return l.dim }
func (l *Layout) Numbers() int { return l.dense }
func (l *Layout) Groups() int  { return len(l.groups) }

// Group returns group i.
func (l *Layout) Group(i int) Group { return l.groups[i] }

// Hats returns the places of the hats (values of curves' basis functions), and Edges the number of
// edges of a row, the pairs of neighbouring hats that may be nonzero.
func (l *Layout) Hats() []Hats { return l.hats }
func (l *Layout) Edges() int   { return l.edges }

// Bare returns the layout of the same rows without their hats (values of curves' basis functions).
func (l *Layout) Bare() (*Layout, error) {
	groups := slices.Clone(l.groups)
	for i := range groups {
		for _, h := range l.hats {
			if h.First < l.groups[i].First {
				groups[i].First -= h.Width
			}
		}
	}
	return NewLayout(l.dim-(l.hung[len(l.hats)]-l.hung[0]), groups)
}

// Stride is the number of float32s from the start of one row of a block to the start of the next: Numbers,
// rounded up to a multiple of Lane.
func (l *Layout) Stride() int { return padded(l.dense) }

// Width is the length of a vector with a number for each feature, including padding.
func (l *Layout) Width() int { return l.Stride() + padded(l.hung[len(l.hats)]) }

// Full is the number of float32s of a row that is written out with all its features: Dim rounded up to a
// multiple of Lane.
func (l *Layout) Full() int { return padded(l.dim) }

// Place returns the index of feature j in a vector of length Width, which has first the numbers, then
// the features of one-hot groups, then the values of curves' basis functions.
func (l *Layout) Place(j int) int {
	if l.places == nil {
		return j
	}
	return int(l.places[j])
}

// Slots returns the layout's numbers, one-hot groups and hats, in the order of the features.
func (l *Layout) Slots() []Slot { return l.slots }

// wide reports whether the codes of one-hot groups need 32 bits.
func (l *Layout) wide() bool { return l.starts[len(l.groups)] > mostNarrow }

// size is the number of bytes of a row in the file.
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

// rowBytes is the number of bytes of a row in a block in memory, padding included.
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

// Cut returns a block of the rows of b from index from to before index to. The returned block
// shares the memory of b. A block without Rows has targets alone.
func (l *Layout) Cut(b Block, from, to int) Block {
	if b.Rows == nil {
		return Block{Targets: b.Targets[from:to]}
	}
	b.Rows, b.Targets = b.Rows[from*l.Stride():to*l.Stride()], b.Targets[from:to]
	if g := len(l.groups); g > 0 {
		b.Levels = b.Levels[from:to]
		if l.wide() {
			b.Codes.Wide = b.Codes.Wide[from*g : to*g]
		} else {
			b.Codes.Narrow = b.Codes.Narrow[from*g : to*g]
		}
	}
	if e := l.edges; e > 0 {
		b.Edges = Edges{b.Edges.At[from*e : to*e], b.Edges.By[2*from*e : 2*to*e]}
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
	b.Edges.At = append(b.Edges.At, more.Edges.At...)
	b.Edges.By = append(b.Edges.By, more.Edges.By...)
}

// Clear removes all rows from b.
func (b *Block) Clear() {
	b.Rows, b.Targets, b.Levels = b.Rows[:0], b.Targets[:0], b.Levels[:0]
	b.Codes.Narrow, b.Codes.Wide = b.Codes.Narrow[:0], b.Codes.Wide[:0]
	b.Edges = Edges{b.Edges.At[:0], b.Edges.By[:0]}
}

// add appends a copy of one record to a block. x has the record's numbers and level is the level of its groups. The
// argument in has, for each group, the index of its nonzero feature, counted from the group's first feature. If ok is
// false or the record is not valid (see admits), it is stored as faulty.
func (l *Layout) add(b *Block, x []float32, level float32, in []uint32, y float64, ok bool) {
	l.put(b, l.extend(b, 1), x, level, in, y, ok)
}

// extend makes a block longer by n rows of arbitrary contents and returns the index of the first of
// them.
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

// put stores a record, given as for the method add, in row i of a block. x may be the memory of that
// row.
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

// codes sets dst to a row's codes, one for each one-hot group: the index of the group's nonzero feature among the
// features of all groups. The argument in has the index of the row's nonzero feature in each group, counted from the
// group's first feature; nil means the first feature of each group.
func codes[T uint16 | uint32](dst []T, starts []int, in []uint32) {
	for g := range dst {
		dst[g] = T(starts[g])
		if in != nil {
			dst[g] += T(in[g])
		}
	}
}

// admits reports whether a record is valid: whether it has this layout, a finite target, a squared
// norm of at most MaxSquare, and each code within its group.
//
// The computed norm is exact enough for this test. The square of a float32 is exact in float64 and
// cannot overflow. The relative error of the sum is below (dim+1) 2^-53, far below the difference
// between 2^-24, by which rounding may increase a row's norm, and the tolerance of MaxSquare, 2^-22.
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

// square returns the squared norm of x, computed as four independent sums: number i is added to sum i modulo
// four.
func square(x []float32) float64 {
	var s [4]float64
	for ; len(x) >= 4; x = x[4:] {
		s[0] += float64(x[0]) * float64(x[0])
		s[1] += float64(x[1]) * float64(x[1])
		s[2] += float64(x[2]) * float64(x[2])
		s[3] += float64(x[3]) * float64(x[3])
	}
	for i, v := range x {
		s[i] += float64(v) * float64(v)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// WriteOut sets dst to the rows of a block with all their features. Each row takes as many float32s
// as the method Full returns.
func (l *Layout) WriteOut(dst []float32, b Block) {
	clear(dst)
	for i := range b.Targets {
		x := dst[i*l.Full() : (i+1)*l.Full()]
		numbers := b.Rows[i*l.Stride():]
		for _, s := range l.slots {
			switch {
			case s.Group:
				x[s.Feature+b.Codes.at(i*len(l.groups)+s.At)] = b.Levels[i]
			case s.Edges > 0:
				for e := i*l.edges + s.At; e < i*l.edges+s.At+s.Edges; e++ {
					at := s.Feature + int(b.Edges.At[e])
					x[at], x[at+1] = b.Edges.By[2*e], b.Edges.By[2*e+1]
				}
			default:
				x[s.Feature] = numbers[s.At]
			}
		}
	}
}
