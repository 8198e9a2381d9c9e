package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// The functions of this file answer queries about x - m, for rows x and a public point m. They read every
// feature of a row, in the order of the features. They cannot skip features that are zero in x, since x - m
// need not be zero there.

// apart returns ||x - m||^2 as the sum of four interleaved partial sums. Every engine adds in this order, so
// that all engines return the same bits.
func apart(x []float32, m []float64) float64 {
	var s [4]float64
	for j, v := range m {
		z := float64(x[j]) - v
		s[j%4] += float64(z * z)
	}
	return (s[0] + s[2]) + (s[1] + s[3])
}

// addSquaredDistances computes the squared distance ||x - m||^2 of each row x of a tile from the term's
// public point m. It subtracts the term's public centre, clips the difference to the term's radius, and
// adds the result, times the term's weight, to the number that the row contributes.
func addSquaredDistances(p *pass, t *pointedTerm, b row.Block) {
	x, stride := p.writer.out(b), p.layout.Full()
	most := t.ball.Centre + t.ball.Radius
	for i := range b.Targets {
		v := min(apart(x[i*stride:], t.among), most) - t.ball.Centre
		p.coef[i] += float64(t.weight * min(max(v, -t.ball.Radius), t.ball.Radius))
	}
}

// shortest is the largest length to which a centred row x - m is shortened, as a fraction of its length
// limit. It is so far below 1 that rounding the row to float32 does not make the row longer than the limit.
const shortest = 1 - 0x1p-23

// centre sets z to x - m, shortened to the radius if x - m is longer. If the squared length of x - m
// overflows, z is zero, so that z is always finite.
func centre(z []float32, x []float32, m []float64, radius float64) {
	f, most := 1., float64(radius*shortest)
	if n := math.Sqrt(apart(x, m)); n > most {
		f = most / n
	}
	for j, v := range m {
		z[j] = float32(float64((float64(x[j]) - v) * f))
	}
}

// addCentredPairs adds round(c[i] svec(z z')) for the rows x of a tile, to the sums p.acc, where z is x - m
// for the term's public point m, shortened to the square root of the term's radius. The norm of svec(z z')
// is therefore at most the radius. svec lists the upper triangle of a symmetric matrix, with the entries
// above the diagonal times sqrt 2.
func (p *pass) addCentredPairs(c []float64, b row.Block) {
	t := &p.terms[0]
	d := len(t.among)
	if p.centred == nil {
		p.centred = make([]float32, tileRows*d)
	}
	x, stride := p.writer.out(b), p.layout.Full()
	radius := math.Sqrt(t.ball.Radius)
	for i, v := range c {
		Round(float64(float64(v*math.Sqrt2) * t.ball.Radius)) // in tests, checks a bound on all products of this row
		centre(p.centred[i*d:(i+1)*d], x[i*stride:], t.among, radius)
	}
	p.hold(c, p.centred, d, d)
}
