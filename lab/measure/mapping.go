package measure

import "github.com/stillpoint-dp/stillpoint/convex"

// GradientMapping returns the gradient mapping at w for the feasible set s, (w - Proj(w - eta g))/eta, where g is the
// gradient of the objective at w (Nesterov 2004, section 2.2.3). It is 0 where and only where w is a stationary point of
// the objective over the set, and it is g in the interior if eta is small. Its norm is at most that of g for w in s.
func GradientMapping(s convex.Set, w, g []float64, eta float64) []float64 {
	at, out := make([]float64, len(w)), make([]float64, len(w))
	for j, v := range w {
		at[j] = v - eta*g[j]
	}
	s.Project(at)
	for j, v := range w {
		out[j] = (v - at[j]) / eta
	}
	return out
}
