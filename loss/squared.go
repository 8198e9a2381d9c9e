package loss

type squared struct{ clip float64 }

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
	return scaledBy(squared{clip}, "squared", "clip", clip)
}

func (s squared) Name() string { return format("squared", s.clip) }
func (squared) Target() Target { return Real }

func (s squared) Constants() Constants {
	c := huber{s.clip}.Constants()
	c.InitialGap = 1.0 / 2
	c.Clipped = true
	return c
}

func (squared) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		r := z[i] - y[i]
		dst[i] = float64(float64(r/2) * r)
	}
}

func (s squared) Slopes(dst, z, y []float64)     { clampedSlopes(dst, z, y, s.clip) }
func (s squared) Curvatures(dst, z, y []float64) { clampedCurvatures(dst, z, y, s.clip) }

// IsSquared reports whether a loss is Squared, with any clip.
func IsSquared(l Loss) bool {
	_, ok := l.(squared)
	return ok
}
