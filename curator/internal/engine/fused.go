package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// fused computes the sum of a single gradient for a loss of this library whose slopes are known. Slope,
// clip, weight and scale are one loop, over several records at a time where the machine has the
// instructions. The integers are those of the separate steps of the method pass.tile. These steps guard
// against losses of other packages, which may panic or write to their arguments. The losses here do
// neither, so margins and targets need no copies, and no record is tried alone.
type fused struct {
	loss loss.RankOne
	// several is the kernel's loop for the loss. It is nil if there is none.
	several func(c, z, y []float64, f *fused) int
	// parameter is the loss's parameter: the largest slope of a clipped residual. The logistic loss has none.
	parameter             float64
	radius, weight, scale float64
}

// newFused returns nil unless the question is a single gradient of a loss whose slopes are known.
func newFused(l loss.Loss, k kernel, terms []pointedTerm, scale float64) *fused {
	if len(terms) != 1 || terms[0].Kind() != query.Gradient || terms[0].Smoothing().On() {
		return nil
	}
	f := &fused{radius: terms[0].ball.Radius, weight: terms[0].weight, scale: scale}
	switch {
	case loss.IsLogistic(l):
		f.several = k.logistic
	case loss.IsSquared(l), loss.IsHuber(l):
		f.several, f.parameter = k.residual, l.Constants().Lipschitz
	default:
		return nil
	}
	f.loss = l.(loss.RankOne)
	return f
}

// piece adds the rows of b, a tile at a time.
func (f *fused) piece(p *pass, b row.Block) {
	if p.layout.Groups()+p.layout.Edges() == 0 {
		f.numbers(p, b.Rows, b.Targets)
		return
	}
	for n := 0; n < len(b.Targets); n += tileRows {
		tile := p.layout.Cut(b, n, min(n+tileRows, len(b.Targets)))
		y := tile.Targets
		coef, margin := p.coef[:len(y)], p.margin[:len(y)]
		p.dots(margin, p.terms[0].point, tile)
		f.coefficients(coef, margin, y)
		p.addRows(p.acc, coef, tile)
	}
}

// tileBytes is the number of bytes of rows that stay in the first-level cache, beside the point and the sums, from
// their products to the sums.
const tileBytes = 28 << 10

// numbers adds rows without codes and edges, as piece does. It is separate because cutting blocks takes a
// tenth of the time where rows are short.
func (f *fused) numbers(p *pass, x []float32, y []float64) {
	w, stride, width := p.terms[0].point, p.layout.Stride(), p.layout.Width()
	rows := min(max(tileBytes/(4*stride)&^7, 8), tileRows)
	for len(y) > 0 {
		n := min(rows, len(y))
		coef, margin, tile := p.coef[:n], p.margin[:n], x[:n*stride]
		p.kernel.dots(margin, w, tile, stride, width)
		f.coefficients(coef, margin, y[:n])
		if Unrounded != nil {
			p.rounded(1, coef, row.Block{Rows: tile})
		}
		p.kernel.add(p.acc, width, coef, tile, stride)
		x, y = x[n*stride:], y[n:]
	}
}

// coefficients sets c[i] to the clipped and weighted slope at margin z[i] and target y[i], in grid steps.
func (f *fused) coefficients(c, z, y []float64) {
	done := 0
	if f.several != nil {
		done = f.several(c, z, y, f)
	}
	f.portable(c[done:], z[done:], y[done:])
}

// portable computes the same numbers as the method coefficients. It sets c[i] to 0 if the slope or the result
// is not finite. The target of a faulty record is NaN, and so is its slope.
func (f *fused) portable(c, z, y []float64) {
	f.loss.Slopes(c, z, y)
	for i, s := range c {
		steps := float64(float64(f.weight*min(max(s, -f.radius), f.radius)) * f.scale)
		if !sound(s) || !sound(steps) {
			steps = 0
		}
		c[i] = steps
	}
}
