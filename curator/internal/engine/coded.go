package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// The functions of this file compute products and sums over the features of one-hot groups and over
// hats.
//
// In each group, one feature of a row equals the row's level and the others are zero. The code is the index of that
// feature. The product of a row with a vector is the sum of the vector's numbers at the row's codes, times the level.
// The numbers are added in four interleaved sums, which are folded as ((s0+s2) + (s1+s3)). A row adds one rounded
// number to a sum at each code. A row stored with all its features would add the same, because zeros add nothing.
//
// Hats are features that hold the values of curves' basis functions. An edge (row.Edges) is a pair of
// neighbouring hats of a row, each with its own value. All other hats of the row are zero.

// code is the type of the codes of one-hot groups in a block: 16 or 32 bits.
type code interface{ uint16 | uint32 }

// dots sets z to the dot products of the rows of b with the vectors in w, each of the layout's width. The
// products of a row with all vectors precede the products of the next row.
func (p *pass) dots(z, w []float64, b row.Block) {
	stride, width := p.layout.Stride(), p.layout.Width()
	p.kernel.dots(z, w, b.Rows, stride, width)
	if p.layout.Groups() > 0 {
		p.kernel.dotsAtCodes(z, w, b.Levels, b.Codes, stride, width)
	}
	if edges := p.layout.Edges(); edges > 0 {
		p.kernel.dotsAtEdges(z, w, b.Edges, edges, stride, width)
	}
}

// dotsAtEdges adds, to the margins z, the products of the rows' hats (values of curves' basis functions) with the vectors
// in w, for the portable kernel. The products of a row are added up one edge after the other.
func dotsAtEdges(z, w []float64, e row.Edges, edges, stride, width int) {
	count, rows := len(w)/width, len(e.At)/edges
	for k := range count {
		hot := w[k*width+stride : (k+1)*width]
		for i := range rows {
			var sum float64
			by := e.By[2*i*edges : 2*(i+1)*edges]
			for t, at := range e.At[i*edges : (i+1)*edges] {
				two := hot[at : at+2 : at+2]
				sum += float64(float64(by[2*t])*two[0]) + float64(float64(by[2*t+1])*two[1])
			}
			z[i*count+k] += sum
		}
	}
}

// dotsAtCodes adds, to the margins z, the products of the rows' one-hot groups with the vectors in w, for the
// portable kernel (see kernel.dotsAtCodes).
func dotsAtCodes(z, w []float64, levels []float32, codes row.Codes, stride, width int) {
	if codes.Wide != nil {
		addSums(z, w, levels, codes.Wide, stride, width)
	} else {
		addSums(z, w, levels, codes.Narrow, stride, width)
	}
}

func addSums[C code](z, w []float64, levels []float32, codes []C, stride, width int) {
	count, groups := len(w)/width, len(codes)/max(len(levels), 1)
	for k := range count {
		hot := w[k*width+stride : (k+1)*width]
		for i, level := range levels {
			z[i*count+k] = math.FMA(float64(level), sumAt(hot, codes[i*groups:(i+1)*groups]), z[i*count+k])
		}
	}
}

// sumAt returns the sum of the entries of w whose indices are the codes of a row's one-hot groups.
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

// addRows adds round(c[i] * row i) for all rows i to acc. acc holds sums of the layout's width, one after the
// other. c holds, for each row, one coefficient for each sum; the coefficients of a row precede the
// coefficients of the next row.
func (p *pass) addRows(acc []int64, c []float64, b row.Block) {
	stride, width := p.layout.Stride(), p.layout.Width()
	p.rounded(len(acc)/width, c, b)
	p.kernel.add(acc, width, c, b.Rows, stride)
	if p.layout.Groups() > 0 {
		p.kernel.addAtCodes(acc, width, c, b.Levels, b.Codes, stride)
	}
	if edges := p.layout.Edges(); edges > 0 {
		p.kernel.addAtEdges(acc, width, c, b.Edges, edges, stride)
	}
}

// addAtEdges adds, for each hat in an edge of row i, round(c[i] * v) to the sums in acc, where v is the hat's value, for
// the portable kernel. A hat holds the value of a curve's basis function.
func addAtEdges(acc []int64, width int, c []float64, e row.Edges, edges, stride int) {
	count, rows := len(acc)/width, len(e.At)/edges
	for k := range count {
		sums := acc[k*width+stride : (k+1)*width]
		for i := range rows {
			f, by := c[i*count+k], e.By[2*i*edges:2*(i+1)*edges]
			for t, at := range e.At[i*edges : (i+1)*edges] {
				two := sums[at : at+2 : at+2]
				two[0] += roundProduct(f, float64(by[2*t]))
				two[1] += roundProduct(f, float64(by[2*t+1]))
			}
		}
	}
}

// addAtCodes adds the contribution of one-hot groups to the sums acc: round(c[i] * level of row i) at each
// code of row i. The level is the value of the nonzero features of the row's groups. A code is the index of
// such a feature. It is for the portable kernel (see kernel.addAtCodes).
func addAtCodes(acc []int64, width int, c []float64, levels []float32, codes row.Codes, stride int) {
	if codes.Wide != nil {
		addLevels(acc, width, c, levels, codes.Wide, stride)
	} else {
		addLevels(acc, width, c, levels, codes.Narrow, stride)
	}
}

func addLevels[C code](acc []int64, width int, c []float64, levels []float32, codes []C, stride int) {
	count, groups := len(acc)/width, len(codes)/max(len(levels), 1)
	for k := range count {
		sums := acc[k*width+stride : (k+1)*width]
		for i, level := range levels {
			addAt(sums, codes[i*groups:(i+1)*groups], roundProduct(c[i*count+k], float64(level)))
		}
	}
}

// addAt adds the integer steps to every entry of sums whose index is in codes.
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

// square returns the squared norm of row i, given the squared norm of its numbers. It adds the square
// of the level (the value of a one-hot group's nonzero feature) once for each group, and the squares
// of the hats (values of curves' basis functions). The square of a float32 is exact in float64.
func (p *pass) square(numbers float64, b row.Block, i int) float64 {
	if groups := p.layout.Groups(); groups > 0 {
		level := float64(b.Levels[i])
		numbers += float64(float64(groups) * float64(level*level))
	}
	if edges := p.layout.Edges(); edges > 0 {
		for _, v := range b.Edges.By[2*i*edges : 2*(i+1)*edges] {
			numbers += float64(float64(v) * float64(v))
		}
	}
	return numbers
}
