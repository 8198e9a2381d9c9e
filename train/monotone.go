package train

import "github.com/stillpoint-dp/stillpoint/runrecord"

// monotone changes the weights so that the score is monotone in the columns that the schema
// declares monotone. It returns the new weights and what was changed. It uses released numbers
// alone. A knot of a curve counts by the released share of the rows near it, or all knots count
// evenly if none were released. Without monotone columns it returns the weights unchanged.
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
