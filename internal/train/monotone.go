package train

import "github.com/stillpoint-dp/stillpoint/internal/runrecord"

// monotone returns weights with which the score is monotone in each column that the schema declares monotone:
// it never falls with the column, or never rises, as declared. It also returns, for each changed column, the
// greatest change of a row's margin. monotone uses released numbers only: the weights w and law. A curve's
// values at its knots become the nearest monotone values in weighted mean square. The weight of a knot is the
// released share of the rows near it, from law.Moment. If no shares were released, all knots have equal
// weights. If no column is monotone, or w does not have one weight for each feature, monotone returns w
// unchanged.
func (h Header) monotone(w []float64, law *runrecord.Trace) ([]float64, []runrecord.Monotone) {
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
