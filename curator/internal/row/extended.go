package row

import (
	"errors"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/effects"
)

// Extended is a source of rows with features of effects, which are dense numbers. It is built over a source of
// the same rows without them, with hats if the layout has some. The features of a row are computed when the row
// is read, from its other features and public numbers. They are not stored.
type Extended struct {
	Source // of the rows without features of effects
	layout *Layout
	rule   *extension
	// kept holds the numbers of the rows of the first blocks, if they are kept. first is the number of the first row of
	// each of these blocks, and of the one behind them.
	kept  [][]float32
	first []int
}

// Effects say how the features of effects of a row are computed. The effect of column j is the sum of the row's
// features of this column, each times its weight. The features of effects are Basis.Fill of the effects. They follow
// the last feature but the constant, which stays the last. All other features are multiplied by Ratio.
type Effects struct {
	Basis *effects.Basis
	// Of and Weights hold the index of the column and the weight of each feature of a row without features of
	// effects, except the constant.
	Of      []int
	Weights []float64
	Ratio   float64
}

// NewExtended returns the rows of a source with features of effects. l is the layout of the source's rows, hats
// included, with the features of effects as numbers before the constant. If features of effects would make a row's
// squared norm exceed MaxSquare, which no row map does, they are zeros. Closing the returned source closes the given
// one.
func NewExtended(of Source, l *Layout, e Effects) (*Extended, error) {
	base, more := of.Layout(), 0
	if e.Basis != nil {
		more = e.Basis.Features()
	}
	if more == 0 || len(e.Weights) < base.dim-1 || len(e.Of) != base.dim-1 || base.Place(base.dim-1) != base.dense-1 {
		return nil, errors.New("row: effects: must be of every feature but the constant, which is the last")
	}
	if l.dim != base.dim+more || l.dense != base.dense+more || len(l.groups) != len(base.groups) ||
		len(l.hats) != len(base.hats) || l.edges != base.edges {
		return nil, errors.New("row: effects: must be numbers over rows of the same layout without them")
	}
	rule := &extension{layout: l, base: base, basis: e.Basis, ratio: e.Ratio,
		numbers: make([]part, base.dense-1), coded: make([]part, base.hung[len(base.hats)])}
	// The squares of a pair add up to the squared amplitude times at most 1 + 2^-51, and rounding to float32
	// multiplies each by at most (1 + 2^-24)^2.
	amplitude := e.Basis.Amplitude()
	rule.room = MaxSquare - float64(more/2)*amplitude*amplitude*(1+0x1p-22)
	for j, column := range e.Of {
		if column < 0 || column >= e.Basis.Columns() {
			return nil, errors.New("row: effects: must be of the columns of their basis")
		}
		p := part{column, e.Weights[j]}
		if at := base.Place(j); at < base.dense {
			rule.numbers[at] = p
		} else {
			rule.coded[at-base.Stride()] = p
		}
	}
	return &Extended{Source: of, layout: l, rule: rule}, nil
}

// Keep computes the features of effects of the first rows once and keeps them in memory with the other numbers of these
// rows, 4 bytes for each number and row. It keeps blocks that are whole within the given number of rows. It must be called
// before the source is read, by one goroutine.
func (c *Extended) Keep(rows int) error {
	var kept [][]float32
	r, first := c.Reader(), []int{0}
	for i := range c.Blocks() {
		if first[i] >= rows {
			break
		}
		b, err := r.Block(i)
		if err != nil {
			return err
		}
		if first[i]+len(b.Targets) > rows {
			break
		}
		kept, first = append(kept, slices.Clone(b.Rows)), append(first, first[i]+len(b.Targets))
	}
	c.kept, c.first = kept, first
	return nil
}

// extension computes the features of effects of rows. numbers has the column and the weight of each number but
// the constant, and coded those of each feature of groups and hats.
type extension struct {
	layout, base   *Layout
	basis          *effects.Basis
	ratio          float64
	room           float64 // MaxSquare without the most that the squared norm of the features of effects can be
	numbers, coded []part
}

// part is the part of a feature in an effect.
type part struct {
	column int
	weight float64
}

// together is the number of rows whose features of effects are computed at once.
const together = 32

