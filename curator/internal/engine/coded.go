package engine

import "github.com/stillpoint-dp/stillpoint/curator/internal/row"

// The functions below compute products and sums over the features of groups. A row has a one in
// each group, times its level. Its product with a vector needs only the vector's numbers at its
// codes: they are added in four interleaved sums, which are folded as ((s0+s2) + (s1+s3)) and
// multiplied once by the level. To a sum the row adds one rounded number at each code. A dense row
// of the same features would add the same, because its zeros add nothing.

// code is the type of a group's code in a block.
type code interface{ uint16 | uint32 }

// dots sets z to the margins of the rows of b. w holds vectors, each of the layout's width. The
// margins of a row with all vectors precede the margins of the next row.
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

// addAtCodes adds to the margins z the products with the features of groups.
func addAtCodes[C code](z, w []float64, levels []float32, codes []C, stride, width int) {
	count, groups := len(w)/width, len(codes)/max(len(levels), 1)
	for k := range count {
		hot := w[k*width+stride : (k+1)*width]
		for i, level := range levels {
			z[i*count+k] += float64(float64(level) * sumAt(hot, codes[i*groups:(i+1)*groups]))
		}
	}
}

// sumAt returns the sum of w at codes.
func sumAt[C code](w []float64, codes []C) float64 {
	var s0, s1, s2, s3 float64
	for len(codes) >= 4 {
		c := (*[4]C)(codes)
		s0 += w[c[0]]
		s1 += w[c[1]]
		s2 += w[c[2]]
		s3 += w[c[3]]
		codes = codes[4:]
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

// addRows adds sum_i round(c[i] * row i) to acc. acc holds sums of the layout's width, one after
// the other. c holds, for each row, one coefficient for each sum; the coefficients of a row precede
// those of the next row.
func (p *pass) addRows(acc []int64, c []float64, b row.Block) {
	stride, width := p.layout.Stride(), p.layout.Width()
	p.rounded(len(acc)/width, c, b)
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
	count, groups := len(acc)/width, len(codes)/max(len(levels), 1)
	for k := range count {
		sums := acc[k*width+stride : (k+1)*width]
		for i, level := range levels {
			addAt(sums, codes[i*groups:(i+1)*groups], round(float64(c[i*count+k]*float64(level))))
		}
	}
}

// addAt adds steps to the sums at codes.
func addAt[C code](sums []int64, codes []C, steps int64) {
	for len(codes) >= 4 {
		c := (*[4]C)(codes)
		sums[c[0]] += steps
		sums[c[1]] += steps
		sums[c[2]] += steps
		sums[c[3]] += steps
		codes = codes[4:]
	}
	for _, k := range codes {
		sums[k] += steps
	}
}

// square returns the square of the norm of row i, given the square of the norm of its numbers: it
// adds the level's square for each group. A level's square is exact.
func (p *pass) square(numbers float64, b row.Block, i int) float64 {
	groups := p.layout.Groups()
	if groups == 0 {
		return numbers
	}
	level := float64(b.Levels[i])
	return numbers + float64(float64(groups)*float64(level*level))
}
