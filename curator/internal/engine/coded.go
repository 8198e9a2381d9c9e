package engine

import "github.com/stillpoint-dp/stillpoint/curator/internal/row"

// What the features of groups add to products and sums. A row with a one in each
// group, times its level, needs of a vector the numbers at its codes alone: they are
// added in four interleaved sums, which are folded as ((s0+s2) + (s1+s3)) and then
// multiplied by the level, once. To a sum it adds one rounded number at each code:
// that of a dense row of the same features, whose zeros add nothing.

// code is a group's code as a block holds it.
type code interface{ uint16 | uint32 }

// dots sets z to the margins of the rows of b: those of a row with all the vectors
// that w holds, each of the layout's width, before those of the next row.
func (p *pass) dots(z, w []float64, b row.Block) {
	stride, width := p.layout.Stride(), p.layout.Width()
	p.kernel.dots(z, w, b.Rows, stride, width)
	switch {
	case b.Codes.Wide != nil:
		addAtCodes(z, w, b.Levels, b.Codes.Wide, stride, width)
	case b.Codes.Narrow != nil:
		addAtCodes(z, w, b.Levels, b.Codes.Narrow, stride, width)
	}
}

// addAtCodes adds to z what the groups make of the margins.
func addAtCodes[C code](z, w []float64, levels []float32, codes []C, stride, width int) {
	groups := len(codes) / max(len(levels), 1)
	for i, level := range levels {
		c := codes[i*groups : (i+1)*groups]
		for v := w; len(v) > 0; v = v[width:] {
			z[0] += float64(float64(level) * sumAt(v[stride:width], c))
			z = z[1:]
		}
	}
}

// sumAt returns the sum of w at codes.
func sumAt[C code](w []float64, codes []C) float64 {
	var s0, s1, s2, s3 float64
	for ; len(codes) >= 4; codes = codes[4:] {
		s0 += w[codes[0]]
		s1 += w[codes[1]]
		s2 += w[codes[2]]
		s3 += w[codes[3]]
	}
	if len(codes) > 0 {
		s0 += w[codes[0]]
	}
	if len(codes) > 1 {
		s1 += w[codes[1]]
	}
	if len(codes) > 2 {
		s2 += w[codes[2]]
	}
	return (s0 + s2) + (s1 + s3)
}

// addRows adds sum_i round(c[i] * row i) to acc: to one sum of the layout's width after
// the other, for each of which c holds a coefficient for a row, before those of the next
// row.
func (p *pass) addRows(acc []int64, c []float64, b row.Block) {
	stride, width := p.layout.Stride(), p.layout.Width()
	p.kernel.add(acc, width, c, b.Rows, stride)
	switch {
	case b.Codes.Wide != nil:
		addLevels(acc, width, c, b.Levels, b.Codes.Wide, stride)
	case b.Codes.Narrow != nil:
		addLevels(acc, width, c, b.Levels, b.Codes.Narrow, stride)
	}
}

// addLevels adds round(c[i] * level i) to acc at the codes of row i.
func addLevels[C code](acc []int64, width int, c []float64, levels []float32, codes []C, stride int) {
	groups := len(codes) / max(len(levels), 1)
	for i, level := range levels {
		at := codes[i*groups : (i+1)*groups]
		for sums := acc; len(sums) > 0; sums = sums[width:] {
			addAt(sums[stride:width], at, Round(float64(c[0]*float64(level))))
			c = c[1:]
		}
	}
}

// addAt adds steps to the sums at codes.
func addAt[C code](sums []int64, codes []C, steps int64) {
	for ; len(codes) >= 4; codes = codes[4:] {
		sums[codes[0]] += steps
		sums[codes[1]] += steps
		sums[codes[2]] += steps
		sums[codes[3]] += steps
	}
	for _, k := range codes {
		sums[k] += steps
	}
}

// square is the square of the norm of row i: that of its numbers, given, and of its
// level in each group. A level's square is exact.
func (p *pass) square(numbers float64, b row.Block, i int) float64 {
	groups := p.layout.Groups()
	if groups == 0 {
		return numbers
	}
	level := float64(b.Levels[i])
	return numbers + float64(float64(groups)*float64(level*level))
}
