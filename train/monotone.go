package train

import "github.com/stillpoint-dp/stillpoint/runrecord"

// monotone changes the weights so that the score never falls or never rises in the columns that the schema
// declares monotone. It returns the new weights and, for each changed column, the greatest change of a row's
// margin. It uses released numbers only. The values at a curve's knots become the nearest monotone values in
// weighted mean square, where the weight of a knot is the released share of the rows near it. If no shares were
// released, all knots have equal weights. Without monotone columns it returns the weights unchanged.
func (h Head) monotone(w []float64, law *runrecord.Realised) ([]float64, []runrecord.Monotone) {
	if !h.Schema.Monotonic() || len(w) != h.Schema.Dim() {
		return w, nil
	}
	var moment *runrecord.Moment
	if law != nil {
		moment = law.Moment
	}
	w, list := h.Schema.ProjectMonotone(w, moment.Means(h.Schema.Dim()))
	var said []runrecord.Monotone
	for _, p := range list {
		said = append(said, runrecord.Monotone{Column: p.Column, Way: p.Way.String(), Moved: runrecord.Short(p.Moved)})
	}
	return w, said
}
