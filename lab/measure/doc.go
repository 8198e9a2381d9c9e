// Package measure measures points and runs of generated problems: the distance from 0 to a subdifferential, the point
// of least norm in a hull, slopes of medians with intervals, and the empirical rise of an objective.
package measure

func dot(a, b []float64) (s float64) {
	for i, v := range a {
		s += v * b[i]
	}
	return s
}
