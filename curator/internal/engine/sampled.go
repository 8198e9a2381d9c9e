package engine

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// drawn holds the random directions along which a term estimates gradients. pool holds the
// directions that were needed so far, by pages of pageOfPool: few records need few of thousands.
type drawn struct {
	query.Directions
	pool [][][]float64
	dim  int
}

const pageOfPool = 64

// drawnFor returns the directions of a term, or the zero value if the term uses no random directions.
func drawnFor(t query.Term) drawn {
	d, ok := t.Directions()
	if !ok {
		return drawn{}
	}
	dim := len(t.Point())
	return drawn{Directions: d, pool: make([][][]float64, (query.Pool(dim)+pageOfPool-1)/pageOfPool), dim: dim}
}

func (d *drawn) direction(number int) []float64 {
	page := &d.pool[number/pageOfPool]
	if *page == nil {
		*page = make([][]float64, pageOfPool)
	}
	u := &(*page)[number%pageOfPool]
	if *u == nil {
		*u = make([]float64, d.dim)
		d.Write(*u, number)
	}
	return *u
}

// estimate sets dst to the gradient at w that the term uses: the gradient of the loss, the gradient of the
// loss smoothed in closed form, or an estimate of the smoothed gradient along random directions.
func (g *generalPass) estimate(dst []float64, t *pointedTerm, w []float64, x []float32, y float64) {
	s := t.Smoothing()
	switch {
	case !s.On():
		g.gradient(dst, w, x, y)
		return
	case !s.Sampled():
		g.loss.(*joined).smoothed(dst, w, x[:len(g.x)], y, t.smoothed)
		return
	}
	x = x[:len(g.x)]
	clear(dst)
	for i := range s.Directions {
		u := t.drawn.direction(t.drawn.Of(x, y, i))
		if s.By == query.Values {
			slope := g.slopeAlong(w, u, s.Radius, x, y) / float64(s.Directions)
			for j, v := range u {
				dst[j] += float64(slope * v)
			}
			continue
		}
		g.gradient(g.around, g.moved(w, s.Radius, u), x, y)
		for j, v := range g.around {
			dst[j] += v / float64(s.Directions)
		}
	}
}

// slopeAlong returns the difference quotient along u that estimates the gradient: d/(2 r) times the
// value of the loss at w + r u minus its value at w - r u, for d parameters.
func (g *generalPass) slopeAlong(w, u []float64, r float64, x []float32, y float64) float64 {
	up := g.value(g.moved(w, r, u), x, y)
	down := g.value(g.moved(w, -r, u), x, y)
	return float64(float64(len(w)) / (2 * r) * (up - down))
}

// moved returns the point w + r u, for a direction u, in scratch memory, which the next call
// overwrites.
func (g *generalPass) moved(w []float64, r float64, u []float64) []float64 {
	for j, v := range u {
		g.beside[j] = w[j] + float64(r*v)
	}
	return g.beside
}

// joined presents a loss of margins as a loss that computes its gradient in the parameters itself.
type joined struct {
	loss.Loss
	of          margins
	z, slope, y []float64
}

func newJoined(l loss.Loss, count int) *joined {
	return &joined{Loss: l, of: l.(margins), z: make([]float64, count), slope: make([]float64, count),
		y: make([]float64, 1)}
}

func (l *joined) Value(w []float64, x []float32, y float64) float64 {
	l.at(w, x, y)
	l.of.Values(l.slope[:1], l.z, l.y)
	return l.slope[0]
}

func (l *joined) Gradient(dst, w []float64, x []float32, y float64) {
	l.at(w, x, y)
	l.of.Slopes(l.slope, l.z, l.y)
	l.times(dst, x)
}

// smoothed writes the gradient of the loss, smoothed in closed form, to dst.
func (l *joined) smoothed(dst, w []float64, x []float32, y float64, by loss.Smoothing) {
	l.at(w, x, y)
	wide := make([]float64, len(x))
	for j, v := range x {
		wide[j] = float64(v)
	}
	l.of.(loss.Kinked).SmoothedSlopes(l.slope, l.z, l.y, []float64{math.Sqrt(interleaved(wide, x))}, by)
	l.times(dst, x)
}

// at computes the margins of the row x at the parameters w, and sets the slopes to NaN, so that
// slopes that the loss leaves unwritten remain NaN.
func (l *joined) at(w []float64, x []float32, y float64) {
	for k := range l.z {
		l.z[k] = interleaved(w[k*len(x):(k+1)*len(x)], x)
	}
	l.y[0] = y
	forget(l.slope)
}

// times sets dst to the outer product of the slopes, one for each margin, and the row.
func (l *joined) times(dst []float64, x []float32) {
	for k, s := range l.slope {
		for j, v := range x {
			dst[k*len(x)+j] = float64(s * float64(v))
		}
	}
}

// interleaved returns <w, x> for rows without padding. It adds in the same order as the function dot.
func interleaved(w []float64, x []float32) float64 {
	var s [row.Lane]float64
	for j, v := range x {
		s[j%row.Lane] += float64(float64(v) * w[j])
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// smoothing returns the closed form by which a loss is smoothed, for rows of the given number of features. The result
// is the zero Smoothing if the loss is not smoothed, or is smoothed along random directions.
func smoothing(s query.Smoothing, features int) (loss.Smoothing, error) {
	switch {
	case !s.On() || s.Sampled():
		return loss.Smoothing{}, nil
	case s.By == query.LasryLions:
		return loss.LasryLions(s.Radius)
	}
	return loss.OverBall(features, s.Radius)
}

// smoothable returns an error if a term of the query smooths the loss in closed form and the loss
// has no such form.
func smoothable(l loss.Loss, q query.Question) error {
	for i := range q.Len() {
		t := q.Term(i)
		if !t.Smoothing().On() || t.Smoothing().Sampled() { // random directions work with every loss
			continue
		}
		k, ok := l.(loss.Kinked)
		if !ok {
			return fmt.Errorf("curator: %s: smoothing radius = %v: loss %s: must be one that is smoothed in closed form, "+
				"whose slope jumps", q.Name(), t.Smoothing().Radius, l.Name())
		}
		s, err := smoothing(t.Smoothing(), q.PointDim())
		if err == nil {
			_, err = k.SmoothedConstants(s)
		}
		if err != nil {
			return fmt.Errorf("curator: %s: %w", q.Name(), err)
		}
	}
	return nil
}

// slopes sets dst to the slopes of the loss at the margins z, for the records of a tile. If the term
// smooths the loss, the slopes are those of the smoothed loss, which depend on the norms of the rows, too.
func (p *pass) slopes(t *pointedTerm, dst, z []float64, b row.Block) {
	y, stride := b.Targets, p.layout.Stride()
	if p.kinked == nil || !t.Smoothing().On() {
		p.call(p.rankOne.Slopes, dst, z, y)
		return
	}
	long := p.norm[:len(y)]
	for i := range long {
		long[i] = math.Sqrt(p.square(dotSelf(b.Rows[i*stride:(i+1)*stride]), b, i))
	}
	p.call(func(dst, z, y []float64) { p.kinked.SmoothedSlopes(dst, z, y, long, t.smoothed) }, dst, z, y)
}

// dotSelf returns <x, x>, added up in the same order as by the function dot. len(x) is a multiple of
// row.Lane.
func dotSelf(x []float32) float64 {
	var s [row.Lane]float64
	for ; len(x) > 0; x = x[row.Lane:] {
		a := (*[row.Lane]float32)(x)
		for j, v := range a {
			s[j] += float64(float64(v) * float64(v))
		}
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