// extend appends the rows of b, which are without features of effects, to dst. kept returns the features of effects
// of row i of b, or nil if those must be computed; it is nil if all must be. sums is scratch memory for an effect of each
// column of some rows, together of them.
func (r *extension) extend(dst *Block, b Block, kept func(i int) []float32, sums []float64) {
	l := r.layout
	first, n, stride := len(dst.Targets), len(b.Targets), l.Stride()
	dst.Rows = longer(dst.Rows, n*stride)
	dst.Targets = append(dst.Targets, b.Targets...)
	dst.Codes.Narrow = append(dst.Codes.Narrow, b.Codes.Narrow...)
	dst.Codes.Wide = append(dst.Codes.Wide, b.Codes.Wide...)
	dst.Edges.At = append(dst.Edges.At, b.Edges.At...)
	if len(l.groups) > 0 {
		dst.Levels = longer(dst.Levels, n)
	}
	dst.Edges.By = longer(dst.Edges.By, 2*n*l.edges)
	columns, numbers, features := r.basis.Columns(), len(r.numbers), r.basis.Features()
	for from := 0; from < n; from += together {
		count := min(together, n-from)
		clear(sums)
		var fits [together]bool
		all := kept != nil
		for i := range count {
			fits[i] = r.write(dst, first+from+i, b, from+i, sums[i*columns:(i+1)*columns])
			all = all && kept(from+i) != nil
		}
		rows := dst.Rows[(first+from)*stride:][:count*stride]
		if !all {
			r.basis.Fill(rows[numbers:], stride, sums[:count*columns])
		}
		for i := range count {
			found := rows[i*stride+numbers:][:features]
			switch {
			case !fits[i]:
				clear(found)
			case all:
				copy(found, kept(from+i))
			}
		}
	}
}

// write sets row to of dst to row i of b but for its features of effects, and adds its effects to sums. It returns false
// if the row must have none: if it is faulty or too long.
func (r *extension) write(dst *Block, to int, b Block, i int, sums []float64) bool {
	l, groups, edges := r.layout, len(r.layout.groups), r.layout.edges
	x, row := b.Rows[i*r.base.Stride():(i+1)*r.base.Stride()], dst.Rows[to*l.Stride():(to+1)*l.Stride()]
	last := len(r.numbers)
	for k, p := range r.numbers {
		sums[p.column] += float64(p.weight * float64(x[k]))
		row[k] = float32(float64(x[k]) * r.ratio)
	}
	rest := square(row[:last])
	one := float32(float64(x[last]) * r.ratio)
	row[last+r.basis.Features()] = one
	clear(row[last+r.basis.Features()+1:])
	if groups > 0 {
		level := float64(b.Levels[i])
		for g := range groups {
			p := r.coded[b.Codes.at(i*groups+g)]
			sums[p.column] += float64(p.weight * level)
		}
		v := float32(level * r.ratio)
		dst.Levels[to] = v
		rest += float64(float64(groups) * float64(float64(v)*float64(v)))
	}
	by := dst.Edges.By[2*to*edges : 2*(to+1)*edges]
	for e := range edges {
		at := b.Edges.At[i*edges+e]
		for k := range 2 {
			v := float64(b.Edges.By[2*(i*edges+e)+k])
			p := r.coded[int(at)+k]
			sums[p.column] += float64(p.weight * v)
			by[2*e+k] = float32(v * r.ratio)
		}
	}
	y := b.Targets[i]
	return y == y && rest+square(by)+float64(float64(one)*float64(one)) <= r.room
}

// Layout returns the layout of the rows.
func (c *Extended) Layout() *Layout { return c.layout }

// Reader returns a reader with its own buffers.
func (c *Extended) Reader() Reader {
	var block, raw Block
	sums := make([]float64, together*c.rule.basis.Columns())
	return newChanged(c.Source, func(i int, b Block) Block {
		block.Clear()
		if i < len(c.kept) {
			return c.rule.again(&block, b, c.kept[i])
		}
		c.rule.extend(&block, b, nil, sums)
		return block
	}, func(of Reader, b *Block, members []int32) error {
		raw.Clear()
		if err := of.Rows(&raw, members); err != nil {
			return err
		}
		var kept func(k int) []float32
		if c.kept != nil {
			kept = func(k int) []float32 { return c.found(int(members[k])) }
		}
		c.rule.extend(b, raw, kept, sums)
		return nil
	})
}

// again returns the rows of b with their kept numbers, in whose place it computes nothing. It shares memory with b, and uses
// that of scratch.
func (r *extension) again(scratch *Block, b Block, numbers []float32) Block {
	times := func(to, v []float32) []float32 {
		to = longer(to, len(v))
		for i, v := range v {
			to[i] = float32(float64(v) * r.ratio)
		}
		return to
	}
	scratch.Levels, scratch.Edges.By = times(scratch.Levels, b.Levels), times(scratch.Edges.By, b.Edges.By)
	b.Rows, b.Levels, b.Edges.By = numbers, scratch.Levels, scratch.Edges.By
	return b
}

// found returns the kept features of effects of a row, or nil if they are not kept.
func (c *Extended) found(row int) []float32 {
	if row >= c.first[len(c.kept)] {
		return nil
	}
	next, _ := slices.BinarySearch(c.first, row+1) // the first block, maybe after empty ones, that begins behind the row
	block := next - 1
	return c.kept[block][(row-c.first[block])*c.layout.Stride()+len(c.rule.numbers):][:c.rule.basis.Features()]
}
