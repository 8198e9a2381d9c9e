package loss

// Squared is r^2/2 for the residual r = z - y, with its derivative clipped to [-clip, clip]. y lies in
// [-1, 1], clip between 1e-6 and 1e6.
//
// The derivative r is unbounded, so no differentially private method can use it without a clip.
// Values returns the squared error, but Slopes and Curvatures are the derivatives of Huber(clip). An
// optimizer therefore minimises Huber(clip), whose minimiser differs from the least-squares fit when
// records have residuals beyond the clip. The clip is a parameter of the loss, not of the engine, so
// that slopes, differences of slopes and curvatures belong to one function.
//
// Curvature is 1 where |r| <= clip and 0 where |r| > clip. The least value is 0. Values at z = 0, where |r| = |y| <= 1,
// are at most 1/2, so InitialGap is 1/2. This is also a bound for Huber(clip), which is nowhere above r^2/2.
func Squared(clip float64) (RankOne, error) {
	l := huber{clip}.loss()
	l.shape, l.constants.InitialGap, l.constants.Clipped = squared{huber{clip}}, 1.0/2, true
	return scaled(l, "squared", "clip", clip)
}

type squared struct{ clipped huber }

func (s squared) block(dst, z, y []float64, of derivative) {
	if of != values {
		s.clipped.block(dst, z, y, of)
		return
	}
	for i := range dst {
		r := z[i] - y[i]
		dst[i] = float64(float64(r/2) * r)
	}
}

// IsSquared reports whether a loss is Squared, with any clip.
func IsSquared(l Loss) bool { return shaped[squared](l) }
