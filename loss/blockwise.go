package loss

import "math"

// derivative says what is computed of a loss phi(z, y) of one margin.
type derivative int

const (
	values     derivative = iota // phi
	slopes                       // d phi/dz
	curvatures                   // d2 phi/dz2
)

// shape computes a derivative of a loss for at most a block of records.
type shape interface {
	block(dst, z, y []float64, of derivative)
}

// inBlocks computes a derivative of the loss l for all records, a block at a time.
func inBlocks[L shape](l L, dst, z, y []float64, of derivative) {
	z, y = sameLength(dst, z, y)
	for len(dst) > 0 {
		n := min(len(dst), len(block{}))
		l.block(dst[:n], z[:n], y[:n], of)
		dst, z, y = dst[n:], z[n:], y[n:]
	}
}

// blockwise is a loss of one margin without further methods. Two that are made alike are equal.
type blockwise struct {
	shape
	name      string
	target    Target
	constants Constants
}

func (l blockwise) Name() string                   { return l.name }
func (l blockwise) Target() Target                 { return l.target }
func (l blockwise) Constants() Constants           { return l.constants }
func (l blockwise) Values(dst, z, y []float64)     { inBlocks(l.shape, dst, z, y, values) }
func (l blockwise) Slopes(dst, z, y []float64)     { inBlocks(l.shape, dst, z, y, slopes) }
func (l blockwise) Curvatures(dst, z, y []float64) { inBlocks(l.shape, dst, z, y, curvatures) }

// scaled returns the loss l, which is named kind and has one parameter v, named field, if v is a scale.
func scaled(l blockwise, kind, field string, v float64) (RankOne, error) {
	if err := checkScale(kind, field, v); err != nil {
		return nil, err
	}
	l.name = format(kind, v)
	return l, nil
}

// shaped reports whether l is a blockwise loss of the shape S.
func shaped[S shape](l Loss) bool {
	of, _ := l.(blockwise)
	_, ok := of.shape.(S)
	return ok
}

// bendWithin returns the curvature bend of a loss whose slope r is capped at the size c: 0 beyond the cap, and NaN for NaN.
func bendWithin(r, c, bend float64) float64 {
	switch {
	case math.Abs(r) <= c:
		return bend
	case r != r:
		return r
	}
	return 0
}
