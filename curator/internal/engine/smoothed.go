package engine

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// smoothing returns the closed form by which a loss is smoothed, for rows of the given number of
// features. The result is the zero Smoothing if the loss is not smoothed, or is smoothed along random
// directions.
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
